"""A jaxpr, operation by operation, as a `StepTrace`: calls are inlined, loops are one operation with its scratch."""

from __future__ import annotations

from math import prod
from typing import Any

from planner_app.core.model.trace import Access, Operation, Role, Size, Source, StepTrace, Value, Variable
from planner_app.core.sharding.mesh import MODEL, Mesh
from planner_app.core.sharding.placement import Placed
from planner_app.worker.jax.naming import STEP, Names, phase
from planner_app.worker.kernels import cublas

# What the model of fusion knows under TensorFlow's names.
KINDS = {
    "dot_general": "BatchMatMulV2", "ragged_dot": "BatchMatMulV2", "conv_general_dilated": "Conv2D",
    "reduce_sum": "Sum", "reduce_max": "Max", "reduce_min": "Min", "reduce_prod": "Prod", "reduce_and": "All",
    "reduce_or": "Any", "argmax": "ArgMax", "argmin": "ArgMin", "cumsum": "Cumsum", "cumprod": "Cumprod",
    "cumlogsumexp": "Cumsum", "cummax": "Cumsum", "gather": "GatherV2", "dynamic_slice": "Slice",
    "scatter-add": "UnsortedSegmentSum", "scatter_add": "UnsortedSegmentSum", "scatter": "TensorScatterUpdate",
    "dynamic_update_slice": "XlaDynamicUpdateSlice", "sort": "TopKV2", "top_k": "TopKV2",
    "reduce_window_max": "MaxPool", "reduce_window_sum": "AvgPool", "reduce_window": "MaxPool",
    "select_and_scatter_add": "MaxPoolGrad", "select_and_gather_add": "MaxPoolGrad", "concatenate": "ConcatV2",
    "fft": "FFT", "cholesky": "Qr", "qr": "Qr", "svd": "Svd", "eigh": "Svd", "triangular_solve": "Qr",
    "custom_call": "Unique", "ffi_call": "Unique", "exp": "Exp", "exp2": "Exp", "expm1": "Expm1", "log": "Log",
    "log1p": "Log1p", "tanh": "Tanh", "logistic": "Sigmoid", "erf": "Erf", "erfc": "Erfc", "erf_inv": "Erf",
    "pow": "Pow", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "cbrt": "Sqrt", "div": "RealDiv", "rem": "FloorMod", "sin": "Sin",
    "cos": "Cos", "tan": "Tan", "atan2": "Atan2", "random_bits": "Exp", "threefry2x32": "Exp", "transpose": "Transpose",
}  # fmt: skip
RENAMING = frozenset(
    "reshape squeeze expand_dims copy copy_p stop_gradient optimization_barrier sharding_constraint reduce_precision "
    "bitcast_convert_type name".split()
)
LOOPS = frozenset({"scan", "while", "cond"})
LOOP = "TensorListStack"  # a kernel of its own whose results are all in memory
INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr")


