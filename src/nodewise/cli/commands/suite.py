# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise suite`: the commands that a project keeps to be measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodewise.base.ends import deaf, tell_first, told
from nodewise.base.errors import InputError, StoreError
from nodewise.base.exit_codes import ExitCode
from nodewise.cli.ci import ci_option, tell_ci
from nodewise.cli.experiments import STDOUT, result_place
from nodewise.cli.exports import SUITE, Exporting, asked_exports, suite_text, write_suite_export
from nodewise.cli.help import JOB, OUTPUT, option
from nodewise.cli.job_options import array_option, without
from nodewise.cli.kinds import PATH, SHARE_OR_NONE, json_option, out_option, refuse_ignored
from nodewise.cli.masked_terminal import hide
from nodewise.cli.options import disturbed_option

if TYPE_CHECKING:
    from nodewise.api.suite_file import Case, Suite
    from nodewise.verdicts.suite import SuiteRow, SuiteVerdict

SECTION = "Measure"
_ACTIONS = ("run", "list", "check")


class _Suite(Exporting):
    """With the exports of a suite's rows."""

    exports_of = SUITE


@click.command(
    cls=_Suite,
    examples={
        "nodewise suite run --tag quick": "measure the project's commands that have a tag",
        "nodewise suite run --baseline runs/41 --fail-if-slower 5% --export-junit x.xml": "a regression of more than 5% fails the build",
    },
)
@option("--file", type=PATH, metavar="FILE", help="The suite. [default: nodewise.toml here or above]", group="Suite")
@option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="Only commands that have this tag, or one of several.",
    group="Suite",
)
@option(
    "--baseline",
    type=PATH,
    metavar="DIR",
    help="Compare each with what it was in this earlier suite.",
    group="Baseline",
)
@option(
    "--any-machine",
    is_flag=True,
    help="Compare with a --baseline of another machine or other conditions, too.",
    group="Baseline",
)
@option(
    "--fail-if-slower",
    type=SHARE_OR_NONE,
    metavar="SHARE",
    help="Exit code 1 where one is surely slower than at the baseline by more.",
    group="Baseline",
)
@option(
    "--undecided",
    type=click.Choice(["pass", "fail"]),
    default="pass",
    show_default=True,
    help="Where the runs leave it open, fail: exit code 4.",
    group="Baseline",
)
@out_option("Directory of all its experiments.")
@option(
    "--resume",
    type=PATH,
    metavar="DIR",
    help="Go on with the suite in DIR, which was its --out; what is finished there is not measured again.",
    group=OUTPUT,
)
@option(
    "--submit",
    is_flag=False,
    flag_value="",
    metavar="[OPTIONS]",
    help="Run it as one job of Slurm, which goes on by itself when it is requeued, killed or at its time limit; "
    "OPTIONS of sbatch: --submit='partition=long time=4:00:00'.",
    group=JOB,
)
@option(
    "--on",
    type=click.Choice(["slurm"]),
    help="Where it runs: as a job of Slurm, as --submit does without options. [default: here]",
    group=JOB,
)
@array_option("With --submit or --on: N runs of the suite, each in a folder of its own, at most M at once.")
@disturbed_option
@json_option("the rows")
@ci_option
@click.argument("action", type=click.Choice(_ACTIONS), metavar="run|list|check")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.pass_context
def command(
    context: click.Context,
    /,
    file: Path | None,
    tags: tuple[str, ...],
    baseline: Path | None,
    any_machine: bool,
    fail_if_slower: float | None,
    undecided: str,
    out: Path | None,
    resume: Path | None,
    submit: str | None,
    on: str | None,
    array: str | None,
    accept_disturbed: bool,
    as_json: bool,
    ci: str | None,
    action: str,
    names: tuple[str, ...],
    **exports: Any,
) -> int:
    """Measure the commands that a project keeps in its nodewise.toml.

    Run them, each against what it was then; list them; or check the file.

    \b
      [defaults]
      budget = "30s"
      [command.solve]
      run = "./solve {n}"
      build = "make solve"
      parameters = {n = [100, 1000]}
      tags = ["quick"]

    Exit codes: 0 all went well; 1 one is slower than --fail-if-slower allows, or failed; 2 bad input; 4 undecided, with --undecided fail.
    """
    from nodewise.api.suite import check_compared
    from nodewise.api.suite_check import check_cases

    suite = _read(file)
    cases = suite.chosen(names, tags)
    if action != "run":
        refuse_ignored(
            context,
            f"`suite {action}` measures nothing",
            (
                *("baseline", "any_machine", "fail_if_slower", "undecided", "out", "resume", "submit", "on", "array"),
                *("accept_disturbed", "ci"),
                *exports,
            ),
        )
        _show_file(suite, cases, action, as_json)
        return ExitCode.WELL
    check_compared(baseline, any_machine, fail_if_slower)
    if baseline is None:
        refuse_ignored(context, "it is for the comparison with a --baseline", ("undecided",))
    if resume is not None:
        refuse_ignored(context, "--resume says where the suite is", ("out",))
        if not resume.is_dir():
            raise InputError(
                f"--resume: there is no directory {resume}", "name the --out of the suite that was cut off"
            )
    # whether they can be written is to be known before the time is spent
    check_cases(suite, cases)
    targets = asked_exports(exports, as_json)
    folder = (result_place(out, "suite") if resume is None else resume).absolute()
    if (sbatch := _as_job(submit, on, array)) is not None:
        refuse_ignored(context, "a job prints its answer when it ends", ("as_json", "ci"))
        _submit(folder, sbatch, array, resume is not None)
        return ExitCode.WELL
    quiet = as_json or STDOUT in targets.values()
    verdict = _run(
        suite, cases, baseline, any_machine, fail_if_slower, accept_disturbed, folder, resume is not None, quiet
    )
    _hand_out(verdict, targets, as_json, quiet, ci)
    code = _code(verdict, fail_if_slower is not None, undecided == "fail")
    if context.parent is not None:
        context.parent.meta["nodewise.exit_code"] = code
    return code


