# SPDX-License-Identifier: BSD-3-Clause
"""Measuring the commands of a suite, each against what it was then."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from nodewise.api.caller import Notify, question, unheard
from nodewise.api.compare import prepare_compare
from nodewise.api.given import Share, StrPath
from nodewise.api.measuring import unless_interrupted
from nodewise.api.options import choose_run
from nodewise.api.suite_check import check_cases
from nodewise.api.suite_file import Case, Suite, find_suite, read_suite, this_host
from nodewise.base.errors import InputError, NodewiseError, StoreError
from nodewise.base.files import alone_in
from nodewise.base.note import Note
from nodewise.experiments.contenders import make_contenders
from nodewise.experiments.progress import Progress
from nodewise.records.experiment import read_question
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.statistics.verdict import Word
from nodewise.verdicts.compare import CompareVerdict
from nodewise.verdicts.gate import Gate, gate_of
from nodewise.verdicts.suite import SuiteRow, SuiteVerdict

_SHOWN = 2000
#: What stands where a parameter's value is put in.
_PLACE = re.compile(r"\{([A-Za-z_][\w-]*)\}")


def check_compared(baseline: Path | None, any_machine: bool, threshold: Share | None) -> None:
    """Raises InputError for what says how a suite is compared, where there is nothing to compare it with."""
    given = {"--any-machine": any_machine, "--fail-if-slower": threshold is not None}
    if baseline is None and (ignored := [option for option, there in given.items() if there]):
        raise InputError(f"{ignored[0]} would do nothing", "it is for the comparison with a --baseline")


def run_suite(
    suite: Suite,
    cases: Sequence[Case],
    out: Path,
    *,
    baseline: Path | None = None,
    any_machine: bool = False,
    threshold: Share | None = None,
    accept_disturbed: bool = False,
    resume: bool = False,
    asked: Sequence[str] = (),
    progress: Callable[[Progress], None] = unheard,
    note: Notify = unheard,
    each: Callable[[SuiteRow], None] = unheard,
) -> SuiteVerdict:
    """Measure cases one after the other, each in a folder below `out`, against that of its name below `baseline`.

    With `resume` one whose folder is there goes on where it was; what is finished is judged again, and not measured. Whether disturbed
    runs count is then as it was asked for first.
    One that fails is a row that says so; `each` is called with every row once it is there. Raises InputError where `baseline`
    holds none of them or a value of the file cannot be used, before anything runs, StoreError where what is measured cannot
    be kept, and KeyboardInterrupt on Ctrl-C.
    """
    check_compared(baseline, any_machine, threshold)
    check_cases(suite, cases)
    # whoever goes on with it at the same time would find one command or another taken
    taken = f"another nodewise is writing to {out}", "wait for it, or choose another directory with --out"
    with alone_in(out, *taken) if resume else nullcontext():
        host = this_host()
        mine = [case for case in cases if case.is_for(host)]
        if baseline is not None and not any((baseline / case.folder).is_dir() for case in mine):
            what = f"{baseline} holds none of these commands" if baseline.is_dir() else f"no such directory: {baseline}"
            raise InputError(what, "name the folder that an earlier `suite run` printed")
        if resume:
            accept_disturbed = _accepted_then(out, mine, accept_disturbed)
        built: dict[tuple[str, str], str] = {}
        rows = []
        limit: float | None = None
        for case in mine:
            note(Note("note", f"{case.name}: {case.command}"))
            before = None if baseline is None else baseline / case.folder
            why = "" if before is None or before.is_dir() else "it was not measured then"
            error, verdict, gate = _built(case, built), None, None
            if not error:
                try:
                    verdict, gate = _measured(
                        case,
                        out / case.folder,
                        before if before is not None and before.is_dir() else None,
                        any_machine,
                        threshold,
                        accept_disturbed,
                        resume and (out / case.folder / "question.json").exists(),
                        asked,
                        progress,
                        note,
                    )
                except StoreError:
                    # it would be no better for those that follow
                    raise
                except NodewiseError as problem:
                    if problem.of_caller:
                        raise
                    error = problem.what + _unfilled(case)
            rows.append(_row(case, out / case.folder, verdict, gate, error, why))
            # one that was not measured is held to nothing, and changes nothing for the others
            limit = gate.threshold if gate is not None and gate.threshold is not None else limit
            each(rows[-1])
            if verdict is not None:
                unless_interrupted(verdict.stopped, out)
        left_out = tuple(case.name for case in cases if case not in mine)
        return SuiteVerdict("suite", str(suite.file), tuple(rows), left_out, limit)


def _accepted_then(out: Path, cases: Sequence[Case], accept_disturbed: bool) -> bool:
    """Whether disturbed runs count in a suite that goes on: as its first runs were asked for. Raises InputError where that is not what is asked now."""
    then = None
    for folder in (out / case.folder for case in cases if (out / case.folder / "question.json").exists()):
        # one that is damaged is a row that says so, and the others go on
        with suppress(NodewiseError):
            then = bool(read_question(folder).get("accept_disturbed", False))
            break
    if then is None:
        return accept_disturbed
    if accept_disturbed and not then:
        raise InputError(
            "--accept-disturbed: this suite was begun without it, and goes on as it was asked for then",
            "leave it out, or begin anew in another directory",
        )
    return then


def _measured(
    case: Case,
    out: Path,
    baseline: Path | None,
    any_machine: bool,
    threshold: Share | None,
    accept_disturbed: bool,
    resume: bool,
    asked: Sequence[str],
    progress: Callable[[Progress], None],
    note: Notify,
) -> tuple[CompareVerdict, Gate]:
    how: dict[str, Any] = {**case.how, "accept_disturbed": accept_disturbed}
    run = choose_run(**how)
    steps: dict[str, Any] = {
        "setup": case.steps.get("setup"),
        "cleanup": case.steps.get("cleanup"),
        **{name: [case.steps[name]] for name in ("prepare", "conclude") if name in case.steps},
    }
    made = make_contenders([case.command], {}, names=[case.name], start=run.start, **steps)
    comparison = prepare_compare(
        made,
        run,
        out,
        min_runs=case.runs,
        max_runs=case.runs if baseline is None else None,
        warmup=case.warmup,
        budget=case.budget,
        threshold=threshold,
        baseline=baseline,
        any_machine=any_machine and baseline is not None,
        resume=resume,
        asked=asked,
        firm=True,
    )
    verdict = comparison.answer(progress, note)
    return verdict, gate_of(verdict, comparison.question.threshold)


def _unfilled(case: Case) -> str:
    """What may be why a case does not run: the place of a parameter that has no values; else empty."""
    open_ = _PLACE.search(case.command)
    return f"\nnothing fills {{{open_[1]}}}: parameters = {{{open_[1]} = [1, 2]}} gives it values" if open_ else ""


def _built(case: Case, built: dict[tuple[str, str], str]) -> str:
    """Why what a case runs could not be built; empty where it was, once for all cases with the same build."""
    if not case.build:
        return ""
    key = (case.build, str(case.how["cwd"]))
    if key not in built:
        environment = {**os.environ, **{k: str(v) for k, v in case.how.get("env", {}).items()}}
        with LocalLauncher(RunOptions(cwd=Path(key[1])), environment) as launcher:
            ended = launcher.carry_out(("/bin/sh", "-c", 'exec 2>&1; exec sh -c "$1"', "sh", case.build))
        how = f"was killed by signal {ended.signal}" if ended.signal else f"failed with exit code {ended.exit_code}"
        built[key] = "" if ended.exit_code == 0 else f"its build {how}: {case.build}\n{ended.output[-_SHOWN:].rstrip()}"
    return built[key]


def _row(case: Case, out: Path, verdict: CompareVerdict | None, gate: Gate | None, error: str, why: str) -> SuiteRow:
    empty = SuiteRow(case.name, case.command, "seconds", None, None, None, 0, 0, error or None, str(out), why=why)
    if verdict is None or gate is None:
        return empty
    row = verdict.contenders[0]
    found = dataclasses.replace(
        empty,
        metric=verdict.metric,
        median=row.median,
        low=row.low,
        high=row.high,
        runs=row.runs,
        failed=row.failed,
        error=row.error,
        wall_s=row.medians.get("wall_s"),
        warnings=verdict.warnings,
    )
    if verdict.baseline is None:
        return found
    pair = next((p for p in verdict.baseline.pairs if p.comparable), None)
    if pair is None:
        return dataclasses.replace(found, why="; ".join((*verdict.baseline.differences, *verdict.baseline.asked)))
    open_ = bool(gate.undecided) or (gate.threshold is None and pair.verdict is Word.UNDECIDED)
    return dataclasses.replace(found, then=pair, slower=bool(gate.slower), undecided=open_)


@question()
def suite(
    file: StrPath | None = None,
    *,
    names: Sequence[str] = (),
    tags: Sequence[str] = (),
    out: StrPath,
    baseline: StrPath | None = None,
    any_machine: bool = False,
    threshold: Share | None = None,
    accept_disturbed: bool = False,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
    note: Notify | None = None,
) -> SuiteVerdict:
    """Measure the commands that a project keeps in its nodewise.toml, each in a folder of its own below `out`.

    `file` is found in this folder or above it where none is named; `names` and `tags` choose among its commands. With `baseline`, the
    `out` of an earlier suite, each goes on until it is decided how it compares with what it was then; `threshold` is a
    slowdown of which is said whether it is exceeded. With `resume` and the same `out` a suite that was cut off goes on. `any_machine`,
    `progress` and `note` are those of `nodewise.compare`.

    >>> import nodewise, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "nodewise.toml").write_text('[command.nap]\\nrun = "sleep 0.01"\\nruns = 6\\n')
    >>> verdict = nodewise.suite(folder, out=folder / "today", accept_disturbed=True)
    >>> [(row.name, row.runs) for row in verdict.rows]
    [('nap', 6)]

    Raises InputError where the file or what is asked of it cannot be used, StoreError where the runs cannot be kept, and
    KeyboardInterrupt on Ctrl-C, once the programs have ended.
    """
    found = read_suite(find_suite(None if file is None else Path(file)))
    return run_suite(
        found,
        found.chosen(names, tags),
        Path(out),
        baseline=None if baseline is None else Path(baseline),
        any_machine=any_machine,
        threshold=threshold,
        accept_disturbed=accept_disturbed,
        resume=resume,
        progress=progress or unheard,
        note=note or unheard,
    )
