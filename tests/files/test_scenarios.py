"""Scenarios and lists of machines on disk."""

import json
from dataclasses import replace

import pytest

from planner_app.core.buying.run import Run
from planner_app.core.buying.scenario import Scenario
from planner_app.core.hardware.device import Segment
from planner_app.core.hardware.option import ShopRequest
from planner_app.core.hardware.prices import Pay
from planner_app.core.hardware.ranking import Filter
from planner_app.core.model.setup import Precision, Setup
from planner_app.errors import DeviceError, PlannerError
from planner_app.files.devices.catalogue import load_catalogue
from planner_app.files.devices.machines import load_market
from planner_app.files.scenarios import read_scenario, write_scenario

SCENARIO = Scenario(
    "resnet", "abc", "2026-11-18", "0.1.0",
    ShopRequest(Setup(batch=64), (Precision.MIXED_BFLOAT16,), counts=(1, 2)),
    Run(1000, 3, deadline_seconds=86400.0, pay=Pay.BUY),
    devices=("RTX 4090",), wanted=Filter(frozenset({Segment.CONSUMER}), most_watts=900),
)  # fmt: skip


def test_that_a_scenario_is_read_as_it_was_written(tmp_path):
    write_scenario(tmp_path / "a.json", SCENARIO)
    assert read_scenario(tmp_path / "a.json") == SCENARIO


@pytest.mark.parametrize(
    ("text", "why"),
    [("{}", "is not a scenario"), ('{"schema_version": 2}', "use a newer plimsoll"), ("[", "is not a scenario")],
)
def test_that_another_file_is_refused(tmp_path, text, why):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(PlannerError, match=why):
        read_scenario(tmp_path / "a.json")


def test_that_every_machine_for_rent_has_a_device_of_the_catalogue():
    known = {device.name for device in load_catalogue().devices}
    rented = load_market().cloud
    assert len(rented) > 100
    assert {machine.device for machine in rented} <= known
    assert all(machine.date and machine.region for machine in rented)


def test_that_own_machines_replace_and_extend_the_templates(tmp_path):
    own = tmp_path / "machines.json"
    tower = {"name": "Workstation", "most_gpus": 3, "supply_watts": 1600, "memory_gib": 128, "slots": 6, "usd": 4000}
    own.write_text(json.dumps({"schema_version": 1, "machines": [tower]}))
    found = {each.name: each for each in load_market(own).chassis}
    assert (found["Workstation"].most_gpus, found["Workstation"].price.usd) == (3, 4000)
    assert "workstation" not in found and "8-GPU server" in found


def test_that_a_mistake_in_own_machines_is_named(tmp_path):
    own = tmp_path / "machines.json"
    own.write_text('{"schema_version": 1, "machines": [{"name": "x"}]}')
    with pytest.raises(DeviceError, match="most_gpus"):
        load_market(own)


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\nfits", "a\u202e", "a\x9b2J"])
def test_that_letters_which_steer_a_screen_are_refused_however_they_are_written(tmp_path, name):
    write_scenario(tmp_path / "a.json", replace(SCENARIO, model=name))
    with pytest.raises(PlannerError, match="unprintable"):
        read_scenario(tmp_path / "a.json")
    own = tmp_path / "machines.json"
    tower = {"name": name, "most_gpus": 3, "supply_watts": 1600, "memory_gib": 128, "slots": 6, "usd": 4000}
    own.write_text(json.dumps({"schema_version": 1, "machines": [tower]}))  # the letters as escapes
    with pytest.raises(DeviceError, match="unprintable"):
        load_market(own)
