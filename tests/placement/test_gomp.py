# SPDX-License-Identifier: BSD-3-Clause
"""GOMP_CPU_AFFINITY as it is written, and the trap of threads outside of what a process may use."""

from dataclasses import replace

import pytest

from nodewise.placement.dialects.gomp import DIALECT, write_gomp
from nodewise.placement.job import Job
from nodewise.placement.rendering import NotExpressibleError
from nodewise.placement.resolve import Request, resolve
from tests.placement.test_dialects import LIKWID, synthetic


def test_a_processor_for_each_thread_is_written() -> None:
    written = write_gomp(synthetic(LIKWID), [(3,), (0,), (3,)])
    assert written.env == {"OMP_NUM_THREADS": "3", "GOMP_CPU_AFFINITY": "3,0,3"} and written.words == ()
    with pytest.raises(NotExpressibleError, match=r"^GOMP_CPU_AFFINITY cannot"):
        write_gomp(synthetic(LIKWID), [(3,), (0, 1)])


def test_threads_outside_of_the_mask_may_end_the_program() -> None:
    machine = synthetic(LIKWID, "0-3")
    asked = Request(gomp="2-5")
    assert DIALECT.traps is not None
    placed = resolve(machine, Job(4), asked).placement
    (trap,) = DIALECT.traps(machine, placed, asked, {})
    assert (trap.name, trap.hint) == ("program ends", "keep GOMP_CPU_AFFINITY to 0-3")
    assert trap.what == (
        "processors 4-5 are outside of what this process may use: where its cpuset, not only its mask, lacks one of them, GNU's "
        "runtime ends the program as it starts that thread"
    )
    # not where all is allowed, another runtime reads it, another text says it, or the cpuset is known
    assert DIALECT.traps(synthetic(LIKWID), placed, asked, {}) == []
    assert DIALECT.traps(machine, placed, Request(gomp="2-5", runtime="intel"), {}) == []
    assert DIALECT.traps(machine, placed, Request(places="cores", runtime="gnu"), {}) == []
    known = replace(machine, limits=replace(machine.limits, cpuset=tuple(range(8))))
    assert DIALECT.traps(known, placed, asked, {}) == []
