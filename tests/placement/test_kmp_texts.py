# SPDX-License-Identifier: BSD-3-Clause
"""What Intel's and LLVM's runtimes make of words, lists and lengths: each as the real ones answered."""

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.render import launch_rendering, render
from nodewise.placement.rendering import NotExpressibleError
from nodewise.placement.resolve import Request, fitting_threads, resolve
from nodewise.placement.traps import find_traps
from tests.placement.runtimes import uneven

SHAPE = "pack:2 core:4 pu:2"
ALL = tuple(range(16))
KMP = ("intel", "llvm")


def machine(shape=SHAPE, allow=None):
    return load_machine(f"synthetic:{shape}", allow)


def placed(threads, shape=SHAPE, allow=None, **asked):
    return resolve(machine(shape, allow), Job(threads), Request(**asked))


@pytest.mark.parametrize("runtime", KMP)
@pytest.mark.parametrize(
    ("gomp", "others", "places"),
    [
        ("1", {"places": "{0}"}, ((1,), (1,))),
        ("1 4", {"places": "cores", "bind": "spread"}, ((1,), (4,))),
        ("1 4", {"bind": "false"}, ((1,), (4,))),
        ("3-1:-1", {"places": "nonsense"}, ((3,), (2,))),
        ("{1,2}, 5 - 6", {}, ((1, 2), (5,))),
        ("01", {}, ((1,), (1,))),
    ],
)
def test_gomp_goes_before_openmps_own_variables_there(runtime, gomp, others, places):
    assert placed(2, gomp=gomp, runtime=runtime, **others).placement.places == places


@pytest.mark.parametrize("runtime", KMP)
def test_gomp_does_not_leave_the_mask_or_the_subset_there(runtime):
    found = placed(2, allow="0-3", gomp="2 9", runtime=runtime)
    assert found.placement.places == ((2,), (2,)) and any("9" in note for note in found.notes)
    assert placed(2, allow="0-3", gomp="9", runtime=runtime).placement.places == ((0, 1, 2, 3),) * 2
    assert placed(2, gomp="1 4", subset="1s,2c,1t", runtime=runtime).placement.places == ((0, 2),) * 2


@pytest.mark.parametrize("runtime", KMP)
@pytest.mark.parametrize("gomp", ["0x5", "0-4:0", "0-", "3-1", "1,,2", "{0-2}", "+1", ""])
def test_gomp_that_is_spelt_wrong_is_refused_there(runtime, gomp):
    with pytest.raises(InputError, match="GOMP_CPU_AFFINITY") as refused:
        placed(2, gomp=gomp, places="{0}", runtime=runtime)
    assert ("crashes" in refused.value.hint) == (runtime == "llvm")


def test_gomp_is_gnus_where_no_runtime_is_named():
    assert placed(2, gomp="0x5", places="{0}").placement.places == ((0,), (0,))
    assert placed(2, gomp="0x5").placement.places == ((5,), (5,))


@pytest.mark.parametrize(
    ("runtime", "winner"), [("intel", "GOMP_CPU_AFFINITY"), ("llvm", "GOMP_CPU_AFFINITY"), ("gnu", "OMP_PLACES")]
)
def test_which_of_the_two_is_silenced_depends_on_the_runtime(runtime, winner):
    request = Request(gomp="1", places="{0}", runtime=runtime)
    found = find_traps(machine(), resolve(machine(), Job(2), request).placement, request)
    assert [t.what.split(" silences ")[0] for t in found if t.name == "silenced"] == [winner]


def test_gomp_counts_threads_in_gnus_runtime_alone():
    assert fitting_threads(machine(), Job(1), Request(gomp="1 2")) == 2
    assert fitting_threads(machine(), Job(1), Request(gomp="1 2", runtime="intel")) == 16


@pytest.mark.parametrize("kind", ["scatter", "compact", "none", "disabled", "balanced", "physical"])
def test_a_proclist_of_another_type_crashes_llvms(kind):
    with pytest.raises(InputError, match=f"LLVM's runtime 14 crashes on a proclist with the type {kind}"):
        placed(2, affinity=f"proclist=[0,1],{kind}", runtime="llvm")
    assert any("ignored" in note for note in placed(2, affinity=f"proclist=[0,1],{kind}").notes) == (kind != "disabled")
    assert placed(2, affinity="proclist=[3]", runtime="llvm").placement.places == ((2, 3),) * 2


