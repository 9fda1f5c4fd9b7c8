"""Started as a file, by whichever Python has TensorFlow: the package is the one that the file lies in."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def import_ours() -> None:
    """Without its folder on the path: other packages beside it may be built for another Python."""
    folder = Path(__file__).resolve().parents[1]
    spec = spec_from_file_location("planner_app", folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    sys.modules["planner_app"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    if "planner_app" not in sys.modules:
        import_ours()
    from planner_app.worker.serve import serve

    serve()
