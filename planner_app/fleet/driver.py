"""The process that talks to Ray: `python driver.py ADDRESS`, with the language of `protocol` on its pipes.

A process of its own, because Ray ends the process it is imported in when the cluster's head goes away, and takes over
its signals and its output.
"""

import logging
import os
import queue
import socket
import sys
import threading
import time
import traceback
from typing import Any, BinaryIO

import msgspec

from planner_app.fleet.protocol import (
    Again,
    Answer,
    Asked,
    Connected,
    Ended,
    Heard,
    ListNodes,
    Needs,
    Node,
    Nodes,
    Refused,
    Stop,
    Work,
)
from planner_app.fleet.task import work as on_node
from planner_app.jobs.protocol import Failed, Finished, Progress

TICK_SECONDS = 0.2
SILENCE_SECONDS = 60.0  # twelve times what a node that lives lets pass
ANSWER_SECONDS = 10.0  # for the head's port to answer
UNKNOWN_SECONDS = 60.0  # for a node of the kind asked for to join
KIND = "accelerator_type:"  # how Ray's resources begin that name an accelerator
# What Ray itself calls resources; anything else was given to a node by whoever started it.
OWN = ("CPU", "GPU", "memory", "object_store_memory")
ELSEWHERE = ("WorkerError", "DeviceError")  # of a node, not of the model: another node may do better
_EVENT: msgspec.json.Decoder[Progress | Finished | Failed] = msgspec.json.Decoder(Progress | Finished | Failed)


