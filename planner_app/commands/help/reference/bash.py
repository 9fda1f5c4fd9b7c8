"""Completion for bash 4 and later: one function, all words in it, so that a key press starts no Python."""

import shlex
from collections.abc import Sequence

from planner_app.commands.help.reference.values import Argument, Command, Source

SCRIPT = r"""# bash completion for plimsoll, written by: plimsoll completion bash
_plimsoll_devices=@DEVICES@

# Lines that begin with what was typed, whatever its quotes and case; "list": after the last comma.
_plimsoll_offer() {
    local typed=${cur//\\/} before= line
    typed=${typed#[\"\']}
    if [[ $2 == list ]]; then
        before=${typed%"${typed##*,}"}
        typed=${typed##*,}
    fi
    while IFS= read -r line; do
        if [[ ${line,,} == "${typed,,}"* ]]; then COMPREPLY+=("$before$line"); fi
    done <<<"$1"
    if [[ ${COMPREPLY[*]} == *' '* ]]; then compopt -o filenames 2>/dev/null; fi # bash then quotes the spaces
}

_plimsoll_offer_devices() {
    _plimsoll_offer "$_plimsoll_devices" "$1"
    if ! ((${#COMPREPLY[@]})); then _plimsoll_offer "${_plimsoll_devices//NVIDIA /}" "$1"; fi
}

# Folders, and files with one of these endings; without endings, any file.
_plimsoll_offer_files() {
    local name ending
    compopt -o filenames 2>/dev/null
    while IFS= read -r name; do
        if [[ $# == 0 || -d $name ]]; then COMPREPLY+=("$name"); continue; fi
        for ending; do
            if [[ $name == *."$ending" ]]; then COMPREPLY+=("$name"); fi
        done
    done < <(compgen -f -- "$cur")
}

# A number or a name that nobody can know: no files either.
_plimsoll_offer_nothing() { compopt +o default 2>/dev/null; }

_plimsoll() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} options= positional=()
    COMPREPLY=()
    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi
    if ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then
        COMPREPLY=($(compgen -W '@COMMANDS@' -- "$cur"))
        _plimsoll_offer_files @MODELS@
        return
    fi
    case ${COMP_WORDS[1]} in
@CASES@
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    else
        "${positional[@]}"
    fi
}

complete -o default -F _plimsoll plimsoll
"""
NOTHING = "_plimsoll_offer_nothing"


def bash(app: Command, commands: Sequence[Command], devices: Sequence[str]) -> str:
    cases = [_case(command.name, command) for command in commands]
    return (
        SCRIPT.replace("@DEVICES@", shlex.quote("\n".join(devices)))
        .replace("@COMMANDS@", " ".join(command.name for command in commands))
        .replace("@MODELS@", " ".join(app.positionals[0].words))
        .replace("@CASES@", "\n".join((*cases, _case("*", app, "--version"))))
    )


def _case(pattern: str, command: Command, more: str = "") -> str:
    lines = [f"    {pattern})"]
    valued = [option for option in command.options if option.value]
    if valued:
        lines.append("        case $prev in")
        lines += [f"        {' | '.join(option.flags)}) {_offer(option)}; return ;;" for option in valued]
        lines.append("        esac")
    flags = " ".join(flag for option in command.options for flag in option.flags)
    lines.append(f"        options='{' '.join(filter(None, [flags, more]))}'")
    place = command.place
    lines.append(f"        positional=({_offer(place) if place else NOTHING})")
    return "\n".join((*lines, "        ;;"))


def _offer(argument: Argument) -> str:
    listed = " list" if argument.listed else ""
    if argument.source is Source.DEVICES:
        return f"_plimsoll_offer_devices{listed}"
    if argument.source is Source.WORDS:
        lines = "\\n".join(argument.words)
        return f"_plimsoll_offer $'{lines}'{listed}"
    if argument.source is Source.FILES:
        return " ".join(("_plimsoll_offer_files", *argument.words))
    return NOTHING
