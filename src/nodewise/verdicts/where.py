# SPDX-License-Identifier: BSD-3-Clause
"""Where the threads of a program ran, as `nodewise where --json` writes it."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.frozen import dataclass
from nodewise.runner.agreement import Agreement, ProcessAgreement
from nodewise.runner.observe import Observation, SeenProcess, SeenThread


@dataclass(frozen=True)
class ThreadOutput:
    """A thread: `ran` counts samples by processor, `track` its stays as (begin, end, processor) in seconds."""

    tid: int
    pid: int
    name: str
    first_s: float
    last_s: float
    allowed: tuple[int, ...]
    cpu_s: float
    ran: Mapping[int, int]
    track: tuple[tuple[float, float, int], ...]
    migrations: int


@dataclass(frozen=True)
class ProcessOutput:
    """A process with its threads in the order of their creation; `environment` are the variables that bear on threads."""

    pid: int
    command: str
    rank: int | None
    environment: Mapping[str, str]
    runtime: str
    memory_bytes_by_node: Mapping[int, int]
    memory_missing: str
    threads: tuple[ThreadOutput, ...]


@dataclass(frozen=True)
class AgreementOutput:
    """Of one process: the places `asked` for, None where nothing is known of them; a word for each thread, by tid."""

    asked: tuple[tuple[int, ...], ...] | None
    asked_by: str
    threads: Mapping[int, str]
    agrees: bool | None


@dataclass(frozen=True)
class WhereOutput:
    """What was seen over `seconds` in `samples` sweeps, which took `cost_s` of processor time; `verdicts` by process."""

    seconds: float
    samples: int
    cost_s: float
    processes: tuple[ProcessOutput, ...]
    agrees: bool | None
    findings: tuple[str, ...]
    verdicts: Mapping[int, AgreementOutput]


def where_output(seen: Observation, agreed: Agreement) -> WhereOutput:
    """All that was seen, processes by their number."""
    return WhereOutput(
        seconds=seen.seconds,
        samples=seen.samples,
        cost_s=seen.cost_s,
        processes=tuple(_process(seen.processes[pid]) for pid in sorted(seen.processes)),
        agrees=agreed.agrees,
        findings=tuple(agreed.findings),
        verdicts={pid: _agreement(verdict) for pid, verdict in agreed.verdicts.items()},
    )


def _process(one: SeenProcess) -> ProcessOutput:
    return ProcessOutput(
        pid=one.pid,
        command=one.command,
        rank=one.rank,
        environment=one.environment,
        runtime=one.runtime,
        memory_bytes_by_node=one.memory,
        memory_missing=one.memory_missing,
        threads=tuple(map(_thread, one.in_order)),
    )


def _thread(one: SeenThread) -> ThreadOutput:
    return ThreadOutput(
        tid=one.tid,
        pid=one.pid,
        name=one.name,
        first_s=one.first_s,
        last_s=one.last_s,
        allowed=tuple(one.allowed),
        cpu_s=one.cpu_s,
        ran=dict(one.ran),
        track=tuple(one.track),
        migrations=one.migrations,
    )


def _agreement(verdict: ProcessAgreement) -> AgreementOutput:
    return AgreementOutput(verdict.asked, verdict.asked_by, verdict.words, verdict.agrees)
