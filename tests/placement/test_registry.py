# SPDX-License-Identifier: BSD-3-Clause
"""The registry: every dialect of the house is whole, and what is not whole is not registered."""

from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement import dialects, registry
from nodewise.placement.dialect import Dialect, Outcome, Silence, Text, ThreadReader
from nodewise.placement.environment import environment_request, heeded_environment
from nodewise.placement.explain import explain
from nodewise.placement.job import Job
from nodewise.placement.openmp.runtimes import RUNTIMES
from nodewise.placement.registry import (
    all_dialects,
    all_texts,
    binding_variables,
    launchers,
    local_rank_variables,
    placing,
    rank_variables,
    register,
    variable_texts,
    writers,
)
from nodewise.placement.render import render
from nodewise.placement.rendering import Rendering
from nodewise.placement.resolve import Request, resolve
from nodewise.placement.traps import environment_traps, find_traps

MACHINE = "synthetic:pack:2 core:4 pu:2"
FIRST = ThreadReader(lambda machine, threads, request: Outcome(((machine.allowed[0],),) * threads))


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    all_dialects()
    monkeypatch.setattr(registry.DIALECTS, "_registered", dict(registry.DIALECTS._registered))


def first(**more):
    """A made-up dialect that puts every thread on the first processor."""
    text = Text("first", "Any word.", variable="FIRST", binds=more.pop("binds", True))
    return Dialect(name="first", texts=(text,), threads=FIRST, **more)


def test_every_file_of_the_folder_is_a_dialect_of_its_name():
    files = {path.stem for path in Path(next(iter(dialects.__path__))).glob("*.py")} - {"__init__"}
    assert {dialect.name for dialect in all_dialects()} == files


@pytest.mark.parametrize("name", list(all_texts()))
def test_every_text_is_read(name):
    """What no tool takes is refused, or noted as what a runtime ignores."""
    try:
        found = resolve(load_machine(MACHINE), Job(1, 2), Request(**{name: "?!"}))
    except InputError as problem:
        assert "?!" in problem.what
    else:
        assert any("?!" in note for note in found.notes)


def test_every_text_has_help_and_every_runtime_that_it_names_is_there():
    for text in all_texts().values():
        assert text.help.endswith(".") and set(text.runtimes) <= set(RUNTIMES)
    for dialect in all_dialects():
        assert set(dialect.compatible) <= {other.name for other in all_dialects()}
        for silence in dialect.silences:
            assert {silence.winner, *silence.losers} <= set(all_texts()) and set(silence.runtimes) <= set(RUNTIMES)


def test_a_text_that_no_dialect_reads_is_no_request():
    with pytest.raises(InputError, match="no dialect reads 'tasksets'"):
        Request(tasksets="0")
    with pytest.raises(InputError, match="no dialect reads 'first'"):
        Request(first="x")


def test_a_registered_dialect_is_read_checked_explained_written_and_trapped():
    machine = load_machine(MACHINE)
    made = first(
        write_process=lambda machine, places: Rendering({"FIRST": "x"}),
        explain=lambda machine, request: [f"First: {request.texts['first']}."],
        silences=(Silence("first", ("likwid",), ()),),
        compatible=("likwid",),
        pins={"FIRSTLY": "firstly binds"},
        rank=("FIRST_RANK",),
        local_rank=("FIRST_LOCAL",),
    )
    register(made)
    request = Request(first="x", likwid="1")
    placed = resolve(machine, Job(2), request).placement
    assert placed.places == ((0,), (0,)) and placed.policy == "first x likwid 1"
    assert "First: x." in explain(machine, placed, request)
    traps = {str(trap) for trap in find_traps(machine, placed, request, {"FIRSTLY": "yes"})}
    assert "FIRST silences --likwid; set one family and clear the other" in traps
    assert "FIRSTLY=yes: firstly binds as well; unset FIRSTLY, or place by it alone" in traps
    assert render("first", machine, placed).line() == "FIRST=x PROGRAM"
    assert "FIRST" in binding_variables() and "FIRST_RANK" in rank_variables()
    assert local_rank_variables().index("FIRST_LOCAL") < local_rank_variables().index("SLURM_LOCALID")
    assert environment_traps({"FIRST": "x", "OMP_PLACES": "cores"}) == []
    with pytest.raises(InputError, match="bound twice: by first and by places"):
        resolve(machine, Job(2), Request(first="x", places="cores"))


