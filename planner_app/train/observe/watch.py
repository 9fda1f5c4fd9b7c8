"""`plan.watch()`: holds what TensorFlow's allocator says while training against the plan, shows and writes it down."""

import platform
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf
from keras.src.utils import io_utils

from planner_app import __version__
from planner_app.core.measure.measurement import Measurement, Order, Place, Run, Step, StepMemory, Versions
from planner_app.core.plan.plan import DeviceKind
from planner_app.errors import PlanError, PlannerError
from planner_app.files.kept.measurements import write_measurement
from planner_app.files.run_folder import MEASUREMENT
from planner_app.train.building import updates_of
from planner_app.train.notes import note
from planner_app.train.observe.outputs import CsvOutput, Line, Output, Planned, TensorBoardOutput
from planner_app.train.observe.terms import Term, compared
from planner_app.train.recover.run import checkpoints
from planner_app.units import format_bytes

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan

WARM_UP = 3  # steps: tracing, autotuning and the first allocations
KEPT_STEPS = 2000  # in the report, evenly spread over the run
DRIFT = 1.05  # of the high end of the band
LEAK_STEPS = 20  # each with more between steps than the one before, and never less
LEAK_BYTES = 1 << 20  # over them


def make_watch(
    plan: "TrainingPlan",
    report: str | Path | None,
    tensorboard: str | Path | None,
    csv: str | Path | None,
    verbose: bool,
) -> "Watch":
    first = not plan.worker  # of several hosts
    outputs: list[Output] = []
    if tensorboard is not None and find_spec("tensorboard") is None:
        raise PlanError(
            "watch(tensorboard=...) needs the package tensorboard, which TensorFlow does not bring any more: "
            "pip install tensorboard."
        )
    if tensorboard is not None and first:
        outputs.append(TensorBoardOutput(Path(tensorboard)))
    if csv is not None and first:
        goes_on = plan.run is not None and bool(checkpoints(plan.run.folder))
        outputs.append(CsvOutput(Path(csv), goes_on))
    reports = [Path(report)] if report is not None else []
    if plan.run is not None:  # so that the app can open the run
        reports.append(plan.run.folder / MEASUREMENT)
    return Watch(plan, reports if first else [], outputs, verbose and first)


def with_watch(plan: "TrainingPlan", callbacks: Any) -> Any:
    """A supervised run is always watched: what it took is kept in its folder."""
    if plan.run is None or isinstance(callbacks, keras.callbacks.CallbackList):
        return callbacks
    listed = list(tf.nest.flatten(callbacks)) if callbacks is not None else []
    if any(isinstance(each, Watch) for each in listed):
        return callbacks
    return [*listed, make_watch(plan, None, None, None, verbose=False)]


