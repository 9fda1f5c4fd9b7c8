"""`plimsoll completion bash`: a script that completes plimsoll's words in a shell."""

from argparse import ArgumentParser, Namespace

HELP = "print completion for a shell"


def add(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell that is to read it")


def run(options: Namespace) -> int:
    return 0 if options.shell else 1
