# SPDX-License-Identifier: BSD-3-Clause
"""What launchers' options other than those on placement do to a reading: nothing, but for a note that names them."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes.mpirun5 import machine_of

MACHINE = "pack:2 numa:1 core:4 pu:1"
PLAIN = {
    "openmpi4": "-np 4 --bind-to core",
    "openmpi5": "-np 4 --bind-to core",
    "mpich": "-n 4 -bind-to core",
    "slurm": "-n 4 --cpu-bind=cores",
    "aprun": "-n 4 -cc cpu",
}


def read(name, text, machine=MACHINE):
    return resolve(machine_of(machine), Job(1), Request(**{name: text}))


@pytest.mark.parametrize(
    ("name", "more", "named"),
    [
        ("openmpi4", "--report-bindings --wd D -x OMP_NUM_THREADS -x A=b", "--report-bindings, --wd, -x"),
        (
            "openmpi5",
            "--report-bindings -wd D -x A --mca btl self,tcp",
            "--report-bindings, -wd, -x, --mca",
        ),
        ("openmpi4", "-mca btl_base_verbose 1 --wdir=/data --tag-output", "-mca, --wdir, --tag-output"),
        ("mpich", "-env A b -genv C d -wdir w -l", "-env, -genv, -wdir, -l"),
        (
            "slurm",
            "--mem=2G -p long --time 10:00 -J name -ofile --export=ALL -l",
            "--mem, -p, --time, -J, -o, --export, -l",
        ),
        ("aprun", "-m 2g -q -e A=b", "-m, -q, -e"),
    ],
)
def test_what_says_nothing_of_placement_is_passed_over_and_named(name, more, named):
    plain = read(name, PLAIN[name])
    for text in (f"{PLAIN[name]} {more}", f"{more} {PLAIN[name]}"):
        found = read(name, text)
        assert found.placement.zones == plain.placement.zones
        assert [n for n in found.notes if "passed over" in n] == [
            n for n in found.notes if n.endswith(f"placement: {named}")
        ]
        assert len(found.notes) == len(plain.notes) + 1
    assert not any("passed over" in n for n in plain.notes)


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("slurm", "--ntasks-per-socket=2", "--ntasks-per-socket bears on placement"),
        ("slurm", "-B 2:4", "-B bears on placement"),
        ("openmpi4", "--rankfile f", "--rankfile bears on placement"),
        ("openmpi4", "-cpu-set 0,1", "-cpu-set bears on placement"),
        ("openmpi5", "--mca rmaps_base_mapping_policy core", "--mca rmaps_base_mapping_policy core bears on placement"),
        ("openmpi4", "-nolocal", "-nolocal bears on placement"),
        ("mpich", "-membind numa", "-membind bears on placement"),
        ("slurm", "--sideways", "'--sideways' is not known here"),
        ("openmpi4", "-display-sideways", "'-display-sideways' is not known here"),
        ("openmpi4", "./solver", "'./solver' is no option"),
        ("slurm", "--partition", "--partition needs a value"),
        ("mpich", "-env A", "-env needs 2 values"),
    ],
)
def test_what_bears_on_placement_or_is_not_known_is_refused_with_its_reason(name, more, message):
    with pytest.raises(InputError, match=message):
        read(name, f"{PLAIN[name]} {more}")


TWO = "pack:1 numa:1 core:2 pu:1"
ALL = ((0, 1),)


@pytest.mark.parametrize(
    ("name", "text", "zones"),
    [
        ("openmpi4", "--oversubscribe -np 3", ALL * 3),
        ("openmpi4", "--map-by :OVERSUBSCRIBE -np 3", ALL * 3),
        ("openmpi4", "--map-by core:OVERSUBSCRIBE -np 3", ALL * 3),
        ("openmpi4", "--map-by core --oversubscribe -np 3", ALL * 3),
        ("openmpi4", "--oversubscribe -np 2", ((0,), (1,))),
        ("openmpi4", "--oversubscribe -np 2 --bind-to core", ((0,), (1,))),
        ("openmpi4", "--oversubscribe -np 3 --bind-to core:overload-allowed", ((0,), (1,), (0,))),
        ("openmpi4", "--oversubscribe -np 3 --bind-to core", None),
        ("openmpi4", "--nooversubscribe -np 3", None),
        ("openmpi5", "--oversubscribe -np 3", ALL * 3),
        ("openmpi5", "--map-by numa --oversubscribe -np 3", ALL * 3),
        ("openmpi5", "--oversubscribe -np 2", ALL * 2),
        ("openmpi5", "--oversubscribe -np 2 --bind-to core", ((0,), (1,))),
        ("openmpi5", "--nooversubscribe -np 3", None),
    ],
)
def test_more_ranks_than_slots_as_open_mpi_answered(name, text, zones):
    """What the mpirun of 4.1.4 and of 5.0.11 did on two cores; None where it refused."""
    if zones is None:
        with pytest.raises(InputError, match="refuses"):
            read(name, text, TWO)
    else:
        assert read(name, text, TWO).placement.zones == zones


FRONTS = {
    "openmpi4": "/usr/bin/mpirun",
    "openmpi5": "prterun",
    "mpich": "mpiexec.hydra",
    "slurm": "srun",
    "aprun": "aprun",
}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize(
    ("program", "named"),
    [
        ("./solver", "./solver"),
        ("./solver -n 7 --bind-to none", "./solver and its arguments"),
        ("-- solver -c", "solver and its argument"),
        ("", None),
    ],
)
def test_the_program_of_a_whole_line_is_passed_over_and_named(name, program, named):
    plain = read(name, PLAIN[name])
    found = read(name, f"{FRONTS[name]} {PLAIN[name]} {program}")
    assert found.placement.zones == plain.placement.zones
    notes = [note.partition("started: ")[2] for note in found.notes if "what is started" in note]
    assert notes == ([named] if named else [])


@pytest.mark.parametrize("front", ["OMP_NUM_THREADS=2 A='b c' srun", "time OMP_NUM_THREADS=2 A= srun"])
def test_variables_in_front_of_a_line_are_named(front):
    found = read("slurm", f"{front} {PLAIN['slurm']} ./solver")
    assert found.placement.zones == read("slurm", PLAIN["slurm"]).placement.zones
    assert "srun: passed over, as they are not the launcher's: OMP_NUM_THREADS, A" in found.notes


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("slurm", "SLURM_CPU_BIND=none srun -n 2 ./solver"),
        ("openmpi4", "OMPI_MCA_rmaps_base_mapping_policy=core mpirun -n 2 ./solver"),
        ("openmpi5", "PRTE_MCA_hwloc_default_binding_policy=none mpirun -n 2 ./solver"),
    ],
)
def test_variables_that_bear_on_placement_are_refused(name, text):
    with pytest.raises(InputError, match="may bear on placement"):
        read(name, text)


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich"])
def test_several_programs_in_one_line_are_refused(name):
    with pytest.raises(InputError, match="several programs"):
        read(name, f"{FRONTS[name]} -n 2 ./a : -n 2 ./b")


@pytest.mark.parametrize("front", ["sbatch", "salloc", "/opt/slurm/bin/sbatch"])
def test_what_allots_nodes_is_read_as_the_srun_in_it(front):
    found = read("slurm", f"{front} -n 4 -c 2 job.sh")
    assert found.placement.zones == read("slurm", "srun -n 4 -c 2").placement.zones
    assert any("allots nodes and binds nothing" in note for note in found.notes)


def test_of_an_option_that_srun_is_given_again_the_last_counts():
    """As srun 22.05.8 did; what is given again alike needs no word."""
    found = read("slurm", "srun -n 2 --cpu-bind=none -N 1 --cpu-bind=cores -N1")
    assert found.placement.zones == read("slurm", "srun -n 2 --cpu-bind=cores").placement.zones
    assert [note for note in found.notes if "again" in note] == ["srun: --cpu-bind is given again, and the last counts"]


@pytest.mark.parametrize(
    "options", ["--mem=1G --mem-per-cpu=10", "--exclusive --overlap", "--exact --whole", "--exclusive --whole"]
)
def test_srun_refuses_options_that_exclude_each_other(options):
    with pytest.raises(InputError, match=r"srun refuses .* together"):
        read("slurm", f"srun -n 2 {options}")


def test_srun_gives_a_task_one_processor_where_the_line_does_not_say_how_many():
    machine = machine_of("pack:2 core:2 pu:2")
    found = resolve(machine, Job(2), Request(slurm="srun -n 2 --cpu-bind=threads ./solver"))
    assert found.placement.zones == ((0,), (4,))
    assert any("one processor, whatever" in note for note in found.notes)
    said = resolve(machine, Job(2), Request(slurm="srun -n 2 -c 2 --cpu-bind=threads ./solver"))
    assert said.placement.zones == ((0, 1), (4, 5))
    assert not any("one processor, whatever" in note for note in said.notes)


def test_a_machine_that_slurm_does_not_take_as_it_is_is_said():
    notes = resolve(machine_of("uneven:uneven sockets"), Job(1), Request(slurm="srun -n 2 --cpu-bind=cores")).notes
    assert any("takes all sockets and cores of a node for alike" in note for note in notes)
    assert not any("for alike" in note for note in read("slurm", "srun -n 2").notes)


@pytest.mark.parametrize("bind", ["", "--cpu-bind=verbose"])
def test_threads_per_core_binds_to_threads_where_nothing_is_named(bind):
    machine = machine_of("pack:2 core:2 pu:2")
    found = resolve(machine, Job(1), Request(slurm=f"srun -n 3 --threads-per-core=1 {bind} ./solver"))
    assert found.placement.zones == ((0,), (4,), (2,))
    assert any("--threads-per-core is --cpu-bind=threads" in note for note in found.notes)
