"""`plimsoll devices`, as typed."""

import json
from datetime import date

import pytest

from planner_app.cli import main
from planner_app.commands.ask import devices as command
from planner_app.files.devices import catalogue as devices
from planner_app.files.devices.machines import load_market


@pytest.fixture(autouse=True)
def no_users_file(tmp_path, monkeypatch):
    """The list must not depend on whose machine this is."""
    for module in (devices, command):
        monkeypatch.setattr(module, "user_file", lambda: tmp_path / "devices.json")
    devices.catalogue.cache_clear()
    yield tmp_path / "devices.json"
    devices.catalogue.cache_clear()


def test_that_the_list_shows_what_cards_report_and_what_tensorflow_gets(capsys):
    assert main(["devices", "--search", "nvidia l4"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("L4 "))
    assert "22.5 GiB" in line
    assert "20.4 GiB" in line


def test_that_derived_totals_are_marked(capsys):
    main(["devices", "--search", "l40"])
    shown = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith("L40")}
    assert "~45.0 GiB" in shown["L40"]
    assert "~" not in shown["L40S"]


def test_that_unknown_figures_are_dashes_and_null(capsys):
    main(["devices", "--search", "mi300x"])
    assert "-" in capsys.readouterr().out.splitlines()[2]
    main(["devices", "--search", "mi300x", "--json"])
    (device,) = json.loads(capsys.readouterr().out)["devices"]
    assert (device["total_bytes"], device["allocator_limit_bytes"], device["launch_price"]) == (None, None, None)


def test_that_the_machines_are_printed_as_a_file_to_edit(capsys, tmp_path):
    assert main(["devices", "--machines", "--json"]) == 0
    mine = tmp_path / "machines.json"
    mine.write_text(capsys.readouterr().out.replace('"usd": 2500.0', '"usd": 3100'))
    found = {each.name: each for each in load_market(mine).chassis}
    assert (found["workstation"].price.usd, found["8-GPU server for modules"].modules) == (3100, True)


def test_that_json_has_bytes_and_sources(capsys):
    assert main(["devices", "--json"]) == 0
    listed = {device["name"]: device for device in json.loads(capsys.readouterr().out)["devices"]}
    l4 = listed["NVIDIA L4"]
    assert l4["total_bytes"] == 23034 << 20
    assert l4["provenance"]["total_bytes"]["basis"] == "quoted"
    assert "NVIDIA A100 SXM4 40GB MIG 1g.5gb" in listed


def test_that_slices_are_listed_when_asked_for(capsys):
    main(["devices"])
    assert "MIG 1g" not in capsys.readouterr().out
    main(["devices", "--search", "mig"])
    assert "A30 MIG 1g.6gb" in capsys.readouterr().out


def test_that_a_search_that_finds_nothing_is_an_error_in_a_sentence(capsys):
    assert main(["devices", "--search", "voodoo"]) == 1
    assert "No device has 'voodoo' in its name" in capsys.readouterr().err


def test_that_a_broken_user_file_is_reported(no_users_file, capsys):
    no_users_file.write_text("{")
    assert main(["devices"]) == 1
    assert "can't be used" in capsys.readouterr().err


def test_that_prices_of_a_spreadsheet_count_from_then_on(no_users_file, tmp_path, capsys):
    prices = tmp_path / "prices.csv"
    prices.write_text(f"device,usd_per_hour,provider,date\nNVIDIA L4,0.01,our cloud,{date.today()}\n")
    assert main(["devices", "--import-prices", str(prices)]) == 0
    assert str(no_users_file) in " ".join(capsys.readouterr().out.split())
    main(["devices", "--search", "nvidia l4"])
    assert f"$0.01, {date.today():%Y-%m}" in capsys.readouterr().out


def test_that_a_spreadsheet_with_an_error_changes_nothing(no_users_file, tmp_path, capsys):
    prices = tmp_path / "prices.csv"
    prices.write_text("device,usd_per_hour,provider,date\nNVIDIA L4,nothing,our cloud,2026-01-01\n")
    assert main(["devices", "--import-prices", str(prices)]) == 1
    assert "line 2: 'nothing' is not a price" in capsys.readouterr().err
    assert not no_users_file.exists()


def test_that_old_prices_are_marked(no_users_file, capsys):
    price = {"usd_per_hour": 0.01, "provider": "somebody", "date": "2020-01-01"}
    entry = {"name": "NVIDIA L4", "cloud_prices": [price]}
    no_users_file.write_text(json.dumps({"schema_version": 1, "devices": [entry]}))
    main(["devices", "--search", "nvidia l4"])
    assert "$0.01, 2020-01 (old)" in capsys.readouterr().out


def test_that_the_schema_of_a_list_can_be_had(capsys):
    assert main(["devices", "--schema"]) == 0
    assert "Entry" in json.loads(capsys.readouterr().out)["$defs"]
