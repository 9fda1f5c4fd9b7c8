"""How much of a GPU JAX takes: three quarters, unless it is told before it starts."""

from math import floor

from planner_app.core.hardware.device import Device

VARIABLE = "XLA_PYTHON_CLIENT_MEM_FRACTION"
DEFAULT = 0.75  # GpuAllocatorConfig::memory_fraction


def memory_fraction(device: Device, capacity_bytes: int) -> str:
    """The share of the device's memory that makes JAX take this many bytes, as the variable has it."""
    return fraction_of(capacity_bytes, device.total_bytes or capacity_bytes)


def fraction_of(wanted_bytes: int, total_bytes: int) -> str:
    return f"{floor(100 * min(wanted_bytes / total_bytes, 1.0)) / 100:.2f}"


def fraction_text(device: Device, capacity_bytes: int | None, peak_bytes: int) -> tuple[str, ...]:
    """What to say of a figure that is above what JAX takes by itself."""
    if capacity_bytes is None or device.total_bytes is None or peak_bytes <= DEFAULT * device.total_bytes:
        return ()
    return (
        f"JAX takes {DEFAULT:.0%} of a GPU's memory by itself, which is less than this: set "
        f"{VARIABLE}={memory_fraction(device, capacity_bytes)} before JAX starts.",
    )
