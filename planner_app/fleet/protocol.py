"""The language of the driver, the process that talks to Ray: JSON lines, both ways.

    ->  {"type": "Submit", "work": {"name": "3", "entry": "module:function", "request": {...}, "needs": {...}}}
    <-  {"type": "Heard", "name": "3", "node": "gpu-server", "event": {"type": "Progress", ...}}
    <-  {"type": "Again", "name": "3", "reason": "gpu-server has died: tried again, attempt 2 of 3."}
    <-  {"type": "Ended", "name": "3", "node": "gpu-server", "event": {"type": "Finished", "result": {...}}}

Each piece of work ends exactly once. When the driver's input ends, it stops everything on all nodes and leaves.
"""

from msgspec import Raw, Struct

from planner_app.jobs.protocol import Failed, Finished, Progress


class Needs(Struct, frozen=True, kw_only=True):
    """What a node must have free.

    Attributes:
        kind: An accelerator type of Ray's, as in "L4", or a resource that nodes were started with; "" for any.
        gpus: All of one node.
        node: The number of a node, to run on that one only.
        cpus: 0 for a question that takes no time.
    """

    kind: str = ""
    gpus: int = 0
    node: str = ""
    cpus: float = 1


class Work(Struct, frozen=True, kw_only=True):
    """Attributes:
    name: Of this piece of work, different from all others.
    title: What messages call it.
    entry: The function to call on the node, as `module:function`.
    request: For that function, as JSON.
    tries: How often it is begun, since a node that dies says nothing about the work.
    """

    name: str
    title: str
    entry: str
    request: Raw
    needs: Needs = Needs()
    tries: int = 3


class Node(Struct, frozen=True, kw_only=True):
    """One machine of the cluster, as Ray describes it.

    Attributes:
        number: Ray's name for it, unique.
        kinds: Accelerator types, and resources that the node was started with.
    """

    number: str
    host: str
    address: str
    cpus: float = 0
    gpus: float = 0
    memory_bytes: int = 0
    kinds: tuple[str, ...] = ()


class Submit(Struct, frozen=True, kw_only=True, tag=True):
    work: Work


class ListNodes(Struct, frozen=True, kw_only=True, tag=True):
    pass


class Stop(Struct, frozen=True, kw_only=True, tag=True):
    """Stop all work. Each piece of it ends, with the error "Cancelled"."""


class Connected(Struct, frozen=True, kw_only=True, tag=True):
    pass


class Refused(Struct, frozen=True, kw_only=True, tag=True):
    reason: str


class Nodes(Struct, frozen=True, kw_only=True, tag=True):
    nodes: tuple[Node, ...]


class Heard(Struct, frozen=True, kw_only=True, tag=True):
    name: str
    node: str
    event: Progress


class Again(Struct, frozen=True, kw_only=True, tag=True):
    name: str
    reason: str


class Ended(Struct, frozen=True, kw_only=True, tag=True):
    """Attributes:
    attempts: How often it was begun.
    """

    name: str
    node: str
    event: Finished | Failed
    attempts: int = 1


Asked = Submit | ListNodes | Stop
Answer = Connected | Refused | Nodes | Heard | Again | Ended
