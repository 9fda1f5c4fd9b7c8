"""Every error that the user can fix is a `PlannerError`:

    PlannerError
    ├── ModelError       the model file or the user's code: unreadable, refused, unknown classes
    ├── SetupError       a setup that makes no sense
    ├── DeviceError      an unknown device
    ├── PlanError        a plan that can't be read or followed
    └── WorkerError      the child process: died, hung, exceeded its limits, TensorFlow missing
        ├── PythonError  no Python in which workers can run
        └── CompilerMissing  XLA's compiler for CUDA is not installed

`Cancelled` is not an error: the user stopped the work and knows it.

The message is a sentence: what came in, what was expected, what to do. Any other exception is a bug.
"""

from planner_app.foreign_text import for_terminal

LONGEST_SENTENCE = 4000


class PlannerError(Exception):
    """A sentence for the user.

    Attributes:
        detail: What else is known (a child's last output, a list of names), for a report; may be empty.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(for_terminal(message[:LONGEST_SENTENCE]))
        self.detail = for_terminal(detail)


class ModelError(PlannerError):
    pass


class SetupError(PlannerError):
    pass


class DeviceError(PlannerError):
    pass


class PlanError(PlannerError, ValueError):
    """Also a `ValueError`: the code that reads plan files catches it and adds the position in the file."""


class WorkerError(PlannerError):
    pass


class PythonError(WorkerError):
    pass


class CompilerMissing(WorkerError):
    pass


class Cancelled(Exception):
    """The user stopped the work. Not an error, so nothing is reported."""

    def __init__(self, message: str = "Cancelled.") -> None:
        super().__init__(message)
