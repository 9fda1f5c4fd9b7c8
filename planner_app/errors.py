"""Everything that goes wrong in a way the user can mend is a `PlannerError`:

    PlannerError
    ├── ModelError       the model file or the user's code: unreadable, refused, unknown classes
    ├── SetupError       a way to train that makes no sense
    ├── DeviceError      a device nobody knows
    ├── PlanError        a plan that can't be read, or can't be kept
    ├── WorkerError      the child process: died, hung, ran over its limits, TensorFlow missing
    │   └── PythonError  no Python that workers can run in
    └── Cancelled        the user said stop

The message is a sentence: what came in, what was expected, what to do. Anything else that is raised is a bug.
"""

import re

LONGEST_SENTENCE = 4000
# Control characters, turns of the direction of writing, halves of characters.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class PlannerError(Exception):
    """A sentence for the user.

    Attributes:
        detail: What else is known (a child's last words, a list of names), for a report; may be empty.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(shown(message[:LONGEST_SENTENCE]))
        self.detail = detail


class ModelError(PlannerError):
    pass


class SetupError(PlannerError):
    pass


class DeviceError(PlannerError):
    pass


class PlanError(PlannerError):
    pass


class WorkerError(PlannerError):
    pass


class PythonError(WorkerError):
    pass


class Cancelled(PlannerError):
    pass


def shown(text: str) -> str:
    """Text out of a file, without what a terminal would obey."""
    return _STEERING.sub("\ufffd", text)
