# SPDX-License-Identifier: BSD-3-Clause
"""Where OpenMP's runtimes put threads for each text, in full: every word, each bound, and what is noted of it.

That it is what the real ones do is asked elsewhere, of answers that were recorded.
"""

from collections.abc import Sequence
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.layers import layers_of
from nodewise.placement.openmp.affinity import apply_affinity, read_affinity
from nodewise.placement.openmp.balanced import balanced
from nodewise.placement.openmp.gnu import apply_gnu
from nodewise.placement.openmp.places import apply_places, read_bind, read_places
from nodewise.placement.openmp.runtimes import active
from nodewise.placement.openmp.subset import apply_subset, read_subset
from nodewise.placement.openmp.teams import Seat, gnu, kmp, order
from nodewise.placement.resolve import Request, fitting_threads, resolve
from tests.placement.runtimes import uneven
from tests.placement.test_dialects import synthetic
from tests.placement.whole import hold

#: Sockets of two caches of two cores; a part of it; no sockets; no caches and single hardware threads; one core a socket.
MACHINES: list[tuple[str, str | None]] = [
    ("pack:2 l3:2 core:2 pu:2", None),
    ("pack:2 l3:2 core:2 pu:2", "0-2,5,8-9"),
    ("numa:2 core:2 pu:2", None),
    ("pack:2 core:2 pu:1", None),
    ("pack:2 core:1 pu:1", None),
    ("core:1 pu:1", None),
]


def _shown(places: Sequence[tuple[int, ...]]) -> str:
    return " ".join(map(format_processors, places))


def _machines(folder: Path, name: str) -> list[tuple[str, Machine]]:
    path = uneven.write_machine(folder / "kinds.xml", uneven.SHAPES[name])
    return [
        *((f"{shape} {allow or 'all'}", synthetic(shape, allow)) for shape, allow in MACHINES),
        (name, load_machine(str(path))),
    ]


AFFINITIES = """none disabled compact compact,1 compact,2 compact,3 compact,4 compact,5 compact,0,3 scatter scatter,1 scatter,2
    scatter,3 scatter,4 scatter,5 scatter,0,3 balanced granularity=fine,balanced granularity=socket,balanced
    granularity=1,balanced granularity=die,balanced logical logical,1 logical,1,2 physical physical,1 physical,2
    granularity=fine,physical explicit,proclist=[1,{2,5},8] granularity=fine,explicit,proclist=[1,{2,5},8,99] proclist=[9-7:-1]
    explicit,proclist=[99] granularity=0,compact granularity=1,compact granularity=2,scatter granularity=3,compact
    granularity=9,compact granularity=core_type,compact granularity=core_eff,scatter granularity=l3,compact
    granularity=die,scatter granularity=ll_cache,compact granularity=node,compact noduplicates,compact
    noduplicates,granularity=fine,compact none,1 explicit,proclist=[1],2 1,2 fine"""


def test_where_each_text_of_kmp_affinity_puts_threads(tmp_path: Path) -> None:
    said = []
    for name, machine in _machines(tmp_path, "2 fast and 8 slow"):
        layers = layers_of(machine)
        said.append(f"# {name}")
        for text in AFFINITIES.split():
            try:
                affinity = read_affinity(text)
            except InputError as problem:
                said.append(f"{text}: {problem.what} | {problem.hint}")
                continue
            for threads in (1, 3, 7):
                found = apply_affinity(layers, affinity, threads)
                said.append(f"{text} {threads}: {_shown(found.places)}")
            said += [f"  {note}" for note in found.notes]
    hold("affinity", said)


PLACES = """threads cores sockets ll_caches numa_domains dies dice l3_caches cores(2) cores(99) cores(0) cores(2:2) cores(:3)
    cores(1:) core_types core_effs cores:eff0 cores:intel_atom(1) {0} {0:2} {0:2:3} {0:3:-1} {3:2:-1},{1} {0:2}:2:2 {0}:3
    {0,1}:2:8 {0:4},!{0} !{0} !!{0} {0}:0 {0:0} {99} {0,99},{1} {1}:9:2 {0}:2:-1 {8}:3:-1 {0:2}:3:0 {0,8},{1:3:0}
    0 1,2 {1:65536} {1:65537} {0}:65536 {0}:65537 {0}:65536,{1} {0:4:-1} !cores {0 cores( cores(1 cores(1) pear close {} {,}
    {0},"""
BINDS = ["", "true", "close", "spread", "primary", "false", "spread,close"]


def test_where_each_text_of_omp_places_puts_threads(tmp_path: Path) -> None:
    said = []
    for name, machine in _machines(tmp_path, "2 fast and 8 slow"):
        layers = layers_of(machine)
        said.append(f"# {name}")
        for text in PLACES.split():
            try:
                places = read_places(text)
                for i, bind in enumerate(BINDS):
                    if i < 3 or text in ("cores", "threads", "{0:2}"):
                        binds = read_bind(bind) if bind else ()
                        levels = (2, 3) if "," in bind else (5,)
                        found = apply_places(layers, places, binds, levels)
                        said.append(f"{text} {bind}: {_shown(found.places)}"[:300])
                said += [f"  {note}" for note in found.notes]
            except InputError as problem:
                said.append(f"{text}: {problem.what[:300]} | {problem.hint}")
        for bind in BINDS:
            for granularity in (None, "thread", "socket", 2):
                found = apply_places(layers, None, tuple(filter(None, bind.split(","))), (3,), granularity)
                said.append(f"{bind} of {granularity}: {_shown(found.places)} {found.notes}")
    hold("places", said)


