"""Why a file is not opened. The reader turns it into one sentence that names the file."""


class Refused(Exception):
    """A clause to follow "'model.keras' can't be opened:", saying what was found, what was expected, what to do."""
