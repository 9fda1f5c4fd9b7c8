"""The workspace that XLA reserves for each product that it leaves to cuBLAS (gemm_rewriter.cc)."""

from planner_app.core.model.setup import HOPPER

# gpu_blas_lt.h, GemmConfig: kDefaultWorkspace, and kHopperWorkspace from compute capability 9.0 on.
WORKSPACE_BYTES, HOPPER_WORKSPACE_BYTES = 4 << 20, 32 << 20


def workspace_bytes(capability: float) -> int:
    return HOPPER_WORKSPACE_BYTES if capability >= HOPPER else WORKSPACE_BYTES


def is_product(rows: int, columns: int, summed: int) -> bool:
    """A product with a vector, or of two, is a kernel of XLA's own."""
    return 1 not in (rows, columns, summed)


def from_batch(rows: int, columns: int, summed: int, batch: int) -> int:
    """At a batch of one sample, most products are with a vector. `batch` is what the step was traced with."""
    return 2 if batch in (rows, columns, summed) else 0
