# SPDX-License-Identifier: BSD-3-Clause
"""What holds for every machine, setting and dialect; and parsers fed with anything."""

import re
import shlex

import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.mpi_version import open_mpi
from nodewise.placement.openmp.affinity import TYPES, read_affinity
from nodewise.placement.openmp.gnu_text import read_gnu_places, read_gomp
from nodewise.placement.openmp.places import read_bind, read_places
from nodewise.placement.openmp.subset import read_subset
from nodewise.placement.placement import Placement
from nodewise.placement.registry import all_texts, variable_texts, writers
from nodewise.placement.render import render
from nodewise.placement.rendering import NotExpressibleError
from nodewise.placement.resolve import Request, resolve
from tests.examples import examples

PROCESS = [name for name, dialect in writers().items() if dialect.write_process is not None]
JOB = [name for name, dialect in writers().items() if dialect.write_job is not None]
#: Launchers that can be told any placement of ranks.
EXPRESSING_ALL = {"slurm", "openmpi", "openmpi4", "openmpi5", "mpich"}
SHAPES = ("core:4 pu:2", "pack:2 core:3 pu:2", "numa:2 l3:2 core:2 pu:1", "pack:2 numa:2 core:2 pu:4", "core:1 pu:1")
CALM = settings(
    max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@st.composite
def machines(draw):
    whole = load_machine("synthetic:" + draw(st.sampled_from(SHAPES)))
    if draw(st.booleans()):
        return whole
    some = draw(st.sets(st.sampled_from(whole.pus), min_size=1))
    return load_machine(whole.source, format_processors(some))


@st.composite
def requests(draw):
    """A setting that can be read, in one of the dialects that place threads."""
    which = draw(st.sampled_from(["affinity", "places", "gomp", "policy", "subset"]))
    number = st.integers(0, 20)
    if which == "affinity":
        grain = draw(st.sampled_from(["fine", "core", "socket", "tile", "numa_domain", "2"]))
        kind = draw(st.sampled_from([t for t in TYPES if t != "explicit"]))
        return Request(affinity=f"granularity={grain},{kind},{draw(number)},{draw(number)}")
    if which == "places":
        text = draw(st.sampled_from(["threads", "cores", "sockets", "ll_caches", "numa_domains(1)", "{0:2}:3", "{0}"]))
        runtime = draw(st.sampled_from(["intel", "llvm", "gnu"]))
        bind = draw(st.sampled_from(["close", "spread", "primary", "true", "false"]))
        return Request(places=text, bind=bind, runtime=runtime)
    if which == "gomp":
        return Request(gomp=" ".join(map(str, draw(st.lists(number, min_size=1, max_size=6)))))
    if which == "subset":
        return Request(subset=f"{draw(st.integers(1, 3))}c,{draw(st.integers(1, 3))}t", affinity="compact")
    return Request(policy=draw(st.sampled_from(["compact", "scatter", "balanced", "os"])))


def _placed(machine, job, request, anywhere=False):
    """The placement, where there is one within what is allowed: GOMP_CPU_AFFINITY may end a program, or bind elsewhere."""
    try:
        placement = resolve(machine, job, request).placement
    except InputError as problem:
        assert "gomp" in request.texts and "ends the program" in problem.what
        reject()
    assume(anywhere or set(placement.mask) <= set(machine.allowed))
    return placement


@CALM
@given(machine=machines(), request=requests(), threads=st.integers(1, 40))
def test_every_thread_is_placed_on_processors_that_are_allowed(machine, request, threads):
    placement = _placed(machine, Job(threads), request, anywhere=True)
    assert placement.threads == threads
    for place in placement.places:
        assert place and set(place) <= set(machine.allowed if "gomp" not in request.texts else machine.pus)
        assert list(place) == sorted(set(place))


@CALM
@given(
    machine=machines(), request=requests(), threads=st.integers(1, 8), ranks=st.integers(1, 6), nodes=st.integers(1, 3)
)
def test_every_rank_has_its_threads(machine, request, threads, ranks, nodes):
    nodes = min(nodes, ranks)
    placement = _placed(machine, Job(threads, ranks, nodes), request)
    assert [len(rank) for rank in placement.by_rank] == [threads] * placement.per_node
    seats = list(placement.seats())
    assert len(seats) == ranks == len(set(seats))
    assert all(node < nodes and seat < placement.per_node for node, seat in seats)
    for rank, zone in zip(placement.by_rank, placement.zones, strict=True):
        assert {p for place in rank for p in place} <= set(zone) <= set(machine.allowed)


def _read_back(dialect, machine, rendering, threads):
    """A process's dialect read again from what was written in it: by its variables, or by the words behind the tool's name."""
    held = variable_texts()
    texts = {held[name].name: value for name, value in rendering.env.items() if name in held}
    if rendering.words:
        # for taskset that word makes a list of what would be a mask
        dropped = ("--",) if dialect == "taskset" else ("-c", "--")
        words = [word for word in rendering.words[1:] if word not in dropped]
        texts = {writers()[dialect].texts[0].name: shlex.join(words)}
    return resolve(machine, Job(threads), Request(**texts)).placement.places


@CALM
@given(machine=machines(), request=requests(), threads=st.integers(1, 16), dialect=st.sampled_from(PROCESS))
def test_what_a_process_dialect_writes_is_read_back_or_it_says_why_not(machine, request, threads, dialect):
    placement = _placed(machine, Job(threads), request)
    try:
        rendering = render(dialect, machine, placement)
    except NotExpressibleError as reason:
        assert len(reason.what) > 40
        return
    whole = load_machine(machine.source) if dialect == "hwloc" else machine
    same = _read_back(dialect, whole, rendering, threads) == placement.places
    assert same or dialect == "hwloc" or (dialect == "omp" and "does not tell" in rendering.notes[0])
    if dialect == "hwloc":
        back = _read_back(dialect, whole, rendering, threads)
        assert [set(p) & set(machine.allowed) for p in back] == [set(p) for p in placement.places]


@CALM
@given(machine=machines(), request=requests(), threads=st.integers(1, 16))
def test_openmps_places_express_everything(machine, request, threads):
    placement = _placed(machine, Job(threads), request)
    rendering = render("omp", machine, placement)
    # but where Intel's runtime takes processors of a part of a machine for one another
    assert (_read_back("omp", machine, rendering, threads) == placement.places) == (not rendering.notes)


def test_kmp_affinity_expresses_everything_on_a_whole_machine_and_knows_where_it_cannot():
    """With 4, 12 and 16 of this machine allowed Intel's runtime itself does not report 4 from 12."""
    shape = "synthetic:pack:2 numa:2 core:2 pu:4"
    for allow in (None, "0-7", "4,12,16"):
        machine = load_machine(shape, allow)
        placement = Placement("x", ((machine.allowed[0],), (machine.allowed[-1],)))
        try:
            rendering = render("kmp", machine, placement)
        except NotExpressibleError:
            assert allow == "4,12,16"
        else:
            assert allow != "4,12,16"
            assert _read_back("kmp", machine, rendering, 2) == placement.places


def _rank_file(text, rendering, machine):
    """The zones of a rank file of Open MPI, whose slots are logical cores or hardware threads."""
    by_core = "--use-hwthread-cpus" not in rendering.words
    units = [c.pus for c in machine.cores] if by_core else [(p,) for p in machine.pus]
    found = {}
    for line in text.splitlines():
        rank, node, slots = re.fullmatch(r"rank (\d+)=(localhost|\+n\d+) slot=([\d,-]+)", line).groups()
        chosen = {p for part in slots.split(",") for i in _range(part) for p in units[i]}
        found[int(rank)] = (int(node[2:]) if node[0] == "+" else 0, tuple(sorted(chosen & set(machine.allowed))))
    return found


def _range(part):
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)


