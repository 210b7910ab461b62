# SPDX-License-Identifier: BSD-3-Clause
"""What `scale` makes of what it is given, before anything runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nodewise.api.options import choose_run
from nodewise.api.scale import Scaling, prepare_scale
from nodewise.base.errors import InputError

MACHINE = "synthetic:package:1 core:{} pu:1"
NOW = datetime(2026, 11, 23, 22, 30)
FIVE = (1, 2, 4, 8, 16)


def prepared(*words: str, cores: int = 16, env: dict[str, str | int | float] | None = None, **more: Any) -> Scaling:
    return prepare_scale(
        words or ("a",), choose_run(env=env), Path("e"), machine=MACHINE.format(cores), now=NOW, **more
    )


@pytest.mark.parametrize(
    ("cores", "words", "more", "counts", "over"),
    [
        (16, ("a",), {}, (1, 2, 3, 4, 6, 8, 12, 16), "threads"),
        (64, ("a",), {}, (1, 2, 4, 8, 16, 32, 64), "threads"),
        (24, ("a",), {}, (1, 2, 4, 8, 16, 24), "threads"),
        (2, ("a",), {}, (1, 2), "threads"),
        (16, ("a",), {"counts": "1..16*2"}, FIVE, "threads"),
        (16, ("a",), {"counts": [8, 1, 8]}, (1, 8), "threads"),
        (16, ("mpirun", "-n", "8", "a"), {}, (1, 2, 3, 4, 6, 8), "ranks"),
        (16, ("mpirun", "-n", "4", "a"), {"over": "threads"}, (1, 2, 3, 4), "threads"),
        # where there are processors for them srun knows
        (4, ("srun", "-n", "8", "a"), {}, (1, 2, 3, 4, 6, 8), "ranks"),
        (2, ("srun", "-n", "64", "--ntasks-per-node", "16", "a"), {"over": "nodes"}, (1, 2, 3, 4), "nodes"),
    ],
)
def test_what_is_measured(
    cores: int, words: tuple[str, ...], more: dict[str, Any], counts: tuple[int, ...], over: str
) -> None:
    question = prepared(*words, cores=cores, **more).question
    assert (question.counts, question.over) == (counts, over)


@pytest.mark.parametrize(
    ("cores", "words", "more", "said"),
    [
        (2, ("a",), {"counts": "1,4"}, "4 threads do not run at once here: there are processors for 2"),
        (4, ("mpirun", "-n", "8", "a"), {}, "8 ranks do not run at once here: there are processors for 4"),
        (
            4,
            ("mpirun", "-n", "4", "a"),
            {"env": {"OMP_NUM_THREADS": 2}},
            "4 ranks do not run at once here: there are processors for 2",
        ),
        (
            2,
            ("a",),
            {"to": "8"},
            "--to needs a law, which is fitted to 5 or more numbers of threads: only 2 would be measured (1, 2)",
        ),
        (16, ("a",), {"to": "65"}, "--to 65 is beyond 4 times the largest measured, 16 threads"),
        (2, ("a",), {"by": "08:00"}, "--by needs a law"),
        (1, ("a",), {}, "only threads=1 would be measured, and a speedup takes two"),
        (16, ("a",), {"counts": "0,1"}, "--counts: '0' is no whole number from 1 to 1048576"),
        (16, ("a",), {"by": "25:00"}, "--by '25:00' is no time of day"),
        (16, ("a",), {"by": "2026-11-23T22:00"}, "--by '2026-11-23T22:00' has passed"),
        (16, ("a",), {"times": 0.0}, "--times 0 is no number above zero"),
        (16, ("a",), {"blocks": 5}, "5 blocks say nothing"),
        (16, ("a",), {"blocks": 1}, "1 block says nothing"),
        (16, ("a",), {"over": "ranks"}, "scaling over ranks needs a command that starts ranks"),
        (
            16,
            ("mpirun", "-n", "4", "a"),
            {"over": "nodes"},
            "scaling over nodes needs to know how many ranks are on each",
        ),
    ],
)
def test_what_cannot_be_is_refused(cores: int, words: tuple[str, ...], more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        prepared(*words, cores=cores, **more)
    assert caught.value.what.startswith(said) and caught.value.hint


def test_a_small_machine_says_for_how_many_it_has_processors() -> None:
    with pytest.raises(InputError) as caught:
        prepared(cores=2, to="8")
    assert "this one has processors for 2" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("by", "until"),
    [
        ("23:00", NOW.replace(hour=23, minute=0)),
        ("08:00", NOW.replace(day=24, hour=8, minute=0)),
        ("22:30", NOW.replace(day=24)),
        ("2026-11-25T06:00", NOW.replace(day=25, hour=6, minute=0)),
        ("2026-11-25T06:00+00:00", datetime(2026, 11, 25, 6, tzinfo=UTC)),
    ],
)
def test_a_time_of_day_is_the_next_one(by: str, until: datetime) -> None:
    assert prepared(by=by).question.by_epoch_s == until.timestamp()


def test_only_times_are_scaled() -> None:
    with pytest.raises(InputError, match="scaling is of times"):
        prepare_scale(("a",), choose_run(minimize="x", metrics={"x": "x (.*)"}), Path("e"))


def test_isolation_is_refused_as_it_would_do_nothing() -> None:
    run = choose_run(isolation="bwrap")
    with pytest.raises(InputError, match="isolation is not for scale"):
        prepare_scale(("a",), run, Path("e"), machine=MACHINE.format(16), now=NOW)
