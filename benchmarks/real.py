# SPDX-License-Identifier: BSD-3-Clause
"""Real programs from packages: tuned as their users would, each promise then repeated by code that is not nodewise's.

    ./dev bench real --only zstd,xz --budget 30s      ./dev bench real --list      ./dev bench real --table

Each case is tuned on the quiet machine, and every second one of a program again beside a hog of equal priority in another session.
Where tune says `faster`, the line that it printed and the program as it is started now are given to `sh -c` in turns, on
the quiet machine. A promise holds where the repeated ratio lies in the promised interval ± 2 %.

Rows are appended to build/real/results.jsonl as they come; what was measured with the same sources of nodewise, budget and
processor is not measured again, so a long run can be done in parts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks._real import results
from benchmarks._real.catalogue import Case, Missing, Program, Room, known_programs
from benchmarks._real.others import Bystanders, hog
from benchmarks._real.repeat import LineError, ratio, repeat, run_line
from benchmarks._real.results import Row

_PLACE = Path(__file__).parents[1] / "build" / "real"
_NODEWISE = Path(sys.executable).with_name("nodewise")
_REPEAT_S = 12.0


def main(*words: str) -> None:
    """Tune, repeat and print."""
    options = _options().parse_args(words)
    programs = _chosen(options.only)
    if options.needs:
        if not (options.list or options.table):
            _print_needs(programs)
        return
    if options.list:
        for found in programs.values():
            print(f"{found.name:<16}{found.missing() or 'is here'}")
        return
    code, processor = results.code_now(), results.processor_now()
    if options.table:
        rows = [row for row in results.read(options.results) if row.program in programs]
        _print_table(rows)
        return
    print(f"{processor}, nodewise {code}, budget {options.budget}")
    print(results.heading(), flush=True)
    blank = Row("", "", "", options.budget, code, processor, "", tune=options.tune)
    with _interruptible():
        rows = [row for found in programs.values() for row in _rows_of(found, options, blank)]
    print()
    print("\n".join(results.summary(rows)))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench real", allow_abbrev=False)
    parser.add_argument(
        "--only", default="", metavar="NAMES", help="programs, or program/part of a case's name: zstd,xz/test"
    )
    parser.add_argument("--budget", default="30s", help="of each tune")
    parser.add_argument(
        "--tune", default="", metavar="OPTIONS", help="more options for each tune: --tune='--wait-quiet 30s'"
    )
    parser.add_argument("--load", choices=("quiet", "hog", "both"), default="both", help="what runs beside a tune")
    parser.add_argument("--results", type=Path, default=_PLACE / "results.jsonl", help="file that rows are appended to")
    parser.add_argument("--again", action="store_true", help="measure again what the file has")
    parser.add_argument("--time", action="store_true", help="tune nothing; print what a run of each case takes")
    parser.add_argument("--table", action="store_true", help="measure nothing; print what the file has")
    parser.add_argument("--list", action="store_true", help="print which programs there are")
    parser.add_argument("--needs", action="store_true", help="print which packages are missing, for ./dev")
    return parser


def _chosen(only: str) -> dict[str, Program]:
    programs = known_programs()
    asked = [name.partition("/")[0] for name in only.split(",") if name]
    unknown = [name for name in asked if name not in programs]
    if unknown:
        print(f"error: no such program: {', '.join(unknown)}\n\nhint: there are {', '.join(programs)}", file=sys.stderr)
        raise SystemExit(2)
    return {name: programs[name] for name in dict.fromkeys(asked or programs)}


def _print_needs(programs: dict[str, Program]) -> None:
    """A line a program: `debian PACKAGE…` or `python DISTRIBUTION…`."""
    for found in programs.values():
        for kind, packages in (("debian", found.packages()), ("python", found.distributions())):
            if packages:
                print(kind, *packages)


def _print_table(rows: list[Row]) -> None:
    for same in dict.fromkeys((row.processor, row.code, row.budget, row.tune) for row in rows):
        some = [row for row in rows if (row.processor, row.code, row.budget, row.tune) == same]
        print(f"\n{same[0]}, nodewise {same[1]}, budget {same[2]} {same[3]}\n{results.heading()}")
        print("\n".join(results.row_text(row) for row in some))
        print("\n".join(["", *results.summary(some)]))


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """A polite end ends like Ctrl-C, so that what was started is ended, too."""

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        print("\ninterrupted; ./dev bench real with the same arguments goes on here", file=sys.stderr)
        raise SystemExit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _rows_of(found: Program, options: argparse.Namespace, blank: Row) -> Iterator[Row]:
    """The rows of one program, printed as they come."""
    blank = replace(blank, program=found.name)
    folder = _PLACE / "work" / found.name.replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    inputs = _PLACE / "inputs"
    inputs.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        try:
            if found.missing():
                raise Missing(f"missing: {found.missing()}")
            cases = found.cases(Room(folder, inputs, stack))
        except Missing as problem:
            row = replace(blank, load="quiet", problem=str(problem))
            print(results.row_text(row), flush=True)
            yield row
            return
        parts = [name.partition("/")[2] for name in options.only.split(",") if name.partition("/")[0] == found.name]
        for number, case in enumerate(cases):
            if not any(part in case.name for part in parts or [""]):
                continue
            if options.time:
                _print_time(found, case, folder)
                continue
            loads = ["quiet", *(["hog"] if number % 2 == 0 else [])]
            for load in loads if options.load == "both" else {options.load} & set(loads):
                yield _row(case, folder, options, replace(blank, case=case.name, load=load))


def _row(case: Case, folder: Path, options: argparse.Namespace, blank: Row) -> Row:
    """One tune with its repetition, or what the file has of it."""
    row = None if options.again else next((r for r in results.read(options.results) if r.key == blank.key), None)
    if row is None:
        row = _try(case, folder, blank)
        results.append(options.results, row)
    print(results.row_text(row), flush=True)
    return row


def _environment(case: Case) -> dict[str, str]:
    return {**os.environ, **case.environment}


def _try(case: Case, folder: Path, blank: Row) -> Row:
    """Tune, and repeat what was promised; where a gain is known, what the cure brings, too."""
    row = replace(blank, axes=case.axes, command=case.plain, known=case.known)
    with hog() if row.load == "hog" else contextlib.nullcontext():
        begin = time.perf_counter()
        try:
            said = _tune(case, folder, row)
        except LineError as problem:
            return replace(row, verdict="no verdict", problem=f"tune {problem}", wall_s=time.perf_counter() - begin)
    row = replace(row, **said, wall_s=time.perf_counter() - begin)
    lines = {"now": case.plain}
    if row.is_promise:
        lines["promised"] = row.line
    if case.cure:
        lines["cure"] = case.cure
    if len(lines) == 1:
        return row
    try:
        with Bystanders() as others:
            times = repeat(lines, folder, _environment(case), seconds=_REPEAT_S, metric=case.metric)
    except LineError as problem:
        return replace(row, problem=f"cannot be repeated: {problem}")
    more = bool(case.metric)
    return replace(
        row,
        times=times,
        others=None if case.served else others.share,
        repeated=ratio(times["now"], times["promised"], more) if row.is_promise else None,
        cured=ratio(times["now"], times["cure"], more) if case.cure else None,
    )


def _tune(case: Case, folder: Path, row: Row) -> dict[str, Any]:
    """What `nodewise tune --json` says; the experiment with its report stays below build/real/tunes. Raises LineError where it fails or does not end."""
    metric = ["--metric", f"rate={case.metric}", "--maximize", "rate"] if case.metric else []
    out = _PLACE / "tunes" / re.sub(r"\W+", "-", f"{row.program} {row.case} {row.load}")
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    words = [str(_NODEWISE), "tune", "--json", "--budget", row.budget, "--out", str(out), *shlex.split(row.tune)]
    words += [*metric, *case.options, "--", *case.command]
    limit = 120.0 + 3 * float(row.budget.rstrip("s")) if row.budget.rstrip("s").isdigit() else 3600.0
    child = subprocess.Popen(
        words,
        cwd=folder,
        env=_environment(case),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        printed, told = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise LineError(f"was still running after {limit:.0f} s") from None
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait()
    if child.returncode:
        raise LineError(f"ended with exit code {child.returncode}: {' / '.join(told.strip().splitlines()[-3:])}")
    try:
        return _read(json.loads(printed))
    except (ValueError, KeyError, TypeError) as problem:
        raise LineError(f"printed what cannot be read: {problem!r}") from problem


def _read(said: dict[str, Any]) -> dict[str, Any]:
    promised = None
    if said["low"] is not None:
        promised = (said["ratio"], said["low"], said["high"] if said["high"] is not None else float("inf"))
    return {
        "verdict": said["verdict"],
        "line": said["best"]["launch_line"],
        "promised": promised,
        "seconds": next((s["median"] for s in said["settings"] if s["key"] == said["baseline"]["key"]), None),
        "runs": said["runs"],
        "reason": said["reason"] or said["sentence"],
    }


def _print_time(found: Program, case: Case, folder: Path) -> None:
    """Three runs as now, and of the cure."""
    told = []
    for line in (case.plain, case.cure):
        try:
            begin = time.perf_counter()
            values = [run_line(line, folder, _environment(case), 600, case.metric) for _ in range(3 if line else 0)]
            wall = (time.perf_counter() - begin) / 3
            told.append(f"{sorted(values)[1]:.3f} ({wall:.2f} s)" if values else "")
        except LineError as problem:
            told.append(str(problem))
    print(f"{found.name + ': ' + case.name:<44}now {told[0]:<20}{'cure ' + told[1] if told[1] else ''}", flush=True)
