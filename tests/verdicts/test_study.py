# SPDX-License-Identifier: BSD-3-Clause
"""What a study's blocks bear."""

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodewise.records.kept_limits import KeptLimit
from nodewise.runner.sample import Sample
from nodewise.studies.commands import Contender
from nodewise.studies.contract import Curve, Limit
from nodewise.studies.discovery import find_study
from nodewise.studies.machine_limits import MachineLimit
from nodewise.verdicts.pair import PairVerdict
from nodewise.verdicts.series import Series, compare_series, fewest_for
from nodewise.verdicts.study import StudyRow, StudyVerdict, fewest_blocks, furthest_ahead, ratio_text, study_verdict
from tests.report.stored import BLOCKS, ITEMS, judged, series, study_result
from tests.verdicts.cases import hold

IS = find_study("is").study


def _series(times: dict[str, float], blocks: int, noise: float, seed: int = 0, disturbed: int = 0) -> list[Series]:
    """The first `disturbed` blocks of the first contender are disturbed."""
    dice = random.Random(seed)
    made = []
    for name, seconds in times.items():
        kind = "peer" if name.startswith("peer") else "variant"
        one = Series(Contender(name, kind, (name,)))
        for block in range(blocks):
            t = seconds * (1 + dice.gauss(0, noise))
            marks = ("other load: much",) if block < disturbed and name == next(iter(times)) else ()
            one.add(block, Sample(t, t, 0.0, metrics={"items": 1e6}, marks=marks))
        made.append(one)
    return made


def _rows(series: list[Series], blocks: int, **more: Any) -> dict[str, StudyRow]:
    return {r.contender: r for r in study_verdict(series, IS, {}, 1, blocks, **more).rows}


def _pair(row: StudyRow) -> PairVerdict:
    assert row.against_peer is not None
    return row.against_peer


@pytest.mark.parametrize("blocks", [1, 5])
def test_few_blocks_claim_nothing_however_far_apart(blocks: int) -> None:
    pair = _pair(_rows(_series({"mine": 0.001, "peer": 0.1}, blocks, 0.001), blocks)["mine"])
    assert (pair.verdict, pair.low, pair.high) == ("undecided", None, None)
    assert "too few" in pair.reason


@pytest.mark.parametrize("names", [("mine", "other"), ("a", "b", "c", "d", "peer0", "peer1", "peer2"), ("a", "peer")])
def test_so_many_blocks_as_are_the_fewest_decide_where_all_point_one_way(names: tuple[str, ...]) -> None:
    times = {name: 0.01 * 3**i for i, name in enumerate(names)}
    fewest = fewest_blocks(_series(times, 1, 0.001), IS)
    for blocks, decided in ((fewest, True), (fewest - 1, False)):
        rows = _rows(_series(times, blocks, 0.001), blocks)
        pairs = [p for row in rows.values() for p in (row.against_peer, row.against_plain) if p is not None]
        assert all(pair.low is not None for pair in pairs) is (decided or not pairs), blocks


def test_a_busy_machine_claims_nothing_unless_that_is_accepted() -> None:
    times = {"mine": 0.05, "peer": 0.1}
    busy = _series(times, 20, 0.01, disturbed=11)
    pair = _pair(_rows(busy, 20)["mine"])
    assert pair.verdict == "undecided" and "the machine was busy (11 of 40 runs" in pair.reason
    assert _pair(_rows(busy, 20, accept=True)["mine"]).verdict == "faster"
    assert _pair(_rows(_series(times, 20, 0.01, disturbed=10), 20)["mine"]).verdict == "faster"


def test_a_disturbed_third_contender_says_nothing_of_the_others() -> None:
    rows = _rows(_series({"disturbed": 0.2, "mine": 0.05, "peer": 0.1}, 20, 0.01, disturbed=20), 20)
    assert _pair(rows["mine"]).verdict == "faster" and _pair(rows["disturbed"]).verdict == "undecided"


@pytest.mark.parametrize(("seeds", "most"), [(8, 1), pytest.param(60, 6, marks=pytest.mark.long)])
def test_of_equal_contenders_none_is_faster_than_the_fastest_of_many_peers(seeds: int, most: int) -> None:
    wrong = 0
    for seed in range(seeds):
        times = dict.fromkeys(["mine", *(f"peer{i}" for i in range(6))], 0.1)
        rows = _rows(_series(times, 20, 0.02, seed), 20)
        wrong += _pair(rows["mine"]).verdict in ("faster", "slower")
    assert wrong <= most


