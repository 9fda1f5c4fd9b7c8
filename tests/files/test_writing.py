"""Files are written atomically: the old or the new content remains, and no temporary file is left."""

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest
from faults import COMPILER, ROOT, compiled, wrong
from written import KINDS, half_written

import planner_app
from planner_app.cli import main
from planner_app.files import writing
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.writing import alone, check_writable, keep, unkept, why_not, write_atomically
from planner_app.gui.state.settings import Settings, SettingsFile

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(Path(__file__).parent)))}


@pytest.fixture(autouse=True)
def nothing_said_before() -> None:
    """What another test could not keep is told to nobody."""
    unkept()


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("no C compiler, which makes the library that lets calls fail")
    return compiled(tmp_path_factory.mktemp("faults"))


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("nobody may mount a small disk here")
    yield disk
    subprocess.run(["umount", disk], check=True)


def started(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_that_nothing_in_the_product_writes_a_file_in_another_way():
    ways = (
        "write_text(",
        "write_bytes(",
        ".touch(",
        'open("wb"',
        'open("w"',
        'open("a"',
        "mkstemp",
        "NamedTemporaryFile",
        "QSaveFile",
    )
    otherwise = {
        "train/observe/outputs.py",  # a table that grows while training runs
        "train/recover/backup.py",  # arrays too large to be held twice; whole or not at all too
        "train/recover/supervise.py",  # a lock, with nothing in it
    }
    package = Path(planner_app.__file__).parent
    found = [
        f"{source.relative_to(package)}: {line.strip()}"
        for source in sorted(package.rglob("*.py"))
        if source.relative_to(package).as_posix() not in otherwise
        for line in source.read_text().splitlines()
        if any(way in line for way in ways) and "worker" not in source.parts  # a child's own folder goes with it
    ]
    assert found == []


@pytest.mark.parametrize("kind", KINDS)
def test_that_every_kind_of_file_is_read_as_it_was_written(kind: str, tmp_path: Path):
    for number in (1, 2):
        assert KINDS[kind].write(tmp_path, number) == ""
        assert KINDS[kind].read(tmp_path) == number
    assert half_written(tmp_path) == []


def test_that_a_fault_or_a_kill_at_any_call_of_any_write_leaves_the_old_file_or_the_new_one(library: Path):
    shared = Path("/dev/shm")
    folder = (shared if os.access(shared, os.W_OK) else library.parent) / f"plimsoll-faults-{os.getpid()}"
    try:
        found, cases = wrong(library, folder)
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
    assert found == []
    assert cases > 80


def test_that_a_full_disk_is_reported_and_the_old_files_stay(full_disk: Path):
    for kind in KINDS.values():
        assert kind.write(full_disk, 1) == ""
        filler = full_disk / "filler"
        with filler.open("wb") as file, pytest.raises(OSError, match="No space left"):
            while True:
                os.write(file.fileno(), b"x" * 4096)
        told = kind.write(full_disk, 2)
        assert "no space left on device" in told
        assert str(full_disk) in told
        assert kind.read(full_disk) == 1
        assert half_written(full_disk) == []
        for file in full_disk.iterdir():
            subprocess.run(["rm", "-rf", file], check=True)


def test_that_a_file_larger_than_allowed_is_reported_and_the_old_one_stays(tmp_path: Path):
    file = tmp_path / "file"
    write_atomically(file, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OSError, match=r"File too large, 5\.86 KiB needed"):
            write_atomically(file, b"new" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert file.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_that_what_a_killed_process_left_goes_and_what_a_living_one_writes_stays(tmp_path: Path):
    code = (
        "import sys\nfrom planner_app.files.writing import _beside\nprint(_beside(sys.argv[1])[1], flush=True)\ninput()"
    )
    dead, alive = (started(code, tmp_path / "file") for _ in range(2))
    left = {each: Path(each.stdout.readline().strip()) for each in (dead, alive)}
    dead.kill()
    dead.communicate()
    foreign = tmp_path / ".plimsoll-notes.txt"
    foreign.touch()
    assert all(path.exists() for path in left.values())
    writing._swept.discard(str(tmp_path))  # as in a process that starts
    write_atomically(tmp_path / "other", b"")
    assert not left[dead].exists()
    assert left[alive].exists()
    assert foreign.exists()
    alive.communicate("\n")


def test_that_a_file_removed_before_it_was_locked_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lock, swept = writing._lock, []

    def sweep_first(descriptor: int, how: int = 0) -> bool:
        if not swept:
            swept.append(True)
            writing.sweep(str(tmp_path))
        return lock(descriptor, how)

    monkeypatch.setattr(writing, "_lock", sweep_first)
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert half_written(tmp_path) == []


def test_that_permissions_and_links_stay(tmp_path: Path):
    file, link = tmp_path / "file", tmp_path / "link"
    write_atomically(file, b"")
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~_umask()
    file.chmod(0o640)
    link.symlink_to(file)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_that_special_files_are_written_to_and_never_replaced(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = started("import sys; print(open(sys.argv[1]).read(), end='')", pipe)
    write_atomically(pipe, b"through")
    assert reader.communicate()[0] == "through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    for nothing in ("/dev/null", "/dev/stdout"):
        check_writable(nothing)
        write_atomically(nothing, b"")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, b"")
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)


def test_that_a_pipe_that_nobody_reads_is_not_waited_for_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(writing, "READER_SECONDS", 0.05)
    with pytest.raises(OSError, match="nothing is reading from it"):
        write_atomically(tmp_path / "pipe", b"through")


def test_that_a_name_as_long_as_names_can_be_is_written(tmp_path: Path):
    name = "x" * 255
    write_atomically(tmp_path / name, b"")
    check_writable(tmp_path / name)
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_that_a_name_that_is_not_utf8_is_written(tmp_path: Path):
    name = os.fsdecode(b"caf\xe9.json")
    assert KINDS["export"].write(tmp_path / name, 1) != ""  # there is no such folder: a sentence, not a traceback
    (tmp_path / name).mkdir()
    for kind in KINDS.values():
        assert kind.write(tmp_path / name, 1) == ""
        assert kind.read(tmp_path / name) == 1


def test_that_what_can_t_be_saved_is_reported_once(tmp_path: Path):
    (tmp_path / "file").touch()
    for _ in range(3):
        assert not keep(tmp_path / "file" / "cache" / "entry", b"")
    assert (
        unkept() == f"Nothing can be saved in {tmp_path}/file/cache: not a directory. It will be recomputed next time."
    )
    assert unkept() == ""
    assert why_not(tmp_path / "file" / "cache") == "not a directory"
    assert why_not(tmp_path / "new" / "cache") == ""


def test_that_a_command_tells_only_what_it_could_not_keep_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "file").touch()
    assert not keep(tmp_path / "file" / "entry", b"")
    assert main(["devices", "--price-template"]) == 0
    assert capsys.readouterr().err == ""
    assert unkept() == ""


