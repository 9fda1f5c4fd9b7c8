"""Plan files: what is written can be read, and every error in a file is a sentence."""

import copy
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner_app.cli import main
from planner_app.core.plan.plan import VERSION, Plan, PlannedDevice, Source, SourceKind
from planner_app.errors import PlanError
from planner_app.files.plans import parse_plan, plan_text, read_plan, schema_text, write_plan

sys.path.insert(0, str(Path(__file__).parents[1] / "train"))
from planning import WHEN, cpu_entry, peak, plan

GOLDEN = sorted((Path(__file__).parent / "golden").glob("plan-*.json"))
NEWEST = GOLDEN[-1].read_bytes()
SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_text()))


def sentence_of(data: bytes) -> str:
    """What a broken file is answered with; "" for one that can be used. Anything but a `PlanError` fails the test."""
    try:
        parse_plan(data, "p.json")
        return ""
    except PlanError as error:
        said = str(error)
        assert said.startswith("'p.json' is not a plan that can be used: ")
        assert said.endswith(".") and "\n" not in said
        return said


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        found += places(value, (*path, key))
    return found


def changed(tree: Any, path: tuple[Any, ...], value: Any = ..., rename: str | None = None) -> Any:
    """A copy with one place set to a value, or left out, or called otherwise."""
    tree = copy.deepcopy(tree)
    holder = tree
    for key in path[:-1]:
        holder = holder[key]
    if rename is not None and isinstance(holder, dict):
        holder[rename] = holder.pop(path[-1])
    elif value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return tree


TREE = json.loads(NEWEST)
PLACES = places(TREE)


def test_that_every_version_ever_written_can_be_read():
    assert [path.name for path in GOLDEN] == [f"plan-{n}.json" for n in range(1, VERSION + 1)]
    for path in GOLDEN:
        read = read_plan(path)
        assert read.schema_version == VERSION
        assert parse_plan(plan_text(read).encode()) == read


def test_that_the_golden_plan_says_what_it_said_when_it_was_written():
    """A change of meaning is a new version: this file never changes."""
    read = read_plan(GOLDEN[0])
    assert (read.training.global_batch, read.training.optimizer.name) == (256, "sgd")
    assert read.training.optimizer.options == {"momentum": 0.9, "nesterov": True}
    assert [entry.device.name for entry in read.devices] == ["NVIDIA L4", "cpu"]
    first = read.devices[0]
    assert (first.gpus, first.device.capacity_bytes) == (2, 21_910_000_000)
    assert [(r.per_gpu_batch, r.accumulate, str(r.precision)) for r in first.rungs] == [
        (128, 1, "float32"),
        (64, 2, "float32"),
        (32, 4, "mixed_bfloat16"),
    ]
    assert first.rungs[0].peak.source.kind is SourceKind.MEASURED
    assert read.hosts == ("gpu-1:2222", "gpu-2:2222")


def test_that_written_plans_are_as_the_schema_says(tmp_path):
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))
    for made in (
        plan(8, cpu_entry(8, 1, 1, 2)),
        plan(7, cpu_entry(7, 2, 1, (3, "mixed_float16")), hosts=("a:1", "b:2")),
    ):
        write_plan(tmp_path / "p.json", made)
        SCHEMA.validate(json.loads((tmp_path / "p.json").read_text()))
        assert read_plan(tmp_path / "p.json") == made
    for path in GOLDEN[-1:]:
        SCHEMA.validate(json.loads(path.read_text()))


