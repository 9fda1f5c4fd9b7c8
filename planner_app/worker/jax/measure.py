"""Real training steps of Keras on JAX, measured: on GPUs, or on the CPU, where a mesh has simulated devices.

The loop is Keras' own, without its callbacks: the state is given to the step and taken back. What is on a device
between steps is known to the byte. At the peak, a GPU's allocator says what is in use; a CPU has no such books, and
what XLA's program takes there is what the program itself says.
"""

from __future__ import annotations

import itertools
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from planner_app.core.measure.measurement import OutOfMemory, Run, Step
from planner_app.core.model.setup import StepSetup
from planner_app.errors import ModelError
from planner_app.jobs import protocol
from planner_app.jobs.usage.group_memory import resident_bytes
from planner_app.worker.jax.books import Devices, held, out_of_memory
from planner_app.worker.measure.driver import DriverBooks

Report = Callable[..., None]

PREPARING = 3  # stages before the first step
BUILDING = "building the model"
KINDS = ("trainable_variables", "non_trainable_variables", "optimizer_variables", "metrics_variables")
ON_THE_CPU = (
    "What is held between steps is exact. The peak is that of XLA's program for the CPU, which is laid out unlike a "
    "GPU's: `plimsoll compile --backend jax` has a GPU's."
)
OF_ALL_STEPS = "JAX keeps one peak for the whole process: it may be that of compiling, where kernels are tried out."


def measure(request: protocol.Measure, report: Report) -> Run:
    every = PREPARING + (request.fits or request.steps)
    report(0, every, "importing JAX")
    devices = Devices(request)
    report(1, every, BUILDING)
    return _Measuring(request, report, every, devices).run()


class _Measuring:
    """One request, from the model to the figures."""

    def __init__(self, request: protocol.Measure, report: Report, every: int, devices: Devices) -> None:
        self._request, self._report, self._every, self._devices = request, report, every, devices
        self._driver = DriverBooks(devices.names, request.watch)
        self._driver.look()
        self._during = BUILDING
        self._oom: OutOfMemory | None = None
        self._steps: list[Step] = []
        self._count = request.fits or request.steps
        self._what = "fit" if request.fits else "step"
        self._program: Any = None
        self._state_bytes: int | None = None

    def run(self) -> Run:
        with self._guarded():
            self._train()
        return Run(
            steps=tuple(self._steps),
            oom=self._oom,
            state_bytes=self._state_bytes,
            limit_bytes=self._devices.limit_bytes,
            xla=True,
            notes=(OF_ALL_STEPS,) if self._request.place.on_gpu else (ON_THE_CPU,),
            keras=version("keras"),
            jax=version("jax"),
        )

    def _train(self) -> None:
        from planner_app.worker.jax import step
        from planner_app.worker.jax.distribution import distributed, distribution

        chosen, setup = self._request.setup, self._laid_out()
        over = distribution(setup.mesh, setup.layout, self._devices.devices) if setup.mesh.gpus > 1 else None
        with distributed(over):
            made = step.build(self._request.model, setup, accumulate=max(2, chosen.accumulate), values=True)
            self._during = "loading the weights and the batch"
            self._report(2, self._every, self._during)
            batch = chosen.per_gpu_batch * setup.mesh.data
            step.finish(made, batch, values=True)
            model, arrays = made.model, made.feed.arrays(batch)
            model.train_function = model._make_function(self._looked_at(step.compiled_as_trained(model)))
            self._state_bytes = max(held([_values(model), _on_devices(arrays)]).values(), default=0)
            if self._request.fits:
                self._fits(model, arrays)
            else:
                self._single_steps(model, _on_devices(arrays))

    def _laid_out(self) -> StepSetup:
        import keras

        from planner_app.worker.jax.state import laid_out

        setup = self._request.setup
        found = laid_out(self._request.model, replace(setup.step("gpu:8.0"), precision=setup.precision))
        keras.utils.clear_session()  # layers are numbered anew, as they were when they were laid out
        return found

    def _looked_at(self, jitted: Any) -> Callable[[Any, Any], Any]:
        """The step, whose program is kept before it first runs. JAX compiles it once."""

        def run(state: Any, data: Any) -> Any:
            if self._program is None:
                self._program = jitted.lower(state, data).compile()
            return jitted(state, data)

        return run

    def _single_steps(self, model: Any, data: Any) -> None:
        state = model._get_jax_state(**dict.fromkeys(KINDS, True), purge_model_variables=True)
        for number in range(self._count):
            with self._noted(number):
                logs, state = model.train_function(state, itertools.repeat(data))
                _wait((logs, state))
            del logs  # what it holds is not of the next step

    def _fits(self, model: Any, arrays: Any) -> None:
        for number in range(self._count):
            with self._noted(number):
                batches = (arrays for _ in range(self._request.steps))
                model.fit(batches, steps_per_epoch=self._request.steps, epochs=1, verbose=0)
                _wait(_values(model))

    @contextmanager
    def _noted(self, number: int) -> Iterator[None]:
        self._during = f"{self._what} {number + 1}"
        self._report(PREPARING + number, self._every, f"{self._during} of {self._count}")
        before, started = self._devices.in_use(), time.perf_counter()
        yield
        seconds = round(time.perf_counter() - started, 6)
        memory = self._devices.memory(before, self._program)
        done = Step(number + 1, seconds, memory, resident_bytes(os.getpid()) or None, self._driver.look())
        self._steps.append(done)
        self._report(PREPARING + number + 1, self._every, f"{self._during} of {self._count} is done", done)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Out of memory is a result; what else a step of the model's own raises is told in a sentence."""
        from planner_app.worker.build.said import line
        from planner_app.worker.jax.step import UNTRACEABLE

        try:
            yield
        except UNTRACEABLE as error:
            self._oom = out_of_memory(str(error), self._during)
            if self._oom is not None:
                return
            if self._during == BUILDING:
                raise
            self._driver.look()  # knows better if the GPU is gone
            raise ModelError(
                f"Keras on JAX can't train the model: {line(error)}", "".join(traceback.format_exception(error))
            ) from error


def _values(model: Any) -> list[Any]:
    from planner_app.worker.jax.step import variables

    return [each.value for kind in variables(model) for each in kind]


def _on_devices(arrays: Any) -> Any:
    from keras.src.backend.jax.trainer import _distribute_data

    return _distribute_data(arrays)


def _wait(arrays: Any) -> None:
    import jax

    jax.block_until_ready(arrays)  # type: ignore[no-untyped-call]
