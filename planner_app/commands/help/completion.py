"""`plimsoll completion bash`: a script that completes commands, options, devices and files on TAB.

Have your shell read it when it starts. bash, in ~/.bashrc: source <(plimsoll completion bash). zsh, in ~/.zshrc after
compinit: source <(plimsoll completion zsh). fish, once: plimsoll completion fish >
~/.config/fish/completions/plimsoll.fish.
"""

import sys
from argparse import ArgumentParser, Namespace

from planner_app.files.devices.catalogue import catalogue

HELP = "print a completion script for bash, zsh or fish"
SHELLS = ("bash", "zsh", "fish")


def add(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell to complete for")


def run(options: Namespace) -> int:
    sys.stdout.write(script(options.shell))
    return 0


def script(shell: str) -> str:
    """Commands, options and choices come from the parsers, devices from the catalogue."""
    from planner_app.commands.help.reference import bash, fish, values, zsh  # imports all commands, including this one

    write = {"bash": bash.bash, "zsh": zsh.zsh, "fish": fish.fish}[shell]
    devices = [device.name for device in catalogue().search("") if device.slice_of is None]
    return write(values.app(), values.read(), devices)