# Two at the same time

ADD = """
import sys
from dataclasses import replace
from pathlib import Path
from written import ABOUT, DEVICE, SAMPLE, Calibrations
store, name = Calibrations(Path(sys.argv[1])), sys.argv[2]
input()
for number in range(int(sys.argv[3])):
    store.add(replace(SAMPLE, model_sha256=f"{name} {number}"), device=DEVICE, **ABOUT)
"""


def together(code: str, *arguments: tuple[object, ...]) -> None:
    """Processes that all begin when all are there."""
    processes = [started(code, *each) for each in arguments]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        assert process.communicate()[1] is None
        assert process.returncode == 0


def test_that_no_calibration_is_lost_when_three_processes_add_one(tmp_path: Path):
    together(ADD, *((tmp_path, name, 20) for name in "abc"))
    (found,) = Calibrations(tmp_path).all()
    known = {sample.model_sha256 for sample in found.samples}
    assert known == {f"{name} {number}" for name in "abc" for number in range(20)}


WRITE = """
import sys
from pathlib import Path
from written import KINDS
folder = Path(sys.argv[1])
input()
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 10):
    for kind in KINDS.values():
        assert not kind.write(folder, number)
        assert kind.read(folder) >= 0
"""


def test_that_two_processes_write_and_read_the_same_files_of_every_kind(tmp_path: Path):
    together(WRITE, (tmp_path, 100), (tmp_path, 500))
    assert all(kind.read(tmp_path) in (109, 509) for kind in KINDS.values())
    assert half_written(tmp_path) == []


OPENED = """
import sys
from pathlib import Path
from planner_app.gui.state.settings import Settings, SettingsFile
file = SettingsFile(Path(sys.argv[1]))
input()
assert not file.write(Settings(), [f"/models/{name}.keras" for name in sys.argv[2]])
"""


def test_that_files_opened_in_several_windows_are_all_recent(tmp_path: Path):
    file = SettingsFile(tmp_path / "settings.json")
    file.write(reduce(Settings.with_recent, [f"/old/{number}" for number in range(9)], Settings()))
    together(OPENED, *((file.path, names) for names in ("ab", "cd", "ef")))
    recent = file.read()[0].recent
    assert sorted(recent[:6]) == [f"/models/{name}.keras" for name in "abcdef"]
    assert recent[6:] == ("/old/8", "/old/7", "/old/6")


def test_that_a_process_that_hangs_while_writing_does_not_block_others_forever(tmp_path: Path):
    code = "import sys\nfrom pathlib import Path\nfrom planner_app.files.writing import alone\n"
    code += "with alone(Path(sys.argv[1])):\n print(1, flush=True)\n input()"
    other = started(code, tmp_path)
    other.stdout.readline()
    other.send_signal(signal.SIGSTOP)
    with pytest.raises(BlockingIOError, match="another plimsoll is writing there"), alone(tmp_path, 0.1):
        pass
    other.kill()
    other.communicate()
    with alone(tmp_path, 0.1):
        pass