def test_words_of_omp_proc_bind() -> None:
    known = ("true", "TRUE", "false", "primary", "master", "close", "spread", "master,close", " close , spread")
    said = [f"{text}: {read_bind(text)}" for text in known]
    for text in (
        "",
        "close,",
        "true,close",
        "close,false",
        "cores",
        "cores,close",
        "threads",
        "dice",
        "pear",
        "close spread",
    ):
        try:
            said.append(f"{text}: {read_bind(text)}")
        except InputError as problem:
            said.append(f"{text}: {problem.what} | {problem.hint}")
    hold("binds", said)


GOMPS = ["0", "0-3", "3 1 2", "0-8:4", "0x3", "010", "99", "0 99", "64", "0 63", "0 64", "5-4", "0 9", "8 1", "-1"]


def test_where_gnus_runtime_puts_threads() -> None:
    said = []
    for shape, allow in MACHINES:
        machine = synthetic(shape, allow)
        said.append(f"# {shape} {allow or 'all'}")
        asked = [(text, None, bind) for text in PLACES.split() if "6553" not in text for bind in (None, "spread")]
        asked += [(text, None, bind) for text in ("threads", "cores") for bind in BINDS[1:]]
        more = [(None, text, bind) for text in GOMPS for bind in (None, "false")]
        more += [
            (None, None, "close"),
            (None, None, "true"),
            (None, None, "pear"),
            (None, None, None),
            ("{0", "1", None),
        ]
        more += [("cores", "1", None), ("cores", "x", None), ("pear", None, "close"), ("pear", None, "false")]
        for places, gomp, bind in [*asked, *more]:
            levels = (2, 3) if bind and "," in bind else (5,)
            head = f"{places} {gomp} {bind}"
            try:
                found = apply_gnu(machine, levels, places, gomp, bind)
            except InputError as problem:
                said.append(f"{head}: {problem.what} | {problem.hint}")
                continue
            said += [f"{head}: {_shown(found.places)}", *(f"  {note}" for note in found.notes)]
    hold("gnu", said)


SUBSETS = """1s 2s 3s 1s,1c 1c 2c 1c@1 2c@1 3c@1 1c,1t 1t 2t 3t 1t@1 9c 1s,9c :1c :2c@3 :9c :8c@1 :1s,2c 1s@1,1c@1,1t@1 *s,1c s,c,1t
    1l3 1l3,1c 2l3,1c@1 1n 1n,1c 1d 1ti 1m 2n,1l2 1s,1s 1c,2c 1c:eff0 2c:eff0,1c:eff1 1c:eff0,1c:eff0 1c:eff0,1c
    2c:intel_core,1c:eff1 1c:intel_atom 1c:eff7 20c:eff0@1 0c 1x 1c1t 1c;1t 1c, 1 1,2c 1o2 1c@ 1c@x 1t:eff0 1c:pear 2s2c 1cx1t
    1c@99 1proc_group 1s1 c 1,&1c 1s,2"""
OLDER = ["2c,1o", "2c,1t,1o", "1o", "2c,0o", "1s,2c@1,1o", "1s,2c,1O", "2cx1t,1o", "15Cx4T,30O", "0c", "1s@1,1c,1t"]


def test_what_each_subset_leaves(tmp_path: Path) -> None:
    said = []
    for name, machine in _machines(tmp_path, "2 fast and 8 slow"):
        said.append(f"# {name}")
        for strict, layers in ((False, layers_of(machine)), (True, layers_of(machine, native=True))):
            for text in [*SUBSETS.split(), *OLDER]:
                what = "KMP_PLACE_THREADS" if text in OLDER else "KMP_HW_SUBSET"
                try:
                    subset = read_subset(text, what)
                except InputError as problem:
                    said += [f"{text}: {problem.what}"] * (not strict)
                    continue
                left, notes = apply_subset(layers, subset, strict)
                shown = format_processors(row.processor for row in left.rows)
                said += [f"{text} {strict}: {shown} of {subset}", *(f"  {note}" for note in notes)]
    hold("subset", said)


