"""The Python API: a model, and what can be asked about it.

model = open_model("resnet50.keras")             # or "file.py:function", or a live keras.Model
model.estimate(batch=64, precision="mixed_bfloat16", device="NVIDIA L4").fits
model.max_batch(device="NVIDIA L4").batch
model.plan(batch=256, device="NVIDIA L4").save("resnet.plan.json")
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property
from os import PathLike, fspath
from typing import Unpack

from planner_app.core.buying.run import DAY, Run
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import COUNTS, ShopRequest
from planner_app.core.hardware.prices import Accepted, Pay
from planner_app.core.measure.measurement import Order, parse_place
from planner_app.core.model.description import ModelDescription
from planner_app.core.model.setup import Precision
from planner_app.core.plan.ladder import PlanRequest
from planner_app.core.plan.pipeline import InputSettings
from planner_app.core.plan.plan import MemorySettings
from planner_app.errors import ModelError, SetupError
from planner_app.files.devices.catalogue import catalogue, find_device
from planner_app.files.devices.machines import market
from planner_app.planner.advise import advice_request
from planner_app.planner.api import results
from planner_app.planner.api.live import LiveModel, is_live
from planner_app.planner.api.progress import Shown, showing
from planner_app.planner.api.setups import SetupOptions, least_batch, member, setup_of
from planner_app.planner.buying import whole_run
from planner_app.planner.compile import compile_checks
from planner_app.planner.lines import Ask
from planner_app.planner.measuring.measure import measure
from planner_app.planner.opening import absolute, check_model, file_name
from planner_app.planner.planner import Planner
from planner_app.planner.shop import confirmed
from planner_app.units import parse_bytes

BATCHES = tuple(2**power for power in range(11))
Names = str | Sequence[str]


def open_model(
    source: object,
    *,
    custom: str | PathLike[str] | None = None,
    trust: Sequence[str] = (),
    data: str | None = None,
    calibrated: bool = True,
    compiler: str | None = None,
    progress: Shown = True,
) -> "Model":
    """Reads and checks a model. Nothing of it is executed in this process, and no weight is read.

    Args:
        source: A `.keras`, `.h5` or `.json` file, a SavedModel folder, `file.py:function` (runs that code, in a
            process of its own), or a Keras model that lives in this process.
        custom: A Python file with the model's own classes, for a saved model.
        trust: Installed packages whose registered classes a saved model may name, as in `["keras_hub"]`.
        data: `file.py:function` that returns one batch of what the model is trained on, a dataset or specs.
        calibrated: Estimates are calibrated by the measurements there are.
        compiler: When XLA's compiler is asked for what it has not said before: "never", "always", or "when open", that
            is where the verdict hangs on it (default).
        progress: Whether to show what is being done, or a function that is called with each event.

    Raises:
        PlannerError: The model can't be opened; the sentence says why and what to do.
    """
    ask = None if compiler is None else member(Ask, compiler, "compiler")
    if isinstance(source, (str, PathLike)):
        path = fspath(source)
        if not isinstance(path, str):
            raise ModelError("Name the model as text: a path in bytes is not taken.")
        with showing(progress) as on_progress:
            own = None if custom is None else fspath(custom)
            checked = check_model(path, own, on_progress, trust=tuple(trust), data=data)
        return Model(Planner(checked, file=file_name(path), calibrated=calibrated, ask=ask), path, progress)
    if not is_live(source):
        raise ModelError(
            f"A {type(source).__name__} can't be opened: give the path of a saved model, file.py:function, or a "
            "keras.Model."
        )
    live = LiveModel(source)
    checked = replace(live.checked, data=None if data is None else absolute(data))
    return Model(Planner(checked, calibrated=calibrated, ask=ask), checked.name, progress, live=live)


class Model:
    """One model. Each question is answered by a frozen value with `to_dict()`, `to_frame()` and a view for notebooks.

    Devices are named as in the catalogue ("NVIDIA L4"), by size ("24GiB"), or "cpu" and "cpu:8GiB": TensorFlow's CPU
    device on the allocator of GPUs. A `limit` as "8GiB" is the most that TensorFlow may take of each GPU.
    """

    def __init__(self, planner: Planner, source: str, progress: Shown, live: LiveModel | None = None) -> None:
        self._planner, self._source, self._progress, self._live = planner, source, progress, live

    def __repr__(self) -> str:
        return f"<Model {self.name!r} from {self._source!r}>"

    @property
    def name(self) -> str:
        return self._planner.model.name

    @cached_property
    def description(self) -> ModelDescription:
        """Layers, shapes and parameters; takes as long as TensorFlow takes to start."""
        with showing(self._progress) as on_progress:
            return self._planner.describe(self._source, on_progress=on_progress)

    def estimate(
        self, batch: int, *, device: str = "cpu", limit: str | None = None, **options: Unpack[SetupOptions]
    ) -> results.Estimate:
        """Memory of one way to train on one device, and whether it fits. Nothing is run."""
        setup, where = setup_of(batch, options), find_device(device)
        with showing(self._progress) as on_progress:
            found = self._planner.estimate(setup, where, _bytes(limit), on_progress=on_progress)
        return results.of(results.Estimate, found)

    def max_batch(
        self, *, device: str = "cpu", limit: str | None = None, **options: Unpack[SetupOptions]
    ) -> results.LargestBatch:
        """The largest batch: `batch` counts tight, `sure_batch` does not."""
        setup, where = setup_of(least_batch(options), options), find_device(device)
        with showing(self._progress) as on_progress:
            found = self._planner.largest(setup, where, _bytes(limit), on_progress=on_progress)
        return results.of(results.LargestBatch, found)

    def sweep(
        self,
        *,
        batches: Iterable[int] = BATCHES,
        precisions: Names = "float32",
        gpu_counts: Sequence[int] = (1,),
        devices: Names = "cpu",
        **options: Unpack[SetupOptions],
    ) -> results.Sweep:
        """The whole chart: every batch, precision, GPU count and device."""
        if "precision" in options or "gpus" in options:
            raise SetupError("sweep() takes precisions=[...] and gpu_counts=[...], not precision=... and gpus=...")
        steps, setups = options.get("accumulate", 1), []
        for precision in _names(precisions):
            for gpus in gpu_counts:
                varied = options.copy()
                varied["precision"], varied["gpus"] = precision, gpus
                setups += [setup_of(batch, varied) for batch in batches if batch >= gpus * steps]
        where = [find_device(name) for name in _names(devices)]
        with showing(self._progress) as on_progress:
            return results.Sweep(self._planner.sweep(setups, where, on_progress=on_progress))

    def advise(
        self, batch: int, *, device: str, limit: str | None = None, **options: Unpack[SetupOptions]
    ) -> results.Advice:
        """What to change so that it fits, the cheapest first. Each change is traced, none is run."""
        setup, where = setup_of(batch, options), find_device(device)
        others = catalogue().devices if where.cuda else ()
        with self._planner.workers:
            request = advice_request(setup, where, self.description, others, _bytes(limit))
            with showing(self._progress) as on_progress:
                return results.of(results.Advice, self._planner.advise(request, on_progress=on_progress))

    def shop(
        self,
        batch: int,
        *,
        precisions: Names = "float32",
        counts: Iterable[int] = COUNTS,
        accumulate_up_to: int = 1,
        devices: Names | None = None,
        sure: bool = False,
        samples: int | None = None,
        epochs: int = 1,
        deadline_days: float | None = None,
        budget_usd: float | None = None,
        power_usd_per_kwh: float = 0.0,
        runs: int = 1,
        pay: str | None = None,
        used: bool = False,
        launch_prices: bool = False,
        **options: Unpack[SetupOptions],
    ) -> results.Offers:
        """Which GPUs carry it, how many, and at what price; and why the others can't.

        Args:
            samples: In the training set. With it, `proposals` say what the whole training takes: days, energy, and
                dollars to rent or to buy, for `runs` of `epochs` within the deadline and the budget.
            pay: "cloud" or "buy", where only one way to pay is wanted for the whole training.
            used: Prices of used cards count too.
            launch_prices: List prices at launch count where no other price is known.
        """
        setup = setup_of(batch, options)
        allowed = tuple(Precision(name) for name in _names(precisions))
        request = ShopRequest(setup, allowed, accumulate_up_to, tuple(counts), sure)
        where = [each for each in catalogue().devices if each.whole]
        if devices is not None:
            where = [find_device(name) for name in _names(devices)]
        with showing(self._progress) as on_progress:
            accepted = Accepted(used, launch_prices)
            if samples is not None:
                deadline = None if deadline_days is None else deadline_days * DAY
                run = Run(samples, epochs, deadline, budget_usd, power_usd_per_kwh, runs, pay=_pay(pay))
                whole = whole_run(
                    self._planner, request, run, where, market(), today=date.today(), accepted=accepted,
                    input=InputSettings(), on_progress=on_progress,
                )  # fmt: skip
                offers = whole.offers
                return results.Offers(offers.options, offers.refusals, offers.missing, request, whole)
            found = self._planner.shop(request, where, today=date.today(), accepted=accepted, on_progress=on_progress)
            if devices is not None:  # few enough to confirm each by replays
                found = replace(found, options=tuple(confirmed(self._planner, request, found.options)))
        return results.Offers(found.options, found.refusals, found.missing, request)

    def plan(
        self,
        batch: int,
        *,
        device: Names,
        allow: Names = (),
        sure: bool = False,
        limit: str | None = None,
        growth: bool = False,
        **options: Unpack[SetupOptions],
    ) -> results.Plan:
        """A plan that training scripts keep: the first way to train that fits, and those to fall back to.

        Raises:
            DoesNotFit: No way to train with this batch fits.
        """
        request = PlanRequest(
            setup=setup_of(batch, options),
            devices=tuple(find_device(name) for name in _names(device)),
            precisions=tuple(Precision(name) for name in _names(allow)),
            memory=MemorySettings(growth=growth, limit_bytes=_bytes(limit)),
            sure=sure,
        )
        with showing(self._progress) as on_progress:
            return results.of(results.Plan, self._planner.plan(request, on_progress=on_progress))

    def measure(
        self,
        batch: int,
        *,
        on: str = "cpu",
        limit: str | None = None,
        inline: bool = False,
        steps: int | None = None,
        processes: int = 1,
        **options: Unpack[SetupOptions],
    ) -> results.Measurement:
        """Real training steps, in fresh processes: on GPUs ("gpu:0"), or on the CPU through the allocator of GPUs.

        `inline` runs kernels one by one, as a GPU does.
        """
        place = parse_place(on, _bytes(limit))
        setup = setup_of(batch, options)
        order = Order.INLINE if inline else Order.ORDINARY
        with showing(self._progress) as on_progress:
            found = measure(
                self._planner.model,
                setup,
                place,
                order=order,
                steps=steps,
                processes=processes,
                on_progress=on_progress,
            )
        return results.of(results.Measurement, found)

    def compile_check(
        self, batch: int | Sequence[int], *, device: Names, **options: Unpack[SetupOptions]
    ) -> results.CompileChecks:
        """What the XLA compiler itself says about the step on a GPU that need not be there."""
        batches = (batch,) if isinstance(batch, int) else tuple(batch)
        setups = [setup_of(each, options) for each in batches]
        where: list[Device] = [find_device(name) for name in _names(device)]
        with showing(self._progress) as on_progress:
            return results.CompileChecks(tuple(compile_checks(self._planner.model, setups, where, on_progress)))


def _names(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _pay(name: str | None) -> Pay | None:
    try:
        return None if name is None else Pay(name)
    except ValueError:
        raise SetupError(f"pay must be {' or '.join(Pay)}, got {name!r}.") from None


def _bytes(limit: str | None) -> int | None:
    return None if limit is None else parse_bytes(limit)
