"""`plimsoll run`: starts a training script under a plan, and starts it again when its process could not survive.

    memory ran out, TensorFlow aborted, the kernel's OOM killer     the next rung, from the last checkpoint
    killed, crashed, a lost device, a lost host                     the same rung, from the last checkpoint
    an error of the script                                          not again: it would happen again

Standard library only: it needs neither TensorFlow nor a GPU itself.
"""

import os
import secrets
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from planner_app.core.plan.cluster import parse_tf_config
from planner_app.core.plan.plan import Entry, Plan
from planner_app.errors import PlanError
from planner_app.files.plan_reading import read_plan
from planner_app.files.run_folder import STATE, host_folder
from planner_app.files.writing import reason
from planner_app.train.machine import pick_entry, this_worker, visible_gpus
from planner_app.train.recover import run
from planner_app.train.recover.child import TrainingProcess
from planner_app.train.recover.deaths import Death, End
from planner_app.train.recover.hosts import Leader, Member, default_port
from planner_app.train.recover.report import RunReport, Try, read_report, read_state

TRIES = 10
DOES_NOT_FIT = 3
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Supervision:
    """How a script is supervised.

    Attributes:
        command: The script and its arguments, or any program; a `.py` file is run by this Python.
        folder: Where checkpoints and `run.json` go; by default beside the plan, `NAME.run`.
        every: A checkpoint after so many updates; None for one after each epoch.
        tries: How often a process is started at most.
        rung: Where on the ladder to start.
        worker: With several hosts, which of them this is.
        port: With several hosts, where the supervisors meet on the first of them.
    """

    plan: Path
    command: tuple[str, ...]
    folder: Path | None = None
    every: int | None = None
    tries: int = TRIES
    rung: int | None = None
    device: str | None = None
    worker: int | None = None
    port: int | None = None


def supervise(
    plan: str | Path,
    command: Sequence[str],
    *,
    folder: str | Path | None = None,
    every: int | None = None,
    tries: int = TRIES,
    rung: int | None = None,
    device: str | None = None,
    worker: int | None = None,
    port: int | None = None,
    say: Callable[[str], None] | None = None,
) -> RunReport:
    """Runs a training script to its end, on the rungs of a plan. As `plimsoll run`, from Python.

    Raises:
        PlanError: The plan can't be used, or another supervisor has this folder.
    """
    if not command:
        raise PlanError("No script is named: expected one, as in `plimsoll run --plan plan.json train.py`.")
    asked = Supervision(
        Path(plan), tuple(command), Path(folder) if folder else None, every, tries, rung, device, worker, port
    )
    if every is not None and every < 1:
        raise PlanError(f"every must be a positive number of updates, got {every}.")
    if tries < 1:
        raise PlanError(f"tries must be a positive integer, got {tries}.")
    if command[0].endswith(".py") and not Path(command[0]).is_file():
        raise PlanError(f"There is no script {command[0]!r}: expected the path of a Python file.")
    return _Supervisor(asked, say or _to_stderr).run()