def _launched(dialect, machine, rendering, placement):
    """The zones of each rank of the job, as its launcher would read them: (node, zone) by rank."""
    threads = placement.ranks[0]
    if "rankfile" in rendering.files:
        return _rank_file(rendering.files["rankfile"], rendering, machine)
    kept = [w for w in rendering.words[1:] if w != "./place-rank.sh"]
    if "-f" in kept:
        at = kept.index("-f")
        kept[at : at + 2] = []
    text = shlex.join(kept)
    if dialect == "openmpi":
        dialect = "openmpi5" if open_mpi().major >= 5 else "openmpi4"
    options = {"slurm": "--ntasks-per-node", "openmpi4": "-N", "openmpi5": "ppr:", "mpich": "-ppn", "aprun": "-N"}
    # a further dialect needs no entry: what it writes is read back all the same
    assert options.get(dialect, "") in text or placement.nodes == 1
    if dialect == "mpich":
        # a host file deals ranks out; the options by themselves bind those of one node
        text = re.sub(r"-n \d+( -ppn \d+)?", f"-n {placement.per_node}", text)
        back = resolve(machine, Job(threads, placement.per_node), Request(mpich=text)).placement
        return {r: (node, back.zones[seat]) for r, (node, seat) in enumerate(placement.seats())}
    back = resolve(machine, Job(threads, placement.size, placement.nodes), Request(**{dialect: text})).placement
    zones = back.zones if dialect != "aprun" else back.used
    return {r: (node, zones[seat]) for r, (node, seat) in enumerate(back.seats())}


