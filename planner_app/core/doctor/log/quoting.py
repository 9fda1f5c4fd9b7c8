"""Whether words of an error stand in a text about errors: a README or a program names them as a log does."""

import re

REACH = 120  # characters before a mark that are looked at

_LEADS_TO = re.compile(
    r"(?:^|\s)#{1,6} +(?:[A-Za-z]|$)|`$|(?:^|\s)\*\*(?:[A-Za-z][^*]{0,100})?$|"  # Markdown, comments
    r"\b(?:print|echo|warn\w{0,9}|log\w{0,7}(?:\.\w{1,9})?|raise [\w.]{1,60})[( ]{1,2}[frb]?[\"'][^\"']{0,100}$|"
    r"\b(?:except|catch|import|class|def|raises)[ (][\w., (]{0,80}$|"
    r"\b(?:(?:[Ii]f|[Ww]hen|[Ww]henever|[Uu]nless) (?:an?|the|this|that|it|there|your?|they|training|TensorFlow|Keras)|"
    r"[Ii]n case of|[Ii]nstead of|[Hh]ow to|(?<!ailed )[Tt]o (?:avoid|prevent|fix|handle|catch)|"
    r"[Yy]ou (?:may|might|can|will|see|get)|(?:may|might|can|could) (?:also )?"
    r"(?:see|get|cause|lead|raise|throw|happen|mean|end)|means|usually|often|sometimes|typically|e\.g\.|such as)\b"
)
_LEADS_ON = re.compile(
    r"`|\[\.\.\.|\s{0,60}=\s{0,60}\w|(?:: out of memory)?[^.;:(]{0,40}?"
    r"\b(?:means|usually|often|typically|happens|occurs|is raised|in the logs?)\b"
)


def is_quoted(text: str, start: int, end: int) -> bool:
    """Of the words from `start` to `end`."""
    return bool(_LEADS_TO.search(text[max(0, start - REACH) : start]) or _LEADS_ON.match(text, end))
