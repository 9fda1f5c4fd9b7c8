"""A few minutes' worth of the long runs (`make kills`, `make writes`, `make guards`) in a few seconds."""

from pathlib import Path

import guards
import kills
import pytest
import writes


def test_that_readers_killed_at_random_moments_tell_it_and_the_next_one_answers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kills, "HANG_SECONDS", 1.0)
    lines: list[str] = []
    found = kills.run(3, seed=2, tell=lines.append, phases=("inspect",))
    assert [each.bad for each in found] == [()] * 3, lines


def test_that_the_app_killed_while_it_writes_leaves_every_file_whole(tmp_path: Path):
    found, number = writes.kill(tmp_path, 1, seconds=0.5)
    assert found.bad == ()
    assert found.written > 0
    assert writes.left_at_the_end(tmp_path, number) == []


@pytest.mark.parametrize("guard", guards.GUARDS, ids=lambda guard: guard.holds)
def test_that_a_guard_that_is_switched_off_stands_in_one_place(guard: guards.Guard):
    code = (guards.ROOT / "planner_app" / guard.path).read_text(encoding="utf-8")
    assert code.count(guard.guarded) == 1
