"""The command line and what is written about it: neither has a word that the other has not."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import planner_app
from planner_app.cli import COMMANDS, parser
from planner_app.commands.reference.man import man
from planner_app.commands.reference.values import Command, app, read

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "packaging" / "plimsoll.1"
OF_WORKERS = {"PLIMSOLL_SCRATCH", "PLIMSOLL_LIFELINE"}  # between a parent and its child


@pytest.fixture(scope="module")
def commands() -> dict[str, Command]:
    return {command.name: command for command in read()}


def test_that_every_option_says_what_it_is_for(commands: dict[str, Command]):
    assert list(commands) == COMMANDS
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
    variables = set(re.findall(r'"(PLIMSOLL_[A-Z]+)"', sources)) - OF_WORKERS
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