class _Supervisor:
    def __init__(self, asked: Supervision, say: Callable[[str], None]) -> None:
        self._asked, self._say = asked, say
        self._plan: Plan = read_plan(asked.plan)
        self._entry: Entry = pick_entry(self._plan, visible_gpus(), asked.device or os.environ.get(run.DEVICE))
        self._hosts = max(1, len(self._plan.hosts))
        self._worker, self._addresses = self._place()
        folder = asked.folder or asked.plan.with_name(f"{asked.plan.name.removesuffix('.json')}.run")
        self._folder = folder / host_folder(self._worker) if self._hosts > 1 else folder
        self._signal = 0
        self._child: TrainingProcess | None = None

    def run(self) -> RunReport:
        with self._locked(), self._signals():
            report = self._resumed()
            leader, member = self._meet()
            try:
                self._train(report, member)
            finally:
                if member is not None:
                    member.close()
                if leader is not None:
                    leader.close()
            report.write(self._folder)
            if report.finished:
                for each in run.checkpoints(self._folder):
                    (self._folder / each.file).unlink(missing_ok=True)
                (self._folder / STATE).unlink(missing_ok=True)
            return report

    def _train(self, report: RunReport, member: Member | None) -> None:
        rung = self._first_rung(report)
        before = len(report.tries)
        last = before + self._asked.tries
        while len(report.tries) < last:
            checkpoint = ""
            if member is not None:
                rung, checkpoint = member.agree(rung, [str(each) for each in run.checkpoints(self._folder)])
            tried = Try(rung, _now(), checkpoint or self._newest())
            report.tries.append(tried)
            report.write(self._folder)
            death = self._one(report, rung, checkpoint, member)
            rung = self._account(report, tried, death)
            if death.end is End.FINISHED:
                report.finished, report.code, report.reason = True, 0, ""
                return
            if self._signal:
                report.code, report.reason = 128 + self._signal, f"ended by {signal.Signals(self._signal).name}"
                return
            report.code, report.reason = death.code, death.sentence
            if death.end is End.ERROR:
                self._say(f"not started again: {death.sentence}")
                return
            if death.end is End.MEMORY:
                if rung + 1 >= len(self._entry.rungs):
                    report.code = DOES_NOT_FIT
                    self._say(f"rung {rung} was the plan's last, and {death.sentence}: make a plan that needs less")
                    return
                rung += 1
            if len(report.tries) < last:
                self._say(self._next(tried, death, rung))
        self._say(f"not started again after {self._asked.tries} tries: {report.reason}")

    def _one(self, report: RunReport, rung: int, checkpoint: str, member: Member | None) -> Death:
        """One process until it ends, or until another host's has."""
        self._child = child = TrainingProcess(self._command(), self._environment(report, rung, checkpoint))
        if self._signal:  # it came while the process was being started
            child.pass_on(self._signal)
        while not child.ended(LOOK_SECONDS):
            told = member.told() if member is not None else None
            if told is not None and "stop" in told:
                child.kill()
                return self._stopped(told)
        death = child.death()
        if member is None:
            return death
        state = read_state(self._folder)
        member.ended(str(death.end), max(rung, state.get("rung", 0)), death.sentence)
        told = member.wait_done()
        if "done" in told:
            return death
        return death if death.end not in (End.FINISHED, End.PEER) else self._stopped(told)

    def _stopped(self, told: dict[str, object]) -> Death:
        end = End(str(told["stop"])) if told["stop"] in list(End) else End.PEER
        return Death(end, 1, f"on another host: {str(told.get('reason', ''))[:300]}")

    def _account(self, report: RunReport, tried: Try, death: Death) -> int:
        """What is written down about a try. The answer is the rung that it was on in the end."""
        state = read_state(self._folder)
        last = max(tried.rung, int(state.get("rung", 0)))
        tried.ended, tried.end, tried.code, tried.reason = _now(), str(death.end), death.code, death.sentence
        tried.last_rung = last
        tried.epoch, tried.trained, tried.updates = (state.get(name) for name in ("epoch", "trained", "updates"))
        report.write(self._folder)
        return last

    def _next(self, tried: Try, death: Death, rung: int) -> str:
        chosen = self._entry.rungs[rung]
        where = "the beginning" if self._entry.sharding is None else "its last whole epoch"
        if tried.epoch is not None:
            where = f"epoch {tried.epoch + 1}" + (f", batch {tried.trained + 1}" if tried.trained else "")
        return f"{death.sentence}; going on with rung {rung}, {chosen.per_gpu_batch} samples at a time, from {where}"

    def _command(self) -> list[str]:
        first, *rest = self._asked.command
        return [sys.executable, first, *rest] if first.endswith(".py") else [first, *rest]

    def _environment(self, report: RunReport, rung: int, checkpoint: str) -> dict[str, str]:
        found = {
            run.FOLDER: str(self._folder.resolve()),
            run.RUNG: str(rung),
            run.SEED: str(report.seed),
            run.PLAN: str(self._asked.plan.resolve()),
            run.EVERY: str(self._asked.every or ""),
            run.CHECKPOINT: checkpoint,
        }
        if self._asked.device:
            found[run.DEVICE] = self._asked.device
        if self._hosts > 1:
            found["PLIMSOLL_WORKER"] = str(self._worker)
        return found

    def _first_rung(self, report: RunReport) -> int:
        asked = self._asked.rung if self._asked.rung is not None else run.rung_from_environment() or 0
        before = max((each.last_rung or each.rung for each in report.tries), default=0)
        chosen = max(asked, before)
        if chosen >= len(self._entry.rungs):
            raise PlanError(f"There is no rung {chosen}: the plan has {len(self._entry.rungs)}, from 0 on.")
        return chosen

    def _newest(self) -> str:
        return str(max(run.checkpoints(self._folder), default=""))

    def _resumed(self) -> RunReport:
        """A run in this folder that did not come to its end goes on; what finished gives way to a new one."""
        kept = read_report(self._folder)
        command = list(self._asked.command)
        if kept is not None and not kept.finished and kept.command == command:
            return replace(kept, code=None, reason="")
        for each in run.checkpoints(self._folder):
            (self._folder / each.file).unlink(missing_ok=True)
        (self._folder / STATE).unlink(missing_ok=True)
        seed = secrets.randbelow(1 << 31) if self._hosts == 1 else shared_seed(self._plan)
        return RunReport(str(self._asked.plan), command, seed, self._worker, self._hosts)

    def _place(self) -> tuple[int, tuple[str, ...]]:
        if self._hosts == 1:
            return 0, ()
        if "TF_CONFIG" in os.environ:
            cluster = parse_tf_config(os.environ["TF_CONFIG"])
            if cluster.index is not None:
                return cluster.index, cluster.workers
        found = self._asked.worker if self._asked.worker is not None else this_worker()
        if found is None:
            raise PlanError(
                f"The plan is for {self._hosts} hosts: say which of them this is with --worker 0, 1 and so on."
            )
        return found, self._plan.hosts

    def _meet(self) -> tuple[Leader | None, Member | None]:
        if self._hosts == 1:
            return None, None
        address = self._addresses[0].rpartition(":")[0].strip("[]")
        port = self._asked.port or default_port(self._addresses[0])
        leader = Leader(address, port, self._hosts) if self._worker == 0 else None
        return leader, Member(self._worker, address, port)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        import fcntl

        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            file = (self._folder / "lock").open("w")
        except OSError as error:
            raise PlanError(f"The run's folder {str(self._folder)!r} can't be used: {reason(error)}.") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise PlanError(
                    f"Another `plimsoll run` has the folder {str(self._folder)!r}: choose another with --folder."
                ) from error
            yield

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C and a job's end are the script's to see; afterwards nothing is started again."""

        def passed(number: int, _frame: FrameType | None) -> None:
            self._signal = number
            if self._child is not None:
                self._child.pass_on(number)

        before = {}
        with suppress(ValueError):  # not in the main thread: somebody else handles them
            before = {number: signal.signal(number, passed) for number in PASSED_ON}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def shared_seed(plan: Plan) -> int:
    """The same on all hosts of a plan, which must shuffle alike."""
    import hashlib

    text = f"{plan.created} {plan.model.sha256} {','.join(plan.hosts)}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _to_stderr(sentence: str) -> None:
    sys.stderr.write(f"plimsoll: {sentence}\n")
    sys.stderr.flush()
