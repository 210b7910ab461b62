# SPDX-License-Identifier: BSD-3-Clause
"""What stands at the edge of what a dialect takes: on machines and in texts that the other tests of them do not have."""

import random
import re
from dataclasses import replace
from functools import cache

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.placement.hosts import filled
from nodewise.placement.job import Job
from nodewise.placement.memory import read_memory
from nodewise.placement.openmp.gnu_text import Members
from nodewise.placement.openmp.places import Interval, Place
from nodewise.placement.placement import Placement
from nodewise.placement.render import render
from nodewise.placement.resolve import Request, Resolved, resolve

#: Each kind of object holds another number of processors.
DEEP = "pack:2 numa:2 l3:2 core:2 pu:2"
#: So many places that Intel's runtime cuts off their list.
WIDE = "pack:2 core:512 pu:2"
SHUFFLED = random.Random(1).sample(range(2048), 2048)


@cache
def machine(shape: str) -> Machine:
    return load_machine(f"synthetic:{shape}")


def placed(shape: str, threads: int, ranks: int = 0, nodes: int = 1, **asked: str) -> Resolved:
    return resolve(machine(shape), Job(threads, ranks, nodes), Request(**asked))


def refused(shape: str, threads: int, ranks: int = 0, nodes: int = 1, **asked: str) -> InputError:
    with pytest.raises(InputError) as caught:
        placed(shape, threads, ranks, nodes, **asked)
    return caught.value


@pytest.mark.parametrize("dialect", ["mpich", "openmpi4", "openmpi5"])
@pytest.mark.parametrize(
    ("threads", "ranks", "kind"), [(16, 2, "socket"), (8, 4, "numa"), (4, 8, "l3cache"), (2, 16, "core")]
)
def test_each_kind_of_object_is_bound_to_and_is_read_as_it_was_meant(dialect: str, threads: int, ranks: int, kind: str):
    found = placed(DEEP, threads, ranks).placement
    line = render(dialect, machine(DEEP), found).line()
    assert "bind" in line and "place-rank" not in line, line
    options = re.search(r"mpi(?:run|exec) (.*) PROGRAM", line)
    assert options is not None
    assert placed(DEEP, threads, ranks, **{dialect: options[1]}).placement.zones == found.zones, line
    name = "package" if (dialect, kind) == ("openmpi5", "socket") else kind
    named = placed(DEEP, threads, ranks, **{dialect: f"{'-' * (1 + (dialect != 'mpich'))}bind-to {name}"})
    assert {frozenset(zone) for zone in named.placement.zones} <= {frozenset(zone) for zone in found.zones}


def test_what_is_bound_to_may_not_be_larger_than_what_is_mapped_by():
    found = refused(DEEP, 1, 2, openmpi5="--map-by core --bind-to numa")
    assert "NUMA node" in found.what and "core" in found.what
    assert "NUMA node" in refused(DEEP, 1, 2, openmpi5="--map-by l3cache --bind-to numa").what
    assert placed(DEEP, 1, 2, openmpi5="--map-by numa --bind-to core").placement.zones == ((0, 1), (8, 9))
    assert placed(DEEP, 1, 2, openmpi5="--map-by numa --bind-to numa").placement.zones[1] == tuple(range(8, 16))


def test_ranks_for_each_object_are_counted_by_the_objects():
    """On hosts whose slots are not counted: so many ranks as each of their objects takes."""
    for options, ranks in (("--map-by ppr:2:numa", 16), ("--map-by ppr:2:node", 4), ("--map-by ppr:2:l3cache", 32)):
        assert placed(DEEP, 1, openmpi5=f"--host alpha:40,beta:40 {options}").placement.size == ranks
    assert placed(DEEP, 1, openmpi4="--host alpha:9,beta:9 --map-by ppr:3:socket").placement.size == 12


def test_a_modifier_of_pe_stands_beside_others():
    one = placed(DEEP, 1, 2, openmpi4="--map-by socket:span,pe=2")
    other = placed(DEEP, 1, 2, openmpi4="--map-by socket:pe=2,span")
    assert one.placement.zones == other.placement.zones == ((0, 1, 2, 3), (16, 17, 18, 19))


def test_names_of_what_is_bound_to_may_end_early_and_modifiers_too():
    short, whole = "--bind-to l3:if-supp", "--bind-to l3cache:if-supported"
    assert placed(DEEP, 1, 2, openmpi5=short).placement.zones == placed(DEEP, 1, 2, openmpi5=whole).placement.zones
    assert "no modifier" in refused(DEEP, 1, 2, openmpi5="--bind-to core:quickly").what


@pytest.mark.parametrize("name", ["--nodelist", "-w", "--nodefile", "-F"])
def test_nodes_are_named_by_each_of_slurms_options(name: str):
    sign = "=" if name.startswith("--") else " "
    found = placed(DEEP, 1, slurm=f"-n 4 -N 2 {name}{sign}alpha,beta")
    assert (found.placement.size, found.placement.nodes) == (4, 2)


