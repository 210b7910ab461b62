# SPDX-License-Identifier: BSD-3-Clause
"""The launcher of this machine: speaks with nodewise-runner, which starts, binds, measures and waits."""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import secrets
import select
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from nodewise.base.ends import deaf
from nodewise.base.errors import InputError, NodewiseError, ProgramError
from nodewise.base.forked import not_inherited
from nodewise.base.frozen import dataclass
from nodewise.base.native import native_path
from nodewise.base.processors import format_processors, processors_are
from nodewise.base.units import format_bytes
from nodewise.machine.cgroups import read_memory_kills, read_memory_limit
from nodewise.placement.memory import MODES
from nodewise.runner.answer import NO_ANSWER, AnswerReader
from nodewise.runner.failures import failure_of, start_error
from nodewise.runner.find_program import find_program
from nodewise.runner.launch import helpers_matter, helpers_of
from nodewise.runner.launcher import RunOptions
from nodewise.runner.marks import LEFT_BEHIND, OTHER_LOAD, STOPPED, UNREAD, find_marks
from nodewise.runner.objective import value_of
from nodewise.runner.outlived import RUN_VARIABLE, end_outlived, now_s
from nodewise.runner.price import COST
from nodewise.runner.proc_files import children_of, read_stat
from nodewise.runner.protocol import Reported, read_metrics, read_protocol
from nodewise.runner.rests import Rests
from nodewise.runner.sample import Sample
from nodewise.runner.served import Served
from nodewise.runner.setting import Setting

_KEPT_OUTPUT = 4000
#: How often who waits for the runner looks whether something has stopped it, in seconds.
_LOOK_S = 2.0
#: An answer comes so long after the limit of a run at the latest: what outlives a program is ended before.
_LATE_S = 60.0
#: An answer that has begun goes on within this time.
_STALLED_S = 10.0
#: No answer is as long: of what is printed a part is kept.
_LONGEST_REPLY = 1 << 30
#: The most processes left behind that are named.
_MOST_NAMED = 5


@dataclass(frozen=True)
class Ended:
    """How a command ended, whose exit code is -1 where a signal did that; of what it printed the beginning and the end."""

    exit_code: int
    signal: int
    timed_out: bool
    output: str


class _MalformedError(Exception):
    """What came from the runner is no answer of its own."""

    def __str__(self) -> str:
        return "it cannot be measured: something wrote into the pipe of nodewise-runner, its parent, or kept it from answering"


