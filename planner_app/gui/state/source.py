"""Where a model comes from: its file, and the user's code that it needs besides."""

from dataclasses import dataclass
from pathlib import Path

PYTHON = ".py"


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Attributes:
    path: A file or folder, or `file.py:function`.
    custom: The user's Python file with the model's own classes.
    trust: Installed packages whose classes the model may use.
    data: The user's `file.py:function` that returns one batch of training data.
    """

    path: str
    custom: str | None = None
    trust: tuple[str, ...] = ()
    data: str | None = None

    @property
    def name(self) -> str:
        return Path(self.path).name

    @property
    def is_function(self) -> bool:
        return self.path.rpartition(":")[0].endswith(PYTHON)

    @property
    def runs_code(self) -> bool:
        """Whether opening it runs code of the user's."""
        return self.is_function or bool(self.custom or self.data)
