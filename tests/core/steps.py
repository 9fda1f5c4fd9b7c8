"""Training steps written by hand, a line for each operation, for tests that work out their memory by hand."""

from planner_app.core.model.trace import Access, Operation, Phase, Role, Size, Source, StepTrace, Value, Variable
from planner_app.core.replay.allocate import live
from planner_app.core.replay.liveness import Buffers, folded_values, replay

SETTLED = 3  # steps, as the estimate replays


class Step:
    """Grows by one operation at a time. Sizes are bytes, or a `Size` over the batch."""

    def __init__(self) -> None:
        self.sizes: dict[Size, int] = {Size(): 0}
        self.sources: list[Source] = []
        self.values: list[Value] = []
        self.rows: list[dict] = []
        self.variables: list[Variable] = []

    def variable(self, size: int | Size, role: Role = Role.WEIGHT, layer: str = "") -> int:
        self.variables.append(Variable(f"variable {len(self.variables)}", self._size(size), role, layer))
        return len(self.variables) - 1

    def value(self, size: int | Size = 0, **columns) -> int:
        self.values.append(Value(size=self._size(size), **columns))
        return len(self.values) - 1

    def run(self, kind: str, *reads: int, makes: tuple[int, ...] = (), after: tuple[int, ...] = (), **more) -> int:
        """An operation. `after` are operations it waits for besides those whose values it reads."""
        layer, phase = more.pop("layer", ""), more.pop("phase", Phase.FORWARD)
        name = more.pop("name", f"{kind}_{len(self.rows)}")
        more["work"] = self._size(more.pop("work", 0))
        self.sources.append(Source(name, kind, layer, phase, more.pop("rows", Size())))
        self.rows.append({"reads": reads, "makes": makes, "after": after, **more})
        return len(self.rows) - 1

    def make(self, kind: str, *reads: int, size: int | Size = 0, where: dict | None = None, **columns) -> int:
        """An operation that puts out one value. `where` goes to the operation, the rest to the value."""
        value = self.value(size, **columns)
        self.run(kind, *reads, makes=(value,), **(where or {}))
        return value

    def read(self, variable: int, access: Access = Access.READ) -> int:
        size = next(size for size, number in self.sizes.items() if number == self.variables[variable].size)
        value = self.value(size)
        self.run("ReadVariableOp", makes=(value,), access=access, variable=variable)
        return value

    def assign(self, variable: int, value: int, access: Access, **more) -> int:
        """Its first input is the variable's handle, its second what is assigned."""
        handle = self.make("VarHandleOp")
        return self.run("Assign", handle, value, access=access, variable=variable, **more)

    def trace(self, adding: int | None = None, **more) -> StepTrace:
        """`adding` is the first operation of the kind of step that only adds up gradients; the rest stand before it."""
        maker = {made: number for number, row in enumerate(self.rows) for made in row["makes"]}
        edges = [[*(maker[read] for read in row["reads"]), *row["after"]] for row in self.rows]
        operations = []
        for number, row in enumerate(self.rows):
            columns = {key: value for key, value in row.items() if key != "after"}
            then = tuple(later for later, earlier in enumerate(edges) for each in earlier if each == number)
            operations.append(Operation(number, then=then, waits=len(edges[number]), **columns))
        border = len(operations) if adding is None else adding
        return StepTrace(
            sources=tuple(self.sources),
            operations=tuple(operations[:border]),
            adding=tuple(operations[border:]),
            values=tuple(self.values),
            sizes=tuple(self.sizes),
            variables=tuple(self.variables),
            **more,
        )

    def _size(self, size: int | Size) -> int:
        size = size if isinstance(size, Size) else Size(size)
        return self.sizes.setdefault(size, len(self.sizes))


def replayed(trace: StepTrace, batch: int = 1, schedule: list[int] | None = None, steps: int = SETTLED) -> Buffers:
    return replay(trace, folded_values(trace, batch), schedule, steps)


def story(trace: StepTrace, batch: int = 1, schedule: list[int] | None = None, steps: int = SETTLED) -> list[int]:
    """The last step as bytes taken (above zero) and given back (below), in order."""
    buffers = replayed(trace, batch, schedule, steps)
    moved = buffers.moves[buffers.last_step :] if steps > 1 else buffers.moves[buffers.before :]
    return [_bytes(trace, buffers, move, batch) for move in moved]


def live_bytes(trace: StepTrace, batch: int = 1, schedule: list[int] | None = None) -> int:
    return live(trace, replayed(trace, batch, schedule), batch)[0]


def _bytes(trace: StepTrace, buffers: Buffers, move: int, batch: int) -> int:
    size = trace.sizes[buffers.size[move if move >= 0 else ~move]].at(batch)
    return size if move >= 0 else -size
