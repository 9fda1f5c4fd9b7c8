"""A real worker, with the deeds of deeds.py in place of the real handlers. With "without": on a system that has no
sandbox; with "pretending": on one that says it has and has not."""

import errno
import sys

import asking  # noqa: F401 - the loop knows the requests that exist

from planner_app.worker.confine import landlock, seccomp
from planner_app.worker.serve import serve


class AnyDeed(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "deeds:do"


def absent(*_, **__):
    raise OSError(errno.ENOSYS, "Function not implemented")


if "without" in sys.argv:
    landlock.apply = seccomp.apply = absent
if "pretending" in sys.argv:
    landlock.apply = seccomp.apply = lambda *_, **__: 7
serve(AnyDeed())
