"""What a script is told while it goes on: a warning, one sentence."""

import warnings


class PlanWarning(UserWarning):
    """The plan can be kept, but something is not as it was when the plan was made."""


def note(sentence: str) -> None:
    warnings.warn(sentence, PlanWarning, stacklevel=3)
