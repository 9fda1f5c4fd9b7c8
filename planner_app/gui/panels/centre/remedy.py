"""What the app can do about a model that can't be opened: where the command line names an option, it has a button."""

import re
from dataclasses import dataclass, replace

from planner_app.gui.state.source import ModelSource

TRUST = re.compile(r"[:,]? ?(if you trust it, )?(then )?open (the model|it) with --trust( (?P<package>\w+))?")
CUSTOM = re.compile(r"Name the Python file that defines them with --custom file\.py|with --custom file\.py")
FUNCTION = re.compile(r"say which function makes the model")


@dataclass(frozen=True, slots=True)
class Remedy:
    """A button. `source` is what it opens; with `asks`, the user names a Python file first.

    Attributes:
        asks: "custom" for a file with classes, "function" for a function of a file; "" for nothing.
    """

    button: str
    source: ModelSource
    asks: str = ""
    package: str = ""


def remedy_for(source: ModelSource, why: str) -> Remedy | None:
    if FUNCTION.search(why):
        return Remedy("Choose the &function …", source, asks="function")
    if (trust := TRUST.search(why)) and (package := trust["package"]):
        return Remedy(f"Trust {package} &and open", replace(source, trust=(*source.trust, package)), package=package)
    if CUSTOM.search(why):
        return Remedy("Choose the &Python file …", source, asks="custom")
    return None


def in_the_app(why: str) -> str:
    """The same sentence without the command line's options."""
    said = CUSTOM.sub(lambda found: "Choose the Python file that defines them" if "Name" in found[0] else "here", why)
    return TRUST.sub(lambda found: ": open it with that package only if you trust it" if found["package"] else "", said)
