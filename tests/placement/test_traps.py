# SPDX-License-Identifier: BSD-3-Clause
"""Every trap is found where it is, and not found where it is not; and the words of --explain."""

from dataclasses import replace

import pytest

from nodewise.machine.sources import load_machine
from nodewise.placement.explain import explain
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, resolve
from nodewise.placement.traps import environment_traps, find_traps

TWO_SOCKETS = "synthetic:pack:2 core:4 pu:2"


def traps(machine, job, environment=None, **asked):
    request = Request(**asked)
    return [t.name for t in find_traps(machine, resolve(machine, job, request).placement, request, environment)]


def test_places_in_unbound_ranks_stack_the_ranks():
    machine = load_machine(TWO_SOCKETS)
    asked = {"places": "cores", "bind": "close"}
    assert traps(machine, Job(2, 4), zones="none", **asked) == ["stacked ranks", "oversubscribed"]
    assert traps(machine, Job(2, 4), openmpi4="--bind-to none", **asked) == ["stacked ranks", "oversubscribed"]
    assert traps(machine, Job(2, 4), **asked) == []
    assert traps(machine, Job(2, 4), openmpi4="--map-by slot:PE=2", **asked) == []
    # ranks that are free on the whole machine share it as the system sees fit
    assert traps(machine, Job(2, 4), zones="none", policy="os") == []


def test_kmp_affinity_silences_omp_proc_bind():
    machine = load_machine(TWO_SOCKETS)
    both = {"affinity": "granularity=fine,scatter", "places": "threads", "bind": "close"}
    assert traps(machine, Job(2), **both) == ["silenced"]
    request = Request(**both)
    # and the model places as the runtime does: by KMP_AFFINITY
    assert resolve(machine, Job(2), request).placement.places == ((0,), (8,))
    assert traps(machine, Job(2), affinity="scatter") == []
    found = environment_traps({"KMP_AFFINITY": "compact", "OMP_PROC_BIND": "close"})
    assert [t.name for t in found] == ["silenced"]
    assert environment_traps({"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}) == []


def test_gnus_runtime_narrows_the_main_thread():
    machine = load_machine(TWO_SOCKETS)
    assert traps(machine, Job(2), gomp="0 2") == ["main thread narrowed"]
    assert traps(machine, Job(2), places="cores", bind="close", runtime="gnu") == ["main thread narrowed"]
    assert traps(machine, Job(2), places="cores", bind="false", runtime="gnu") == []
    assert traps(machine, Job(2), places="cores", bind="close") == []


def test_a_mask_narrower_than_the_plan():
    narrow = load_machine(TWO_SOCKETS, "0-3")
    assert traps(narrow, Job(8), policy="compact") == ["mask narrower than plan"]
    assert traps(narrow, Job(4), policy="compact") == []
    plan = resolve(load_machine(TWO_SOCKETS), Job(8), Request(policy="scatter")).placement
    found = find_traps(narrow, plan, Request(policy="scatter"))
    assert "uses processors 4" in found[0].what and "only 0-3" in found[0].what
    # a list that names what the mask leaves out loses it, and says so
    notes = resolve(narrow, Job(2), Request(affinity="proclist=[2,9],explicit")).notes
    assert any("processor 9 is not there or not allowed" in note for note in notes)


def test_a_quota_below_the_threads():
    machine = load_machine(TWO_SOCKETS)
    limited = replace(machine, limits=replace(machine.limits, cpu_quota=2.5))
    assert traps(limited, Job(4), policy="compact") == ["quota below threads"]
    assert traps(limited, Job(2, 2), policy="compact") == ["quota below threads"]
    assert traps(limited, Job(2), policy="compact") == []
    for quota, advice in ((2.5, "use at most 2 threads"), (0.5, "use at most 1 thread,")):
        limited = replace(machine, limits=replace(machine.limits, cpu_quota=quota))
        (trap,) = find_traps(limited, resolve(limited, Job(4), Request(policy="compact")).placement, Request(), None)
        assert trap.hint.startswith(advice)


@pytest.mark.parametrize(
    "environment",
    [{"SLURM_CPU_BIND": "quiet,mask_cpu:0x3"}, {"I_MPI_PIN_DOMAIN": "omp"}, {"LD_PRELOAD": "/opt/lib/liblikwidpin.so"}],
)
def test_a_second_layer_that_is_there_already(environment):
    machine = load_machine(TWO_SOCKETS)
    assert traps(machine, Job(2), environment, places="cores", bind="close") == ["second layer"]


def test_a_second_layer_that_was_asked_for():
    machine = load_machine(TWO_SOCKETS)
    assert "second layer" in traps(machine, Job(1, 2), openmpi4="--map-by socket", taskset="-c 0-1")
    assert traps(machine, Job(2), affinity="norespect,compact") == ["second layer"]
    assert traps(machine, Job(1, 2), openmpi4="--map-by socket") == []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OMP_PROC_BIND", "cores", "belongs to OMP_PLACES"),
        ("OMP_PLACES", "thread", "threads"),
        ("OMP_PLACES", "spread", "belongs to OMP_PROC_BIND"),
        ("KMP_AFFINITY", "balance", "balanced"),
        ("KMP_HW_SUBSET", "4q", "column 2"),
        ("GOMP_CPU_AFFINITY", "0-", "column 3"),
    ],
)
def test_invalid_values_in_the_environment(name, value, words):
    (trap,) = environment_traps({name: value})
    assert trap.name == "invalid value"
    assert name in trap.what and words in trap.what
    assert f"correct or unset {name}" in trap.hint


