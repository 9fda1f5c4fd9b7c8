"""Arguments that several commands share."""

import os
from argparse import ArgumentParser

from planner_app.jobs import interpreter

MODEL_HELP = "a .keras, .h5 or .json file, a SavedModel folder of Keras 2, or file.py:function (runs that code)"


def add_model(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    add_code(parser)


def add_code(parser: ArgumentParser) -> None:
    """The user's code that a model needs besides its own file."""
    add_classes(parser)
    parser.add_argument(
        "--data",
        metavar="FILE.py:FUNCTION",
        help="your function that returns one batch of training data (runs that code)",
    )
    parser.add_argument(
        "--python",
        metavar="PYTHON",
        type=_for_workers,
        help="a Python with the TensorFlow and Keras that the model is trained with; default: this one",
    )


def add_classes(parser: ArgumentParser) -> None:
    """Where the classes come from that a saved model names."""
    parser.add_argument("--custom", metavar="FILE.py", help="your Python file with the model's own classes")
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="an installed package whose classes the model may use, such as keras_hub",
    )


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")


def _for_workers(python: str) -> str:
    """Whatever starts a worker looks there."""
    os.environ[interpreter.VARIABLE] = python
    return python