def test_a_variant_that_beats_all_peers_is_faster_and_the_peer_is_named() -> None:
    pair = _pair(_rows(_series({"mine": 0.08, "peer1": 0.1, "peer2": 0.12}, 25, 0.01), 25)["mine"])
    assert (pair.verdict, pair.one) == ("faster", "peer1")
    assert pair.low is not None and pair.high is not None and pair.low < 1.25 < pair.high


@pytest.mark.parametrize(
    ("peers", "seeds", "most"),
    [
        *((3, 40, 2), (5, 10, 1)),
        pytest.param(3, 100, 5, marks=pytest.mark.long),
        pytest.param(5, 100, 5, marks=pytest.mark.long),
    ],
)
def test_the_interval_covers_the_ratio_to_whichever_peer_is_the_fastest(peers: int, seeds: int, most: int) -> None:
    # equal peers: that with the lowest median is chosen by its luck; benchmarks/fairness.py has more of these
    missed = 0
    for seed in range(seeds):
        times = {"mine": 0.1, **{f"peer{i}": 0.1 for i in range(peers)}}
        pair = _pair(_rows(_series(times, 16, 0.03, seed), 16)["mine"])
        assert pair.low is not None and pair.high is not None and pair.low <= pair.ratio <= pair.high
        missed += not pair.low <= 1.0 <= pair.high
    assert missed <= most


def test_a_peer_that_hardly_ran_leaves_open_which_is_the_fastest() -> None:
    series = _series({"mine": 0.05, "peer1": 0.1, "peer2": 0.2}, 20, 0.01)
    for block in range(4, 20):
        del series[2].times[block]
    pair = _pair({r.contender: r for r in study_verdict(series, IS, {}, 1, 20).rows}["mine"])
    assert (pair.verdict, pair.low) == ("undecided", None) and "too few" in pair.reason


def test_of_several_peers_the_one_that_shares_the_fewest_blocks_says_how_many_decided() -> None:
    for short in ("peer1", "peer2"):
        made = _series({"mine": 0.05, "peer1": 0.1, "peer2": 0.2}, 25, 0.01)
        shorter = next(one for one in made if one.contender.name == short)
        for block in range(18, 25):
            del shorter.times[block]
        pair = _pair(_rows(made, 25)["mine"])
        assert (pair.verdict, pair.one, pair.pairs) == ("faster", "peer1", 18), short


def test_the_work_of_a_limit_is_what_it_stands_for_and_of_others_what_they_counted() -> None:
    limit = MachineLimit(Limit("bandwidth", "read", per="bytes"), Contender("bandwidth read", "limit", ()), memory=True)
    assert Series(limit.contender, limit, {"bytes": 5e7}).work_of("bytes") == 5e7
    (one,) = _series({"mine": 0.05}, 3, 0.01)
    assert one.work_of("items") == 1e6 and one.work_of("bytes") is None
    both = Series(limit.contender, limit, {"bytes": 5e7})
    both.metrics["bytes"] = [7.0]
    assert both.work_of("bytes") == 5e7


def test_below_six_blocks_there_is_no_best_and_no_headline() -> None:
    found = study_verdict(_series({"mine": 0.01, "peer": 0.1}, 5, 0.01), IS, {}, 1, 5, seconds_spent=3.0)
    assert (found.best, found.best_peer, found.verdict, found.headline) == (None, None, None, "No answer yet")
    assert found.sentence == "5 blocks in 3 s: no best is named, and nothing claimed, before a variant ran well in 6"
    six = study_verdict(_series({"mine": 0.01, "peer": 0.1}, 6, 0.01), IS, {}, 1, 6)
    assert (six.best, six.best_peer) == ("mine", "peer")


def test_medians_that_alone_would_give_another_ratio_are_explained() -> None:
    found = _series({"mine": 0.01, "peer": 0.02}, 20, 0.001)
    assert not study_verdict(found, IS, {}, 1, 20).conditions
    for block in range(8, 20):
        # from here on all is half as fast, and the peer does not run any more
        found[0].times[block] *= 2
        del found[1].times[block]
    (said,) = study_verdict(found, IS, {}, 1, 20).conditions
    assert said.startswith("mine against peer: the medians alone would give 1.00")


