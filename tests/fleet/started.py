"""A real Ray cluster on this machine: one head and a node for each kind, to be killed."""

import os
import signal
import time
from collections.abc import Sequence
from typing import Any

import psutil
from ray.cluster_utils import Cluster

STORE_BYTES = 80 << 20


class StartedCluster:
    """Nodes by the kind that stands in for a GPU's: a resource of that name."""

    def __init__(self, kinds: Sequence[str]) -> None:
        began = time.monotonic()
        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE_BYTES}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._nodes = {kind: self._add(kind) for kind in kinds}
        self.address: str = self._cluster.address
        self.start_seconds = time.monotonic() - began

    def kill(self, kind: str, *, all_of_it: bool) -> None:
        """SIGKILL to a node's raylet, or to every process below it too. A new node of that kind takes its place."""
        node = self._nodes[kind]
        raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
        for process in (raylet, *(raylet.children(recursive=True) if all_of_it else ())):
            _kill(process.pid)
        self._cluster.remove_node(node, allow_graceful=False)
        self._nodes[kind] = self._add(kind)

    def close(self) -> None:
        for node in (*self._nodes.values(), self._cluster.head_node):
            self._cluster.remove_node(node, allow_graceful=False)

    def _add(self, kind: str) -> Any:
        return self._cluster.add_node(num_cpus=1, resources={kind: 1}, object_store_memory=STORE_BYTES)


def workers(root: str) -> list[psutil.Process]:
    """The worker processes of this project, whoever has started them."""
    return [each for each in psutil.process_iter(["cmdline"]) if _is_worker(" ".join(each.info["cmdline"] or ()), root)]


def sessions(processes: Sequence[psutil.Process]) -> set[int]:
    found = set()
    for each in processes:
        try:
            found.add(os.getsid(each.pid))
        except ProcessLookupError:
            continue
    return found


def in_sessions(wanted: set[int]) -> list[int]:
    """Processes that belong to one of these sessions."""
    return [number for number in psutil.pids() if _session(number) in wanted]


def _session(number: int) -> int:
    try:
        return os.getsid(number) if psutil.Process(number).status() != psutil.STATUS_ZOMBIE else -1
    except (ProcessLookupError, psutil.Error):
        return -1


def _is_worker(command: str, root: str) -> bool:
    return root in command and ("planner_app/worker" in command or "planner_app.worker" in command)


def _kill(number: int) -> None:
    try:
        os.kill(number, signal.SIGKILL)
    except ProcessLookupError:
        return
