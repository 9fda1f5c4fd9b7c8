"""Completion for fish: a line for each option of each command."""

from collections.abc import Iterator, Sequence

from planner_app.commands.help.reference.values import Argument, Command, Source

SCRIPT = r"""# fish completion for plimsoll, written by: plimsoll completion fish

function __plimsoll_devices
    printf '%s\n' @DEVICES@
end

# The command is the first word; without one the app is opened.
function __plimsoll_is
    set -l words (commandline -opc)
    set -q words[2]; and contains -- $words[2] $argv
end

function __plimsoll_has_none
    set -l words (commandline -opc)
    not set -q words[2]; or not contains -- $words[2] @COMMANDS@
end

# Each word after the last comma of what was typed, whatever its quotes.
function __plimsoll_listed
    set -l typed (commandline -ct | string replace -ra '[\\\\"\']' '')
    set -l before (string match -r '^.*,' -- $typed)
    printf '%s\n' "$before"$argv
end

complete -c plimsoll -f
"""


def fish(app: Command, commands: Sequence[Command], devices: Sequence[str]) -> str:
    script = SCRIPT.replace("@DEVICES@", " ".join(map(_quoted, devices)))
    script = script.replace("@COMMANDS@", " ".join(command.name for command in commands))
    lines = [
        f"complete -c plimsoll -n __fish_is_first_token -a {command.name} -d {_quoted(command.help)}"
        for command in commands
    ]
    lines += _lines(app, "__plimsoll_has_none")
    lines.append("complete -c plimsoll -n __plimsoll_has_none -l version -d 'show the version'")
    for command in commands:
        lines += _lines(command, f"'__plimsoll_is {command.name}'")
    return script + "\n".join(lines) + "\n"


def _lines(command: Command, condition: str) -> Iterator[str]:
    for option in command.options:
        flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
        value = _offer(option) if option.value else ""
        told = f"-d {_quoted(option.help)}"
        yield " ".join(filter(None, (f"complete -c plimsoll -n {condition}", flags, value, told)))
    if command.place:
        yield f"complete -c plimsoll -n {condition} {_offer(command.place).replace('-x ', '')}"


def _offer(argument: Argument) -> str:
    if argument.source is Source.DEVICES:
        return f"-x -a {_quoted(_each('__plimsoll_devices', argument))}"
    if argument.source is Source.WORDS and argument.listed:
        words = " ".join(argument.words)
        return f"-x -a {_quoted(f'(__plimsoll_listed {words})')}"
    if argument.source is Source.WORDS:
        return f"-x -a {_quoted(' '.join(argument.words))}"
    if argument.source is Source.FILES and argument.words:
        endings = " ".join(f".{ending}" for ending in argument.words)
        return f"-k -x -a {_quoted(f'(__fish_complete_suffix {endings})')}"
    return "-r -F" if argument.source is Source.FILES else "-x"


def _each(function: str, argument: Argument) -> str:
    return f"(__plimsoll_listed ({function}))" if argument.listed else f"({function})"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