def test_a_text_that_does_not_bind_goes_with_any():
    register(first(binds=False))
    placed = resolve(load_machine(MACHINE), Job(2), Request(first="x", likwid="1,2")).placement
    assert placed.places == ((1,), (2,))
    assert resolve(load_machine(MACHINE), Job(2), Request(first="x")).placement.places == ((0,), (0,))


def test_what_a_process_heeds_of_its_variables():
    register(first())
    given = {
        "OMP_PLACES": "cores",
        "OMP_PROC_BIND": "close",
        "GOMP_CPU_AFFINITY": "0",
        "KMP_AFFINITY": "compact",
        "FIRST": "x",
        "OTHER": "y",
    }
    assert set(heeded_environment(given, "libgomp")) == {"OMP_PLACES", "OMP_PROC_BIND", "FIRST"}
    assert set(heeded_environment(given, "libiomp5")) == {"KMP_AFFINITY", "FIRST"}
    assert set(heeded_environment({**given, "KMP_AFFINITY": ""}, "libomp")) == {"GOMP_CPU_AFFINITY", "FIRST"}
    assert heeded_environment(given, "") == {"FIRST": "x"}
    request = environment_request({"GOMP_CPU_AFFINITY": "0"}, "libgomp")
    assert (request.runtime, request.texts) == ("gnu", {"gomp": "0"})


def test_the_variables_of_an_allocation_count_last():
    """srun sets them for whatever runs in its allocation, other launchers for their own ranks."""
    assert local_rank_variables()[-1] == "SLURM_LOCALID" and rank_variables()[-1] == "SLURM_PROCID"


TEXT = (Text("new", "N."),)


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        (Dialect(name="new"), "neither reads nor writes"),
        (Dialect(name="a-b", texts=TEXT, threads=FIRST), "no identifier"),
        (Dialect(name="kmp", texts=TEXT, threads=FIRST), "another has its name"),
        (Dialect(name="new", texts=TEXT), "must have one reader"),
        (Dialect(name="new", texts=TEXT, threads=FIRST, mask=lambda machine, text: None), "must have one reader"),
        (Dialect(name="new", threads=FIRST), "a reader, and no text"),
        (Dialect(name="new", texts=(*TEXT, Text("newer", "N.")), mask=lambda m, t: None), "reads one text"),
        (Dialect(name="new", texts=(Text("places", "N."),), threads=FIRST), "'places' is taken by omp"),
        (Dialect(name="new", texts=(Text("zones", "N."),), threads=FIRST), "no name for a text"),
        (Dialect(name="new", texts=(*TEXT, *TEXT), threads=FIRST), "no name for a text"),
        (Dialect(name="new", texts=(Text("new", "N.", "OMP_PLACES"),), threads=FIRST), "is the variable of omp"),
        (
            Dialect(name="new", texts=(Text("new", "N.", runtimes=("cray",)),), threads=FIRST),
            "'cray' is no OpenMP runtime",
        ),
        (Dialect(name="new", write_process=lambda m, p: None, write_job=lambda m, p, h: None), "a process or a job"),
    ],
)
def test_what_is_not_whole_is_not_registered(dialect, message):
    with pytest.raises(InputError, match=message):
        register(dialect)
    assert dialect.name not in writers() or dialect.name == "kmp"


def test_dialects_stand_in_the_order_of_what_they_read():
    """Those that place threads, masks, launchers, then those that only write."""
    register(Dialect(name="awriter", write_process=lambda machine, places: Rendering()))
    assert " ".join(dialect.name for dialect in all_dialects()) == (
        "gomp kmp likwid omp subset hwloc numactl taskset aprun mpich openmpi openmpi4 openmpi5 slurm awriter"
    )
    assert [dialect.name for dialect in launchers()] == ["aprun", "mpich", "openmpi", "openmpi4", "openmpi5", "slurm"]
    assert set(writers()) == {dialect.name for dialect in all_dialects()}


