# SPDX-License-Identifier: BSD-3-Clause
"""Whether threads that were seen were bound as their variables or a plan asked."""

from nodewise.machine.sources import load_machine
from nodewise.runner.agreement import agreement
from nodewise.runner.observe import Observation, SeenProcess, SeenThread


def process(pid, *threads, environment=None, runtime="libgomp", rank=None):
    made = SeenProcess(pid, "x", rank, environment or {}, runtime)
    for i, (allowed, ran) in enumerate(threads):
        made.threads[pid + i] = SeenThread(pid + i, pid, "x", i / 10, 1.0, tuple(allowed), 1.0)
        made.threads[pid + i].ran.update(ran)
    return made


MACHINE = "synthetic:pack:2 core:2 pu:2"
CLOSE = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}


def judge(*processes, expected=None):
    return agreement(load_machine(MACHINE), Observation({p.pid: p for p in processes}), expected)


def test_what_was_asked_by_variables_is_held_against_what_was_seen():
    good = judge(process(10, ([0, 1], [0]), ([2, 3], [2]), environment=CLOSE))
    assert good.agrees is True and set(good.verdicts[10].words.values()) == {"as asked"}
    wrong = judge(process(10, ([0, 1], [0]), ([4, 5], [4]), environment=CLOSE))
    assert wrong.agrees is False and wrong.verdicts[10].words[11] == "asked was 2-3"
    free = judge(process(10, (range(8), [0]), environment=CLOSE))
    assert "not bound; asked was 0-1" in free.verdicts[10].words.values()
    none = judge(process(10, (range(8), [0])))
    assert none.agrees is None and none.verdicts[10].words[10] == "not bound"


def test_the_runtime_decides_which_variables_count():
    both = {**CLOSE, "KMP_AFFINITY": "granularity=fine,scatter"}
    threads = (([0], [0]), ([4], [4]))
    assert judge(process(10, *threads, environment=both, runtime="libiomp5")).agrees is True
    assert judge(process(10, *threads, environment=both, runtime="libgomp")).agrees is False
    assert judge(process(10, ([3], [3]), environment={"GOMP_CPU_AFFINITY": "3 2"})).agrees is True


def test_a_plan_for_ranks_is_held_against_each():
    plan = [[(0,), (1,)], [(4,), (5,)]]
    ranks = [process(10, ([0], [0]), ([1], [1]), rank=0), process(20, ([4], [4]), ([5], [5]), rank=1)]
    assert judge(*ranks, expected=plan).agrees is True
    assert judge(*ranks, expected=plan[::-1]).agrees is False


def test_ranks_on_the_same_processors_and_crowds_are_found():
    ranks = [process(10 * (r + 1), ([0], [0]), ([1], [1]), rank=r) for r in range(3)]
    findings = " ".join(judge(*ranks).findings)
    assert "all 3 ranks sit on the same processors, 0-1" in findings
    assert "3 threads are bound to processor 0" in findings and "nothing ran on 2-7" in findings


def test_ranks_that_nobody_bound_share_no_processors():
    ranks = [process(10 * (r + 1), (range(8), [r]), rank=r) for r in range(3)]
    assert judge(*ranks).findings == []


def test_a_mask_over_the_places_is_found():
    found = judge(process(10, ([2], [2]), ([2], [2]), environment=CLOSE))
    assert any("may use only 2, and its places ask for 0-3" in text for text in found.findings)


def test_running_outside_of_the_mask_is_said():
    strange = process(10, ([0, 1], [5]), environment=CLOSE)
    strange.threads[10].strayed[5] += 1
    assert "outside of what it may use" in judge(strange).verdicts[10].words[10]


def test_threads_are_in_the_order_of_their_creation_also_where_numbers_start_over():
    made = process(32767, ([0, 1], [0]), environment=CLOSE)
    made.threads[300] = SeenThread(300, 32767, "x", 0.1, 1.0, (2, 3), 1.0)
    made.threads[300].ran.update([2])
    assert [t.tid for t in made.in_order] == [32767, 300]
    assert judge(made).agrees is True


def test_a_thread_that_never_ran_is_no_reason_to_disagree():
    # a runtime's helper that sleeps is bound to nothing
    idle = judge(process(10, ([0, 1], [0]), (range(8), []), environment=CLOSE))
    assert idle.agrees is True and idle.verdicts[10].words[11] == "not bound; asked was 2-3"
    assert judge(process(10, ([0, 1], [0]), (range(8), [2]), environment=CLOSE)).agrees is False


def test_threads_that_were_never_bound_are_under_no_second_layer():
    few = judge(process(10, ([0, 1], [0]), ([2, 3], [2]), ([4, 5], [4]), environment=CLOSE))
    assert not few.findings