@pytest.mark.parametrize(
    ("runtime", "affinity", "places"),
    [
        ("llvm", "noreset, compact", (ALL, ALL, ALL)),
        ("llvm", "reset, compact", (ALL, ALL, ALL)),
        ("llvm", "noreset ,compact", ((0, 1), (0, 1), (2, 3))),
        ("llvm", "noreset,granularity=fine, compact", ((0,), (1,), (2,))),
        ("llvm", "compact,reset, 1", ((0, 1), (0, 1), (2, 3))),
        ("llvm", "granularity=core_eff, compact", (ALL, ALL, ALL)),
        ("llvm", "granularity=core_eff,compact", ((0, 1), (0, 1), (2, 3))),
        ("llvm", "granularity=group, compact", (ALL, ALL, ALL)),
        ("intel", "granularity=group, compact", (ALL, ALL, ALL)),
        ("intel", "granularity=group, compact, 1,scatter", ((0, 1), (8, 9), (2, 3))),
        ("intel", "granularity=group,granularity=fine,compact", ((0,), (1,), (2,))),
        ("intel", "noreset, compact", ((0, 1), (0, 1), (2, 3))),
        ("intel", "compact,reset, 1", ((0, 1), (2, 3), (4, 5))),
        ("intel", "granularity=core_eff, compact", ((0, 1), (0, 1), (2, 3))),
    ],
)
def test_a_word_not_known_takes_with_it_what_follows_after_blanks(runtime, affinity, places):
    found = placed(3, affinity=affinity, runtime=runtime)
    assert found.placement.places == places
    lost = places[0] == ALL
    assert any("blank follows, compact" in note for note in found.notes) == (lost or "1,scatter" in affinity)


def test_nonverbose_is_no_word_of_theirs():
    with pytest.raises(InputError, match="column 1"):
        placed(2, affinity="nonverbose,compact")


@pytest.mark.parametrize("runtime", KMP)
def test_balanced_does_not_bind_one_thread(runtime):
    assert placed(1, affinity="balanced", runtime=runtime).placement.places == (ALL,)
    assert placed(1, affinity="granularity=fine,balanced", allow="0-2,9", runtime=runtime).placement.places == (
        (0, 1, 2, 9),
    )
    assert placed(1, affinity="balanced", subset="1s,2c,1t", runtime=runtime).placement.places == ((0, 2),)
    assert placed(2, affinity="balanced", runtime=runtime).placement.places == ((0, 1), (2, 3))


def test_one_is_no_plural():
    request = Request(affinity="compact", runtime="intel")
    part = machine(allow="3")
    said = " ".join(map(str, find_traps(part, resolve(part, Job(2), request).placement, request)))
    assert "the one processor 3" in said and "at most 1 thread," in said


@pytest.mark.parametrize(
    ("asked", "intel", "llvm"),
    [
        ({"places": "cores(2)", "bind": "close"}, 4, 16),
        ({"places": "Cores(03)"}, 6, 16),
        ({"places": "modules (2)"}, 4, 16),
        ({"places": "sockets(1)", "bind": "spread,close"}, 8, 16),
        ({"places": "cores(99)"}, 16, 16),
        ({"places": "cores(0)"}, 16, 16),
        ({"places": "cores(2)", "bind": "false"}, 16, 16),
        ({"places": "cores(2)", "affinity": "verbose"}, 4, 16),
        ({"places": "cores(2)", "subset": "1s,3c,2t"}, 4, 6),
        ({"places": "{0},{1}", "bind": "close"}, 16, 16),
        ({"places": "{0:4}:2:4"}, 16, 16),
        ({"places": "cores"}, 16, 16),
        ({"affinity": "disabled", "subset": "1s,1c"}, 16, 16),
    ],
)
def test_intels_has_as_many_threads_as_the_places_counted_have_processors(asked, intel, llvm):
    assert fitting_threads(machine(), Job(1), Request(**asked, runtime="intel")) == intel
    assert fitting_threads(machine(), Job(1), Request(**asked, runtime="llvm")) == llvm