class Follower:
    """Attributes of values are kept in lists by number, as in a trace."""

    def __init__(self, names: Names, batch: int, prime: int, mesh: Mesh, capability: float) -> None:
        self._names, self._batch, self._prime, self._mesh = names, batch, prime, mesh
        self._capability = capability
        self._sources: list[Source] = []
        self._operations: list[Operation] = []
        self._values: list[Value] = []
        self._variables: list[Variable] = []
        self._sizes: dict[Size, int] = {Size(): 0}
        self._cut: list[int] = []  # how many shares of each value there are along the model axis
        self._of_variable: dict[int, Placed] = {}
        self._shares: dict[tuple[int, ...], float] = {}  # of values that have the shape of a weight
        self._constant_bytes = 0

    def variable(self, name: str, layer: str, role: Role, placed: Placed) -> None:
        self._add_variable(name, layer, role, Size(placed.device_bytes))
        self._of_variable[len(self._variables) - 1] = placed
        whole = placed.variable.bytes
        if role is Role.WEIGHT and whole:
            shape = placed.variable.shape
            self._shares[shape] = max(self._shares.get(shape, 0.0), placed.device_bytes / whole)

    def input(self, name: str, spec: Any) -> None:
        self._add_variable(name, "", Role.INPUT, self._size(spec.shape, spec.dtype.itemsize))

    def follow(self, closed: Any) -> None:
        jaxpr, known = closed.jaxpr, dict[Any, int]()
        for number, place in enumerate(jaxpr.invars):
            value = self._value(place.aval, share=self._share_of(number))
            placed = self._of_variable.get(number)
            self._cut[value] = self._mesh.model if placed is not None and MODEL in placed.axes else 1
            self._run("ReadVariableOp", f"{STEP}/read", (), (value,), Access.READ, number)
            known[place] = value
        self._constants(jaxpr, closed.consts, known)
        self._equations(jaxpr, known, "")
        # The results are the logs, then the state in the order it was given.
        states = jaxpr.outvars[len(jaxpr.outvars) - len(self._of_variable) :]
        for number, place in enumerate(states):
            if place in known and place is not jaxpr.invars[number]:
                self._run("AssignVariableOp", f"{STEP}/write", (known[place],), (), Access.REPLACE, number)

    def trace(self, made: Any, warnings: tuple[str, ...]) -> StepTrace:
        return StepTrace(
            sources=tuple(self._sources),
            operations=tuple(self._operations),
            values=tuple(self._values),
            sizes=tuple(self._sizes),
            variables=tuple(self._variables),
            constant_bytes=self._constant_bytes,
            layers=self._names.layers,
            xla=True,
            warnings=warnings,
            only_batch=made.feed.batch or 0,
            trained=made.trained,
        )

    def _equations(self, jaxpr: Any, known: dict[Any, int], outer: str) -> None:
        for equation in jaxpr.eqns:
            scope = "/".join(filter(None, (outer, str(equation.source_info.name_stack))))
            inner = next((equation.params[key] for key in INNER if key in equation.params), None)
            if inner is not None and equation.primitive.name not in LOOPS:
                self._inline(equation, inner, known, scope)
            else:
                self._operation(equation, known, scope)

    def _inline(self, equation: Any, inner: Any, known: dict[Any, int], scope: str) -> None:
        jaxpr = getattr(inner, "jaxpr", inner)
        inside = dict[Any, int]()
        for place, given in zip(jaxpr.invars, equation.invars[-len(jaxpr.invars) :], strict=False):
            if (value := self._known(given, known)) is not None:
                inside[place] = value
        self._constants(jaxpr, getattr(inner, "consts", ()), inside)
        self._equations(jaxpr, inside, scope)
        for place, made in zip(equation.outvars, jaxpr.outvars, strict=False):
            value = self._known(made, inside)
            known[place] = self._value(place.aval) if value is None else value

    def _operation(self, equation: Any, known: dict[Any, int], scope: str) -> None:
        name, kind = f"{STEP}/{scope}/{equation.primitive.name}", equation.primitive.name
        reads = [value for given in equation.invars if (value := self._known(given, known)) is not None]
        cut = self._cut_of(equation, known)
        makes = []
        for place in equation.outvars:
            value = self._value(
                place.aval, reads[0] if kind in RENAMING and reads else -1, self._share(place.aval), cut
            )
            known[place] = value
            makes.append(value)
        if kind in LOOPS:
            makes.append(self._scratch(equation))
        elif kind == "dot_general" and cublas.is_product(*(sides := _sides(equation))):
            workspace = self._index(Size(cublas.workspace_bytes(self._capability)))
            first = cublas.from_batch(*sides, self._batch)
            makes.append(self._add_value(Value(workspace, scratch=True, from_batch=first)))
        told = LOOP if kind in LOOPS else KINDS.get(kind, "Identity" if kind in RENAMING else kind)
        self._run(told, name, tuple(dict.fromkeys(reads)), tuple(makes), work=self._work(equation))

    def _cut_of(self, equation: Any, known: dict[Any, int]) -> int:
        """Shares along the model axis: as many as the operands have that are not added up over."""
        if equation.primitive.name != "dot_general":
            whole = max((prod(v.aval.shape) for v in equation.outvars), default=0)
            like = [self._cut[value] for value, size in self._operands(equation, known) if 2 * size >= whole]
            return max(like, default=1)
        contracting = equation.params["dimension_numbers"][0]
        cuts = []
        for given, dims in zip(equation.invars, contracting, strict=True):
            value = self._known(given, known)
            placed = self._placed(value)
            if placed is None:
                cuts.append(1 if value is None else self._cut[value])
            elif MODEL in placed.axes and placed.axes.index(MODEL) in dims:
                return 1
            else:
                cuts.append(self._cut[value] if value is not None else 1)
        return max(cuts, default=1)

    def _operands(self, equation: Any, known: dict[Any, int]) -> list[tuple[int, int]]:
        return [
            (value, prod(given.aval.shape))
            for given in equation.invars
            if (value := self._known(given, known)) is not None
        ]

    def _placed(self, value: int | None) -> Placed | None:
        """The variable that a value is read from, through what only renames or converts it."""
        return None if value is None else self._of_variable.get(self._origin(value))

    def _origin(self, value: int) -> int:
        """The first values are the variables, in their order."""
        while self._values[value].alias >= 0:
            value = self._values[value].alias
        return value

    def _scratch(self, equation: Any) -> int:
        """What a loop's body has in memory at once, at most: the results of one round."""
        bodies = [each for key in ("jaxpr", "body_jaxpr") if (each := equation.params.get(key)) is not None]
        bodies += list(equation.params.get("branches", ()))
        rounds = [
            sum(prod(v.aval.shape) * v.aval.dtype.itemsize for e in body.jaxpr.eqns for v in e.outvars)
            for body in bodies
        ]
        return self._add_value(Value(self._index(self._size((max(rounds, default=0),), 1)), scratch=True))

    def _work(self, equation: Any) -> int:
        made = equation.outvars[0].aval if equation.outvars else None
        if made is None or not hasattr(made, "shape"):
            return 0
        each, name = 1, equation.primitive.name
        if name == "dot_general":
            contracted = equation.params["dimension_numbers"][0][0]
            each = 2 * prod(equation.invars[0].aval.shape[dim] for dim in contracted)
        elif name == "conv_general_dilated":
            filters = equation.invars[1].aval.shape
            channels = filters[equation.params["dimension_numbers"].rhs_spec[0]]
            each = 2 * prod(filters) // max(channels, 1)
        return self._index(self._size(made.shape, each))

    def _run(
        self,
        kind: str,
        name: str,
        reads: tuple[int, ...],
        makes: tuple[int, ...],
        access: Access = Access.NONE,
        variable: int = -1,
        work: int = 0,
    ) -> None:
        self._sources.append(Source(name, kind, self._names.layer(name), phase(name)))
        self._operations.append(
            Operation(len(self._sources) - 1, reads, makes, access=access, variable=variable, work=work)
        )

    def _constants(self, jaxpr: Any, consts: Any, known: dict[Any, int]) -> None:
        for place, constant in zip(jaxpr.constvars, consts, strict=False):
            known[place] = self._add_value(Value(self._index(Size()), folded=True))
            self._constant_bytes += int(getattr(constant, "nbytes", 0))
            self._run("Const", f"{STEP}/constant", (), (known[place],))

    def _known(self, given: Any, known: dict[Any, int]) -> int | None:
        """None for a number written into the step."""
        return None if hasattr(given, "val") else known.get(given)

    def _value(self, aval: Any, alias: int = -1, share: float = 1.0, cut: int = 1) -> int:
        shape, item = getattr(aval, "shape", ()), getattr(getattr(aval, "dtype", None), "itemsize", 4)
        size = self._size(shape, item)
        if size.slope or size.square:
            size = Size(0, -(-size.slope // cut), -(-size.square // cut))
        elif share != 1.0:
            size = Size(int(size.constant * share))
        number = self._add_value(Value(self._index(size), alias))
        self._cut[number] = cut
        return number

    def _add_value(self, value: Value) -> int:
        self._values.append(value)
        self._cut.append(1)
        return len(self._values) - 1

    def _share_of(self, variable: int) -> float:
        placed = self._of_variable.get(variable)
        return placed.device_bytes / placed.variable.bytes if placed is not None and placed.variable.bytes else 1.0

    def _share(self, aval: Any) -> float:
        return self._shares.get(tuple(getattr(aval, "shape", ())), 1.0)

    def _add_variable(self, name: str, layer: str, role: Role, size: Size) -> None:
        self._variables.append(Variable(name, self._index(size), role, layer))

    def _index(self, size: Size) -> int:
        return self._sizes.setdefault(size, len(self._sizes))

    def _size(self, shape: tuple[int, ...], item_bytes: int) -> Size:
        """As a function of the batch, by the prime in it that no other size of the model has."""
        total, elements, times = prod(shape) * item_bytes, prod(shape), 0
        while elements and not elements % self._prime:
            elements, times = elements // self._prime, times + 1
        if not times:
            return Size(total)
        if times == 1:
            return Size(0, -(-total // self._batch))
        return Size(0, 0, -(-total // self._batch**2))


def _sides(product: Any) -> tuple[int, int, int]:
    """Rows, columns, and what is summed over."""
    (summed, summed_right), (shared, shared_right) = product.params["dimension_numbers"]
    left, right = (each.aval.shape for each in product.invars)
    rows = prod(size for dim, size in enumerate(left) if dim not in (*summed, *shared))
    columns = prod(size for dim, size in enumerate(right) if dim not in (*summed_right, *shared_right))
    return rows, columns, prod(left[dim] for dim in summed)