def test_that_the_command_prints_the_schema(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["plan", "--schema"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["properties"]["schema_version"] == {"const": VERSION}


def test_that_a_file_cut_at_any_byte_is_answered_with_a_sentence():
    whole = NEWEST.rstrip()
    for length in range(len(whole)):
        assert sentence_of(whole[:length])
    assert sentence_of(whole) == ""


def test_that_any_missing_field_is_reported_or_has_a_default():
    required = {"warnings", "growth", "limit_bytes", "allocator", "terms"}  # these have a default
    for path in PLACES:
        said = sentence_of(json.dumps(changed(TREE, path)).encode())
        by_name = isinstance(path[-1], str) and path[-1] not in required and not _free(path)
        assert said if by_name else True, path
        if by_name:
            assert f"{path[-1]} is missing" in said or "schema_version" in said


def _free(path: tuple[Any, ...]) -> bool:
    """Inside a table whose names are the user's."""
    return bool({"options", "sizes", "environment", "versions", "terms"} & set(path[:-1]))


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    place=st.sampled_from(PLACES),
    value=st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([-1, 0, 1 << 31, 1 << 62, 10**400, -(10**30)]),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=40),
        st.sampled_from(["\ud800", "\x00", "\x1b[31m", "x" * 5000, "../../etc/passwd", "__import__('os')", "{0}"]),
        st.lists(st.integers(), max_size=3),
        st.dictionaries(st.text(max_size=8), st.integers(), max_size=3),
        st.just([[]] * 5000),
        st.just({str(n): n for n in range(1500)}),
    ),
)
def test_that_any_value_in_any_place_is_taken_or_said(place, value):
    """What the reader takes, the schema takes too, and can be written again."""
    tree = changed(TREE, place, value)
    if not sentence_of(json.dumps(tree).encode()):
        SCHEMA.validate(tree)
        read = parse_plan(json.dumps(tree).encode())
        assert parse_plan(plan_text(read).encode()) == read


@settings(max_examples=200, deadline=None)
@given(place=st.sampled_from(PLACES), name=st.text(max_size=20))
def test_that_an_unknown_name_is_reported(place, name):
    tree = changed(TREE, place, rename=name)
    if isinstance(place[-1], str) and name != place[-1] and not _free(place):
        assert sentence_of(json.dumps(tree).encode())


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_that_no_bytes_make_a_traceback(data):
    assert sentence_of(data)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(NEWEST) - 1), st.binary(min_size=1, max_size=6))
def test_that_bytes_put_into_a_plan_make_no_traceback(at, more):
    sentence_of(NEWEST[:at] + more + NEWEST[at + len(more) :])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "it is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"schema_version": ' + b"9" * 10_000 + b"}", "a number with too many digits"),
        (b'{"schema_version": 1e999}', "not a number in JSON"),
        (b'{"schema_version": NaN}', "NaN, which is not a number"),
        (b'{"schema_version": 1, "schema_version": 1}', "twice"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b"[1]", "has no schema_version"),
        (b'{"schema_version": true}', "expected a positive integer"),
        (b'{"schema_version": -3}', "expected a positive integer"),
        (b"{" + b" " * (5 << 20) + b"}", "more than"),
    ],
)
def test_that_a_file_that_is_not_a_plan_is_refused(data, expected):
    assert expected in sentence_of(data)