class Driver:
    def __init__(self, ray: Any, out: BinaryIO) -> None:
        self._ray, self._out = ray, out
        self._remote = ray.remote(max_retries=0, num_returns="streaming")(on_node)
        self._writing = threading.Lock()
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def tell(self, answer: Answer) -> None:
        with self._writing:
            self._out.write(msgspec.json.encode(answer) + b"\n")
            self._out.flush()

    def hear(self, asked: Asked) -> None:
        if isinstance(asked, ListNodes):
            self.tell(Nodes(nodes=self._nodes()))
        elif isinstance(asked, Stop):
            self.stop()
        else:
            thread = threading.Thread(target=self._see_through, args=(asked.work,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self, seconds: float = 8.0) -> None:
        self._stopped.set()
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        self._threads.clear()
        self._stopped = threading.Event()

    def _nodes(self) -> tuple[Node, ...]:
        return tuple(_node(each) for each in self._ray.nodes() if each["Alive"])

    def _see_through(self, work: Work) -> None:
        """Until it has ended, on whatever node."""
        stopped, avoided = self._stopped, set[str]()
        for attempt in range(1, work.tries + 1):
            node, event, reason = self._attempt(work, avoided, stopped)
            last = attempt == work.tries or stopped.is_set()
            if event is not None and (last or not self._elsewhere(event, work.needs, node, avoided)):
                return self.tell(Ended(name=work.name, node=node, event=event, attempts=attempt))
            reason = reason or (f"{node}: {event.reason}" if isinstance(event, Failed) else "")
            if last:
                break
            self.tell(
                Again(name=work.name, reason=f"{work.title}: {reason} Trying again, {attempt + 1} of {work.tries}.")
            )
        lost = Failed(error="WorkerError", reason=reason + f" It was tried {attempt} times." * (attempt > 1))
        return self.tell(Ended(name=work.name, node=node, event=lost, attempts=attempt))

    def _elsewhere(self, event: Finished | Failed, needs: Needs, node: str, avoided: set[str]) -> bool:
        """Whether it is worth trying on another node, which is noted."""
        if not isinstance(event, Failed) or event.error not in ELSEWHERE or needs.node:
            return False
        fitting = [each for each in self._nodes() if _can(each, needs)]
        avoided |= {each.number for each in fitting if each.host == node or each.number == node}
        return any(each.number not in avoided for each in fitting)

    def _attempt(
        self, work: Work, avoided: set[str], stopped: threading.Event
    ) -> tuple[str, Finished | Failed | None, str]:
        """The node, and how it ended there: its last event, or why there is none."""
        ray = self._ray
        generator = self._remote.options(**_options(work.needs, avoided)).remote(work.entry, bytes(work.request))
        node, heard = "", time.monotonic()
        try:
            while True:
                if stopped.is_set():
                    self._end(generator)
                    return node, Failed(error="Cancelled", reason="Cancelled."), ""
                ready, _ = ray.wait([generator], timeout=TICK_SECONDS)
                if not ready:
                    quiet = time.monotonic() - heard
                    if node and quiet > SILENCE_SECONDS:
                        self._end(generator)
                        return node, None, f"{node} sent nothing for {SILENCE_SECONDS:.0f} s."
                    if not node and quiet > UNKNOWN_SECONDS:
                        if not any(_can(each, work.needs) for each in self._nodes()):
                            self._end(generator)
                            return "", Failed(error="DeviceError", reason=_nobody(work.needs)), ""
                        heard = time.monotonic()  # all are busy
                    continue
                line, heard = ray.get(next(generator)), time.monotonic()
                if not node:
                    node = line.decode()
                elif line:
                    event = _EVENT.decode(line)
                    if not isinstance(event, Progress):
                        return node, event, ""
                    self.tell(Heard(name=work.name, node=node, event=event))
        except StopIteration:
            return node, None, f"{node or 'A node'} ended without an answer."
        except (ray.exceptions.RayError, RuntimeError) as error:
            return node, None, _sentence(error, node)

    def _end(self, generator: Any) -> None:
        """Asked first, so that folders are cleaned up; then killed."""
        for force in (False, True):
            try:
                self._ray.cancel(generator, force=force)
                until = time.monotonic() + 3.0
                while time.monotonic() < until:
                    ready, _ = self._ray.wait([generator], timeout=TICK_SECONDS)
                    if ready:
                        self._ray.get(next(generator))
            except Exception:  # it says how it ended, one way or another
                return


def _options(needs: Needs, avoided: set[str]) -> dict[str, Any]:
    from ray.util.accelerators import accelerators
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    options: dict[str, Any] = {"num_cpus": needs.cpus, "num_gpus": needs.gpus}
    known = {value for name, value in vars(accelerators).items() if name.isupper() and isinstance(value, str)}
    if needs.kind in known:
        options["accelerator_type"] = needs.kind
    elif needs.kind:
        options["resources"] = {needs.kind: 1}
    if needs.node:
        options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(needs.node, soft=False)
    elif avoided:
        options["label_selector"] = {"ray.io/node-id": f"!in({','.join(sorted(avoided))})"}
    return options


def _node(told: dict[str, Any]) -> Node:
    resources: dict[str, float] = told["Resources"]
    kinds = [name.removeprefix(KIND) for name in resources if name not in OWN and not name.startswith("node:")]
    return Node(
        number=told["NodeID"],
        host=told["NodeManagerHostname"],
        address=told["NodeManagerAddress"],
        cpus=resources.get("CPU", 0),
        gpus=resources.get("GPU", 0),
        memory_bytes=int(resources.get("memory", 0)),
        kinds=tuple(sorted(kinds)),
    )


def _can(node: Node, needs: Needs) -> bool:
    """Whether a node has it all, though perhaps not free at the moment."""
    fits = node.gpus >= needs.gpus and node.cpus >= needs.cpus
    return fits and needs.node in ("", node.number) and (not needs.kind or needs.kind in node.kinds)


def _nobody(needs: Needs) -> str:
    gpus = f"{needs.gpus} GPU{'s' * (needs.gpus > 1)}"
    wanted = [gpus] * bool(needs.gpus) + [f"the kind {needs.kind!r}"] * bool(needs.kind)
    return f"No node has {' of '.join(wanted) or 'a free CPU'}: `plimsoll fleet` lists what there is."


def _sentence(error: Exception, node: str) -> str:
    kind, where = type(error).__name__, node or "A node"
    if "No module named 'planner_app" in str(error):
        return f'{where} has no plimsoll: install it there with pip install "plimsoll[ray,tensorflow]".'
    if kind == "NodeDiedError":
        return f"{where} has died."
    if kind in ("WorkerCrashedError", "LocalRayletDiedError"):
        return f"Ray's process on {where} has died."
    if kind == "OutOfMemoryError":
        return f"{where} ran out of memory."
    return f"{where}: {kind}: {' '.join(str(error).split())[:200]}"


def main() -> int:
    out, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr
    os.dup2(2, 1)  # whatever Ray prints is not an answer
    address = sys.argv[1]
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "20")  # a minute by default
    try:
        import ray

        _check_listens(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    except Exception as error:
        traceback.print_exc()
        words = error.strerror if isinstance(error, OSError) else None
        said = " ".join(str(words or error).split())[:300]
        out.write(msgspec.json.encode(Refused(reason=said or type(error).__name__)) + b"\n")
        out.flush()
        return 1
    driver = Driver(ray, out)
    driver.tell(Connected())
    decoder: msgspec.json.Decoder[Asked] = msgspec.json.Decoder(Asked)
    asked: queue.Queue[Asked | None] = queue.Queue()
    threading.Thread(target=_read, args=(decoder, asked), daemon=True).start()
    while (each := asked.get()) is not None:
        driver.hear(each)
    driver.stop()
    ray.shutdown()
    return 0


def _check_listens(address: str) -> None:
    """Of HOST:PORT. Ray would find out after half a minute, and end this process with a line of its log.

    Raises:
        OSError: Nobody answers there.
    """
    host, _, port = address.rpartition(":")
    if host and "/" not in host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()


def _read(decoder: "msgspec.json.Decoder[Asked]", asked: "queue.Queue[Asked | None]") -> None:
    for line in sys.stdin.buffer:
        asked.put(decoder.decode(line))
    asked.put(None)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
