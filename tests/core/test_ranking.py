"""Options in order, limits and the Pareto front."""

from dataclasses import replace

import pytest
from offers import GIB, TODAY, an_hour, card, offered, wanted

from planner_app.core.hardware.device import Price, Segment
from planner_app.core.hardware.prices import Pay
from planner_app.core.hardware.ranking import By, Filter, front, kept, one_of_each, ranked

BUY = Price(1500, "shop", "2020-09-17")
CHEAP = card("NVIDIA Cheap", 24, cloud_prices=(an_hour(0.5),), market_prices=(BUY,), bandwidth_bytes_per_second=10**11)
DEAR = card("NVIDIA Dear", 80, cloud_prices=(an_hour(3.0),), tdp_watts=700, bandwidth_bytes_per_second=3 * 10**12)
UNPRICED = card("NVIDIA Unpriced", 141)
OLD = card("NVIDIA Old", 16, cloud_prices=(an_hour(1.0, "2025-01-01"),), segment=Segment.CONSUMER, tdp_watts=None)
ALL = offered(wanted(64, counts=(1, 2)), CHEAP, DEAR, UNPRICED, OLD).options


def names(options):
    return [option.device.name.removeprefix("NVIDIA ") for option in options]


def test_that_the_cheapest_comes_first_and_what_has_no_price_last():
    assert [(name, option.gpus) for name, option in zip(names(ranked(ALL)), ranked(ALL), strict=True)] == [
        ("Cheap", 1),
        ("Old", 1),  # a dollar as well, with fewer GPUs
        ("Cheap", 2),
        ("Old", 2),
        ("Dear", 1),
        ("Dear", 2),
        ("Unpriced", 1),
        ("Unpriced", 2),
    ]
    assert names(one_of_each(ranked(ALL, By.PRICE, Pay.BUY)))[0] == "Cheap"


@pytest.mark.parametrize("by", list(By))
@pytest.mark.parametrize("pay", list(Pay))
def test_that_no_unknown_figure_is_ever_before_a_known_one(by, pay):
    unknown = [
        {
            By.PRICE: option.hour is None if pay is Pay.CLOUD else option.buy is None,
            By.VALUE: option.usd_per_million_samples is None,
            By.SPEED: option.speed is None,
            By.WATTS: option.watts is None,
        }.get(by, False)
        for option in ranked(ALL, by, pay)
    ]
    assert unknown == sorted(unknown)


def test_that_an_unknown_price_is_none_and_never_nothing():
    unpriced = [option for option in ALL if option.device is UNPRICED]
    assert {(option.hour, option.buy, option.usd_per_million_samples) for option in unpriced} == {(None, None, None)}


def test_that_headroom_speed_and_batch_rank_the_most_first():
    assert names(ranked(ALL, By.HEADROOM))[0] == "Unpriced"
    fastest = ranked(ALL, By.SPEED)
    assert fastest[0].speed.samples_per_second == max(option.speed.samples_per_second for option in ALL)
    assert ranked(ALL, By.BATCH)[0].largest_batch == max(option.largest_batch for option in ALL)


def test_that_costs_are_of_all_gpus():
    two = next(option for option in ALL if option.device is CHEAP and option.gpus == 2)
    assert (two.hour.usd, two.buy.usd, two.watts) == (1.0, 3000, 200)
    assert (two.hour.old, two.buy.old) == (False, True)


def test_that_the_front_is_what_nothing_beats():
    best = front(ALL, By.BATCH)
    for option in best:
        for other in ALL:
            if other.hour is not None and other.hour.usd <= option.hour.usd:
                assert other.largest_batch <= option.largest_batch
    beaten = [option for option in ALL if option.hour is not None and all(option is not each for each in best)]
    for option in beaten:
        assert any(
            each.hour.usd <= option.hour.usd and each.largest_batch >= option.largest_batch and each is not option
            for each in best
        )
    assert "Unpriced" not in names(best)


def test_that_equals_share_the_front():
    twin = replace(CHEAP, name="NVIDIA Twin")
    assert names(front(offered(wanted(64, counts=(1,)), CHEAP, twin).options, By.BATCH)) == ["Cheap", "Twin"]


def test_that_limits_leave_out_what_is_beyond_and_what_is_not_known():
    assert set(names(kept(ALL, Filter(most_usd_an_hour=1.0)))) == {"Cheap", "Old"}
    assert set(names(kept(ALL, Filter(most_usd=5000)))) == {"Cheap"}
    assert set(names(kept(ALL, Filter(segments=frozenset({Segment.CONSUMER}))))) == {"Old"}
    assert set(names(kept(ALL, Filter(most_watts=250)))) == {"Cheap", "Unpriced"}
    assert set(names(kept(ALL, Filter(priced=Pay.CLOUD, fresh=True)))) == {"Cheap", "Dear"}
    assert Filter(most_usd_an_hour=1.0).why_not(ranked(ALL)[-1]) == "its price an hour is unknown"


def test_that_headroom_is_what_is_left():
    (option,) = offered(wanted(64, counts=(1,)), CHEAP, constant=2 * GIB).options
    assert option.headroom_bytes + option.level.peak_bytes == option.limit_bytes


def test_that_the_day_decides_what_is_old():
    assert TODAY.isoformat() == "2026-11-16"
    assert [option.hour.old for option in ALL if option.device is OLD] == [True, True]
