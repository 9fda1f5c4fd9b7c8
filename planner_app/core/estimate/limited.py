"""Whether a batch runs within an allocator's limit, found by replaying every chunk.

Bytes in use alone don't decide that: memory runs out when no hole is large enough, however many there are.
"""

from planner_app.core.estimate.curve import largest_within
from planner_app.core.estimate.need import level_at
from planner_app.core.replay.allocate import allocate
from planner_app.core.replay.memory import Memory


def gets_through(memory: Memory, batch: int, limit_bytes: int) -> bool:
    """In one region of the whole limit, as on a GPU."""
    buffers = memory.buffers(batch)
    return allocate(memory.trace_at(batch), buffers, batch, growth=False, limit_bytes=limit_bytes) is not None


def largest_through(memory: Memory, limit_bytes: int) -> int:
    """The largest batch that runs, 0 for none; found by bisection below what fits by bytes in use."""
    most = largest_within(lambda batch: level_at(memory.point(batch)), limit_bytes)
    if memory.xla or most.bound or not most.batch:
        return most.batch
    below, above = 0, most.batch + 1
    middle = most.batch
    while above - below > 1:
        if gets_through(memory, middle, limit_bytes):
            below = middle
        else:
            above = middle
        middle = (below + above) // 2
    return below