def test_intels_counts_those_that_may_be_used():
    part = machine(allow="0,2,5,7,9-12")
    assert fitting_threads(part, Job(1), Request(places="cores(2)")) == 2
    assert fitting_threads(part, Job(1), Request(places="sockets(1)")) == 4


@pytest.mark.parametrize("runtime", ["intel", "llvm"])
@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"affinity": "disabled"}, 16),
        ({"affinity": "norespect,disabled"}, 16),
        ({"affinity": "norespect,none"}, 16),
        ({"affinity": "norespect,compact"}, 16),
        ({"affinity": "norespect,compact", "subset": "1s,1c"}, 2),
        ({"affinity": "disabled", "subset": "1s,1c"}, 16),
        ({"affinity": "none"}, 3),
        ({"affinity": "compact"}, 3),
    ],
)
def test_what_minds_no_mask_has_as_many_threads_as_the_machine(asked, count, runtime):
    """As the real ones of 2026.2.0 and 14.0.6 had, with and without such a mask."""
    assert fitting_threads(machine(allow="0,2,5"), Job(1), Request(**asked, runtime=runtime)) == count
    assert fitting_threads(machine(), Job(1), Request(**asked, runtime=runtime, taskset="-c 0,2,5")) == count


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("cores(3:2)", [0, 0, 4, 4, 8, 8]),
        ("cores(12:3)", [0, 6, 12, 18, 0, 6]),
        ("cores(20:5)", [0, 10, 20, 6, 16, 2]),
        ("threads(:3)", [0, 3, 6, 9, 12, 15]),
        ("threads(0:3)", [0, 3, 6, 9, 12, 15]),
        ("cores(3:)", [0, 0, 2, 2, 4, 4]),
        ("cores( 2 : 1 )", [0, 0, 0, 2, 2, 2]),
        ("cores()", [0, 2, 4, 6, 8, 10]),
        ("core_types", [0, 2, 4, 6, 8, 10]),
        ("core_effs(2)", [0, 0, 0, 2, 2, 2]),
    ],
)
def test_names_with_a_stride_and_of_kinds_are_intels(text, first):
    found = placed(6, "pack:2 numa:2 core:3 pu:2", places=text, bind="close").placement.places
    assert [p[0] for p in found] == first
    if text != "cores()":
        with pytest.raises(InputError, match="OMP_PLACES"):
            placed(6, places=text, bind="close", runtime="llvm")


@pytest.mark.parametrize("text", ["numas", "sockets(1:-1)", "cores(1:", "core_type"])
def test_names_that_neither_knows(text):
    with pytest.raises(InputError, match="OMP_PLACES"):
        placed(2, places=text)


def test_places_of_each_kind_of_cores(tmp_path):
    path = uneven.write_machine(tmp_path / "m.xml", uneven.SHAPES["2 fast and 8 slow"])
    found = resolve(load_machine(str(path)), Job(2), Request(places="core_types", bind="close")).placement
    assert found.places == ((0, 1, 2, 3), (4, 5, 6, 7, 8, 9, 10, 11))


@pytest.mark.parametrize("runtime", KMP)
def test_an_ampersand_parts_items_of_a_subset(runtime):
    assert placed(1, subset="2c & 1t", affinity="none", runtime=runtime).placement.places == ((0, 2, 8, 10),)
    assert placed(1, subset="1&1c", affinity="none", runtime=runtime).placement.places == ((0, 1),)
    found = placed(1, subset="2c:eff0&2c:eff1", affinity="none", runtime=runtime)
    assert found.placement.places == (ALL,) and "ignores the whole subset" in found.notes[0]


LONG = "pack:2 core:192 pu:2"


def written(dialect, shape, policy, threads, runtime="", allow=None):
    there = machine(shape, allow)
    return render(dialect, there, resolve(there, Job(threads), Request(policy=policy)).placement, runtime=runtime)


