"""What `fit`, `evaluate` and `predict` were given to read, as Keras takes it. Nothing here is read yet."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Data:
    """Arrays, a dataset, a generator or a PyDataset.

    Attributes:
        steps: Batches of the data in an epoch; None for all there are.
    """

    x: Any
    y: Any = None
    sample_weight: Any = None
    class_weight: Any = None
    shuffle: Any = False
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    """What is held out, and when it is asked.

    Attributes:
        data: As `fit` takes it: a tuple, a list, or anything `Data.x` may be.
        split: The part of the arrays that is held out, where `data` is None.
        batch: None for the plan's.
        freq: After every so many epochs, or after these.
    """

    data: Any = None
    split: float = 0.0
    steps: int | None = None
    batch: int | None = None
    freq: Any = 1


@dataclass(frozen=True, slots=True)
class Epochs:
    """`first` to `end`, without it."""

    first: int
    end: int