def test_no_share_of_a_limit_is_above_all_of_it() -> None:
    given = [series("fast", "variant", 0.1), series("at", "variant", 0.1185), series("f", "limit", 0.12)]
    found = judged(given)
    shares = {r.contender: r.share_of_limit for r in found.rows}
    assert shares == {"fast": None, "at": 1.0, "f": 1.0}
    assert [c for c in found.conditions if c.startswith("fast is above its limit (f, 120.")]
    assert "of the limit" not in found.sentence


def test_a_kept_limit_bounds_without_a_run_and_says_when_it_was_measured() -> None:
    limit = MachineLimit(Limit("bandwidth", "read", per="bytes"), Contender("bandwidth read", "limit", ()), memory=True)
    kept = KeptLimit("bandwidth read", "bytes", 2, "state", 1e9, 0.8e9, 1.25e9, 12, "2026-01-02 03:04 UTC")
    work = {"bytes": 5e7, "items": ITEMS}
    found = judged([series("plain", "variant", 0.1), Series(limit.contender, limit, work, kept)])
    plain, row = found.row("plain"), found.row("bandwidth read")
    assert plain is not None and row is not None
    assert plain.share_of_limit == pytest.approx(0.5) and row.seconds == pytest.approx(0.05)
    assert (row.times, row.rate_low) == ((None,) * BLOCKS, pytest.approx(ITEMS * 0.8e9 / 5e7 * 1e-9))
    assert row.how == "measured 2026-01-02 03:04 UTC, 12 runs, and kept"


def test_a_contender_for_scale_is_compared_with_nothing() -> None:
    series = _series({"mine": 0.08, "peer1": 0.1}, 12, 0.01)
    study = replace(IS, for_scale=("peer1",))
    found = study_verdict(series, study, {}, 1, 12)
    assert found.best_peer is None and found.verdict is None and all(r.against_peer is None for r in found.rows)


@pytest.mark.parametrize(
    ("mine", "blocks", "noise", "headline", "sentence"),
    [
        (0.05, 20, 0.01, "2.00× the best peer", r"2\.0\d*× \(1\.9\d*–2\.0\d*\) against peer"),
        (0.2, 20, 0.01, "0.501× the best peer", r"0\.50*\d*× \(0\.49\d*–0\.50\d*\) against peer"),
        (0.1, 25, 0.002, "No difference from the best peer", r"no difference beyond 1%: 1\.00\d*× \(.*\) against peer"),
        (0.1, 20, 0.3, "Undecided against the best peer", r"undecided against peer \(.*\): the noise leaves it open"),
    ],
)
def test_the_headline_and_the_sentence_claim_what_the_verdict_bears(
    mine: float, blocks: int, noise: float, headline: str, sentence: str
) -> None:
    found = study_verdict(_series({"mine": mine, "peer": 0.1}, blocks, noise), IS, {}, 1, blocks, seconds_spent=3.0)
    assert (found.headline, found.best, found.best_peer) == (headline, "mine", "peer")
    assert re.search(sentence, found.sentence) and found.sentence.endswith(f"{blocks} blocks in 3 s")
    assert re.match(r"best variant mine: \S+ Mkeys/s · ", found.sentence)


def test_disturbed_blocks_are_counted_in_the_sentence() -> None:
    busy = _series({"mine": 0.05, "peer": 0.1}, 20, 0.01, disturbed=11)
    assert "20 blocks (11 disturbed) in" in study_verdict(busy, IS, {}, 1, 20).sentence
    assert "20 blocks (11 disturbed, accepted) in" in study_verdict(busy, IS, {}, 1, 20, accept=True).sentence


def _given(*times: tuple[str, str, float | None], **more: dict[str, float]) -> list[Series]:
    return [series(name, kind, seconds, **more.get(name, {})) for name, kind, seconds in times]


def _failed(one: Series, after: int) -> Series:
    one.add(after, Sample(0.1, 0.1, 0.0, error="wrong result", output=" what it printed \n"), "other")
    return one


CASES: dict[str, StudyVerdict] = {
    "usual": study_result(),
    "peers": judged(
        _given(("fast", "variant", 0.02), ("plain", "variant", 0.1), ("one", "peer", 0.03), ("two", "peer", 0.025))
    ),
    "behind": judged(_given(("plain", "variant", 0.1), ("one", "peer", 0.03), ("two", "peer", 0.09))),
    "for scale": judged(
        _given(("fast", "variant", 0.02), ("plain", "variant", 0.03), ("one", "peer", 0.03), fast={"for_scale": 1.0})
    ),
    "failing": judged(
        [_failed(series("fast", "variant", 0.02), 3), *_given(("plain", "variant", 0.1), ("one", "peer", None))]
    ),
    "none": judged(_given(("plain", "variant", None), ("one", "peer", 0.1))),
    "above its limit": judged(_given(("plain", "variant", 0.1), ("f", "limit", 0.12), ("b", "limit", 0.11))),
}


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_said(tmp_path: Path, name: str) -> None:
    hold(f"study {name}", CASES[name], tmp_path)