#: What is read beside each other, by each runtime.
TOGETHER: list[dict[str, str]] = [
    {"affinity": "compact", "places": "threads"},
    {"affinity": "verbose", "places": "threads"},
    {"affinity": "granularity=fine", "bind": "close"},
    {"affinity": "norespect,compact"},
    {"affinity": "norespect,none", "subset": "1s,1c"},
    {"affinity": "disabled", "subset": "1s,1c"},
    {"affinity": "disabled", "place_threads": "1s,1c"},
    {"affinity": "disabled", "subset": "pear"},
    {"affinity": "disabled"},
    {"affinity": "pear"},
    {"subset": "1s,2c"},
    {"subset": "1s,2c", "places": "cores(1)"},
    {"subset": "1s,2c", "places": "cores(1)", "bind": "false"},
    {"subset": "1s,2c", "places": "cores(1)", "affinity": "compact"},
    {"subset": "1s,2c", "places": "pear"},
    {"place_threads": "2c,1t,1o", "bind": "close"},
    {"place_threads": "2c,1t", "places": "cores"},
    {"gomp": "0 2", "places": "threads"},
    {"gomp": "0 99"},
    {"gomp": "0x"},
    {"places": "cores", "bind": "spread,close"},
    {"bind": "spread,close"},
    {"gomp": "3 1", "bind": "spread,close"},
    {"places": "cores(1:2)"},
    {"max_active_levels": "1"},
]


def test_what_is_read_beside_each_other() -> None:
    said = []
    for allow in (None, "0-2,5,8-9"):
        machine = synthetic(MACHINES[0][0], allow)
        for runtime in ("intel", "llvm", "gnu"):
            for texts in TOGETHER:
                for levels in ((3,), (2, 2)) if allow else ((3,),):
                    head = f"{allow or 'all'} {runtime} {texts} {levels}: "
                    try:
                        request = Request(runtime=runtime, **texts).nested(levels)  # type: ignore[arg-type]
                        threads = 3 if len(levels) == 1 else 4
                        found = resolve(machine, Job(threads), request)
                        fit = fitting_threads(machine, Job(1), request) if levels == (3,) else ""
                    except InputError as problem:
                        said.append(f"{head}{problem.what} | {problem.hint}")
                        continue
                    said += [f"{head}{_shown(found.placement.places)} {fit}", *(f"  {note}" for note in found.notes)]
    hold("together", said)


def test_levels_that_are_active() -> None:
    said = []
    for text in ("0", "1", "2", "3", " +2 ", "-1", "1.5", "", "999999999", "9999999999"):
        for levels in ((2,), (2, 3), (1, 3), (2, 1, 3), (2, 2, 2), (1, 1)):
            try:
                request, notes = active(Request(max_active_levels=text), levels)
            except InputError as problem:
                said.append(f"{text!r} {levels}: {problem.what} | {problem.hint}")
                break
            said.append(f"{text!r} {levels}: {request.levels} {notes}")
    hold("levels", said)


#: Machines whose cores or sockets are of unlike sizes, and parts of one that are.
UNEVEN = ("uneven cores", "uneven sockets", "one socket less", "a small socket between", "two such sockets")


def test_threads_that_are_balanced_over_unlike_cores(tmp_path: Path) -> None:
    machines = [
        (f"{allow}", synthetic("pack:2 l3:2 core:2 pu:2", allow)) for allow in ("0-2", "0,2", "1", "0-1", "0-4,9,13-15")
    ]
    for name in UNEVEN:
        path = uneven.write_machine(tmp_path / "m.xml", uneven.SHAPES[name])
        machines.append((name, load_machine(str(path))))
    said = []
    for name, machine in machines:
        layers = layers_of(machine)
        for threads in (2, 3, 4, 5, 7, 8, 9, 11, 14, 20):
            for fine in (True, False):
                found = balanced(layers, threads, fine)
                said.append(f"{name} {threads} {'fine' if fine else 'core'}: {_shown(found) if found else None}")
    hold("balanced", said)


def test_teams_on_every_partition() -> None:
    """Every place lies in the partition, and each team of as many threads as places has one each."""
    said = []
    for places in (1, 5, 8):
        for first, size, place in (
            (0, places, 0),
            (0, places, places - 1),
            (places // 2, places - places // 2, places - 1),
            (0, places // 2 or 1, 0),
        ):
            for threads in (1, 2, 3, 4, 5, 8, 9, 13):
                for bind in ("true", "close", "spread", "primary"):
                    for name, rule in (("gnu", gnu), ("kmp", kmp)):
                        seats = rule(bind, Seat(place, first, size), threads, places)
                        assert len(seats) == threads and all(0 <= seat.place < places for seat in seats)
                        shown = " ".join(f"{seat.place}/{seat.first}+{seat.size}" for seat in seats)
                        said.append(f"{name} {bind} {place}/{first}+{size} of {places} by {threads}: {shown}")
    hold("teams", said)


def test_policies_of_levels() -> None:
    said = []
    for binds in (
        ("close",),
        ("spread", "close"),
        ("spread", "primary", "close"),
        ("spread", "spread", "primary", "close"),
    ):
        for levels in ((2,), (2, 2), (1, 2), (1, 1, 3), (2, 1, 1, 2), (1, 1, 1, 3), (1, 2, 1, 2), (2, 2, 2)):
            said += [
                f"{name} {binds} {levels}: {order(rule, binds, 12, levels)}"
                for name, rule in (("gnu", gnu), ("kmp", kmp))
            ]
    hold("team levels", said)
