"""What loops do to memory: repeated fit(), a new model each time, a new shape each step, a measured leak.

the same model, fit() again    keeps its variables, its optimizer and its compiled step: nothing grows
a new model each time          the old one's variables and slots stay as long as something refers to them
clear_session()                forgets names, graphs and global state; what a variable of the script holds stays
a new shape each step          is traced again (and compiled again by XLA), and every trace is kept
the last, smaller batch        is a second shape
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from planner_app.core.measure.leak import Leak, Verdict
from planner_app.units import format_bytes

# tf.function warns when 5 of the last calls were traced again; Keras' fit() traces once for each shape.
FEW_SHAPES = 4


@dataclass(frozen=True, slots=True)
class Loop:
    """One model after another in one process, none of them freed.

    Attributes:
        peak_bytes: In use at a step's peak, for one model.
        state_bytes: What one model keeps between steps: weights, slots.
    """

    peak_bytes: int
    state_bytes: int

    def held_bytes(self, models: int) -> int:
        """At the peak of the last of this many models."""
        return self.peak_bytes + (models - 1) * self.state_bytes

    def models_within(self, limit_bytes: int) -> int | None:
        """How many can be trained before memory runs out; None if it never does."""
        if self.peak_bytes > limit_bytes:
            return 0
        return None if self.state_bytes == 0 else 1 + (limit_bytes - self.peak_bytes) // self.state_bytes


def explain_loop(loop: Loop, limit_bytes: int) -> str:
    """What happens when models are trained one after another and the earlier ones are kept."""
    count = loop.models_within(limit_bytes)
    if count == 0:
        return f"Not even the first fits: {format_bytes(loop.peak_bytes)} of {format_bytes(limit_bytes)}."
    if count is None:
        return "A model keeps nothing between steps, so any number of them can be trained."
    return (
        f"Each model that is kept leaves {format_bytes(loop.state_bytes)}, so the {_ordinal(count + 1)} does not fit "
        f"{format_bytes(limit_bytes)} any more. del model, then keras.backend.clear_session(), frees what nothing "
        "refers to; a separate process for each training frees everything."
    )


def shapes_of(samples: int, batch: int, lengths: Sequence[int] = ()) -> int:
    """How many shapes a step sees in an epoch: one for each length, and one more of each for a last, smaller batch."""
    return max(1, len(set(lengths))) * (2 if samples % batch else 1)


def explain_shapes(count: int, *, xla: bool) -> str:
    """What so many shapes of one step mean; nothing where there is one."""
    if count <= 1:
        return ""
    again = "traced and compiled" if xla else "traced"
    rest = "pad to a few lengths, or batch(drop_remainder=True)" if count > FEW_SHAPES else "batch(drop_remainder=True)"
    programs = " and its own block of memory on the GPU" if xla else ""
    return (
        f"The step sees {count} shapes, and is {again} once for each: every trace stays in host memory{programs}. "
        f"Fewer shapes: {rest}."
    )


def explain_leak(leak: Leak, *, room_bytes: int | None = None, per: str = "step") -> str:
    """The leak verdict in words. `room_bytes` is what is left before memory runs out."""
    if leak.verdict is Verdict.STEADY:
        return f"Memory does not grow: the same amount is in use after each {per}."
    if leak.verdict is Verdict.UNCLEAR:
        return f"Too few {per}s, or too uneven ones, to tell whether memory grows: measure more."
    pace = format_bytes(round(leak.bytes_per_step))
    low, high = format_bytes(round(leak.low_bytes)), format_bytes(round(leak.high_bytes))
    text = f"Memory grows by {pace} per {per} ({low} to {high} with 95 % confidence): something is kept."
    if room_bytes is not None and leak.bytes_per_step > 0:
        text += f" At that pace it runs out after {ceil(max(room_bytes, 0) / leak.bytes_per_step)} more {per}s."
    return f"{text} Look for tensors in lists, callbacks that hold batches, and functions that are traced again."


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