@pytest.mark.parametrize("dialect", JOB)
@settings(CALM, max_examples=20)
@given(
    machine=machines(),
    request=requests(),
    threads=st.integers(1, 4),
    ranks=st.integers(1, 4),
    nodes=st.integers(1, 3),
    order=st.sampled_from(["block", "cyclic"]),
)
def test_what_a_launcher_is_given_binds_its_ranks_to_their_zones_or_it_says_why_not(
    machine, request, threads, ranks, nodes, order, dialect
):
    resolved = _placed(machine, Job(threads, ranks * nodes, nodes), request)
    placement = Placement("x", resolved.places, resolved.ranks, nodes, order, ranks * nodes, resolved.held)
    try:
        rendering = render(dialect, machine, placement)
    except NotExpressibleError as reason:
        assert dialect not in EXPRESSING_ALL and len(reason.what) > 40
        return
    zones = placement.used if dialect == "aprun" else placement.zones
    expected = {r: (node, zones[seat]) for r, (node, seat) in enumerate(placement.seats())}
    assert _launched(dialect, machine, rendering, placement) == expected


def _reader(name):
    """What reads a text on a machine, for two ranks of two threads."""
    machine = load_machine("synthetic:" + SHAPES[1])
    return lambda text: resolve(machine, Job(2, 2), Request(**{name: text}))


READERS = {
    **{name: _reader(name) for name in all_texts()},
    "affinity": read_affinity,
    "subset": read_subset,
    "places": read_places,
    "bind": read_bind,
    "gomp": read_gomp,
    "gnu": read_gnu_places,
}
_PIECES = st.sampled_from(
    [
        "compact",
        "scatter",
        "explicit",
        "granularity",
        "=",
        "fine",
        "proclist",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "-",
        "!",
        "@",
        "(",
        ")",
        "0",
        "1",
        "7",
        "12",
        "999999999",
        "99999999999",
        "cores",
        "threads",
        "close",
        "spread",
        "c",
        "t",
        "s",
        "x",
        "X",
        "O",
        "15Cx4T",
        "N",
        "S0",
        "E:",
        "L:",
        "S:scatter",
        "package",
        "core:0",
        ".",
        "all",
        "odd",
        "0x",
        "ff",
        "~",
        "^",
        "*",
        "--cpu-bind=",
        "--map-by",
        "-cc",
        "mask_cpu:",
        "-n",
        "-d",
        "--distribution=",
        "block",
        "ppr:2:",
        "PE=",
        "user:",
        "+",
        "\t",
        "é",
        "\x00",
    ]
)
_SOME = st.one_of(
    st.text(max_size=40), st.lists(_PIECES, max_size=12).map("".join), st.lists(_PIECES, max_size=8).map(" ".join)
)


@pytest.mark.some(17)
@pytest.mark.parametrize("name", list(READERS))
@settings(max_examples=examples(250), deadline=2000)
@given(text=_SOME)
def test_a_reader_takes_anything_or_says_what_is_wrong(name, text):
    try:
        READERS[name](text)
    except InputError as problem:
        assert problem.what


@pytest.mark.parametrize("name", ["affinity", "subset", "places", "bind", "gomp", "gnu", "likwid", "hwloc", "taskset"])
def test_long_texts_neither_hang_nor_crash(name):
    for text in ("0," * 60000, "{" * 50000, "core:0." * 20000, "!" * 50000, "1" * 100000, "(" * 9999, "0-65535," * 40):
        try:
            READERS[name](text)
        except InputError as problem:
            assert len(problem.what) < 1000
