"""Files of the user's, read no further than can be meant."""

from pathlib import Path


def read_at_most(path: Path, most_bytes: int) -> bytes:
    """All of a file, or one byte more than that many: then it is too long. What has no end, as /dev/zero, ends too."""
    with path.open("rb") as file:
        return file.read(most_bytes + 1)
