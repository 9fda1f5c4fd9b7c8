"""Completion for zsh: a function for `_arguments`, with the help of every option."""

import re
from collections.abc import Iterator, Sequence

from planner_app.commands.help.reference.values import Argument, Command, Source

SCRIPT = r"""#compdef plimsoll
# zsh completion for plimsoll, written by: plimsoll completion zsh

_plimsoll_devices() {
  local -a devices=(
@DEVICES@
  )
  compadd "$@" -M 'm:{a-zA-Z}={A-Za-z}' -a devices || compadd "$@" -M 'm:{a-zA-Z}={A-Za-z}' -- "${(@)devices#NVIDIA }"
}

_plimsoll() {
  local -a commands=(
@COMMANDS@
  )
  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    _describe -t commands command commands
    _files -g '@MODELS@'
    return
  fi
  local command=$words[2]
  case $command in
@CASES@
  *)
    _arguments @APP@ '--version[show the version]'
    ;;
  esac
}

if [[ $funcstack[1] == _plimsoll ]]; then _plimsoll "$@"; else compdef _plimsoll plimsoll; fi
"""


def zsh(app: Command, commands: Sequence[Command], devices: Sequence[str]) -> str:
    named = [f"    {_quoted(f'{command.name}:{command.help}')}" for command in commands]
    return (
        SCRIPT.replace("@DEVICES@", "\n".join(f"    {_quoted(device)}" for device in devices))
        .replace("@COMMANDS@", "\n".join(named))
        .replace("@MODELS@", _pattern(app.positionals[0].words))
        .replace("@CASES@", "\n".join(map(_case, commands)))
        .replace("@APP@", " ".join(_specs(app)))
    )


def _case(command: Command) -> str:
    body = " \\\n      ".join(("_arguments -s", "'1: :'", *_specs(command, first=2)))
    return f"  {command.name})\n    {body}\n    ;;"


def _specs(command: Command, first: int = 1) -> Iterator[str]:
    for option in command.options:
        repeats = "*" if option.many else ""
        others = "" if option.many or len(option.flags) == 1 else f"({' '.join(option.flags)})"
        value = f":{_plain(option.value)}:{_offer(option)}" if option.value else ""
        for flag in option.flags:
            yield _quoted(f"{others}{repeats}{flag}[{_plain(option.help)}]{value}")
    for number, positional in enumerate(command.positionals, first):
        place = "*" if positional.many else str(number)
        yield _quoted(f"{place}:{_plain(positional.value)}:{_offer(positional)}")


def _offer(argument: Argument) -> str:
    if argument.source is Source.DEVICES:
        return "_sequence _plimsoll_devices" if argument.listed else "_plimsoll_devices"
    if argument.source is Source.WORDS:
        words = " ".join(re.sub(r":", r"\:", word) for word in argument.words)
        return f"_sequence compadd - {words}" if argument.listed else f"({words})"
    if argument.source is Source.FILES:
        return f'_files -g "{_pattern(argument.words)}"' if argument.words else "_files"
    return " "


def _pattern(endings: Sequence[str]) -> str:
    return f"*.({'|'.join(endings)})(-.)" if len(endings) > 1 else f"*.{endings[0]}(-.)"


def _plain(text: str) -> str:
    """What would end a description ends nothing."""
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
