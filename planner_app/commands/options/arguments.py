"""Arguments that several commands share."""

from argparse import ArgumentParser

MODEL_HELP = "a .keras, .h5 or .json file, a SavedModel folder of Keras 2, or file.py:function (runs that code)"


def add_model(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("--custom", metavar="FILE.py", help="your Python file with the model's own classes")


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs: one JSON object on standard output")
