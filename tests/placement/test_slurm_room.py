# SPDX-License-Identifier: BSD-3-Clause
"""When srun refuses more tasks than processors, as the controller of Slurm 22.05.8 was asked: it does not look at the binding."""

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.render import render
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes.mpirun5 import machine_of
from tests.slurm_cluster import slurm_cluster


@pytest.mark.parametrize(
    "bind", ["none", "map_cpu:0,1,0", "mask_cpu:1,2", "rank_ldom", "map_ldom:0", "cores", "threads"]
)
@pytest.mark.parametrize(
    ("options", "refused"), [("-n 2", False), ("-n 3", True), ("-n 2 -c 2", True), ("-n 1 -c 2", False)]
)
def test_slurm_refuses_more_tasks_than_processors_whatever_they_are_bound_to(bind, options, refused):
    """As the controller of Slurm 22.05.8 did: more processors requested than permitted; with --overcommit it did not."""
    machine = machine_of("pack:1 core:2 pu:1")
    asked = {"slurm": f"--cpu-bind={bind} {options}"}
    if refused:
        with pytest.raises(InputError, match=r"srun refuses .* on a node of 2"):
            resolve(machine, Job(1), Request(**asked))
        asked["slurm"] += " --overcommit"
    assert resolve(machine, Job(1), Request(**asked)).placement.size == int(options.split()[1])


@pytest.mark.parametrize("bind", ["none", "map_cpu:0", "threads", "cores", "rank_ldom"])
@pytest.mark.parametrize(
    ("tasks", "more", "refused"), [(4, "", False), (5, "", True), (3, "--threads-per-core=1", True)]
)
def test_slurm_counts_hardware_threads(bind, tasks, more, refused):
    """As it was asked on a node that is configured to have two cores of two."""
    machine = machine_of("pack:1 core:2 pu:2")
    request = Request(slurm=f"--cpu-bind={bind} -n {tasks} {more}")
    if refused:
        with pytest.raises(InputError, match="srun refuses"):
            resolve(machine, Job(1), request)
    else:
        assert resolve(machine, Job(1), request).placement.size == tasks


@pytest.mark.parametrize(("tasks", "refused"), [(4, False), (5, True)])
@pytest.mark.parametrize("per_task", [1, 2])
def test_of_cores_with_four_threads_all_that_is_begun_is_claimed(tasks, per_task, refused):
    """Two threads of a core are asked for, of four: by slurmctld's arithmetic half of the processors may be used, and of a core all or nothing."""
    machine = machine_of(f"pack:1 core:{2 * per_task} pu:4")
    request = Request(slurm=f"--cpu-bind=none -n {tasks} -c {per_task} --threads-per-core=2")
    if refused:
        with pytest.raises(InputError, match="srun refuses"):
            resolve(machine, Job(1), request)
    else:
        assert resolve(machine, Job(1), request).placement.size == tasks


@pytest.mark.parametrize(("ranks", "needed"), [(1, False), (2, False), (3, True), (5, True)])
def test_a_line_for_slurm_has_overcommit_where_it_is_refused_without(ranks, needed):
    machine = machine_of("pack:1 core:2 pu:1")
    placement = resolve(machine, Job(1, ranks), Request("compact")).placement
    words = render("slurm", machine, placement).words
    assert ("--overcommit" in words) == needed
    assert resolve(machine, Job(1, ranks), Request(slurm=" ".join(words[:-1]))).placement.zones == placement.zones


@pytest.mark.long
def test_the_real_srun_refuses_and_starts_what_is_refused_and_written():
    machine = load_machine(None, None)
    if set(machine.allowed) != set(machine.pus) or len(machine.allowed_cores) < len(machine.pus):
        pytest.skip("only a part of this machine may be used, or its cores have several hardware threads")
    ranks = len(machine.allowed) + 1
    written = render("slurm", machine, resolve(machine, Job(1, ranks), Request("compact")).placement).words
    alone = tuple(word for word in written if word != "--overcommit")
    with slurm_cluster() as cluster:
        for words, returned in ((written, 0), (alone, 1)):
            ran = cluster.ask("salloc", "-Q", "-N1", "--exclusive", "-n1", *words, "--immediate=5", "true")
            assert ran.returncode == returned, ran.stderr
    assert "More processors requested than permitted" in ran.stderr
