"""A GPU as the XLA compiler has to be told of it: the `GpuTargetConfig` it would otherwise ask the driver for.

OpenXLA publishes the figures of a few GPUs. For any other they are worked out from what the catalogue knows and from
its compute capability, whose limits NVIDIA's CUDA C++ Programming Guide lists ("Technical Specifications per Compute
Capability"). Most of them decide how fast XLA thinks a kernel is, and so what it fuses; the capability decides which
libraries and how much workspace it asks for.
"""

from dataclasses import dataclass
from typing import NamedTuple

from planner_app.core.hardware.device import Device
from planner_app.errors import DeviceError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
OLDEST = (6, 0)


class PerCore(NamedTuple):
    """What a compute capability says: of one streaming multiprocessor, and what cards of that kind typically have.

    `cores`, `clock_ghz` and `l2_bytes` are a common card's of that capability (the first named beside it); a card's
    own number of cores is worked out from its arithmetic where the catalogue has that.
    """

    fpus: int
    threads: int
    shared_bytes: int
    shared_optin_bytes: int
    cores: int
    clock_ghz: float
    l2_bytes: int
    bandwidth_gb_s: int


CAPABILITIES: dict[tuple[int, int], PerCore] = {
    (6, 0): PerCore(64, 2048, 64 * KIB, 48 * KIB, 56, 1.48, 4 * MIB, 732),  # P100
    (6, 1): PerCore(128, 2048, 96 * KIB, 48 * KIB, 28, 1.58, 3 * MIB, 484),  # GTX 1080 Ti
    (7, 0): PerCore(64, 2048, 96 * KIB, 96 * KIB, 80, 1.53, 6 * MIB, 898),  # V100
    (7, 5): PerCore(64, 1024, 64 * KIB, 64 * KIB, 40, 1.59, 4 * MIB, 320),  # T4
    (8, 0): PerCore(64, 2048, 164 * KIB, 163 * KIB, 108, 1.41, 40 * MIB, 1555),  # A100
    (8, 6): PerCore(128, 1536, 100 * KIB, 99 * KIB, 84, 1.80, 6 * MIB, 768),  # RTX A6000
    (8, 7): PerCore(128, 1536, 164 * KIB, 163 * KIB, 16, 1.30, 4 * MIB, 205),  # Jetson Orin
    (8, 9): PerCore(128, 1536, 100 * KIB, 99 * KIB, 128, 2.52, 72 * MIB, 1008),  # RTX 4090
    (9, 0): PerCore(128, 2048, 228 * KIB, 227 * KIB, 132, 1.98, 50 * MIB, 3352),  # H100
    (10, 0): PerCore(128, 2048, 228 * KIB, 227 * KIB, 148, 1.965, 126 * MIB, 7672),  # B200
    (12, 0): PerCore(128, 1536, 128 * KIB, 99 * KIB, 188, 2.6, 128 * MIB, 1792),  # RTX PRO 6000 Blackwell
}
USUAL_MEMORY_BYTES = 24 * GIB  # of a device whose memory nobody has told: it bounds what XLA may plan, no more


@dataclass(frozen=True, slots=True)
class Target:
    """The figures that differ between GPUs.

    Attributes:
        published: They come from OpenXLA's own list; otherwise they are derived, `derived` says which.
    """

    name: str
    compute_capability: tuple[int, int]
    core_count: int
    fpus_per_core: int
    shared_memory_per_core: int
    shared_memory_per_block_optin: int
    threads_per_core_limit: int
    memory_bandwidth: int
    l2_cache_size: int
    clock_rate_ghz: float
    device_memory_size: int
    published: bool = False
    derived: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """A `GpuTargetConfig` as a text proto. What is not in the class is the same on all GPUs since Pascal."""
        major, minor = self.compute_capability
        info = {
            "threads_per_block_limit": 1024,
            "threads_per_warp": 32,
            "shared_memory_per_block": 48 * KIB,
            "shared_memory_per_core": self.shared_memory_per_core,
            "threads_per_core_limit": self.threads_per_core_limit,
            "core_count": self.core_count,
            "fpus_per_core": self.fpus_per_core,
            "block_dim_limit_x": (1 << 31) - 1,
            "block_dim_limit_y": 65535,
            "block_dim_limit_z": 65535,
            "memory_bandwidth": self.memory_bandwidth,
            "l2_cache_size": self.l2_cache_size,
            "clock_rate_ghz": self.clock_rate_ghz,
            "device_memory_size": self.device_memory_size,
            "shared_memory_per_block_optin": self.shared_memory_per_block_optin,
            "registers_per_core_limit": 65536,
            "registers_per_block_limit": 65536,
        }
        figures = " ".join(f"{key}: {value}" for key, value in info.items())
        return "\n".join(
            (
                f"gpu_device_info {{ {figures} cuda_compute_capability {{ major: {major} minor: {minor} }} }}",
                'platform_name: "CUDA"',
                # As OpenXLA's published targets have them; which cuDNN a user has can't be known.
                "dnn_version_info { major: 9 minor: 7 }",
                "runtime_version { major: 12 minor: 8 patch: 0 }",
                f'device_description_str: "{_plain(self.name)}"',
            )
        )


def derived_target(device: Device) -> Target:
    """A target for any device: what the catalogue knows of it, and for the rest what its capability says."""
    if not device.cuda:
        raise DeviceError(f'"{device.name}" is no GPU: XLA compiles for a GPU, as in --device "NVIDIA L4".')
    capability = device.compute_capability
    if capability is None:
        raise DeviceError(
            f'The compute capability of "{device.name}" is not known, and XLA compiles for one: '
            f'name a GPU (`plimsoll devices` lists them), or say it, as in "24GiB:8.9".'
        )
    if capability < OLDEST:
        raise DeviceError(
            f"{device.name} has compute capability {_dotted(capability)}; XLA compiles for 6.0 and newer."
        )
    kind = CAPABILITIES[max(known for known in CAPABILITIES if known <= capability)]
    derived = ["clock", "cache"]
    cores = kind.cores
    if device.tflops.float32:
        # A multiply-add is two operations, one on each unit in each cycle; cores come in pairs.
        cores = max(2, 2 * round(device.tflops.float32 * 1e12 / (4 * kind.fpus * kind.clock_ghz * 1e9)))
    derived.append("cores")
    bandwidth = device.bandwidth_bytes_per_second
    if bandwidth is None:
        derived.append("bandwidth")
        bandwidth = kind.bandwidth_gb_s * 10**9
    if device.total_bytes is None:
        derived.append("memory")
    return Target(
        name=device.name,
        compute_capability=capability,
        core_count=cores,
        fpus_per_core=kind.fpus,
        shared_memory_per_core=kind.shared_bytes,
        shared_memory_per_block_optin=kind.shared_optin_bytes,
        threads_per_core_limit=kind.threads,
        memory_bandwidth=bandwidth,
        l2_cache_size=kind.l2_bytes,
        clock_rate_ghz=kind.clock_ghz,
        device_memory_size=device.total_bytes or USUAL_MEMORY_BYTES,
        derived=tuple(derived),
    )


def _plain(name: str) -> str:
    """What can stand between quotes in a text proto."""
    return "".join(letter for letter in name if letter.isascii() and letter.isprintable() and letter not in '"\\')


def _dotted(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"