def _hand_out(verdict: SuiteVerdict, targets: dict[str, Path], as_json: bool, quiet: bool, ci: str | None) -> None:
    """The rows, and what they are exported to."""
    if as_json:
        from nodewise.verdicts.encoding import encode

        print(json.dumps(encode(verdict), indent=1))
    elif not quiet:
        _show(verdict)
    sys.stdout.flush()
    for name, target in targets.items():
        write_suite_export(name, verdict, target)
    tell_ci(ci, lambda name: suite_text(name, verdict), aside=quiet)
    if told():
        raise KeyboardInterrupt


def _show_file(suite: Suite, cases: tuple[Case, ...], action: str, as_json: bool) -> None:
    """List the commands, or say whether they are right. Raises InputError for what is not."""
    from nodewise.api.suite_check import check_cases, only_by_running

    if action == "check":
        check_cases(suite, cases)
    if as_json:
        from nodewise.verdicts.encoding import encode

        print(json.dumps([encode(case) for case in cases], indent=1))
    elif action == "list":
        _list(cases)
    else:
        open_ = only_by_running(suite, cases)
        wrong = "what can be seen before they run is right" if open_ else "nothing is wrong with them"
        print(f"{suite.file}: {len(cases)} command{'s' * (len(cases) != 1)}, and {wrong}")
        for line in open_:
            print(f"note: {line}")


def _read(file: Path | None) -> Suite:
    """The suite; what its commands hold of secrets is not printed."""
    from nodewise.api.suite_file import find_suite, read_suite
    from nodewise.base.masking import Masks

    suite = read_suite(find_suite(file))
    masks = Masks()
    masks.masked([[case.command, case.build, dict(case.steps), dict(case.how)] for case in suite.cases])
    hide(masks)
    return suite


