"""Which of several processes wrote a line, where a launcher put its number or name before it."""

import re

_TAGGED = re.compile(
    r"(?:\[(?:1,)?(?P<mpi>\d{1,5})\]<std(?:err|out)>: ?"
    r"|\[(?:rank|default)(?P<torch>\d{1,5})\]: ?"
    r"|\((?P<ray>[\w.]{1,60} pid=\d{1,10}(?:, ip=[\d.]{7,15})?)\) "
    r"|(?P<compose>[\w.-]{1,40}[-_]\d{1,4}) {1,30}\| ?)"
)
_LABELLED = re.compile(r"(?P<slurm>\d{1,4}): ?")
_OF_TENSORFLOW = re.compile(r"(?:20\d\d-|[IWEF]\d{4} |Epoch |Traceback)")
MOST_RANKS = 4096


class Ranks:
    """`split` gives the rank, empty if there is none, and the line without it.

    srun writes "3: " before each line, which much else does, too: it counts once a line of TensorFlow's began so.
    """

    def __init__(self) -> None:
        self._labelled: set[str] = set()

    def split(self, text: str) -> tuple[str, str]:
        start = text[:1]
        if start in "[(" or "|" in text[:80]:
            if found := _TAGGED.match(text):
                return next(filter(None, found.groups())), text[found.end() :]
        elif start.isdecimal() and (found := _LABELLED.match(text)):
            number = found["slurm"]
            if number in self._labelled or _OF_TENSORFLOW.match(text, found.end()):
                if len(self._labelled) < MOST_RANKS:
                    self._labelled.add(number)
                return number, text[found.end() :]
        return "", text