def test_texts_have_options_and_variables():
    options = {name: text.option for name, text in all_texts().items()}
    assert options["max_active_levels"] == "--max-active-levels" and options["place_threads"] == "--place-threads"
    assert options["gomp"] == "--gomp"
    assert {variable: text.name for variable, text in variable_texts().items()} == {
        "GOMP_CPU_AFFINITY": "gomp",
        "KMP_AFFINITY": "affinity",
        "OMP_PLACES": "places",
        "OMP_PROC_BIND": "bind",
        "KMP_HW_SUBSET": "subset",
        "KMP_PLACE_THREADS": "place_threads",
    }
    binding = {name for name, text in all_texts().items() if text.binds}
    assert set(options) - binding == {"subset", "place_threads", "max_active_levels"}
    assert [name for name, text in all_texts().items() if text.short] == ["likwid"] and all_texts()[
        "likwid"
    ].short == "-c"
    runtimes = {name: text.runtimes for name, text in all_texts().items() if text.runtimes}
    assert {name for name, known in runtimes.items() if known == ("intel", "llvm")} == {
        "affinity",
        "subset",
        "place_threads",
    }
    assert {name for name, known in runtimes.items() if set(known) == set(RUNTIMES)} == {
        "gomp",
        "places",
        "bind",
        "max_active_levels",
    }


def test_what_says_where_threads_go():
    assert placing({"places": "cores"}) and placing({"places": None, "gomp": "0"}) and placing({"unknown": "x"})
    assert not placing({}) and not placing({"places": None}) and not placing({"max_active_levels": "2"})


def test_what_dialects_can_do():
    known = {dialect.name: dialect for dialect in all_dialects()}
    assert {name for name, one in known.items() if one.outside} == {"gomp"}
    assert {name for name, one in known.items() if one.replaces} == {"taskset", "hwloc"}
    assert {name for name, one in known.items() if one.with_threads} == {"aprun"}
    assert {name for name, one in known.items() if one.allocator} == {"slurm"}
    assert {name: one.compatible for name, one in known.items() if one.compatible} == {"omp": ("kmp", "gomp")}
    assert known["likwid"].pins == {"LIKWID_PIN": "likwid-pin binds threads as they are created"}
    silences = {(s.winner, s.losers, s.runtimes) for one in known.values() for s in one.silences}
    kmp = ("intel", "llvm")
    assert silences == {
        ("affinity", ("bind", "places", "gomp"), kmp),
        ("gomp", ("bind", "places"), kmp),
        ("places", ("gomp",), ("gnu",)),
    }


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        (Dialect(name="a-b", texts=TEXT, threads=FIRST), "its name is no identifier"),
        (Dialect(name="new", texts=(Text("a-b", "N."),), threads=FIRST), "'a-b' is no name for a text"),
        *(
            (Dialect(name="new", texts=(Text(n, "N."),), threads=FIRST), f"'{n}' is no name for a text")
            for n in ("policy", "zones", "runtime")
        ),
        (
            Dialect(name="new", texts=(Text("a", "N.", "V"), Text("b", "N.", "V")), threads=FIRST),
            "V is the variable of two of its texts",
        ),
        (
            Dialect(name="new", texts=(Text("new", "N.", "KMP_AFFINITY"),), threads=FIRST),
            "KMP_AFFINITY is the variable of kmp",
        ),
        (
            Dialect(name="new", texts=TEXT, threads=FIRST, silences=(Silence("new", (), ("cray",)),)),
            "'cray' is no OpenMP runtime: known are intel, llvm, gnu",
        ),
        (
            Dialect(name="new", texts=(*TEXT, Text("newer", "N."))),
            "new and newer must have one reader: launch, mask or threads",
        ),
        (
            Dialect(name="new", texts=(*TEXT, Text("newer", "N.")), mask=lambda m, t: None),
            "a launcher or a mask reads one text",
        ),
        (Dialect(name="new", threads=FIRST), "it has a reader, and no text"),
        (Dialect(name="new"), "it neither reads nor writes"),
        (
            Dialect(name="new", write_process=lambda m, p: None, write_job=lambda m, p, h: None),
            "it writes either a process or a job",
        ),
    ],
)
def test_each_reason_in_full(dialect, message):
    with pytest.raises(InputError) as caught:
        register(dialect)
    assert caught.value.what.endswith(message)
