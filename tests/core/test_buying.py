"""The whole run: days, energy, machines, renting against buying. Figures worked out by hand."""

from dataclasses import replace

import pytest
from offers import TODAY, an_hour, card, offered, wanted

from planner_app.core.buying.machines import Chassis, CloudMachine, Market
from planner_app.core.buying.run import InTime, Run, propose, ranked
from planner_app.core.buying.scenario import answers, compare
from planner_app.core.hardware.device import QUOTE, Price, Segment
from planner_app.core.hardware.prices import Pay
from planner_app.core.hardware.roofline import Speed
from planner_app.errors import SetupError

GIB = 1 << 30
CARD = card("NVIDIA X1", cloud_prices=(an_hour(2.0),), market_prices=(Price(1000, "shop", "2026-11-01"),), slots=2)
TOWER = Chassis("tower", 8, 4, 1000, 200, 64 * GIB, 0, price=Price(3000, "quote", "2026-11-01"))
RENTED = CloudMachine("Cloud", "big", "NVIDIA X1", 4, 32, 128 * GIB, 10.0, "here", "2026-11-01")
MARKET = Market((TOWER,), (RENTED,))


def option(device=CARD, gpus=1, speed=100.0):
    found = next(each for each in offered(wanted(64, counts=(gpus,)), device).options)
    return replace(found, speed=Speed(64 / speed, speed, slowest=0.5, fastest=2.0, best_samples_per_second=400.0))


def proposal(run, *, market=MARKET, **what):
    (found,) = propose([option(**what)], run, market, TODAY)
    return found


def test_that_a_run_takes_its_samples_at_the_expected_speed_within_the_band():
    found = proposal(Run(360_000, 10))  # 3.6 million samples at 100 a second: 10 hours
    assert (found.seconds, found.low_seconds, found.high_seconds) == (36_000, 18_000, 72_000)


def test_that_energy_is_that_of_cards_and_machine():
    found = proposal(Run(360_000, 10, power_usd_per_kwh=0.5))  # 100 W + 200 W for 10 hours
    assert found.kwh == pytest.approx(3.0)
    assert found.buy.energy_usd_a_run == pytest.approx(1.5)


def test_that_machines_are_rented_whole():
    found = proposal(Run(360_000, 10))
    assert (found.rent.machine, found.rent.usd_a_run) == (RENTED, 100.0)  # all four GPUs are paid for
    alone = proposal(Run(360_000, 10), market=Market((TOWER,)))
    assert (alone.rent.machine, alone.rent.usd_a_run) == (None, 20.0)  # as one GPU is sold


def test_that_gpus_rented_one_by_one_count_where_their_provider_lists_no_machine():
    singles = replace(CARD, cloud_prices=(an_hour(2.0, source="Small cloud"), an_hour(1.0)))
    found = proposal(Run(360_000, 10), device=singles)  # Cloud, of 1.00, rents its machines whole
    assert (found.rent.machine, found.rent.hour.price.source, found.rent.usd_a_run) == (None, "Small cloud", 20.0)
    assert proposal(Run(360_000, 10), device=singles, gpus=4).rent.hour.usd == 8.0


def test_that_one_s_own_quote_for_rent_comes_before_lists():
    quoted = replace(CARD, cloud_prices=(Price(30.0, "us", "2026-11-01", QUOTE), an_hour(1.0, source="Small cloud")))
    assert proposal(Run(360_000, 10), device=quoted).rent.hour.price.source == "us"


def test_that_of_old_prices_the_newest_count():
    dated = [an_hour(3.0, "2026-07-01", "new"), an_hour(1.0, "2025-07-01", "old"), an_hour(0.5, None, "undated")]
    found = proposal(Run(360_000, 10), device=replace(CARD, cloud_prices=tuple(dated)), market=Market((TOWER,)))
    assert (found.rent.hour.price.source, found.rent.hour.old) == ("new", True)


def test_that_buying_pays_after_what_it_saves_has_paid_for_it():
    found = proposal(Run(360_000, 10, power_usd_per_kwh=0.5, runs=100))
    assert found.buy.usd == 4000
    assert found.even_after == pytest.approx(4000 / (100 - 1.5))
    assert (found.rent_usd, found.buy_usd, found.usd) == (10_000, 4150, 4150)


def test_that_a_deadline_is_met_surely_likely_or_not():
    for hours, expected in ((20, InTime.YES), (10, InTime.LIKELY), (9, InTime.NO)):
        assert proposal(Run(360_000, 10, deadline_seconds=hours * 3600)).in_time is expected


def test_that_what_is_late_or_too_dear_is_not_proposed():
    run = Run(360_000, 10, deadline_seconds=11 * 3600, budget_usd=99)
    assert ranked(propose([option()], run, MARKET, TODAY)) == []
    assert ranked(propose([option()], replace(run, budget_usd=100), MARKET, TODAY))
    assert ranked(propose([option(speed=50.0)], replace(run, budget_usd=None), MARKET, TODAY)) == []


@pytest.mark.parametrize(
    ("device", "gpus", "why"),
    [
        (CARD, 4, ""),
        (CARD, 5, "it holds 4 GPUs"),
        (replace(CARD, slots=3), 3, "3 cards take 9 of its 8 slots"),
        (replace(CARD, tdp_watts=400), 2, "1,000 W are more than its power supply of 1,000 W gives for long"),
        (replace(CARD, slots=None), 1, "it takes cards, not modules"),
        (replace(CARD, board_gpus=4, tdp_watts=10), 4, ""),
    ],
)
def test_that_a_machine_says_why_gpus_do_not_go_in(device, gpus, why):
    assert TOWER.why_not(device, gpus) == why


def test_that_the_input_pipeline_must_fit_the_machine():
    assert MARKET.to_buy(CARD, 1, 65 * GIB) is None
    assert MARKET.to_rent(CARD, 1, TODAY, 129 * GIB) is None


def test_that_a_laptop_needs_no_machine():
    found = proposal(Run(360_000, 10), device=replace(CARD, segment=Segment.LAPTOP), market=Market())
    assert (found.buy.chassis, found.buy.usd, found.no_machine) == (None, 1000, "")


def test_that_a_run_of_nothing_is_refused():
    with pytest.raises(SetupError, match="0 samples"):
        Run(0, 1)


def test_that_a_scenario_asked_again_says_what_has_changed():
    run = Run(360_000, 10)
    before = answers(propose([option()], run, MARKET, TODAY))
    dearer = Market((TOWER,), (replace(RENTED, usd_per_hour=20.0),))
    (change,) = compare(before, answers(propose([option()], run, dearer, TODAY)))
    assert change.sentences == ("rent: $100 before, $200 now (+100%)",)
    (same,) = compare(before, before)
    assert same.sentences == ()
    assert [each.sentences for each in compare(before, ())] == [("no longer in the list",)]


def test_that_only_the_wanted_way_to_pay_counts():
    run = Run(360_000, 10, power_usd_per_kwh=0.5)  # one run: 100 dollars of rent, or 4001.50 to buy
    assert (proposal(run).pay, proposal(run).usd) == (Pay.CLOUD, 100)
    bought = proposal(replace(run, pay=Pay.BUY, budget_usd=4000.0))
    assert (bought.pay, bought.usd, bought.in_budget) == (Pay.BUY, 4001.5, False)
    unpriced = proposal(replace(run, pay=Pay.BUY), device=replace(CARD, market_prices=()))
    assert (unpriced.pay, unpriced.usd) == (None, None)