class LocalLauncher:
    """Implements `runner.launcher.Launcher` with one nodewise-runner process; a context manager."""

    def __init__(
        self, options: RunOptions | None = None, inherited: Mapping[str, str] | None = None, root: Path | None = None
    ):
        """`inherited` is the environment that settings change (None: this process's own).

        What disturbs a run is read below `root`, a copy of a system (None: this one).
        """
        self._options = options or RunOptions()
        self._root = root
        self._inherited = dict(os.environ if inherited is None else inherited)
        self._runner: subprocess.Popen[bytes] | None = None
        #: Why hardware counters are missing, in words; None before the first run, empty where they are there.
        self.counters_missing: str | None = None
        #: Why there is no energy, in words; None before the first run, empty where it can be read.
        self.energy_missing: str | None = None
        self._memory_kills: int | None = None
        self._run = ("", 0.0)
        self._needed = self._options.needed
        self._source = ""
        #: How long the shortest good run took; infinity before it, and where programs report their own times.
        self._run_s = math.inf
        self._rests = Rests(root or Path("/"))
        self._served = Served()
        self._answers = AnswerReader(self._options.same, self._options.cwd)
        self._limits = [(_limit_number(name), value) for name, value in self._options.limits.items()]

    def __enter__(self) -> LocalLauncher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """See `Launcher.run`. Raises ProgramError where the program cannot be started at all, and passes Ctrl-C on.

        Raises InputError where its first good run does not report what `RunOptions.needed` names.
        """
        request = self._request(self._as_printed(setting), timeout_s or self._options.timeout_s)
        rest = self._rests.before(setting.mask or os.sched_getaffinity(0))
        self._answers.before()
        self._served.begin()
        started_at, begin = time.time(), time.monotonic()
        self._run = (setting.env.get(RUN_VARIABLE, ""), now_s())
        try:
            reply = self._exchange(request)
        except _MalformedError as problem:
            spent = time.monotonic() - begin
            return Sample(spent, spent, started_at, error=str(problem))
        if "failed_step" in reply:
            raise start_error(setting, self._options, reply)
        self.counters_missing = reply["counters_missing"]
        self.energy_missing = reply["energy_missing"]
        reply["conditions"] |= rest
        if seconds := self._served.end():
            reply["usage"]["served_s"] = seconds
        sample = self._of_one_clock(self._sample(setting, reply))
        self._served.wanted |= any(mark.startswith(OTHER_LOAD) for mark in sample.marks)
        self._rests.after(sample)
        if sample.ok and self._needed:
            self._check_needed(sample, reply)
        if sample.ok and sample.source == "wall":
            self._run_s = min(self._run_s, sample.seconds)
        return sample

    def _of_one_clock(self, sample: Sample) -> Sample:
        """A good run, or an error where its time is another one than that of the runs before."""
        self._source = self._source or (sample.source if sample.ok else "")
        if not self._options.one_clock or not sample.ok or sample.source == self._source:
            return sample
        said = (
            "no time of its own, as runs before it"
            if sample.source == "wall"
            else "a time of its own, as none before it"
        )
        return replace(
            sample, error=f"it reports {said}: they cannot be compared (--minimize wall_s compares whole runs)"
        )

    def _as_printed(self, setting: Setting) -> Setting:
        """The setting, started through what its line starts first where that takes a part of the time that shows.

        It is bound before that, too: what else runs on its processors is watched by that.
        """
        if not self._options.as_printed or not helpers_matter(setting, self._run_s):
            return setting
        # a line finds nodewise on PATH, where this one need not be
        own = (sys.executable, "-m", "nodewise")
        words = [part for word in helpers_of(setting) for part in (own if word == "nodewise" else (word,))]
        return replace(setting, command=(*words, *setting.command))

    def carry_out(self, words: Sequence[str], timeout_s: float | None = None) -> Ended:
        """Have a command of nodewise's own carried out, such as a build: what it prints is nobody's measurement.

        Raises ProgramError where it cannot be started, and passes Ctrl-C on.
        """
        setting = Setting(tuple(words))
        try:
            reply = self._exchange(self._request(setting, timeout_s))
        except _MalformedError as problem:
            raise ProgramError(f"{words[0]}: {problem}") from problem
        if "failed_step" in reply:
            raise start_error(setting, self._options, reply)
        printed = reply["out"]["text"] + reply["err"]["text"]
        return Ended(reply["exit_code"], reply["signal"], reply["timed_out"], printed)

    def _check_needed(self, sample: Sample, reply: Mapping[str, Any]) -> None:
        for metric in self._needed:
            if value_of(sample, metric) is not None:
                continue
            if metric.startswith("energy_") and reply["energy_missing"]:
                raise InputError(f"{metric} cannot be measured: {reply['energy_missing']}", reply["energy_remedy"])
            reported = dict.fromkeys(["seconds", "wall_s", "cpu_s", *sample.metrics, *sample.usage, *sample.conditions])
            raise InputError(f"the run reports no {metric}", f"it reports {', '.join(reported)}")
        self._needed = ()

    @property
    def process(self) -> int:
        """The number of the runner's process, whose children are the programs; it is started where it has not been."""
        return self._start().pid

    def close(self) -> None:
        """End the runner, and with it whatever it runs."""
        self._answers.close()
        runner, self._runner = self._runner, None
        if runner is None:
            return
        for stream in (runner.stdin, runner.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        while True:
            try:
                runner.wait(_LOOK_S)
                return
            except subprocess.TimeoutExpired:
                _set_going(runner.pid)

    def _memory_kill(self) -> str:
        """What is to be said where the system was short of memory since it was last asked."""
        before, self._memory_kills = self._memory_kills, read_memory_kills(self._root or Path("/"))
        if before is None or self._memory_kills is None or self._memory_kills <= before:
            return ""
        limit = read_memory_limit(self._root or Path("/"))
        why = f"the memory limit of its control group, {format_bytes(limit)}," if limit else "the memory of the machine"
        return f": the system's out-of-memory killer ended it or a part of it, since {why} was used up"

    def _request(self, setting: Setting, timeout_s: float | None) -> dict[str, Any]:
        if not setting.command or not setting.command[0]:
            raise InputError("no program to run", "name it after --")
        environment = setting.environment(self._inherited)
        texts = [*setting.command, *environment, *environment.values()]
        if any("\0" in text for text in texts):
            raise InputError("an argument or a variable holds a zero byte", "programs cannot be given such a text")
        directory = self._options.cwd
        if setting.mask is not None:
            allowed = os.sched_getaffinity(0)
            missing = [p for p in setting.mask if p not in allowed]
            if missing or not setting.mask:
                raise ProgramError(
                    f"{processors_are(missing)} not there or not allowed to this process",
                    f"it may use {format_processors(allowed)}",
                )
        return {
            "program": _as_bytes(find_program(setting.command, environment, directory)),
            "arguments": [_as_bytes(word) for word in setting.command],
            "environment": [_as_bytes(f"{k}={v}") for k, v in environment.items()],
            "directory": _as_bytes(str(directory or "")),
            "input": _as_bytes(str(self._options.stdin or "/dev/null")),
            "mask": None if setting.mask is None else list(setting.mask),
            "memory": None
            if setting.memory is None
            else {"mode": MODES[setting.memory.mode], "nodes": setting.memory.nodes},
            "no_huge_pages": setting.no_huge_pages,
            "limits": self._limits,
            "domain": self._options.domain,
            "timeout_s": timeout_s or 0.0,
            **self._answers.request(),
        }

    def _start(self) -> subprocess.Popen[bytes]:
        if self._runner is None:
            self._memory_kills = read_memory_kills(self._root or Path("/"))
            # a group of its own: the terminal's Ctrl-C is for us to handle; a preload is for the program, not the runner
            self._runner = subprocess.Popen(
                [str(native_path("nodewise-runner")), *([str(self._root)] if self._root else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"},
                process_group=0,
                pass_fds=self._answers.descriptors,
            )
            not_inherited(self._runner.stdin, self._runner.stdout)
        return self._runner

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        runner = self._start()
        request = {**request, "id": secrets.token_hex(8)}
        try:
            self._send(runner, request)
            return self._receive(runner, request)
        except _MalformedError:
            self.close()
            raise
        except KeyboardInterrupt:
            # one more Ctrl-C while the run is being ended must not leave it half-ended
            with deaf():
                self.close()
            raise

    def _send(self, runner: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        frame = struct.pack("<I", len(data)) + data
        assert runner.stdin is not None
        try:
            while frame:
                frame = frame[runner.stdin.write(frame) or 0 :]
        except BrokenPipeError as problem:
            raise self._lost(runner) from problem

    def _receive(self, runner: subprocess.Popen[bytes], request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request. Raises _MalformedError for anything else: a program may write into its parent's pipe."""
        limit = math.inf if not request.get("timeout_s") else request["timeout_s"] + _LATE_S
        (length,) = struct.unpack("<I", self._read(runner, 4, limit))
        if length > _LONGEST_REPLY:
            raise _MalformedError
        try:
            reply = json.loads(self._read(runner, length, _STALLED_S))
        except (ValueError, RecursionError) as problem:
            raise _MalformedError from problem
        # what cannot be read as a request has no number that could be given back
        if not isinstance(reply, dict) or (
            reply.get("id") != request["id"] and (reply.get("failed_step"), reply.get("failed_errno")) != ("runner", 0)
        ):
            raise _MalformedError
        return {"message": "", **reply}

    def _read(self, runner: subprocess.Popen[bytes], count: int, limit_s: float) -> bytes:
        """So many bytes from the runner; none of them comes later than `limit_s` after the one before. Raises _MalformedError."""
        assert runner.stdout is not None
        parts = []
        while count:
            begin = time.monotonic()
            until = begin + limit_s
            while not select.select([runner.stdout], [], [], self._pause_s(begin, limit_s))[0]:
                if time.monotonic() >= until:
                    raise _MalformedError
                if self._served.next_look_s(time.monotonic() - begin) == 0:
                    self._served.look(runner.pid)
                else:
                    _set_going(runner.pid)
            part = runner.stdout.read(count)
            if not part:
                raise self._lost(runner)
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _pause_s(self, begin: float, limit_s: float) -> float:
        """How long to wait for an answer at once: something else may be due meanwhile."""
        look_s = self._served.next_look_s(time.monotonic() - begin)
        return min(_LOOK_S, limit_s, math.inf if look_s is None else look_s)

    def _lost(self, runner: subprocess.Popen[bytes]) -> NodewiseError:
        self.close()
        return NodewiseError(
            f"nodewise-runner ended unexpectedly (status {runner.returncode})",
            f"{self._what_is_left(runner.returncode)}; run again",
        )

    def _what_is_left(self, status: int) -> str:
        """What became of the program of a runner that was lost: its guard ends all of it, where that was not killed, too."""
        if status >= 0:
            return "its program was ended with it"
        number, since_s = self._run
        if not number:
            return "its guard was killed: what its program started in sessions of their own may still run"
        if found := end_outlived(number, since_s):
            return f"its guard was killed, too; what was left of its program was found and ended: {', '.join(found[:_MOST_NAMED])}"
        return (
            "its guard was killed; nothing of its program was found running, save what may have cleared its environment"
        )

    def _reported(self, reply: dict[str, Any]) -> Reported:
        """What the program reported of itself, by the sample protocol or by patterns."""
        lines = [*reply["out"]["protocol"], *reply["err"]["protocol"]]
        if token := self._options.returns:
            # what the function itself, or a program that it starts, reports is not the time of the call
            lines = [line for line in lines if token in line]
        reported = read_protocol(lines, reply["out"].get("misplaced") or reply["err"].get("misplaced") or "")
        if dropped := int(reply["out"].get("dropped", 0)) + int(reply["err"].get("dropped", 0)):
            # what they said, `verified` too, is not known
            return Reported(
                problem=f"{dropped} of the lines of its sample protocol are too long or too many to be read"
            )
        if not lines and self._options.metrics:
            everything = reply["out"]["text"] + reply["err"]["text"]
            return replace(read_metrics(everything, self._options.metrics), unread=reported.unread)
        return reported

    def _sample(self, setting: Setting, reply: dict[str, Any]) -> Sample:
        everything = reply["out"]["text"] + reply["err"]["text"]
        reported = self._reported(reply)
        metrics = dict(reported.metrics)
        if self._options.price is not None:
            metrics[COST] = self._options.price.of(setting, reply["wall_s"])
        error = failure_of(reply, reported, everything, self._options)
        if error is not None and not reply["timed_out"]:
            error += self._memory_kill()
        answer = self._answers.read(reply) if error is None else NO_ANSWER
        error = error or answer.problem
        usage, conditions = reply["usage"], reply["conditions"]
        if reply["exit_code"] > 0:
            usage = {**usage, "exit_code": reply["exit_code"]}
        marks = find_marks(reply["wall_s"], usage, conditions, reply["rebound"])
        if reply["stopped"]:
            marks += (f"{STOPPED}: nodewise-runner was stopped while it ran, and may have seen its end too late",)
        if reply["left_behind"]:
            marks += (_left_behind(reply["left_behind"]),)
        if reported.unread:
            marks += (f"{UNREAD}{reported.unread}",)
        return Sample(
            seconds=reported.seconds if reported.seconds is not None else reply["wall_s"],
            wall_s=reply["wall_s"],
            started_at=reply["started_at"],
            source="program" if reported.seconds is not None else "wall",
            metrics=metrics,
            usage=usage,
            conditions=conditions,
            marks=marks,
            error=error,
            output=everything[-_KEPT_OUTPUT:] if error else "",
            cut_off=reply["timed_out"],
            answer=answer.digest,
            answer_text=answer.text,
        )


def _as_bytes(text: str) -> str:
    """The bytes of a text, which may be any, each as the character of that number: so they pass through JSON."""
    return os.fsencode(text).decode("latin-1")


def _left_behind(names: Sequence[str]) -> str:
    """The mark of processes that outlived the program, by their names."""
    counted = Counter(names)
    reported = [f"{name} ({count})" if count > 1 else name for name, count in counted.most_common(_MOST_NAMED)]
    if len(counted) > _MOST_NAMED:
        reported.append(f"{len(counted) - _MOST_NAMED} more")
    processes = f"{len(names)} process{'es' * (len(names) != 1)}"
    return f"{LEFT_BEHIND}: {processes} outlived the program and {'were' if len(names) != 1 else 'was'} ended: {', '.join(reported)}"


def _limit_number(name: str) -> int:
    number = getattr(resource, f"RLIMIT_{name.upper()}", None)
    if number is None:
        known = sorted(n.removeprefix("RLIMIT_") for n in dir(resource) if n.startswith("RLIMIT_"))
        raise InputError(f"unknown resource limit: {name!r}", f"the limits are: {', '.join(known)}")
    return int(number)


def _set_going(runner: int) -> None:
    """Let go on what of the runner was stopped: a program may stop its parent, and then nobody would end it in time."""
    for pid in (runner, *children_of(runner)):
        with contextlib.suppress(OSError):
            found = read_stat(Path(f"/proc/{pid}/stat").read_text(errors="replace"))
            if found.name.startswith("nodewise-") and found.state == "T":
                os.kill(pid, signal.SIGCONT)