def test_a_list_of_slurms_repeats_an_entry_and_ends_somewhere():
    found = placed(DEEP, 1, slurm="-n 4 --cpu-bind=map_cpu:0*2,3,5").placement
    assert found.zones == ((0,), (0,), (3,), (5,))
    assert "'0*0' is no entry" in refused(DEEP, 1, slurm="-n 4 --cpu-bind=map_cpu:0*0").what
    assert "is no entry" in refused(DEEP, 1, slurm="-n 4 --cpu-bind=map_cpu:0*99999999").what


def test_a_list_of_places_is_taken_as_far_as_intels_runtime_reads_it():
    # of three digits each, so that the 681st place ends with the 4085th character
    places = ",".join(f"{{{p}}}" for p in range(100, 1000))
    whole, cut = (placed(WIDE, 900, places=places, bind="close", runtime=r) for r in ("llvm", "intel"))
    assert len(set(whole.placement.places)) == 900 and not whole.notes
    assert (
        "OMP_PLACES is " in cut.notes[0]
        and "characters long, of which Intel's runtime reads the first 4085" in cut.notes[0]
    )
    assert set(cut.placement.places) == {(p,) for p in range(100, 781)}


def test_what_is_wrong_where_a_list_is_cut_off_is_shown_with_its_end():
    # the 4085th character is the opening brace of a place
    places = "{0}," * 1021 + "{1}"
    problem = refused(WIDE, 2, places=places, bind="close", runtime="intel")
    assert "OMP_PLACES is 4087 characters long" in problem.what
    assert problem.hint is not None and problem.hint.startswith("write it shorter, or in several parts: ")
    assert len(problem.hint.removeprefix("write it shorter, or in several parts: ")) == 80
    # each ends where what is read ends with a whole word
    for name, text in (
        ("affinity", "verbose," * 2 + "warnings," * 452 + "compact"),
        ("bind", "spread," * 3 + "close," * 677 + "close"),
    ):
        notes = placed(WIDE, 2, **{name: text}, runtime="intel").notes
        assert any("characters long" in note for note in notes), name


def test_the_note_of_a_setting_that_is_cut_off_is_kept_for_ranks_as_well():
    ranks = placed(WIDE, 1024, 2, places=",".join(f"{{{p}}}" for p in SHUFFLED), bind="close", runtime="llvm").placement
    line = render("openmpi4", machine(WIDE), ranks)
    assert any("characters long" in note for note in line.notes), line.notes


def test_indexes_of_hwloc_go_round_their_objects():
    assert placed(DEEP, 4, hwloc="numa:odd").placement.mask == (*range(8, 16), *range(24, 32))
    assert placed(DEEP, 4, hwloc="numa:even").placement.mask == (*range(8), *range(16, 24))
    assert placed(DEEP, 4, hwloc="-q package:1").placement.mask == tuple(range(16, 32))


def test_an_order_over_nodes_that_is_none_is_refused():
    from nodewise.placement.seating import Seating

    with pytest.raises(InputError, match="cannot be numbered by 'plane=' over nodes") as caught:
        Seating("plane=", 4, 2, 2)
    assert caught.value.hint == "write block, even, cyclic or plane=N"
    with pytest.raises(InputError, match="5 ranks on 2 nodes, 2 at most on each"):
        Seating("block", 5, 2, 2)
    assert Seating("block", 4, 2, 2).counts() == [2, 2]


@pytest.mark.parametrize("quiet", ["-q", "--quiet", "-v", "--verbose", "-f", "--force"])
def test_options_of_hwloc_bind_that_leave_the_set_as_it_is(quiet: str):
    assert placed(DEEP, 4, hwloc=f"{quiet} package:1").placement.mask == tuple(range(16, 32))


@pytest.mark.parametrize("modifier", ["span", "inherit", "noinherit", "pe=2", "oversubscribe:ordered"])
def test_a_list_of_processors_stands_with_few_modifiers(modifier: str):
    problem = refused(DEEP, 1, 2, openmpi5=f"--map-by pe-list=0,1:{modifier}")
    assert "pe-list is modelled on one node" in problem.what and problem.hint == "leave the others out"


def test_modifiers_that_contradict_each_other_are_both_named():
    for pair in ("oversubscribe:nooversubscribe", "inherit:noinherit"):
        problem = refused(DEEP, 1, 2, openmpi5=f"--map-by core:{pair}")
        assert problem.hint == "name one" and all(one in problem.what for one in pair.split(":"))


