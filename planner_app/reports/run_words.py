"""How a line of the chart runs, in words: on how many GPUs, compiled by XLA or not, and why."""

from planner_app.core.model.setup import Backend, Jit, Setup


def gpus_text(gpus: int) -> str:
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"


def run_text(gpus: int, xla: bool) -> str:
    return f"{gpus_text(gpus)}, {'XLA' if xla else 'no XLA'}"


def run_reason(setup: Setup, *, cuda: bool, xla: bool) -> str:
    """Why XLA compiles the step or does not, and what that does to its memory."""
    if setup.backend is Backend.JAX:
        return "XLA is on: on JAX every step is compiled. It fuses operations, so fewer results stay in memory."
    if setup.uses_xla(cuda) and not xla:
        return "XLA is off: the model or one of its layers does not allow it."
    if setup.jit is Jit.ON:
        return "XLA is on because the setup says so: it fuses operations, so fewer results stay in memory."
    if setup.jit is Jit.OFF:
        return "XLA is off because the setup says so: every operation keeps a result of its own."
    if not cuda:
        return "XLA is off: Keras does not use it on the CPU unless told to."
    if xla:
        return "XLA is on: Keras uses it on one GPU. It fuses operations, so fewer results stay in memory."
    return (
        "XLA is off: Keras turns it off on several GPUs. Every operation keeps a result of its own, so each GPU may "
        "hold fewer samples than one GPU with XLA does. Set XLA to on to compile the step here too."
    )
