"""Which of a step's logs are results of metrics, and which are the model's own numbers.

A metric's result is of all samples so far, whatever name a step gives it: the last share's counts. A number of the
model's own is of one share: the parts of all shares are summed.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf
from keras.src.trainers.compile_utils import CompileMetrics

from planner_app.train.accumulate.ledger import Ledger, Result, active


@dataclass(frozen=True, slots=True)
class LogKinds:
    """Attributes:
    own: Names of the model's own numbers.
    results: By name, what is a metric's result as it is. What is computed from one is in neither.
    """

    own: frozenset[str] = frozenset()
    results: Mapping[str, Result] = field(default_factory=dict)

    def now(self) -> dict[str, Any]:
        """Results of metrics over all replicas, of which a step knows only its own. Outside of a step."""
        return {name: result.now() for name, result in self.results.items()}


@contextmanager
def heard(model: Any) -> Iterator[None]:
    """Around what is traced: the results of the model's metrics are told the ledger."""
    metrics = [each for each in _metrics(model) if "result" not in vars(each)]
    for metric in metrics:
        object.__setattr__(metric, "result", _telling(metric))
    try:
        yield
    finally:
        for metric in metrics:
            object.__delattr__(metric, "result")


def kinds_of(logs: Any, ledger: Ledger) -> LogKinds:
    """Of logs as a step has returned them."""
    if not isinstance(logs, dict):
        return LogKinds()
    found = {name: next((each for each in ledger.results if each.value is logs[name]), None) for name in logs}
    known = {id(each.value) for each in ledger.results}
    own = (name for name, result in found.items() if result is None and not _comes_from(logs[name], known))
    results = {name: replace(result, value=None) for name, result in found.items() if result is not None}
    return LogKinds(frozenset(own), results)


def _metrics(model: Any) -> list[Any]:
    """Each once, also those inside others: what was compiled is a group."""
    found: dict[int, Any] = {}
    queue = [*model.metrics, *model._metrics, getattr(model, "_loss_tracker", None)]
    while queue:
        each = queue.pop()
        if each is not None and id(each) not in found:
            found[id(each)] = each
            queue += each.metrics if isinstance(each, CompileMetrics) else each._metrics
    return list(found.values())


def _telling(metric: Any) -> Any:
    real = metric.result

    def result(*args: Any, **kwargs: Any) -> Any:
        value, ledger = real(*args, **kwargs), active()
        if ledger is not None:
            parts = value.items() if isinstance(value, dict) else [(None, value)]
            ledger.results += [Result(metric, key, part) for key, part in parts]
        return value

    return result


def _comes_from(value: Any, known: set[int]) -> bool:
    """Whether a tensor of a graph is computed from one of these, as a perplexity is from a mean loss."""
    queue, seen = [value], {id(value)}
    while queue:
        each = queue.pop()
        if id(each) in known:
            return True
        new = [part for part in each.op.inputs if id(part) not in seen] if tf.is_symbolic_tensor(each) else []
        seen.update(map(id, new))
        queue += new
    return False
