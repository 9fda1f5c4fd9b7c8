"""HLO as TensorFlow writes it, made into what the compiler's own reader takes.

HLO lets an operation have operands of several floating-point types, StableHLO does not; nor does that have a `copy`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

INSTRUCTION = re.compile(
    r"^(?P<left>\s+(?:ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>\w+)\[[^ ]* (?P<operation>[\w\-]+)\()"
    r"(?P<operands>[^()]*)(?P<rest>\).*)$"
)
OPERAND = re.compile(r"^(?P<type>\w+)(?P<shape>\[[\d,]*\](?:\{[^}]*\})?) (?P<name>%?[\w.\-]+)$")
FLOATS = frozenset({"f64", "f32", "f16", "bf16"})
OF_ONE_TYPE = frozenset(
    "select add subtract multiply divide maximum minimum power atan2 remainder clamp concatenate pad "
    "dynamic-update-slice".split()
)


def readable(text: str) -> str:
    """The same program. A reshape to the same shape is a copy."""
    return "\n".join(_lines(text.replace(" copy(", " reshape(")))


def _lines(text: str) -> Iterator[str]:
    """With a conversion before each operation that has operands of several floating-point types."""
    for line in text.splitlines():
        found = INSTRUCTION.match(line)
        if found is None or found["operation"] not in OF_ONE_TYPE or found["type"] not in FLOATS:
            yield line
            continue
        operands = found["operands"].split(", ")
        for place, text_ in enumerate(operands):
            operand = OPERAND.match(text_)
            if operand and operand["type"] in FLOATS and operand["type"] != found["type"]:
                converted = f"{found['type']}{operand['shape']}"
                name = f"%{found['name']}.operand{place}"
                yield f"  {name} = {converted} convert({text_})"
                operands[place] = f"{converted} {name}"
        yield f"{found['left']}{', '.join(operands)}{found['rest']}"
