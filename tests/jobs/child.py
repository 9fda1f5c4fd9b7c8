"""A real worker, with the handlers of handlers.py in place of the real ones. With "without" and names of layers of the
sandbox: on a system that lacks them; with "pretending": on one that says it has them and has not."""

import errno
import sys

import asking  # noqa: F401 - the loop knows the requests that exist

from planner_app.worker.confine import landlock, namespaces, seccomp, syscalls
from planner_app.worker.serve import serve


class AnyDeed(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "handlers:do"


def absent(*_, **__):
    raise OSError(errno.ENOSYS, "Function not implemented")


LAYERS = {
    "landlock": (landlock, "apply"),
    "seccomp": (seccomp, "apply"),
    "namespaces": (namespaces, "apply"),
    "capabilities": (syscalls, "drop_capabilities"),
}
chosen = [layer for name, layer in LAYERS.items() if name in sys.argv]
for module, name in chosen:
    setattr(module, name, absent if "without" in sys.argv else lambda *_, **__: 7)
serve(AnyDeed())
