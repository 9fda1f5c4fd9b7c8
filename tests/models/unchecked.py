"""A real worker in its sandbox that opens files as nobody should: by `load_model`, unchecked and not in safe mode.

With "without" there is no sandbox either: what the files do then is what the sandbox has to prevent.
"""

import builtins
import errno
import sys
from typing import Any, ClassVar

from planner_app.jobs.protocol import GIB, Limits, Request


class Load(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    limits: ClassVar[Limits] = Limits(memory_bytes=4 * GIB, seconds=600)

    paths: tuple[str, ...]

    def reads(self) -> tuple[str, ...]:
        return self.paths


def load(request: Load, report: Any) -> dict[str, str]:
    """What the code in each file left behind, or the words of its layers, by path."""
    import keras

    keras.config.enable_unsafe_deserialization()
    told = {}
    for number, path in enumerate(request.paths):
        report(number, len(request.paths), path)
        vars(builtins).pop("told", None)
        try:
            model = keras.models.load_model(path, safe_mode=False, compile=False)
            words = [layer.get_vocabulary() for layer in model.layers if hasattr(layer, "get_vocabulary")]
            told[path] = getattr(builtins, "told", str(words))
        except Exception as error:
            told[path] = f"{type(error).__name__}: {str(error)[-1000:]}"
    return told


if __name__ == "__main__":
    from planner_app.worker.confine import landlock, namespaces, seccomp
    from planner_app.worker.serve import HANDLERS, serve

    def absent(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    if "without" in sys.argv:
        landlock.apply = namespaces.apply = seccomp.apply = absent
    serve({**HANDLERS, "Load": "unchecked:load"})
