"""What the XLA compiler itself says about a training step on a GPU that need not be there.

The program's arguments (weights, optimizer state, inputs) lie where TensorFlow keeps them; everything else it needs
while it runs is one block of temporary memory, laid out by the compiler. What a library chooses when it runs, as
cuDNN's workspace, is in neither.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from planner_app.core.compile.target import Target
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.model.setup import Setup


@dataclass(frozen=True, slots=True)
class Program:
    """A training step as XLA gets it.

    Attributes:
        hlo: Its text, compressed (zlib): HLO of TensorFlow's, StableHLO of JAX'.
        digest: Of the text; nothing of the machine or the process it was made in is in it.
        layers: The layer behind each operation that the program names.
        versions: Of the libraries that made it and of those that will compile it.
        partitions: GPUs that JAX has lowered it for; 0 for a program of TensorFlow's.
    """

    hlo: bytes
    digest: str
    layers: Mapping[str, str]
    versions: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    partitions: int = 0


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory inside the temporary block that is taken at the moment when most is.

    Attributes:
        name: The compiler's name of the instruction that makes it.
        operation: The operation of the step that it comes from, or "" where the compiler has made it up.
        layer: Whose operation that is, or "".
        shape: As the compiler writes it: "f32[8,112,112,64]".
    """

    name: str
    operation: str
    layer: str
    shape: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """The figures of one program on one target.

    Attributes:
        argument_bytes: What is given to the program.
        output_bytes: What it gives back; `alias_bytes` of it lie in arguments' memory.
        temp_bytes: The block for all that lives only while the program runs.
        peak_bytes: Most bytes alive in that block at one moment; what is left of it is gaps.
        buffers: The largest ones alive at that moment, largest first.
        seconds: How long the compiler took.
        travel_bytes: What one GPU sends to the others in a step.
    """

    argument_bytes: int
    output_bytes: int
    alias_bytes: int
    temp_bytes: int
    peak_bytes: int
    buffers: tuple[Buffer, ...] = ()
    seconds: float = 0.0
    travel_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """Held while the program runs: what the allocator hands out for it."""
        return self.argument_bytes + self.output_bytes - self.alias_bytes + self.temp_bytes


@dataclass(frozen=True, slots=True)
class CompileCheck:
    """A setup, compiled for a device.

    Attributes:
        target: The device as the compiler was told of it.
        program: A digest of the program before it was compiled: the same step has the same one.
        versions: Of the libraries that made the program and compiled it.
        cached: Not compiled now, but remembered.
    """

    setup: Setup
    device: str
    target: Target
    compiled: Compiled
    capacity_bytes: int | None
    program: str
    versions: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    cached: bool = False

    @property
    def total_bytes(self) -> int:
        return self.compiled.total_bytes

    @property
    def fits(self) -> bool | None:
        return None if self.capacity_bytes is None else self.total_bytes <= self.capacity_bytes


def capacity_of(device: Device) -> int | None:
    """What the allocator may hand out there, where that is known."""
    return None if device.total_bytes is None else allocator_limit_bytes(device)
