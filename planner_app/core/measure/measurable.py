"""Which setups can be measured where."""

from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.setup import Backend, Setup
from planner_app.errors import SetupError


def check_measurable(setup: Setup, place: Place, order: Order = Order.ORDINARY) -> None:
    """
    Raises:
        SetupError: Steps of this setup can't be measured there.
    """
    if order is Order.INLINE and setup.backend is Backend.JAX:
        raise SetupError("On JAX a step is one program: leave out --inline, which is for kernels of TensorFlow.")
    if order is Order.INLINE and (place.on_gpu or setup.gpus > 1):
        raise SetupError("Kernels run one by one on the CPU, for one replica: GPUs run them in that order anyway.")
    if setup.backend is Backend.JAX and not place.on_gpu and place.limit_bytes is not None:
        raise SetupError(
            "JAX has no memory limit on the CPU: leave out --limit, or ask XLA's compiler what fits a GPU "
            "(plimsoll max-batch --backend jax --exact)."
        )
