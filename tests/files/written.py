"""Every kind of file that plimsoll leaves behind, with a number in it, written and read by the product itself."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from planner_app.commands.ask import shop
from planner_app.core.measure.calibration import Sample
from planner_app.core.measure.measurement import Measurement, Order, Place, Run, Step, StepMemory, Versions
from planner_app.core.measure.search import Try
from planner_app.core.model.setup import Setup
from planner_app.core.plan.plan import Plan
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import catalogue, load_catalogue
from planner_app.files.devices.prices import PriceLine, keep_prices
from planner_app.files.kept import calibrations
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.kept.measurements import read_measurement, write_measurement
from planner_app.files.kept.searches import SearchFile
from planner_app.files.kept.traces import TraceCache
from planner_app.files.plans import read_plan, write_plan
from planner_app.files.writing import unkept
from planner_app.gui.look import export
from planner_app.gui.state.settings import Settings, SettingsFile

GOLDEN = Path(__file__).with_name("golden") / "plan-1.json"
DEVICE = "NVIDIA L4"
VERSIONS = {"tensorflow": "2.21.0", "keras": "3.15.1"}
ABOUT = {**VERSIONS, "driver": None, "xla": False}
SAMPLE = Sample("net", "abc", "batch 32", "2026-11-16T04:37:00Z", 100, (110,))
MEASURED = Measurement(
    versions=Versions("0.1.0", "2.21.0", "3.15.1", "3.11.7"),
    hardware=DEVICE,
    place=Place((0,)),
    order=Order.ORDINARY,
    model="net",
    model_sha256="abc",
    setup=Setup(batch=32),
    measured_at="2026-11-16T04:37:00Z",
    runs=(Run(steps=tuple(Step(n, 0.5, (StepMemory("GPU:0", 10, 100 * n, 10),)) for n in range(1, 200))),),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """`write` gives the sentence that the user is told if it can't be written; `read` the number, -1 without a file."""

    write: Callable[[Path, int], str]
    read: Callable[[Path], int]


def _told(action: Callable[[], object]) -> str:
    try:
        action()
    except PlannerError as error:
        return str(error)
    return ""


def write_settings(folder: Path, number: int) -> str:
    return SettingsFile(folder / "settings.json").write(Settings(devices=("24GiB",) * 300, gpu_counts=(number,)))


def read_settings(folder: Path) -> int:
    settings, warning = SettingsFile(folder / "settings.json").read()
    assert warning == ""
    return settings.gpu_counts[0] if settings.gpu_counts else -1


def _plan(number: int) -> Plan:
    return replace(read_plan(GOLDEN), warnings=(str(number),))


def write_a_plan(folder: Path, number: int) -> str:
    return _told(lambda: write_plan(folder / "net.plan.json", _plan(number)))


def read_a_plan(folder: Path) -> int:
    file = folder / "net.plan.json"
    return int(read_plan(file).warnings[0]) if file.exists() else -1


def write_measured(folder: Path, number: int) -> str:
    return _told(lambda: write_measurement(folder / "measured.json", replace(MEASURED, model=str(number))))


def read_measured(folder: Path) -> int:
    file = folder / "measured.json"
    return int(read_measurement(file).model) if file.exists() else -1


def learn(folder: Path, number: int) -> str:
    sample = replace(SAMPLE, model=str(number))
    return _told(lambda: Calibrations(folder / "calibrations").add(sample, device=DEVICE, **ABOUT))  # type: ignore[arg-type]


def read_learnt(folder: Path) -> int:
    store = Calibrations(folder / "calibrations")
    found = store.find(DEVICE, xla=False, versions=VERSIONS)
    assert found is not None or not list(store.folder.glob("*.json")), "a calibration that can't be read"
    return int(found.samples[-1].model) if found else -1


def export_learnt(folder: Path, number: int) -> str:
    told = learn(folder, number)
    return told or _told(lambda: Calibrations(folder / "calibrations").export(folder / "calibrations.json"))


def read_exported(folder: Path) -> int:
    if not (file := folder / "calibrations.json").exists():
        return -1
    (found,) = calibrations._read(file)
    return int(found.samples[-1].model)


def write_prices(folder: Path, number: int) -> str:
    line = PriceLine(catalogue().find(DEVICE), 1.0 + number, True, "our cloud", "2026-11-16")
    return _told(lambda: keep_prices([line], folder / "devices.json"))


def read_prices(folder: Path) -> int:
    found = load_catalogue(folder / "devices.json").find(DEVICE)
    ours = [price.usd for price in found.cloud_prices if price.source == "our cloud"]
    return round(ours[0] - 1) if ours else -1


def write_search(folder: Path, number: int) -> str:
    SearchFile("net", folder=folder / "searches").keep([Try(n, n < number) for n in range(1, 1000)])
    return unkept()


def read_search(folder: Path) -> int:
    tries = SearchFile("net", folder=folder / "searches").read()
    return sum(each.fits for each in tries) + 1 if tries else -1


def write_cache(folder: Path, number: int) -> str:
    TraceCache(folder / "cache")._write("key", "points", [number] * 2000)
    return unkept()


def read_cache(folder: Path) -> int:
    found = TraceCache(folder / "cache")._read("key", "points", list[int])
    assert found is not None or not (folder / "cache" / "key.points").exists(), "an entry that does not match"
    return found[0] if found else -1


def write_picture(folder: Path, number: int) -> str:
    return _told(lambda: export.save(str(folder / "chart.csv"), f"{number}\n".encode() * 2000))


def write_report(folder: Path, number: int) -> str:
    return _told(lambda: shop._write(folder / "report.html", b"%d\n" % number * 2000))


def _lines_of(name: str) -> Callable[[Path], int]:
    def read(folder: Path) -> int:
        file = folder / name
        if not file.exists():
            return -1
        lines = file.read_text().splitlines()
        assert len(lines) == 2000
        assert len(set(lines)) == 1
        return int(lines[0])

    return read


KINDS = {
    "settings": Kind(write_settings, read_settings),
    "plan": Kind(write_a_plan, read_a_plan),
    "measurement": Kind(write_measured, read_measured),
    "calibration": Kind(learn, read_learnt),
    "exported calibrations": Kind(export_learnt, read_exported),
    "prices": Kind(write_prices, read_prices),
    "search": Kind(write_search, read_search),
    "trace cache": Kind(write_cache, read_cache),
    "export": Kind(write_picture, _lines_of("chart.csv")),
    "report": Kind(write_report, _lines_of("report.html")),
}


def half_written(folder: Path) -> list[str]:
    """Files that a process left before they were whole."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".plimsoll-*.tmp")]
