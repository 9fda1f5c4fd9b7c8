"""Everything that goes wrong in a way the user can mend is a `PlannerError`:

    PlannerError
    ├── ModelError       the model file or the user's code: unreadable, refused, unknown classes
    ├── SetupError       a way to train that makes no sense
    ├── DeviceError      a device nobody knows
    ├── PlanError        a plan that can't be read, or can't be kept
    └── WorkerError      the child process: died, hung, ran over its limits, TensorFlow missing
        ├── PythonError  no Python that workers can run in
        └── CompilerMissing  XLA's compiler for CUDA is not installed

`Cancelled` is no error: the user said stop, and knows.

The message is a sentence: what came in, what was expected, what to do. Anything else that is raised is a bug.
"""

from planner_app.foreign_text import for_terminal

LONGEST_SENTENCE = 4000


class PlannerError(Exception):
    """A sentence for the user.

    Attributes:
        detail: What else is known (a child's last words, a list of names), for a report; may be empty.
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
    """A `ValueError` too: where a plan is being read, the reader adds the place in the file."""


class WorkerError(PlannerError):
    pass


class PythonError(WorkerError):
    pass


class CompilerMissing(WorkerError):
    pass


class Cancelled(Exception):
    """The user said stop: work ends here, and nothing is to be said about it."""

    def __init__(self, message: str = "Cancelled.") -> None:
        super().__init__(message)
