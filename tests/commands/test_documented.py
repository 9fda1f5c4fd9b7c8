"""The command line and its documentation list the same commands, options and variables."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import planner_app
from planner_app.cli import COMMANDS, parser
from planner_app.commands.help.reference.man import man
from planner_app.commands.help.reference.values import Command, app, read

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "packaging" / "plimsoll.1"
GUIDE = ROOT / "planner_app" / "data" / "guide"
WRITTEN = (ROOT / "README.md", ROOT / "RELEASING.md", *sorted(GUIDE.glob("*.md")))
TYPED = re.compile(r"(?:^    \$? ?|`)(plimsoll [^`\n]*)", re.MULTILINE)  # a line of code, or words between backticks
OF_CHILDREN = {  # between a parent and its child
    *("PLIMSOLL_SCRATCH", "PLIMSOLL_LIFELINE", "PLIMSOLL_FILE"),
    *("PLIMSOLL_RUN", "PLIMSOLL_EVERY", "PLIMSOLL_SEED", "PLIMSOLL_CHECKPOINT"),
}


@pytest.fixture(scope="module")
def commands() -> dict[str, Command]:
    return {command.name: command for command in read()}


def test_that_every_option_says_what_it_is_for(commands: dict[str, Command]):
    assert list(commands) == list(COMMANDS)
    for command in (app(), *commands.values()):
        for argument in command.arguments:
            assert len(argument.help.partition("default")[0].split()) >= 2, (command.name, argument)


def test_that_every_command_has_an_example_that_it_understands(commands: dict[str, Command]):
    for command in commands.values():
        assert command.description, command.name
        program, *words = shlex.split(command.example)
        assert (program, words[0]) == ("plimsoll", command.name)
        if ">" in words:
            words = words[: words.index(">")]
        assert parser(command.name).parse_args(words).command == command.name


def test_that_the_man_page_is_of_this_command_line(commands: dict[str, Command]):
    assert PAGE.read_text() == man(app(), list(commands.values())), "The man page is old: run make man."


def test_that_the_man_page_has_every_variable_a_user_may_set():
    sources = "".join(path.read_text() for path in Path(planner_app.__file__).parent.rglob("*.py"))
    variables = set(re.findall(r'"(PLIMSOLL_[A-Z]+)"', sources)) - OF_CHILDREN
    assert variables
    assert variables <= set(re.findall(r"PLIMSOLL_[A-Z]+", PAGE.read_text()))


@pytest.mark.skipif(shutil.which("man") is None or shutil.which("groff") is None, reason="man is not installed")
def test_that_man_shows_the_page_and_complains_of_nothing(commands: dict[str, Command]):
    shown = subprocess.run(
        ["man", "--warnings", "-l", str(PAGE)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100", "MANPAGER": "cat"},
    )
    assert not shown.stderr
    text = re.sub(r".\x08", "", shown.stdout)
    for command in commands.values():
        assert f"\n   {command.name}\n" in text
        for option in command.options:
            assert option.flags[-1] in text


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
def test_that_mandoc_misses_nothing_but_the_date():
    told = subprocess.run(["mandoc", "-Tlint", str(PAGE)], capture_output=True, text=True, check=False)
    assert [line for line in told.stdout.splitlines() if "missing date" not in line] == []


def typed(file: Path) -> Iterator[tuple[str, list[str]]]:
    """Commands in a text, with their words; what is piped or written elsewhere left out."""
    for line in TYPED.findall(file.read_text()):
        words = shlex.split(re.split(r" [|>] | #|\)$", line)[0])
        if words[1:] and words[1] in COMMANDS:
            yield words[1], words[2:]


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.name)
def test_that_texts_name_only_options_that_there_are(file: Path, commands: dict[str, Command]):
    for name, words in typed(file):
        known = {flag for option in commands[name].options for flag in option.flags}
        assert {word for word in words if word.startswith("-") and word != "-"} <= known, (name, words)


def test_that_examples_in_the_guide_are_understood():
    """Those with a model: a command that is only named needs no more."""
    understood = 0
    for file in sorted(GUIDE.glob("*.md")):
        for name, words in typed(file):
            if any("." in word for word in words[:1]):
                assert parser(name).parse_args([name, *words]).command == name
                understood += 1
    assert understood >= 15


def test_that_the_guide_tells_of_every_command_with_an_example(commands: dict[str, Command]):
    text = (GUIDE / "commands.md").read_text()
    told = re.findall(r"^\| `([a-z-]+)` \| (.+) \| `plimsoll ([a-z-]+)", text, re.MULTILINE)
    assert sorted(name for name, _, _ in told) == sorted(commands)
    assert all(name == typed for name, _, typed in told)


def test_that_the_readme_leads_to_every_page_of_the_guide():
    links = set(re.findall(r"\((planner_app/data/guide/[a-z]+\.md)\)", (ROOT / "README.md").read_text()))
    assert links == {str(page.relative_to(ROOT)) for page in GUIDE.glob("*.md")}


def test_that_the_change_log_begins_with_this_version():
    heading = re.search(r"^## ([^,]+), ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None and heading[1] == planner_app.__version__
