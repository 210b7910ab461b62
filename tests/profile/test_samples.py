# SPDX-License-Identifier: BSD-3-Clause
"""What perf prints, read: samples, chains, switches, what was lost."""

import pytest

from nodewise.profile.samples import Frame, read_samples

SAID = """
work 100/100 10.000000: cpu-clock/freq=99/:
\t            1139 half+0x9 (/tmp/work)
\t            1201 phases+0x20 (/tmp/work)
\t            1300 main+0x10 (/tmp/work)

work 100/101 10.010000: PERF_RECORD_SWITCH_CPU_WIDE OUT          next pid/tid:     0/0
work 100/101 10.260000: PERF_RECORD_SWITCH IN
work 100/100 10.300000: PERF_RECORD_SWITCH OUT preempt
work 100/100 10.310000: PERF_RECORD_SWITCH IN
a b 3 100/102 10.400000: sched:sched_switch:
\tffffffff81000000 __schedule ([kernel.kallsyms])
\t    7f0000001000 read+0x10 (/lib/libc.so.6)
\t            1500 load file (/tmp/work)

a b 3 100/102 10.400010: PERF_RECORD_SWITCH OUT
a b 3 100/102 10.900010: PERF_RECORD_SWITCH IN
work 100/100 10.950000: PERF_RECORD_LOST lost 7
work 100/100 10.960000: PERF_RECORD_COMM something else
work 100/100 10.970000: cpu-clock/freq=99/:
\t             abc [unknown] ([unknown])
what nobody understands
"""


def test_samples_have_their_chains_from_the_innermost_function_on() -> None:
    found = read_samples(SAID.splitlines())
    first, waited, last = found.samples
    assert first.chain[0] == Frame("half+0x9", "/tmp/work", 0x1139) or first.chain[0].function == "half"
    assert [frame.function.split("+")[0] for frame in first.chain] == ["half", "phases", "main"]
    assert (first.pid, first.tid, first.time, first.waited) == (100, 100, 10.0, None)
    assert waited.waited == 0.5 and waited.chain[0].object == "[kernel.kallsyms]"
    assert waited.chain[2].function == "load file"
    assert last.chain[0].function == "[unknown]"
    assert (found.lost, found.event) == (7, "cpu-clock")


def test_threads_wait_or_are_held_back() -> None:
    threads = read_samples(SAID.splitlines()).threads
    assert threads[100, 101].waited_s == 0.25 and threads[100, 101].preempted_s == 0
    assert abs(threads[100, 100].preempted_s - 0.01) < 1e-9 and threads[100, 100].waited_s == 0
    assert threads[100, 102].name == "a b 3"


def test_without_chains_the_function_stands_behind_the_event() -> None:
    said = """
work 100/100 10.000000: cpu-clock/freq=99/u:            1139 half+0x9 (/tmp/work)
work 100/100 10.010000:     cycles:u:      7f0000001000 std::load<int, 4> (/lib/lib c.so)
work 100/100 10.020000: cpu-clock/freq=99/u:             abc [unknown] ([unknown])
"""
    found = read_samples(said.splitlines())
    assert [one.chain for one in found.samples] == [
        (Frame("half+0x9", "/tmp/work", 0x1139),),
        (Frame("std::load<int, 4>", "/lib/lib c.so", 0x7F0000001000),),
        (Frame("[unknown]", "[unknown]", 0xABC),),
    ]


def test_of_nothing_nothing_is_known() -> None:
    found = read_samples([])
    assert (found.samples, found.threads, found.lost) == ([], {}, 0)


def test_where_the_copy_of_the_stack_ended_is_no_function() -> None:
    said = """
deep 100/100 10.000000: cpu-clock/freq=99/:
\t            115c leaf+0x33 (/tmp/deep)
\tffffffffffffffff [unknown] ([unknown])
"""
    [taken] = read_samples(said.splitlines()).samples
    assert [frame.object for frame in taken.chain] == ["/tmp/deep"]


@pytest.mark.parametrize(
    ("symbol", "file"),
    [
        ("run<std::function<void (int)> >", "/app"),
        ("std::_Function_handler<double (double), main::{lambda(double)#2}>::_M_invoke", "/opt/my app (2)/run"),
        ("<alloc::vec::Vec<T> as core::fmt::Debug>::fmt", "/app"),
        ("main.(*Tree).Insert", "/go/app (deleted)"),
        ("void f<int [3]>(int (&) [3])", "/app"),
        ("[unknown]", "[unknown]"),
        ("bpf_prog_a1 (x)", "bpf_prog_a1"),
    ],
)
def test_names_with_blanks_and_parentheses_are_whole(symbol: str, file: str) -> None:
    chained = f"app 7/7 1.0: cpu-clock:uH:\n\t 55d0 {symbol} ({file})\n"
    alone = f"app 7/7 1.0: cpu-clock:uH:  55d0 {symbol} ({file})\n"
    for said in (chained, alone):
        [taken] = read_samples(said.splitlines()).samples
        assert taken.chain == (Frame(symbol, file, 0x55D0),)


BRIEF = """
perf-exec 0/0 0.000000: PERF_RECORD_COMM: perf-exec:1/1
sh 1/1 10.000: PERF_RECORD_COMM exec: sh:1/1
sh 2/2 10.001: PERF_RECORD_SWITCH IN
expr 2/2 10.002: PERF_RECORD_COMM exec: expr:2/2
expr 2/2 10.003: PERF_RECORD_SWITCH OUT preempt
expr 2/2 10.004: PERF_RECORD_SWITCH IN
expr 2/2 10.005: PERF_RECORD_EXIT(2:2):(1:1)
sleep 3/3 10.010: PERF_RECORD_SWITCH OUT
sh 1/1 11.010: PERF_RECORD_EXIT(1:1):(0:0)
"""


def test_a_process_is_called_by_what_it_ran_and_seen_until_it_ended() -> None:
    threads = read_samples(BRIEF.splitlines()).threads
    assert set(threads) == {(1, 1), (2, 2), (3, 3)}
    expr, waiting = threads[2, 2], threads[3, 3]
    assert expr.name == "expr" and expr.last - expr.first == pytest.approx(0.004)
    # what still waits when the recording ends has waited until then
    assert waiting.waited_s == pytest.approx(1.0) and waiting.last == pytest.approx(11.010)
    assert threads[1, 1].waited_s == 0