def test_a_list_longer_than_intels_runtime_reads_is_told_and_refused():
    assert "4085; --to kmp is shorter" in written("omp", LONG, "scatter", 768).notes[-1]
    assert written("omp", LONG, "scatter", 768, "gnu").notes == ()
    assert written("omp", LONG, "scatter", 768, "llvm").notes == ()
    with pytest.raises(NotExpressibleError, match=r"4497 characters long.*the first 4085; --to kmp is shorter"):
        written("omp", LONG, "scatter", 768, "intel")
    assert "proclist" in written("kmp", LONG, "scatter", 768, "intel").env["KMP_AFFINITY"]
    assert written("kmp", "pack:4 core:192 pu:2", "scatter", 1536, "intel").env["KMP_AFFINITY"] == (
        "granularity=fine,scatter"
    )
    there = machine(LONG)
    found = resolve(there, Job(768), Request(policy="scatter")).placement
    assert "KMP_AFFINITY" in launch_rendering(there, found, "intel").env
    assert "OMP_PLACES" in launch_rendering(there, found).env


def test_a_long_list_is_written_shorter_where_it_can_be():
    allow = ",".join(str(p) for p in range(128) if p % 3)
    assert written("omp", "pack:2 core:32 pu:2", "os", 40, "intel", allow).env["OMP_PLACES"] == ("{1:43:3,2:42:3}:40:0")
    # each core's hardware threads are far apart
    shape = f"core:700 pu:2(indexes={','.join(f'{i},{i * 37 % 700 + 700}' for i in range(700))})"
    there = machine(shape)
    cores = resolve(there, Job(700), Request(places="cores", bind="close")).placement
    made = render("omp", there, cores, runtime="intel")
    assert made.env["OMP_PLACES"] == "cores" and made.env["OMP_PROC_BIND"] == "close"


def test_what_is_read_is_cut_off_as_intels_runtime_does():
    assert placed(1, places="{9}" + ",{5}" * 1020, bind="close").placement.places == ((9,),)
    longer = "{9}" + ",{5}" * 1021
    with pytest.raises(InputError, match="4087 characters long, of which Intel's runtime reads the first 4085"):
        placed(1, places=longer, bind="close")
    assert placed(1, places=longer, bind="close", runtime="llvm").placement.places == ((9,),)


@pytest.mark.parametrize(
    ("subset", "left"),
    [
        ("1numas", 16),
        ("1nums,1t", 8),
        ("1cs", 4),
        ("1l3_ca", 16),
        ("1threads", 16),
        ("1c:INTEL_CORE", 4),
        # a package is no socket there, but a group of processors, which only Windows has
        ("1package", 32),
        ("1packs,1c", 32),
    ],
)
def test_names_of_layers_may_be_cut_and_have_an_s(subset, left):
    shape = "pack:2 numa:2 l3:1 l2:1 core:4 pu:2"
    assert len(placed(1, shape, subset=subset, affinity="none").placement.places[0]) == left


def test_t_with_an_s_is_refused():
    with pytest.raises(InputError, match="column 2"):
        placed(1, subset="1ts", affinity="none")


def test_of_two_words_that_contradict_each_other_the_first_counts():
    """As Intel's runtime, which says of the second that it was specified already."""
    asked = {"shape": "pack:2 core:2 pu:1", "allow": "1-3", "runtime": "intel"}
    one = placed(2, affinity="granularity=core,norespect,respect,compact", **asked)
    assert one.placement.places == ((0,), (1,))
    other = placed(2, affinity="granularity=core,respect,norespect,compact", **asked)
    assert other.placement.places == ((1,), (2,))


def test_what_intels_runtime_throws_away_is_not_written_for_it():
    found = placed(30, shape="pack:2 core:12 pu:4", places="sockets", bind="close").placement
    for runtime in ("", "intel"):
        with pytest.raises(NotExpressibleError, match="--runtime llvm"):
            render("kmp", machine("pack:2 core:12 pu:4"), found, runtime=runtime)
    assert len(render("kmp", machine("pack:2 core:12 pu:4"), found, runtime="llvm").env["KMP_AFFINITY"]) > 4083
