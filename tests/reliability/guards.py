"""Switches each guard off, in a copy of the project, and runs the tests that show it:

    python tests/reliability/guards.py [--only WORD]

A test that still passes without its guard shows nothing. Every finding of a security review has a row here.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600
FAILED = 1  # pytest's exit code for failed tests; others are errors of the run itself


@dataclass(frozen=True, slots=True)
class Guard:
    """What holds, the place in the code that makes it hold, the code without it, and the tests that must notice."""

    holds: str
    path: str
    guarded: str
    unguarded: str
    tests: str


GUARDS = (
    Guard(
        "An HDF5 attribute is read only if it is text",
        "worker/inspect/hdf5_values.py",
        "if kind.get_class() != h5t.STRING:",
        "if False:",
        "tests/models/test_hostile_weights.py",
    ),
    Guard(
        "An opaque HDF5 type with a tag is not a number",
        "worker/inspect/hdf5_values.py",
        "and not kind.get_tag()",
        "",
        "tests/models/test_hostile_weights.py",
    ),
    Guard(
        "A model names nothing that a custom file only imports",
        "worker/inspect/allowed/user_names.py",
        "offered = classes | functions | found.listed",
        "offered = everything; classes = everything; functions = everything",
        "tests/models/test_hostile_code.py",
    ),
    Guard(
        "Keras is given nothing that a custom file only imports",
        "worker/build/user_code.py",
        "if _is_offered(value)}",
        "if _is_class_or_function(value)}",
        "tests/models/test_rebuild.py",
    ),
    Guard(
        "Foreign text steers no terminal",
        "foreign_text.py",
        'return text.replace("\\r\\n", "\\n").translate(_SHOWN)',
        "return text",
        "tests/test_foreign_text.py",
    ),
    Guard(
        "Foreign text is not a formula in a spreadsheet",
        "foreign_text.py",
        "startswith(_SPREADSHEET_STARTS) and not _is_number(text)",
        "startswith(_SPREADSHEET_STARTS) and False",
        "tests/test_foreign_text.py",
    ),
    Guard(
        "Foreign text is not code in a generated script",
        "foreign_text.py",
        '"".join(letter if letter.isprintable() else _python_escape(letter) for letter in quoted)',
        "quoted",
        "tests/test_foreign_text.py",
    ),
    Guard(
        "What the sandbox reports was tried",
        "worker/confine/sandbox.py",
        "promise: promise.holds() for",
        "promise: True for",
        "tests/jobs/test_sandbox.py -k report",
    ),
    Guard(
        "Time stamps stay",
        "worker/confine/refused_calls.py",
        '"utimensat": (280, 88),',
        "",
        "tests/jobs/test_sandbox.py -k whichever",
    ),
    Guard(
        "Nothing goes out through a pair of sockets",
        "worker/confine/seccomp.py",
        "yield from _only_streams(SOCKETPAIR[column])",
        "pass",
        "tests/jobs/test_sandbox.py -k every_way_out",
    ),
    Guard(
        "Folders are not watched",
        "worker/confine/refused_calls.py",
        '"inotify_init1": (294, 26),',
        "",
        "tests/jobs/test_sandbox.py -k every_way_out",
    ),
    Guard(
        "A worker gets no secrets from the environment",
        "jobs/inherited.py",
        "if name in NAMES or name.startswith(PREFIXES)",
        "",
        "tests/jobs/test_sandbox.py -k secrets",
    ),
    Guard(
        "Disk space of all files together is bounded",
        "jobs/exchange.py",
        "if most_bytes > limits.disk_bytes or used.files > MOST_ENTRIES:",
        "if False:",
        "tests/jobs/test_sandbox.py -k too_much",
    ),
    Guard(
        "Deleted files count as long as they are mapped",
        "jobs/exchange.py",
        " + used.unsized * limits.file_bytes",
        "",
        "tests/jobs/test_sandbox.py -k too_much",
    ),
    Guard(
        "Folders too deep to be counted end a worker",
        "jobs/exchange.py",
        "if used.hidden:",
        "if False:",
        "tests/jobs/test_sandbox.py -k too_much",
    ),
    Guard(
        "Folders too deep for a path are removed",
        "jobs/workdir.py",
        "src_dir_fd=folder, dst_dir_fd=top",
        "src_dir_fd=folder, dst_dir_fd=folder",
        "tests/jobs/test_sandbox.py -k too_much",
    ),
    Guard(
        "Devices are not written to where Landlock is missing",
        "worker/confine/namespaces.py",
        "on=READ_ONLY | NO_DEVICES",
        "on=READ_ONLY",
        "tests/jobs/test_sandbox.py -k report_is_true",
    ),
    Guard(
        "Memory can't be held out of sight: shared memory without a file",
        "worker/confine/seccomp.py",
        "yield from _with_all(MMAP[column], 3, SHARED_MEMORY, REFUSE, ALLOW)",
        "pass",
        "tests/jobs/test_sandbox.py -k every_way_out",
    ),
    Guard(
        "Memory can't be held out of sight: files sent through a socket",
        "worker/confine/refused_calls.py",
        '"sendmsg": (46, 211),',
        "",
        "tests/jobs/test_sandbox.py -k every_way_out",
    ),
    Guard(
        "Threads are bounded",
        "jobs/exchange.py",
        "if used.threads > max(",
        "if False and used.threads > max(",
        "tests/jobs/test_sandbox.py -k too_much",
    ),
    Guard(
        "Ctrl-C is 130 from the first moment on",
        "__main__.py",
        "signal.signal(signal.SIGINT, _leave)\n    for name in",
        "for name in",
        "tests/reliability/test_first_and_last_moments.py -k ctrl_c",
    ),
    Guard(
        "A library that swallows exceptions does not keep a command going that was ended",
        "__main__.py",
        "if _is_importing(frame) and",
        "if False and",
        "tests/reliability/test_first_and_last_moments.py -k swallows",
    ),
    Guard(
        "An app that is ended says by what",
        "gui/start.py",
        "if ended:",
        "if False:",
        "tests/reliability/test_first_and_last_moments.py -k an_app_that_is_ended",
    ),
    Guard(
        "A cell holds no formula where semicolons separate cells",
        "foreign_text.py",
        '_NEXT_CELL.sub(";\'", for_line(cell))',
        "for_line(cell)",
        "tests/test_foreign_text.py -k semicolons",
    ),
    Guard(
        "A huge file of the user's is never in memory whole",
        "files/kept/traces.py",
        "for piece in pieces_of(file):",
        "for piece in [Path(file).read_bytes()]:",
        "tests/traces/test_trace_cache.py -k huge",
    ),
    Guard(
        "Gigabytes of zeros in a log take seconds",
        "core/doctor/log/lines.py",
        r'text.translate(None, b"\0")',
        r'text.replace(b"\0", b"")',
        "tests/doctor/test_reading.py -k gigabytes_of_zeros",
    ),
    Guard(
        "A command that is ended leaves no folder",
        "__main__.py",
        "signal.signal(number, _end)",
        "pass",
        "tests/reliability/test_first_and_last_moments.py -k no_folder",
    ),
    Guard(
        "A closed stream's number goes to no other file",
        "__main__.py",
        "os.open(os.devnull, os.O_RDWR)",
        "pass",
        "tests/reliability/test_first_and_last_moments.py -k closed",
    ),
    Guard(
        "A width of zero still shows the table",
        "commands/terminal.py",
        "if not NARROWEST <= self.width <= WIDEST:",
        "if False:",
        "tests/reliability/test_first_and_last_moments.py -k width",
    ),
    Guard(
        "A pipe without a writer is not waited for",
        "files/reading.py",
        "os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC",
        "os.O_RDONLY | os.O_CLOEXEC",
        "tests/reliability/test_first_and_last_moments.py -k without_a_writer",
    ),
    Guard(
        "Only the owner reads what is kept",
        "files/writing.py",
        "OWNERS if private and mode is None else mode",
        "0o644 if mode is None else mode",
        "tests/reliability/test_first_and_last_moments.py -k owner",
    ),
    Guard(
        "Thousands of recurrent cells are refused",
        "worker/inspect/sense.py",
        "if recurrent > MAX_RECURRENT:",
        "if False:",
        "tests/models/test_hostile_configurations.py -k recurrent",
    ),
    Guard(
        "A file that changes while it is read is refused",
        "worker/inspect/source.py",
        "if (now.st_size, now.st_ctime_ns) != (self.size_bytes, self.changed_ns):",
        "if False:",
        "tests/models/test_unreadable_files.py -k changes",
    ),
    Guard(
        "A trusted package lends only classes that it registered",
        "worker/build/packages.py",
        "if package not in packages:",
        "if True:",
        "tests/models/test_trusted.py",
    ),
    Guard(
        "A compressed log that is damaged at its beginning gets a sentence",
        "files/logs/opening.py",
        "if room is None:\n            raise",
        "raise",
        "tests/doctor/test_wrapped_logs.py -k damaged",
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/reliability/guards.py", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORD", help="only guards with this word")
    word = parser.parse_args().only
    bad = 0
    for guard in GUARDS:
        if word in guard.holds:
            outcome = unguarded(guard)
            bad += outcome != "noticed"
            print(f"{guard.holds}: {outcome}", flush=True)
    return 1 if bad else 0


def unguarded(guard: Guard) -> str:
    """ "noticed" if a test fails without the guard."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        for part in ("planner_app", "tests"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("pyproject.toml", "README.md", "SECURITY.md"):
            shutil.copy(ROOT / part, copy / part)
        path = copy / "planner_app" / guard.path
        code = path.read_text()
        if code.count(guard.guarded) != 1:
            return f"its code is not in {guard.path} (any more)"
        path.write_text(code.replace(guard.guarded, guard.unguarded))
        return _outcome(copy, guard.tests)


def _outcome(copy: Path, tests: str) -> str:
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", *tests.split()],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "noticed"  # it waits for what the guard keeps it from waiting for
    return "noticed" if run.returncode == FAILED else f"NOT noticed (pytest says {run.returncode})"


if __name__ == "__main__":
    sys.exit(main())
