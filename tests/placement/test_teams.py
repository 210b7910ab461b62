# SPDX-License-Identifier: BSD-3-Clause
"""Teams of OpenMP threads within teams: each runtime's own answers, what is written, and what is read back."""

import random
from math import prod

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.openmp.runtimes import RUNTIMES, active
from nodewise.placement.openmp.teams import Seat, gnu, kmp, order
from nodewise.placement.render import render
from nodewise.placement.rendering import NotExpressibleError
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes import LLVM, runtime_folder  # noqa: F401
from tests.placement.runtimes.asked import differing, differing_from_recorded

MACHINE = load_machine("synthetic:pack:2 core:4 pu:2")
RECORDED = {
    "gnu": "gnu-openmp-12.2.0-nested.jsonl",
    "intel": "intel-openmp-2026.2.0-nested.jsonl",
    "llvm": "llvm-openmp-14.0.6-nested.jsonl",
}


def placed(levels, runtime="intel", machine=MACHINE, ranks=0, **texts):
    request, notes = active(Request(runtime=runtime, **texts), levels)
    found = resolve(machine, Job(prod(request.levels or levels[:1]), ranks), request)
    return found.placement, [*notes, *found.notes]


@pytest.mark.parametrize("runtime", RECORDED)
def test_agrees_with_what_was_recorded(runtime):
    """As `tools/placements.py RUNTIME --nested` asked them."""
    assert differing_from_recorded(runtime, RECORDED[runtime]) == []


@pytest.mark.parametrize("runtime", RECORDED)
def test_agrees_with_the_runtime_itself(runtime, runtime_folder):  # noqa: F811
    if runtime == "llvm" and not LLVM.exists():
        pytest.skip("Debian's libomp5-14 is not installed")
    assert differing(runtime, runtime_folder, cases=15, seed="the suite's", nested=True) == []


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_inner_team_keeps_to_its_outer_threads_partition(runtime):
    found, _ = placed((2, 3), runtime, places="cores", bind="spread,close")
    assert [place[0] for place in found.places] == [0, 2, 4, 8, 10, 12] and found.levels == (2, 3)
    close, _ = placed((2, 3), runtime, places="cores", bind="close")
    assert [place[0] for place in close.places] == [0, 2, 4, 2, 4, 6]
    three, _ = placed((2, 2, 2), runtime, places="cores", bind="spread,spread")
    assert [place[0] for place in three.places] == list(range(0, 16, 2))


def test_uneven_partitions_differ_between_runtimes():
    places = {r: [p for (p,) in placed((3, 3), r, places="threads", bind="spread,close")[0].places] for r in RUNTIMES}
    assert places["gnu"] == [0, 1, 2, 6, 7, 8, 11, 12, 13]
    assert places["intel"] == places["llvm"] == [0, 1, 2, 5, 6, 7, 11, 12, 13]


def test_levels_beyond_the_active_ones_have_a_thread_each():
    found, notes = placed((2, 4), places="cores", bind="close", max_active_levels="1")
    assert [place[0] for place in found.places] == [0, 2] and "OMP_MAX_ACTIVE_LEVELS=1" in notes[0]
    assert len(placed((1, 4), places="cores", bind="close", max_active_levels="1")[0].places) == 4
    with pytest.raises(InputError, match="is no number of levels"):
        placed((2, 2), places="cores", max_active_levels="two")


def test_kmp_affinity_leaves_inner_teams_to_chance():
    with pytest.raises(InputError, match="differs from run to run"):
        placed((2, 2), affinity="compact")
    assert set(placed((2, 2), affinity="none")[0].places) == {tuple(range(16))}


def test_a_list_of_policies_is_written_as_it_was_read():
    found, notes = placed((2,), places="cores", bind="spread,close")
    rendering = render("omp", MACHINE, found)
    assert rendering.env == {"OMP_NUM_THREADS": "2", "OMP_PLACES": "{0,1}:8:2", "OMP_PROC_BIND": "spread,close"}
    assert "--threads 2,N" in notes[0]
    back, _ = placed((2,), places=rendering.env["OMP_PLACES"], bind=rendering.env["OMP_PROC_BIND"])
    assert (back.places, back.inner) == (found.places, found.inner)
    assert (
        "by --to omp alone" in render("hwloc", MACHINE, placed((1,), places="cores", bind="spread,close")[0]).notes[-1]
    )


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_is_written_of_teams_is_read_back_the_same_by_every_runtime(runtime):
    dice = random.Random(runtime)
    for _ in range(60):
        levels = tuple(dice.randint(1, 4) for _ in range(dice.choice([2, 3])))
        policy = dice.choice(["compact", "scatter", "balanced"])
        found = resolve(MACHINE, Job(prod(levels)), Request(policy).nested(levels)).placement
        env = render("omp", MACHINE, found).env
        assert env["OMP_NUM_THREADS"] == ",".join(map(str, levels))
        back, _ = placed(
            levels,
            runtime,
            places=env["OMP_PLACES"],
            bind=env["OMP_PROC_BIND"],
            max_active_levels=env["OMP_MAX_ACTIVE_LEVELS"],
        )
        assert back.places == found.places, (levels, policy, env)


def test_what_places_one_team_refuses_teams_within_teams():
    found, _ = placed((2, 2), places="cores", bind="spread,close")
    for dialect in ("gomp", "kmp", "likwid", "subset"):
        with pytest.raises(NotExpressibleError, match="teams within teams"):
            render(dialect, MACHINE, found)


def test_ranks_have_their_teams_through_a_launcher():
    found, _ = placed((2, 2), places="cores", bind="spread,close", ranks=2)
    rendering = render("slurm", MACHINE, found)
    text = str(rendering.env) + "".join(rendering.files.values())
    assert "OMP_NUM_THREADS=2,2" in text and "OMP_MAX_ACTIVE_LEVELS=2" in text and "spread,close" in text


@pytest.mark.parametrize("rule", [gnu, kmp])
def test_a_team_of_one_keeps_its_place_and_partition(rule):
    assert order(rule, ("spread", "close"), 8, (1, 1, 1)) == [0]
    assert order(rule, ("spread", "primary", "close"), 8, (2, 1, 2)) == [0, 1, 4, 5]
    # Intel's and LLVM's hand on a level's policy through one team of one, and not through two
    inner = [0, 1, 4, 5] if rule is gnu else [0, 0, 4, 4]
    assert order(rule, ("spread", "primary", "primary", "close"), 8, (2, 1, 1, 2)) == inner
    assert rule("primary", Seat(3, 2, 4), 3, 8) == [Seat(3, 2, 4)] * 3