class Watch(keras.callbacks.Callback):  # type: ignore[misc]
    """A line at the end of each epoch; a warning once of drift and once of a leak. Works in `model.fit` too.

    Attributes:
        peak_bytes: The highest peak of the steps on the current rung, of the device that needs most.
        steps: On the current rung; of a long run, evenly spread.
    """

    def __init__(
        self, plan: "TrainingPlan", reports: Sequence[Path] = (), outputs: Sequence[Output] = (), verbose: bool = True
    ) -> None:
        super().__init__()
        self._plan, self._reports, self._outputs, self._verbose = plan, reports, outputs, verbose
        self._epoch = self._epoch_peak = 0
        self._said: set[str] = set()
        self._devices: list[str] = []
        self._begun = 0.0
        self._before: dict[str, int] = {}
        self._start()

    def _start(self) -> None:
        """A new rung starts a new account: its first steps trace and allocate anew."""
        self._rung = self._plan.rung
        self.steps: list[Step] = []
        self.peak_bytes = 0
        self._count = self._growing = self._since = self._last = 0
        self._every = 1

    @property
    def _replicas_in_one(self) -> int:
        """Replicas that share one allocator: on a CPU, all of this host's."""
        on_cpu = self._plan.entry.device.kind is DeviceKind.CPU
        return self._plan.entry.gpus // self._plan.hosts if on_cpu else 1

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        kind = self._plan.entry.device.kind.upper()
        local = self._plan.entry.gpus // self._plan.hosts // self._replicas_in_one
        self._devices = [f"{kind}:{n}" for n in range(local) if _info(f"{kind}:{n}") is not None]

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._begun = time.monotonic()
        for device in self._devices:
            self._before[device] = (_info(device) or {}).get("current", 0)
            tf.config.experimental.reset_memory_stats(device)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        if self._rung != self._plan.rung:
            self._start()
            return  # what this step took is partly the old rung's
        found = {device: info for device in self._devices if (info := _info(device)) is not None}
        if not found:
            return
        self._count += 1
        peak, current = (max(info[key] for info in found.values()) for key in ("peak", "current"))
        self.peak_bytes = max(self.peak_bytes, peak)
        self._keep(found)
        self._epoch_peak = max(self._epoch_peak, peak)
        self._write(peak, current)
        if self._count > WARM_UP:
            self._watch_peak(peak)
            self._watch_leak(current)
        self._last = current

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._epoch, self._epoch_peak = epoch, 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        for output in self._outputs:
            output.flush()
        if self._verbose and self._epoch_peak:
            planned = self._planned
            io_utils.print_msg(
                f"memory in epoch {epoch + 1}: {format_bytes(self._epoch_peak)} at the peak, planned "
                f"{format_bytes(planned.expected_bytes)} ({format_bytes(planned.low_bytes)} to "
                f"{format_bytes(planned.high_bytes)}), rung {self._plan.rung}"
            )

    @property
    def _planned(self) -> Planned:
        peak, replicas = self._plan.current.peak, self._replicas_in_one
        return Planned(peak.expected_bytes * replicas, peak.low_bytes * replicas, peak.high_bytes * replicas)

    def _write(self, peak: int, current: int) -> None:
        if self._outputs:
            update = updates_of(self.model)  # a run that goes on counts on
            seconds = time.monotonic() - self._begun
            line = Line(update, self._epoch, self._plan.rung, peak, current, self._planned, seconds)
            for output in self._outputs:
                output.write(line)

    def comparison(self) -> list[Term]:
        """What the steps took beside what the plan expects, by term."""
        return compared(
            self.model,
            self._plan.current.peak.terms,
            self.steps,
            self.peak_bytes,
            replicas=self._replicas_in_one,
            accumulates=self._plan.accumulate > 1,
        )

    def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
        for output in self._outputs:
            output.close()
        if self._verbose and self.steps:
            io_utils.print_msg("memory by term: " + "; ".join(map(str, self.comparison())))
        for path in self._reports if self.steps else ():
            try:
                write_measurement(path, self.measurement())
            except PlannerError as error:  # what was trained is worth more than what is said of it
                note(str(error))

    def measurement(self) -> Measurement:
        """What the current rung took, as the app opens it: a measurement that was made while training."""
        entry, rung = self._plan.entry, self._plan.current
        physical = tf.config.list_physical_devices(entry.device.kind.upper())
        names = [tf.config.experimental.get_device_details(device).get("device_name") for device in physical]
        notes = [f"Measured while training, {rung.accumulate} steps for each update."]
        if self._replicas_in_one > 1:
            notes.append(f"{self._replicas_in_one} replicas share the CPU's allocator: figures are of all of them.")
        on_gpu = entry.device.kind is DeviceKind.GPU
        return Measurement(
            versions=Versions(
                __version__, metadata.version("tensorflow"), keras.__version__, platform.python_version()
            ),
            hardware=next(filter(None, names), entry.device.name),
            place=Place(tuple(range(len(self._devices))) if on_gpu else (), entry.device.capacity_bytes),
            order=Order.ORDINARY,
            model=self._plan.plan.model.file,
            model_sha256=self._plan.plan.model.sha256,
            setup=self._plan.plan.setup(entry, rung),
            measured_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            runs=(
                Run(
                    steps=tuple(self.steps),
                    xla=rung.jit,
                    notes=tuple(notes),
                    tensorflow=tf.__version__,
                    keras=keras.__version__,
                ),
            ),
        )

    def _keep(self, found: dict[str, dict[str, int]]) -> None:
        if self._count % self._every:
            return
        seconds = (time.monotonic() - self._begun) / self._plan.accumulate
        memory = tuple(
            StepMemory(device, self._before[device], info["peak"], info["current"]) for device, info in found.items()
        )
        self.steps.append(Step(self._count, seconds, memory))
        if len(self.steps) > KEPT_STEPS:
            self.steps, self._every = self.steps[1::2], self._every * 2

    def _watch_peak(self, peak: int) -> None:
        expected, high = self._planned.expected_bytes, self._planned.high_bytes
        if peak > high * DRIFT:
            self._once(
                "drift",
                f"A step took {format_bytes(peak)}, and the plan expects {format_bytes(expected)} and at most "
                f"{format_bytes(high)}: the model, the data or the versions are not those it was made for.",
            )

    def _watch_leak(self, current: int) -> None:
        if current < self._last or self._growing == 0:
            self._growing, self._since = 1, current
            return
        self._growing += 1
        if self._growing > LEAK_STEPS and current - self._since > LEAK_BYTES:
            self._once(
                "leak",
                f"Memory between steps has grown by {format_bytes(current - self._since)} in {self._growing} steps and "
                "never shrunk: something keeps tensors, such as a list of losses that are not converted to numbers.",
            )

    def _once(self, kind: str, sentence: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            note(sentence)


def _info(device: str) -> dict[str, int] | None:
    try:
        found: dict[str, int] = tf.config.experimental.get_memory_info(device)
        return found
    except (ValueError, RuntimeError):  # the allocator of this device does not count
        return None
