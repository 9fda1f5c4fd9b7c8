"""Programs and what the compiler said of them, kept on disk: the same program for the same GPU is compiled once."""

import hashlib
from collections.abc import Mapping

from planner_app.core.compile.check import Compiled, Program
from planner_app.core.compile.line import Line
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Jit, StepSetup
from planner_app.files.kept.traces import TraceCache, trace_key

FORMAT = "plimsoll compiled 1"
COMPILER = ("jax", "jaxlib", "jax-cuda12-pjrt")


class CompileCache(TraceCache):
    """In the traces' folder, under the same rules: what does not match its digest is made anew."""

    def program(self, key: str) -> Program | None:
        return self._read(key, "program", Program)

    def compiled(self, key: str) -> Compiled | None:
        return self._read(key, "compiled", Compiled)

    def line(self, key: str) -> Line:
        return self._read(key, "line", Line) or Line()

    def keep_line(self, key: str, line: Line) -> None:
        """Together with what another process has compiled in the meantime."""
        for anchor in self.line(key).anchors:
            if line.anchor(anchor.batch) is None:
                line = line.with_anchor(anchor)
        self._write(key, "line", line)

    def keep_program(self, key: str, program: Program) -> None:
        self._write(key, "program", program)
        self._prune()

    def keep_compiled(self, key: str, compiled: Compiled) -> None:
        self._write(key, "compiled", compiled)


def program_key(model: CheckedModel, step: StepSetup, batch: int, jit: Jit, versions: Mapping[str, str]) -> str:
    """A program depends on what its trace depends on, and on the batch; it names the compiler that will be asked."""
    compiler = (versions.get(name, "") for name in COMPILER)
    return _digest(FORMAT, trace_key(model, step, versions), str(batch), str(jit), *compiler)


def line_key(model: CheckedModel, step: StepSetup, jit: Jit, target: str, versions: Mapping[str, str]) -> str:
    """A line's programs differ in the batch alone."""
    compiler = (versions.get(name, "") for name in COMPILER)
    return _digest(FORMAT, "line", trace_key(model, step, versions), str(jit), target, *compiler)


def compiled_key(program: str, target: str, versions: Mapping[str, str]) -> str:
    """What a compiler makes of a program depends on its digest, the target and the compiler."""
    return _digest(FORMAT, program, target, *(f"{name} {versions[name]}" for name in sorted(versions)))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]
