"""What Keras or TensorFlow said, in one line."""

import re

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # Keras prints reasons in bold
MOST_CHARACTERS = 400


def line(error: BaseException) -> str:
    """What is wrong. Keras says first where it happened, then what, then what the arguments were."""
    plain = ESCAPES.sub("", str(error))
    lines = [each.strip() for each in plain.splitlines() if each.strip()]
    while lines and lines[0].startswith(("Exception encountered", "in user code:", "File ")):
        del lines[0]
    return lines[0][:MOST_CHARACTERS] if lines else type(error).__name__
