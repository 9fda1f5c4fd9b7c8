"""How a batch is shared out: to the replicas of this host, step by step."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from planner_app.train.data.shares import Share, cut, shares, size_of

Step = list[Share]  # one share for each replica


class Spread:
    """Attributes:
    replicas: Of all hosts.
    """

    def __init__(self, strategy: Any, hosts: int, worker: int | None) -> None:
        self._strategy = strategy
        self.replicas = int(strategy.num_replicas_in_sync)
        self._local = self.replicas // hosts
        self._first = (worker or 0) * self._local

    def steps(self, batch: Any, at_once: int) -> list[Step]:
        return shares(size_of(batch), at_once, self.replicas)

    def local_steps(self, batch: Any, at_once: int) -> list[Step]:
        """For this host's replicas alone, which then see the whole batch."""
        return shares(size_of(batch), at_once, self._local)

    def data(self, batch: Any, step: Step) -> Any:
        """Each replica of this host its own share."""
        if self.replicas == 1:
            return cut(batch, step[0].start, step[0].stop)
        return self._values(lambda n: cut(batch, step[n].start, step[n].stop))

    def local_data(self, batch: Any, step: Step) -> Any:
        if self.replicas == 1:
            return self.data(batch, step)
        return self._values(lambda n: cut(batch, step[n - self._first].start, step[n - self._first].stop))

    def weights(self, step: Step) -> Any:
        """Each share's part of the batch."""
        if self.replicas == 1:
            return tf.constant(step[0].weight, tf.float32)
        return self._values(lambda replica: tf.constant(step[replica].weight, tf.float32))

    def results(self, value: Any) -> Sequence[Any]:
        """Of this host's replicas, one by one."""
        return tuple(self._strategy.experimental_local_results(value))

    def _values(self, of: Callable[[int], Any]) -> Any:
        return self._strategy.experimental_distribute_values_from_function(
            lambda context: of(context.replica_id_in_sync_group)
        )
