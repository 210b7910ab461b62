# SPDX-License-Identifier: BSD-3-Clause
"""What Intel's and LLVM's runtimes make of words, lists and lengths: each as the real ones answered."""

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, fitting_threads, resolve
from nodewise.placement.traps import find_traps

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
