# SPDX-License-Identifier: BSD-3-Clause
"""What a run costs."""

import os

import pytest

from nodewise.base.errors import InputError
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.runner.objective import format_metric
from nodewise.runner.price import Price, parse_price, share_used
from nodewise.runner.setting import Setting


@pytest.mark.parametrize(
    ("text", "per_hour", "currency"),
    [
        ("3.2/h", 3.2, ""),
        ("3.2EUR/h", 3.2, "EUR"),
        ("0.4$/h", 0.4, "$"),
        ("€ 3/h", 3, "€"),
        ("1. CHF / hour", 1, "CHF"),
        (".5/h", 0.5, ""),
    ],
)
def test_a_price_is_any_currency_for_an_hour(text: str, per_hour: float, currency: str) -> None:
    assert parse_price(text) == Price(per_hour, currency)


@pytest.mark.parametrize("text", ["", "3.2", "EUR/h", "0/h", "-1/h", "3/day", "EUR 3 USD/h", "3,2/h"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a price"):
        parse_price(text)


def test_a_sample_reports_its_cost() -> None:
    with LocalLauncher(RunOptions(price=Price(3600.0))) as launcher:
        sample = launcher.run(Setting(command=("sleep", "0.05")))
    assert sample.metrics["cost"] == pytest.approx(sample.wall_s)


def test_by_share_only_the_processors_of_the_setting_are_paid_for() -> None:
    here = sorted(os.sched_getaffinity(0))
    with LocalLauncher(RunOptions(price=Price(3600.0, by_share=True))) as launcher:
        sample = launcher.run(Setting(command=("sleep", "0.05"), mask=(here[0],)))
    assert sample.metrics["cost"] == pytest.approx(sample.wall_s / len(here))


def test_the_share_comes_from_mask_places_or_threads() -> None:
    command = ("x",)
    assert share_used(Setting(command), 8) == 1
    assert share_used(Setting(command, mask=(0, 1), places=((0,),)), 8) == 0.25
    assert share_used(Setting(command, places=((0, 1), (1, 2))), 8) == 0.375
    assert share_used(Setting(command, values={"threads": 2, "ranks": 2}), 8) == 0.5
    assert share_used(Setting(command, values={"threads": 99}), 8) == 1


def test_a_cost_has_its_currency() -> None:
    assert format_metric("cost", 0.5, "EUR") == "0.5 EUR"
    assert format_metric("cost", 0.5) == "0.5"
