# SPDX-License-Identifier: BSD-3-Clause
"""Runs a study's contender in Python once, in a process of its own, and prints the sample protocol.

    python -m nodewise.studies.peer_worker FILE.py STUDY.so [--available [--among A,B]] [--contender NAME] [--repeat R]
        [knob=value …] [--settle | --settled name=value …]

The file has `available() -> str | None` (why it cannot run, or None), `prepare(inputs, point, threads) -> state` from the
study's own inputs (arrays by name), `run(state)` (the timed part) and `outputs(state)`, arrays by the study's names. Where
it needs them it has also: `ENVIRONMENT`, variables for its process (empty: to clear); `metrics(state)`, other numbers by
name; and in place of `available`, `contenders()`, several by name with the reason why one cannot run, or None: the point
then holds the name as `contender`. Where finding that out takes time the reason is a function of the point, which is called only
for those that are asked for. `settle(inputs, point, threads)` finds by trial what has to hold for all runs (a quality
that several variants have in common), numbers by name, which `prepare` has in its point: with `--settle` they are printed and
nothing else is done, with `--settled` they are given, and with neither the process settles for itself. It runs once to
warm up and then under the clock. The inputs come from the study's worker, which judges the outputs afterwards by the
study's own check.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from nodewise.base.native import native_path
from nodewise.studies.bound_threads import BIND, Watch, places_asked
from nodewise.studies.contract import parse_knobs
from nodewise.studies.discovery import load_script

_SETTLED, _AMONG = "--settled", "--among"
#: The threads of a peer are watched for so long, in so many runs at most.
_WATCHED_S, _MOST_WATCHED = 0.02, 10


class Judge:
    """The study's worker as a server: it gives the inputs and judges the outputs."""

    def __init__(self, binary: str, options: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [str(native_path("nodewise-worker")), binary, "--serve", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # its threads have nothing to do while the contender runs
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        )
        self.task = json.loads(self._line() or "{}")
        self.inputs = {name: _receive(self._out) for name in self.task.get("inputs", ())}

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, where: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def _out(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _line(self) -> str:
        return self._out.readline().decode()

    def wrong(self, outputs: Mapping[str, Any]) -> str | None:
        """What is wrong with these outputs, or None."""
        import numpy as np

        assert self._process.stdin is not None
        try:
            for name in self.task["outputs"]:
                array = np.ascontiguousarray(np.ravel(outputs[name]))
                # not write_array: it asks a file for its position, which a pipe has not
                np.lib.format.write_array_header_1_0(
                    self._process.stdin, np.lib.format.header_data_from_array_1_0(array)
                )
                self._process.stdin.write(array.view(np.uint8).data)
            self._process.stdin.close()
        except BrokenPipeError:
            return "the arrays are not those of the study"
        answer = json.loads(self._line() or "{}")
        return None if answer.get("verified") else answer.get("wrong", "the arrays are not those of the study")


def _receive(stream: IO[bytes]) -> Any:
    """An array in NumPy's format from a pipe, into memory of NumPy's own."""
    # whether a contender can run is answered without it
    import numpy as np

    np.lib.format.read_magic(stream)
    shape, _, kind = np.lib.format.read_array_header_1_0(stream)
    array = np.empty(shape, kind)
    rest = array.view(np.uint8).data
    while rest:
        got = stream.readinto(rest)  # type: ignore[attr-defined]
        if not got:
            raise EOFError("the study's worker ended early")
        rest = rest[got:]
    return array


def _after(words: Sequence[str], option: str, absent: str) -> str:
    return words[words.index(option) + 1] if option in words else absent


def _why_not(reason: str | Callable[[Mapping[str, str]], str | None] | None, point: Mapping[str, str]) -> str | None:
    return reason(point) if callable(reason) else reason


def _run_watched(run: Callable[[], object]) -> None:
    """As many runs as it takes to see which threads work: as native/worker/worker_main.cpp."""
    begin = time.perf_counter()
    for _ in range(_MOST_WATCHED):
        run()
        if time.perf_counter() - begin >= _WATCHED_S:
            return


def main(words: list[str]) -> int:
    """Run the contender; exit code 1 where it is not available or its result is wrong."""
    file = Path(words[0])
    peer = load_script(file)
    contenders = peer.contenders() if hasattr(peer, "contenders") else {file.stem: peer.available()}
    given = words.index(_SETTLED) if _SETTLED in words else len(words)
    knobs = [w for w in words[2:given] if "=" in w]
    if "--available" in words:
        among = _after(words, _AMONG, "").split(",") if _AMONG in words else contenders
        # not by items(): a mapping may find a reason out where it is asked for one
        reasons = {n: _why_not(contenders[n], parse_knobs(knobs)) if n in among else None for n in contenders}
        about = {"environment": getattr(peer, "ENVIRONMENT", {}), "settles": hasattr(peer, "settle")}
        print(json.dumps({"contenders": reasons, **about}))
        return 0
    name = _after(words, "--contender", file.stem)
    if reason := _why_not(contenders[name], parse_knobs(knobs)):
        print(reason, file=sys.stderr)
        return 1
    repeat = int(_after(words, "--repeat", "1"))
    threads = int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))
    with Judge(words[1], knobs) as judge:
        if not judge.task:
            return 1
        point = {**parse_knobs(knobs), "contender": name, **parse_knobs(words[given + 1 :])}
        if hasattr(peer, "settle") and _SETTLED not in words:
            settled = peer.settle(judge.inputs, point, threads)
            if "--settle" in words:
                print(json.dumps({"nodewise": 1, **settled}))
                return 0
            point |= {k: repr(v) for k, v in settled.items()}
        state = peer.prepare(judge.inputs, point, threads)
        metrics = {}
        if places := places_asked(os.environ.get(BIND, "")):
            watch = Watch()
            _run_watched(lambda: peer.run(state))
            metrics["bound"] = watch.bind(places)
        peer.run(state)
        times = []
        for _ in range(repeat):
            begin = time.perf_counter()
            peer.run(state)
            times.append(time.perf_counter() - begin)
        if wrong := judge.wrong(peer.outputs(state)):
            print(f"wrong result: {wrong}", file=sys.stderr)
            print('{"nodewise": 1, "verified": false}')
            return 1
    metrics |= {k: judge.task[k] for k in ("items", "flops", "bytes") if k in judge.task}
    metrics |= peer.metrics(state) if hasattr(peer, "metrics") else {}
    for seconds in times:
        print(json.dumps({"nodewise": 1, "seconds": seconds, **metrics, "threads": threads, "verified": True}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
