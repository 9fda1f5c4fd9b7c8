"""What lies outside TensorFlow's allocator on a device, and what that leaves to the allocator.

    what NVML reports = driver and CUDA context | the allocator's limit | TensorFlow's reserve
    the reserve holds libraries and kernels as they are loaded, cuBLAS' workspace, NCCL's buffers

TensorFlow creates the context, asks the driver what is free, leaves a reserve and takes the rest: 20.4 of the 22.5 GiB
that an L4 reports, which is sold as 24 GB.
"""

from dataclasses import dataclass

from planner_app.core.hardware.device import Device
from planner_app.errors import DeviceError

MIB = 1 << 20

# MinSystemMemory of tensorflow/core/common_runtime/gpu/gpu_device.cc, release build.
SMALL_DEVICE_BYTES = 2 << 30
SMALL_DEVICE_RESERVE = 225 * MIB
RESERVES = ((6, 500 * MIB), (7, 1050 * MIB), (8, 1536 * MIB))  # up to this major compute capability
NEWEST_RESERVE = 1800 * MIB

# (bytes, parts in a thousand of the NVML total) that are gone when TensorFlow asks what is free: what the driver keeps
# to itself, which grows with the card, and the fresh context. No source says how much; but the log line "Created
# device ... with N MB memory" does: N plus the reserve, taken from the NVML total. Public logs of cards that seem idle,
# in MiB: MIG 1g.5gb 302; T4 368 to 683; P100 373; V100 32GB 584 to 1144; L4 531 to 949; A5000 552 to 795; RTX 4090 740
# to 928; A6000 738 to 931; A100 40GB 942 to 1356; A100 80GB 1187 to 1439; H100 996. The lines below were laid
# around them. Left out: cards with a screen or other programs, which cost 0.3 to 1 GiB more, and single logs of an H200
# (3438) and an RTX 5090 (1630), of which that can't be told.
CONTEXT_LOW = (180 * MIB, 8)
CONTEXT_EXPECTED = (350 * MIB, 11)
CONTEXT_HIGH = (700 * MIB, 17)

# PyTorch's pull request 86509: a process takes 667 MB with all kernels loaded and 287 MB with lazy loading, which is
# the default since CUDA 12.2. The difference stands for a framework's kernels; the part that a step loads is less,
# cuDNN's own kernels and plans come on top.
KERNELS_BYTES = 380_000_000

# cuBLAS allocates these itself, one handle a GPU: ":4096:2:16:8" is 2 x 4096 KiB + 8 x 16 KiB (PyTorch's pull requests
# 89027 and 120925). What Blackwell takes is not established; Hopper's is the larger.
CUBLAS_WORKSPACE = (2 * 4096 + 8 * 16) << 10
CUBLAS_WORKSPACE_HOPPER = 32 * MIB

# NCCL 2.30, transport/p2p.cc: for each channel of a ring a GPU receives into 10 MiB and sends from 2 (or 6 and 6).
NCCL_CHANNEL = 12 * MIB
# Channels by topology are not established: typically 2 over PCIe and 16 to 32 over NVSwitch. Without peer access
# (GeForce) the buffers lie in host memory.
PCIE_CHANNELS = (0, 2, 4)
NVLINK_CHANNELS = (2, 16, 32)
NCCL_TREE = 2  # inside one machine a tree is a chain: it can take what the ring takes once more
# NVLS, Hopper and newer behind NVSwitch: nvlsChannels x 2 x (128 KiB x 8) for each GPU.
NVLS_BYTES = 16 * 2 * (128 << 10) * 8
HOPPER = 9


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Three numbers, never one."""

    low_bytes: int
    expected_bytes: int
    high_bytes: int

    def __add__(self, other: "ByteRange") -> "ByteRange":
        return ByteRange(
            self.low_bytes + other.low_bytes,
            self.expected_bytes + other.expected_bytes,
            self.high_bytes + other.high_bytes,
        )


NOTHING = ByteRange(0, 0, 0)


def min_system_memory_bytes(free_bytes: int, compute_capability: tuple[int, int] | None) -> int:
    """TensorFlow's reserve. A card of unknown capability gets the largest: what fits then, fits on any."""
    if free_bytes < SMALL_DEVICE_BYTES:
        return SMALL_DEVICE_RESERVE
    if compute_capability is None:
        return NEWEST_RESERVE
    return next((reserve for major, reserve in RESERVES if compute_capability[0] <= major), NEWEST_RESERVE)


