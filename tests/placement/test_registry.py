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
    local_rank_variables,
    rank_variables,
    register,
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