def test_a_socket_is_a_package_and_what_is_neither_is_named():
    zones = placed(DEEP, 1, 2, openmpi5="--bind-to package").placement.zones
    for name in ("socket", "pack", "PACKAGE"):
        assert placed(DEEP, 1, 2, openmpi5=f"--bind-to {name}").placement.zones == zones
    assert "--bind-to 'sockt'" in refused(DEEP, 1, 2, openmpi4="--bind-to sockt").what
    assert "--bind-to 'sockt'" in refused(DEEP, 1, 2, openmpi5="--bind-to sockt").what


@pytest.mark.parametrize("name", ["cpu-list", "cpu-set", "rankfile", "npersocket"])
def test_options_of_mpirun_that_are_not_modelled_are_named(name: str):
    for dialect in ("openmpi4", "openmpi5"):
        assert f"--{name}" in str(refused(DEEP, 1, 2, **{dialect: f"--{name} 0"}))


def test_ranks_of_unlike_numbers_of_threads_are_written_by_the_most():
    job = resolve(machine(DEEP), Job(4, 2), Request()).placement
    uneven = replace(job, places=job.places[:5], ranks=(4, 1))
    line = render("openmpi4", machine(DEEP), uneven).line()
    assert "-n 2" in line, line


@pytest.mark.parametrize(
    ("dialect", "text", "said", "hint"),
    [
        ("mpich", "-hosts a,b,a -n 3", "names a again behind others", "name it once, such as a:2"),
        ("mpich", "-n 2 -bind-to die", "this machine has no die", "name objects that it has"),
        ("mpich", "-n 2 -bind-to dies", "'dies' is not known", "known are: machine, socket, die, numa, l3cache"),
        ("openmpi4", "-n 2 --map-by core:PE=2", "PE=2 where ranks are mapped by core", "map by a larger object"),
        (
            "openmpi4",
            "-n 2 --map-by hwthread:PE=2",
            "PE=2 where ranks are mapped by hwthread",
            "map by a larger object",
        ),
        (
            *("openmpi4", "-n 2 --map-by hwthread:PE=1 --bind-to core"),
            *("PE=1 binds to hardware threads, and --bind-to core was given", "or give --bind-to hwthread"),
        ),
        ("openmpi4", "-n 2 --map-by socket:PE=1 --bind-to numa", "PE=1 binds to cores", "or give --bind-to core"),
        ("openmpi4", "-n 17 --use-hwthread-cpus", "16 slots, a slot for each hardware thread", "OVERSUBSCRIBE"),
        ("openmpi4", "-n 9", "8 slots, a slot for each core", "OVERSUBSCRIBE"),
        ("openmpi4", "--host a:4,b:4 -N x", "mpirun: -N 'x' is no number from 1 on", ""),
        ("openmpi5", "-n 9", "8 slots, a slot for each core", "add :OVERSUBSCRIBE to --map-by, or ask for fewer"),
        ("openmpi5", "-n 2 --map-by ppr:2", "--map-by 'ppr:2' is not complete", "such as ppr:2:package"),
        (
            "openmpi5",
            "-n 2 --map-by ppr:2:node:span",
            "refuses :SPAN where ranks are mapped by node",
            "map by an object",
        ),
        ("openmpi5", "-n 2 --bind-to nothing", "mpirun: --bind-to 'nothing' is not known", "none, hwthread, core"),
        ("openmpi5", "-n 2 --bind-to core:x", "--bind-to has no modifier 'x'", "known are: if-supported, overload-"),
        ("slurm", "-n 2 --threads-per-core=3", "--threads-per-core=3: this machine's cores have 2", "ask for fewer"),
        ("slurm", "-n 2 --hint=nomultithreads", "'nomultithreads' is not known", "nomultithread, multithread, "),
    ],
)
def test_what_a_launcher_refuses_is_said_with_what_would_do(dialect: str, text: str, said: str, hint: str) -> None:
    found = refused("pack:2 numa:1 core:4 pu:2", 1, 0, **{dialect: text})
    assert said in found.what and hint in (found.hint or "")


def test_without_hyperthreads_a_slot_is_one_for_each_core() -> None:
    assert "8 slots, a slot for each core" in refused("core:8 pu:1", 1, 0, openmpi5="-n 9").what
    assert "8 slots, a slot for each core" in refused("core:8 pu:1", 1, 0, openmpi4="-n 9 --use-hwthread-cpus").what


def test_ranges_of_likwid_run_down_as_well_and_are_of_any_length_above_none() -> None:
    shape = "core:600 pu:1"
    assert placed(shape, 3, likwid="N:590-588").placement.places == ((590,), (589,), (588,))
    # not as long as both numbers together
    assert placed(shape, 1, likwid="N:599-599").placement.places == ((599,),)