def words(machine, job, **asked):
    request = Request(**asked)
    return " ".join(explain(machine, resolve(machine, job, request).placement, request))


def test_explain_reports_an_offset_past_the_end():
    machine = load_machine(TWO_SOCKETS)
    text = words(machine, Job(2), affinity="granularity=fine,compact,0,18")
    assert "The offset 18 is past the end of 16 places: counting starts over, at number 2." in text
    assert "past the end" not in words(machine, Job(2), affinity="granularity=fine,compact,0,3")


def test_explain_reports_more_threads_than_processors():
    text = words(load_machine(TWO_SOCKETS), Job(20), policy="compact")
    assert "more threads than the 16 processors" in text


def test_explain_distinguishes_fine_from_core_granularity():
    machine = load_machine(TWO_SOCKETS)
    assert "a thread stays on its hardware thread" in words(machine, Job(2), affinity="granularity=fine,compact")
    text = words(machine, Job(2), affinity="compact")
    assert "granularity=core, which is the default" in text
    assert "up to 2 hardware threads it may move among" in text


def test_explain_reports_numbering_that_starts_on_the_last_core():
    """As on a coprocessor of 61 cores, whose last core has processors 0, 241, 242 and 243."""
    indexes = ",".join(map(str, [*range(1, 241), 0, 241, 242, 243]))
    text = words(load_machine(f"synthetic:core:61 pu:4(indexes={indexes})"), Job(4), policy="compact")
    assert "Processor 0 belongs to the last core, with 241-243" in text
    assert "go on with 1-4 on the next" in text
    assert "Processor 0 belongs" not in words(load_machine("synthetic:core:61 pu:4"), Job(4), policy="compact")


def test_explain_reports_uneven_load():
    text = words(load_machine("synthetic:core:61 pu:4"), Job(62), policy="balanced")
    assert "Cores have 1 to 2 threads" in text


def test_explain_counts_what_is_used():
    text = words(load_machine(TWO_SOCKETS), Job(8), policy="compact")
    assert "8 threads on 4 of 8 cores, 8 of 16 processors." in text
    assert "Threads on each socket: 8, 0." in text
    assert "4 share a core, 3 share only a socket" in text


def test_explain_names_which_runtime_is_modelled_and_what_the_other_does():
    machine = load_machine(TWO_SOCKETS)
    text = words(machine, Job(3), places="cores", bind="close")
    assert "Modelled is Intel's and LLVM's runtime; GNU's places every thread as it does." in text
    text = words(machine, Job(5), places="sockets", bind="close")
    assert "GNU's puts 2 threads elsewhere: thread 2 on 8-15, not on 0-7." in text
    assert "Modelled is GNU's runtime" in words(machine, Job(3), places="cores", bind="true", runtime="gnu")
