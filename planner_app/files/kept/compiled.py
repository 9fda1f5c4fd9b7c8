"""A disk cache of XLA programs and compile results: the same program is compiled once for each GPU."""

import hashlib
from collections.abc import Mapping

import msgspec

from planner_app.core.compile.check import Compiled, Program
from planner_app.core.compile.line import NO_LINE, Line
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Jit, StepSetup
from planner_app.files.kept.traces import TraceCache, trace_key

FORMAT = "plimsoll compiled 1"
COMPILER = ("jax", "jaxlib", "jax-cuda12-pjrt")
MODEL_CHARACTERS = 20


class CompileCache(TraceCache):
    """Shares the trace cache's folder and rules: an entry that does not match its digest is recomputed."""

    def program(self, key: str) -> Program | None:
        return self._read(key, "program", Program)

    def compiled(self, key: str) -> Compiled | None:
        return self._read(key, "compiled", Compiled)

    def line(self, key: str) -> Line:
        return self._read(key, "line", Line) or NO_LINE

    def lines(self, of_model: str) -> dict[str, Line]:
        """All lines of a model, by key."""
        keys = [file.stem for file in self.folder.glob(f"{of_model}*.line")]
        return {key: self.line(key) for key in keys}

    def keep_line(self, key: str, line: Line) -> Line:
        """Merge with what another process has compiled in the meantime."""
        for anchor in self.line(key).anchors:
            if line.anchor(anchor.batch) is None:
                line = line.with_anchor(anchor)
        self._write(key, "line", line)
        return line

    def keep_program(self, key: str, program: Program) -> None:
        self._write(key, "program", program)
        self._prune()

    def keep_compiled(self, key: str, compiled: Compiled) -> None:
        self._write(key, "compiled", compiled)


def program_key(model: CheckedModel, step: StepSetup, batch: int, jit: Jit, versions: Mapping[str, str]) -> str:
    """A program depends on what its trace depends on, the batch, and the compiler."""
    compiler = (versions.get(name, "") for name in COMPILER)
    return _digest(FORMAT, trace_key(model, step, versions), str(batch), str(jit), *compiler)


def model_key(model: CheckedModel, versions: Mapping[str, str]) -> str:
    """What the keys of all lines of a model begin with."""
    compiler = (versions.get(name, "") for name in COMPILER)
    return _digest(FORMAT, "line", trace_key(model, StepSetup(), versions), *compiler)[:MODEL_CHARACTERS]


def line_key(of_model: str, step: StepSetup, jit: Jit, target: str) -> str:
    """The programs of a line differ only in the batch."""
    return of_model + _digest(msgspec.json.encode(step).hex(), str(jit), target)[:MODEL_CHARACTERS]


def compiled_key(program: str, target: str, versions: Mapping[str, str]) -> str:
    """A compile result depends on the program's digest, the target and the compiler."""
    return _digest(FORMAT, program, target, *(f"{name} {versions[name]}" for name in sorted(versions)))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]