def tensorflow_limit_bytes(
    free_bytes: int,
    total_bytes: int,
    compute_capability: tuple[int, int] | None,
    *,
    fraction: float = 0.0,
    reserve_bytes: int | None = None,
    logical_limit_bytes: int | None = None,
) -> int:
    """SingleVirtualDeviceMemoryLimit of gpu_device.cc.

    Args:
        fraction: `per_process_gpu_memory_fraction`, of the total. 0, the default, means all but the reserve.
        reserve_bytes: `TF_DEVICE_MIN_SYS_MEMORY_IN_MB`; TensorFlow ignores one larger than what is free.
        logical_limit_bytes: `LogicalDeviceConfiguration(memory_limit=...)`: taken as it is, nothing left for libraries.
    """
    if logical_limit_bytes is not None:
        return logical_limit_bytes
    limit = free_bytes
    if fraction > 0:
        limit = int(total_bytes * fraction)
    elif (reserve := min_system_memory_bytes(free_bytes, compute_capability)) < free_bytes:
        limit = free_bytes - reserve
    if reserve_bytes is not None and reserve_bytes <= free_bytes:
        limit = free_bytes - reserve_bytes
    return limit


def context_bytes(device: Device) -> ByteRange:
    """Driver and CUDA context: gone before TensorFlow asks what is free."""
    if not device.cuda:
        return NOTHING
    total = total_bytes(device)
    low, expected, high = (
        min(total, fixed + total * parts // 1000) for fixed, parts in (CONTEXT_LOW, CONTEXT_EXPECTED, CONTEXT_HIGH)
    )
    return ByteRange(low, expected, high)


def free_bytes(device: Device) -> ByteRange:
    """What a fresh context finds free: little where the context takes much."""
    total, context = total_bytes(device), context_bytes(device)
    return ByteRange(total - context.high_bytes, total - context.expected_bytes, total - context.low_bytes)


def allocator_limits(device: Device) -> ByteRange | None:
    """What the allocator may take, with TensorFlow's default settings; `None` means no limit."""
    if not device.cuda:
        limit = device.total_bytes
        return None if limit is None else ByteRange(limit, limit, limit)
    free, total = free_bytes(device), total_bytes(device)
    low, expected, high = (
        tensorflow_limit_bytes(found, total, device.compute_capability)
        for found in (free.low_bytes, free.expected_bytes, free.high_bytes)
    )
    return ByteRange(low, expected, high)


def allocator_limit_bytes(device: Device) -> int | None:
    """What the allocator may be expected to take: the capacity that a setup must fit in. `None` means no limit."""
    limits = allocator_limits(device)
    return None if limits is None else limits.expected_bytes


def cublas_workspace_bytes(compute_capability: tuple[int, int] | None) -> int:
    """TensorFlow gives cuBLAS no workspace, so cuBLAS takes its own, outside the allocator."""
    if compute_capability is None or compute_capability[0] >= HOPPER:
        return CUBLAS_WORKSPACE_HOPPER
    return CUBLAS_WORKSPACE


def library_bytes(device: Device) -> ByteRange:
    """Kernels, cuDNN and cuBLAS, loaded as they are used. TensorFlow's reserve is its makers' own upper bound:
    on an H100 ResNet failed with 1600 MiB and trained with 1700 MiB, so 1800 were chosen."""
    if not device.cuda:
        return NOTHING
    reserve = min_system_memory_bytes(free_bytes(device).expected_bytes, device.compute_capability)
    workspace = cublas_workspace_bytes(device.compute_capability)
    return ByteRange(workspace, min(reserve, KERNELS_BYTES + workspace), reserve)


def nccl_bytes(device: Device, gpus: int) -> ByteRange:
    """NCCL's buffers on each of `gpus`, from the first all-reduce on."""
    if gpus < 2 or not device.cuda:
        return NOTHING
    low, expected, high = (
        channels * NCCL_CHANNEL for channels in (NVLINK_CHANNELS if device.nvlink else PCIE_CHANNELS)
    )
    switched = device.nvlink is not None and not device.nvlink.bridge
    major = device.compute_capability[0] if device.compute_capability else 0
    nvls = NVLS_BYTES * gpus if switched and major >= HOPPER else 0
    return ByteRange(low, expected + nvls, high * NCCL_TREE + nvls)


def outside_bytes(device: Device, gpus: int = 1) -> ByteRange:
    """All that `nvidia-smi` counts and the allocator doesn't."""
    return context_bytes(device) + library_bytes(device) + nccl_bytes(device, gpus)


def total_bytes(device: Device) -> int:
    if device.total_bytes is None:
        raise DeviceError(
            f"The memory that {device.name} reports is unknown: give it as a size (--device 24GiB) "
            "or add the device to your own list of devices."
        )
    return device.total_bytes