def test_slurm_deals_cores_to_a_step_round_the_sockets() -> None:
    zones = {
        (how, tasks): placed(
            "pack:2 core:4 pu:1", 1, 0, slurm=f"{tasks} --exact --cpu-bind=cores --distribution=block:{how}"
        )
        for tasks in ("-n 2 -c 2", "-n 1 -c 3")
        for how in ("block", "cyclic", "fcyclic")
    }
    assert {asked: found.placement.zones for asked, found in zones.items()} == {
        ("block", "-n 2 -c 2"): ((0, 1), (2, 3)),
        ("cyclic", "-n 2 -c 2"): ((0, 1), (4, 5)),
        ("fcyclic", "-n 2 -c 2"): ((0, 4), (1, 5)),
        ("block", "-n 1 -c 3"): ((0, 1, 2),),
        ("cyclic", "-n 1 -c 3"): ((0, 1, 2),),
        ("fcyclic", "-n 1 -c 3"): ((0, 1, 4),),
    }


@pytest.mark.parametrize("word", ["verbose", "noverbose", "warnings", "nowarnings", "respect", "norespect"])
def test_each_modifier_of_intels_variable_is_known(word: str) -> None:
    found = placed("core:4 pu:1", 4, affinity=f"{word},compact")
    assert found.placement.places == ((0,), (1,), (2,), (3,)) and not any(
        "does not know" in note for note in found.notes
    )


def test_a_rank_file_is_named_as_it_is_written() -> None:
    written = render("openmpi4", machine("core:4 pu:1"), Placement("list", ((2,), (0,), (3,)), (1, 1, 1)))
    assert [*written.files] == ["rankfile"] and written.words[-2:] == ("--rankfile", "rankfile")


def test_what_is_not_said_of_a_place_is_one_number_that_is_in() -> None:
    assert Members(3) == Members(3, 1, 1, False)
    one = Place((Interval(3),))
    assert (one.count, one.stride, one.excluded) == (None, 1, False)


def test_hosts_refuse_more_ranks_than_slots_where_they_may_not_be_crowded() -> None:
    with pytest.raises(InputError, match="refuses 3 ranks"):
        filled("mpirun", {"a": 1, "b": 1}, 3)
    assert filled("mpirun", {"a": 1, "b": 1}, 4, crowded=True) == [2, 2]


def test_a_node_has_room_for_so_many_tasks_of_slurms() -> None:
    found = placed("pack:2 numa:1 core:4 pu:2", 1, 0, slurm="-N 2 -c 4")
    assert (found.placement.size, found.placement.nodes) == (8, 2)
    assert any("as its nodes have room for, 4 on each" in note for note in found.notes)
    # one larger than a node is one task all the same
    assert placed("core:2 pu:1", 1, 0, slurm="-N 2 -c 2").placement.size == 2


def test_a_misspelled_policy_of_memory_is_asked_about() -> None:
    with pytest.raises(InputError, match="did you mean interleave"):
        read_memory(machine(DEEP), "interleve:all")


def test_ranks_on_one_node_have_no_number_for_each_node() -> None:
    found = placed(DEEP, 2, 2)
    assert " -N " not in render("openmpi4", machine(DEEP), found.placement).line()
    over = placed(DEEP, 2, 2, 2)
    assert "-n 2 -N 1" in render("openmpi4", machine(DEEP), over.placement, ("a", "b")).line()


def test_a_rank_file_over_hardware_threads_has_room_for_each_of_them() -> None:
    shape = "core:4 pu:2"
    halves = Placement("list", tuple((p,) for p in range(8)), (1,) * 8)
    assert "oversubscribe" not in render("openmpi5", machine(shape), halves).line()
    whole = Placement("list", tuple((p, p + 1) for p in (6, 4, 2, 0)) * 2, (1,) * 8)
    assert ":oversubscribe" in render("openmpi5", machine(shape), whole).line()


def test_a_domain_of_likwids_behind_another_one_is_an_expression_of_its_own() -> None:
    shape = "pack:2 numa:1 core:4 pu:2"
    assert placed(shape, 4, likwid="S0:0-1@S1:2-3").placement.places == ((0,), (2,), (12,), (14,))
    spread = placed(shape, 2, likwid="S1:scatter:2").placement.places
    assert placed(shape, 3, likwid="N:0@S1:scatter:2").placement.places == ((0,), *spread)
    assert placed(shape, 3, likwid="S1:scatter:2@N:0").placement.places == (*spread, (0,))


def test_blanks_before_a_location_of_hwlocs_are_passed_over() -> None:
    shape = "pack:2 numa:1 core:4 pu:2"
    assert placed(shape, 2, hwloc="  core:1").placement.places == placed(shape, 2, hwloc="core:1").placement.places
    both = placed(shape, 2, hwloc="core:1   core:2").placement.mask
    assert both == (2, 3, 4, 5)


def test_a_quote_without_end_names_whose_text_it_is() -> None:
    assert refused("core:4 pu:1", 1, numactl="-C '0,1").what.startswith("numactl: ")