def _run(
    suite: Suite,
    cases: tuple[Case, ...],
    baseline: Path | None,
    any_machine: bool,
    threshold: float | None,
    accept_disturbed: bool,
    folder: Path,
    resume: bool,
    quiet: bool,
) -> SuiteVerdict:
    """Measure it; what ends it early leaves the rows that are there, and says how to go on."""
    from nodewise.api.suite import run_suite
    from nodewise.api.suite_file import this_host
    from nodewise.cli.experiments import print_note
    from nodewise.cli.progress import ProgressLine
    from nodewise.records.budget import Budget
    from nodewise.records.experiment import is_measured
    from nodewise.runner.launch import quoted
    from nodewise.verdicts.suite import SuiteVerdict

    rows: list[SuiteRow] = []
    last = [folder / case.folder for case in cases if case.is_for(this_host())][-1:]
    tell_first(lambda: all(map(is_measured, last)))
    try:
        with ProgressLine(Budget(None)) as line:
            return run_suite(
                suite,
                cases,
                folder,
                baseline=baseline,
                any_machine=any_machine,
                threshold=threshold,
                accept_disturbed=accept_disturbed,
                resume=resume,
                asked=("nodewise", *sys.argv[1:]),
                progress=line.show,
                note=print_note,
                each=rows.append,
            )
    except (KeyboardInterrupt, StoreError) as end:
        with deaf():
            if rows and not quiet:
                _show(SuiteVerdict("suite", str(suite.file), tuple(rows), (), None))
                sys.stdout.flush()
            samples = [folder / case.folder / "samples.jsonl" for case in cases]
            begun = any(path.exists() and path.stat().st_size for path in samples)
            kept = f"what was measured is kept: the same command with --resume {quoted(str(folder))} instead of --out goes on"
            if isinstance(end, StoreError):
                end.hint = "; ".join(filter(None, (end.hint, kept if begun else "")))
            else:
                print(f"\ninterrupted: {kept if begun else 'nothing was measured'}", file=sys.stderr, flush=True)
        raise


def _as_job(submit: str | None, on: str | None, array: str | None) -> str | None:
    """The options of sbatch where the suite is to be a job; None where it runs here. Raises InputError."""
    if submit is None and on is None:
        if array is not None:
            raise InputError("--array is for jobs of Slurm", "add --on slurm, or --submit")
        return None
    return submit or ""


def _submit(folder: Path, options: str, array: str | None, resumed: bool) -> None:
    """Hand the same suite to Slurm, to be run there, and gone on with where it was."""
    from nodewise.api.submit import submit_suite
    from nodewise.jobs.submission import read_array

    typed = without(sys.argv[1:], ("--out", "--resume", "--array", "--on"), ("--submit",))
    at = typed.index("suite") + 1
    tasks = None if array is None else read_array(array)
    if tasks is not None and (resumed or next(folder.glob("*/*/question.json"), None) is not None):
        raise InputError("an array begins anew", "choose another directory with --out")

    def words(own: Path) -> tuple[str, ...]:
        # the folder is there by then, and who begins goes on with nothing
        return (*typed[:at], "--resume", str(own), *typed[at:])

    found = submit_suite(folder, words, options, tasks)
    if tasks is None:
        print(f"job       {found.job}, one for the whole suite: it goes on when it is requeued or at its time limit")
    else:
        print(f"job       {found.job}, an array of {tasks.tasks} runs of the suite, {tasks.told}")
        print(f"          side by side: nodewise fleet {folder}/*/NAME, for a command of that name")
    print(f"kept in   {folder}")
    print(f"log       {found.log}")


def _code(verdict: SuiteVerdict, gated: bool, undecided_fails: bool) -> ExitCode:
    if verdict.failed or (gated and verdict.slower):
        return ExitCode.FOUND
    return ExitCode.UNDECIDED if undecided_fails and verdict.undecided else ExitCode.WELL


def _list(cases: tuple[Case, ...]) -> None:
    width = max((len(case.name) for case in cases), default=0)
    for case in cases:
        more = [f"[{tag}]" for tag in case.tags] + ([f"on {', '.join(case.machines)}"] if case.machines else [])
        print(" ".join([f"{case.name:<{width}}", case.command, *more]))


def _show(verdict: SuiteVerdict) -> None:
    from nodewise.report.text.suite import suite_lines

    print("\n".join(suite_lines(verdict)))
    if verdict.rows:
        print(f"suite      {Path(verdict.rows[0].experiment).parent}")
