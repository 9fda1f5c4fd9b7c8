"""What Keras or TensorFlow said, in one line."""

import re

ESCAPES = re.compile("[\x1b\ufffd]\\[[0-9;]*m")  # Keras prints reasons in bold; our errors replace escapes
CAUSE = re.compile(r"\b(?:Error|Exception) encountered:\s*")  # behind it stands what Keras met on the way
MOST_CHARACTERS = 400


def line(error: BaseException) -> str:
    """What is wrong. Keras says first where it happened, then what, then what the arguments were."""
    is_key = isinstance(error, KeyError) and bool(error.args)  # its text is the key alone, quoted
    plain = CAUSE.split(ESCAPES.sub("", str(error.args[0] if is_key else error)))[-1]
    lines = [each.strip() for each in plain.splitlines() if each.strip()]
    while lines and lines[0].startswith(("Exception encountered", "in user code:", "File ")):
        del lines[0]
    if not lines:
        return type(error).__name__
    said = lines[0][:MOST_CHARACTERS]
    return f"there is no key {said!r}" if is_key else said