def test_that_a_plan_of_a_newer_version_says_what_to_do():
    said = sentence_of(json.dumps(TREE | {"schema_version": VERSION + 1, "something": "new"}).encode())
    assert f"schema_version {VERSION + 1}" in said
    assert "update plimsoll" in said


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("training", "global_batch"), 250, "is not the global batch of 250"),
        (("devices", 0, "rungs", 0, "per_gpu_batch"), 100, "100 samples on each of 2 GPUs in 1 steps"),
        (("devices", 0, "gpus"), 4, "not the global batch"),
        (("devices", 0, "rungs"), [], "there is no rung"),
        (("devices",), [], "there is no device"),
        (("devices", 1, "device", "name"), "nvidia l4", "a device has two entries"),
        (("devices", 0, "rungs", 0, "peak", "low_bytes"), 1 << 50, "expected the low end below it"),
        (("devices", 0, "rungs", 2, "peak", "terms", "weights"), 5, "the terms of a peak sum to"),
        (("devices", 0, "environment", "LD_PRELOAD"), "/tmp/x.so", "a plan can't set 'LD_PRELOAD'"),
        (("devices", 0, "environment", "PYTHONSTARTUP"), "x", "a plan can't set 'PYTHONSTARTUP'"),
        (("devices", 0, "environment", "XLA_FLAGS"), "--xla_gpu_cuda_data_dir=/tmp", "a plan can't set XLA_FLAGS to"),
        (("devices", 0, "environment", "TF_XLA_FLAGS"), "--tf_xla_auto_jit=2\n--x", "can't be printed"),
        (("hosts", 1), "gpu-1:2222", "named twice"),
        (("hosts", 0), "gpu-1:2222; rm -rf", "expected a string such as gpu-1:2222"),
        (("training", "optimizer", "name"), "os.system", "expected a string such as adam"),
        (("devices", 0, "memory"), {"growth": True, "limit_bytes": 5}, "either a limit or growth"),
    ],
)
def test_that_an_impossible_value_is_reported_with_its_place(path, value, expected):
    assert expected in sentence_of(json.dumps(changed(TREE, path, value)).encode())


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("devices", 0, "gpus"), "two", "devices[0].gpus: expected an integer, got a string"),
        (("devices", 0, "gpus"), True, "devices[0].gpus: expected an integer, got true or false"),
        (("devices", 0, "gpus"), 0, "devices[0].gpus: expected an integer >= 1"),
        (("devices", 0, "rungs", 1, "peak", "source", "date"), "today", "date: expected a string such as 2026-11-16T"),
        (("devices", 0, "rungs", 0, "precision"), "float8", "rungs[0].precision: 'float8' is not one of the values"),
        (("training", "optimizer", "options", "momentum"), [], "training.optimizer.options: expected true or false or"),
        (("devices", 0, "device", "compute_capability"), [8], "compute_capability: expected a list of length 2, got 1"),
        (("hosts",), "gpu-1:2222", "hosts: expected a list, got a string"),
        (("warning",), [], "warning: unknown field, expected one of schema_version, created"),
        (("devices", 1, "memory", "limit"), 5, "devices[1].memory.limit: unknown field, expected one of growth"),
    ],
)
def test_that_a_value_of_the_wrong_type_is_reported_with_its_place(path, value, expected):
    assert expected in sentence_of(json.dumps(changed(TREE, path, value)).encode())


def test_that_a_duplicate_name_is_reported_with_its_place():
    once, twice = b'"gpus": 2', b'"gpus": 2, "gpus": 4'
    assert "devices[0].gpus is given twice" in sentence_of(NEWEST.replace(once, twice, 1))


def test_that_a_missing_file_or_a_folder_is_reported(tmp_path):
    for path in (tmp_path / "none.json", tmp_path, "nul\0.json"):
        with pytest.raises(PlanError, match=r"\.$"):
            read_plan(path)


def test_that_a_plan_that_can_not_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "p.json"
    write_plan(path, plan(8, cpu_entry(8, 1, 1)))
    before = path.read_bytes()
    with pytest.raises(PlanError, match="can't be written"):
        write_plan(tmp_path / "none" / "p.json", plan(8, cpu_entry(8, 1, 2)))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["p.json"]


def test_that_a_better_figure_takes_the_place_of_an_estimate():
    made = plan(8, cpu_entry(8, 1, 1, 2))
    measured = peak(123, source=Source(SourceKind.MEASURED, {"tensorflow": "2.21.0"}, WHEN, "NVIDIA L4"))
    better = made.with_peak("CPU", 1, measured)
    assert [rung.peak.source.kind for rung in better.devices[0].rungs] == ["estimate", "measured"]
    assert parse_plan(plan_text(better).encode()) == better


def test_that_plans_for_several_devices_keep_them_apart():
    entry = cpu_entry(8, 1, 1)
    other = replace(entry, device=PlannedDevice("24GiB", entry.device.kind, 24 << 30, (8, 9), 20 << 30))
    made: Plan = plan(8, entry, other)
    assert parse_plan(plan_text(made).encode()).devices[1].device.compute_capability == (8, 9)


@pytest.mark.parametrize("name", ["\x1b[31mred.keras", "a\nb.keras", "turned \u202e.keras", "x" * 5000])
def test_that_a_plan_that_could_not_be_read_is_not_written(tmp_path, name):
    made = plan(8, cpu_entry(8, 1, 1))
    odd = replace(made, model=replace(made.model, file=name))
    with pytest.raises(PlanError, match=r"The plan can't be written, since nobody could read it: model\.file: "):
        write_plan(tmp_path / "p.json", odd)
    assert list(tmp_path.iterdir()) == []
