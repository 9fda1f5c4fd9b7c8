"""Several machines that train together, as TensorFlow's TF_CONFIG describes them:

    {"cluster": {"worker": ["gpu-1:2222", "gpu-2:2222"]}, "task": {"type": "worker", "index": 0}}

Every machine runs the same script, with the same description and its own index.
"""

import json
import re
from dataclasses import dataclass

from planner_app.core.plan.plan import ADDRESS
from planner_app.errors import PlanError

PORTS = range(1, 65536)
EXAMPLE = '{"cluster": {"worker": ["gpu-1:2222", "gpu-2:2222"]}, "task": {"type": "worker", "index": 0}}'


@dataclass(frozen=True, slots=True)
class Cluster:
    """The workers' addresses in order, and the index of this one; None if the description does not say."""

    workers: tuple[str, ...]
    index: int | None = None


def parse_hosts(text: str) -> tuple[str, ...]:
    """`gpu-1:2222,gpu-2:2222`, or a whole TF_CONFIG."""
    given = text.strip()
    if given.startswith("{"):
        return parse_tf_config(given).workers
    return _checked([part.strip() for part in given.split(",") if part.strip()])


def parse_tf_config(text: str) -> Cluster:
    """What TF_CONFIG says.

    Raises:
        PlanError: It is not such a description, or TensorFlow would accept it and hang.
    """
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"TF_CONFIG is not JSON: expected something like {EXAMPLE}.") from error
    cluster = read.get("cluster") if isinstance(read, dict) else None
    workers = cluster.get("worker") if isinstance(cluster, dict) else None
    if not isinstance(workers, list) or not all(isinstance(worker, str) for worker in workers):
        raise PlanError(f"TF_CONFIG names no workers: expected something like {EXAMPLE}.")
    others = sorted(str(name) for name in cluster if name not in ("worker", "chief")) if cluster else []
    if others:
        raise PlanError(f"TF_CONFIG has {', '.join(others)}: data-parallel training has workers only.")
    chief = cluster.get("chief", []) if cluster else []
    if not isinstance(chief, list) or len(chief) > 1 or not all(isinstance(each, str) for each in chief):
        raise PlanError("TF_CONFIG has more than one chief: expected one at most.")
    addresses = _checked([*chief, *workers])
    task = read.get("task", {})
    index = task.get("index") if isinstance(task, dict) else None
    if index is None:
        return Cluster(addresses)
    if not isinstance(index, int) or isinstance(index, bool):
        raise PlanError(f"The task's index in TF_CONFIG is {index!r}: expected an integer.")
    place = index + (len(chief) if task.get("type") == "worker" else 0)
    if not 0 <= place < len(addresses):
        raise PlanError(
            f"The task's index in TF_CONFIG is {index}, but there are {len(workers)} workers, counted from 0."
        )
    return Cluster(addresses, place)


def tf_config(workers: tuple[str, ...], index: int) -> str:
    """The description for one of the workers."""
    if not 0 <= index < len(workers):
        raise PlanError(f"There is no worker {index}: the plan has {len(workers)} hosts, counted from 0.")
    return json.dumps({"cluster": {"worker": list(workers)}, "task": {"type": "worker", "index": index}})


def _checked(addresses: list[str]) -> tuple[str, ...]:
    if not addresses:
        raise PlanError("No host is named: expected addresses with a port, as in gpu-1:2222,gpu-2:2222.")
    for address in addresses:
        if not re.fullmatch(ADDRESS, address, re.ASCII):
            raise PlanError(f"{address[:80]!r} is not an address: expected a host and a port, as in gpu-1:2222.")
        if int(address.rpartition(":")[2]) not in PORTS:
            raise PlanError(f"{address!r} has an invalid port: expected one from 1 to 65535.")
    twice = next((address for address in addresses if addresses.count(address) > 1), None)
    if twice:
        raise PlanError(f"{twice} is named twice: every worker needs an address of its own.")
    return tuple(addresses)