def test_what_stands_in_the_rows_can_be_asked_for() -> None:
    found = CASES["peers"]
    fast, plain, two = (found.row(name) for name in ("fast", "plain", "two"))
    assert fast is not None and plain is not None and two is not None and found.row("none") is None
    assert found.ratio_to_peer(two) == 1 and found.ratio_to_plain(plain) == 1
    assert found.ratio_to_peer(fast) == pytest.approx(1.25, rel=0.02) and found.ratio_to_plain(fast) == pytest.approx(
        5, rel=0.02
    )
    assert CASES["none"].ratio_to_plain(CASES["none"].rows[0]) is None
    assert found.where == "n 1024, 2 threads" and replace(found, threads=1).where == "n 1024, 1 thread"
    assert found.binding_limit is None
    limited = study_result()
    lowest = limited.binding_limit
    assert lowest is not None and lowest.contender == "flops f64"
    ahead, behind = CASES["peers"], CASES["behind"]
    assert furthest_ahead([behind, ahead]) is ahead and furthest_ahead([CASES["none"], behind]) is behind
    assert ratio_text(replace(_pair(fast), low=None)) == "1.25×, undecided"


def test_a_curve_is_that_of_the_fastest_row_that_has_one() -> None:
    found = CASES["peers"]
    curved = replace(found, curve=Curve("rate", "rates", "n"))
    none, some = found.rows[0], replace(found.rows[1], metrics={"rate1": 3.0, "rate2": 4.0, "rate4": 9.0})
    assert replace(curved, rows=(none, some)).curve_values == (3.0, 4.0)
    assert replace(curved, rows=(none,)).curve_values == () and replace(found, curve=None).curve_values == ()


def test_against_several_peers_too_few_blocks_say_how_many_intervals_there_are() -> None:
    times = {"mine": 0.05, "peer0": 0.1, "peer1": 0.11, "peer2": 0.12}
    made = _series(times, 7, 0.001)
    pair = _pair(_rows(made, 7)["mine"])
    assert pair.verdict == "undecided" and pair.low is None
    intervals = int(re.search(r"too few for (\d+) intervals", pair.reason)[1])  # type: ignore[index]
    assert intervals % 3 == 0 and intervals >= 3
    assert pair.reason.endswith(f"{fewest_for(intervals)} may do")
    # at the end a difference that is surely as small as counts as none is no difference
    equal = {"mine": 0.1, "peer0": 0.1, "peer1": 0.1, "peer2": 0.1}
    assert _pair(_rows(_series(equal, 60, 0.0005), 60)["mine"]).verdict == "no difference"


def test_the_interval_of_a_kept_limit_is_that_of_its_rate() -> None:
    limit = MachineLimit(Limit("bandwidth", "read", per="bytes"), Contender("bandwidth read", "limit", ()), memory=True)
    kept = KeptLimit("bandwidth read", "bytes", 2, "state", 1e9, 0.8e9, 1.25e9, 12, "2026-01-02 03:04 UTC")
    one = Series(limit.contender, limit, {"bytes": 5e7}, kept)
    assert one.seconds == pytest.approx(0.05) and one.interval() == (pytest.approx(0.04), pytest.approx(0.0625))


def test_two_that_are_equal_as_far_as_sixty_blocks_show_are_no_different() -> None:
    pair = _pair(_rows(_series({"mine": 0.1, "peer": 0.1}, 60, 0.02), 60)["mine"])
    assert pair.verdict == "no difference" and pair.low is not None and pair.low < 1 < (pair.high or 0)


def test_six_blocks_are_enough_for_the_ratio_of_two_series_and_five_are_not() -> None:
    for blocks, there in ((6, True), (5, False)):
        one, other = _series({"mine": 0.05, "peer": 0.1}, blocks, 0.001)
        assert compare_series(one.times, other.times).has_interval is there


def test_over_so_many_ranks_it_was_measured() -> None:
    made = _series({"mine": 0.05, "peer": 0.1}, 6, 0.001)
    assert study_verdict(made, IS, {}, 1, 6, ranks=2).ranks == 2
