# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise compare`: which command is faster, and how sure that is."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nodewise.api.given import split_variables, unfilled
from nodewise.base.errors import InputError, ProgramError, StoreError
from nodewise.base.exit_codes import ExitCode
from nodewise.base.late import late
from nodewise.cli.ci import ci_option, tell_ci
from nodewise.cli.experiments import STDOUT, again_in, place_for, print_note
from nodewise.cli.exports import Exporting, asked_exports, stored_text, write_export, write_stopped
from nodewise.cli.help import MEASUREMENT, option
from nodewise.cli.hyperfine import HyperfineWords
from nodewise.cli.keeping import hand_out, kept_in, print_answer
from nodewise.cli.kinds import (
    PATH,
    SHARE_OR_NONE,
    budget_option,
    json_option,
    out_option,
    refuse_ignored,
    resume_option,
    seed_option,
    within_option,
)
from nodewise.cli.options import run_options, same_output_options
from nodewise.runner.same_output import Kind

if TYPE_CHECKING:
    from nodewise.api.compare import Comparison
    from nodewise.api.options import RunChoice
    from nodewise.experiments.compare import CompareQuestion
    from nodewise.verdicts.compare import CompareVerdict
    from nodewise.verdicts.gate import Gate
    from nodewise.verdicts.stored import Stored

SECTION = "Measure"
#: What shells and env(1) exit with where there is no such program.
_NOT_THERE = late(r"exit code 12[67]\b")
#: What stands where a parameter's value is put in.
_PLACE = late(r"\{([A-Za-z_][\w-]*)\}")
#: What may be given again when a comparison is resumed.
_ANEW = (
    "as_json",
    "budget",
    "max_runs",
    "fail_if_slower",
    "baseline",
    "any_machine",
    "undecided",
    "ci",
)


class _Compare(HyperfineWords, Exporting):
    exports_of = "compare"


@click.command(
    cls=_Compare,
    examples={
        "nodewise compare './old in.dat' './new in.dat'": "which of two programs is faster, and how sure that is",
        "nodewise compare -P t=1,2,4 'env OMP_NUM_THREADS={t} ./app'": "one command with several values of a parameter",
        "nodewise compare --git main HEAD --build make -- ./bench": "two commits of this repository, built apart",
    },
)
@option(
    "-P",
    "--parameter",
    "--parameter-scan",
    multiple=True,
    metavar="NAME=VALUES",
    help="Values for {NAME} in the commands and their steps: 1,2,4 or 1..8 or 0..1+0.25 or 1..64*2. Several are combined.",
    group="Commands",
)
@option(
    "-L",
    "--parameter-list",
    multiple=True,
    nargs=2,
    metavar="NAME VALUES",
    help="The same, as two words.",
    group="Commands",
)
@option(
    "-w",
    "--warmup",
    type=click.IntRange(0),
    metavar="N",
    default=1,
    show_default=True,
    help="Runs of each that come first and are not counted.",
    group=MEASUREMENT,
)
@option(
    "-r",
    "--runs",
    type=click.IntRange(1),
    metavar="N",
    help="N runs of each, and up to N more for those that a passing load disturbed.",
    group=MEASUREMENT,
)
@option(
    "-m",
    "--min-runs",
    type=click.IntRange(1),
    metavar="N",
    default=1,
    help="At least N runs of each.",
    group=MEASUREMENT,
)
@option("-M", "--max-runs", type=click.IntRange(1), metavar="N", help="At most N runs of each.", group=MEASUREMENT)
@option(
    "-s", "--setup", metavar="COMMAND", help="Shell command before the first run of each command.", group="Commands"
)
@option(
    "-p",
    "--prepare",
    multiple=True,
    metavar="COMMAND",
    help="Shell command before each run; once for all or once for each.",
    group="Commands",
)
@option(
    "--conclude",
    multiple=True,
    metavar="COMMAND",
    help="Shell command after each run; once for all or once for each.",
    group="Commands",
)
@option(
    "-c", "--cleanup", metavar="COMMAND", help="Shell command after the last run of each command.", group="Commands"
)
@option(
    "-n",
    "--command-name",
    multiple=True,
    metavar="NAME",
    help="A name for each command, in their order; it may hold {NAME}.",
    group="Commands",
)
@option(
    "-S",
    "--shell",
    metavar="SHELL",
    help="Shell for the commands and their steps, or none. [default: sh for all where one needs it]",
    group="Commands",
)
@option("-N", "no_shell", is_flag=True, help="Never a shell for the commands: --shell none.", group="Commands")
@option(
    "--reference",
    metavar="COMMAND",
    help="A command that the others are compared with. [default: the first one]",
    group="Commands",
)
@option("--reference-name", metavar="NAME", help="A name for --reference.", group="Commands")
@option(
    "--git",
    nargs=2,
    metavar="REF REF",
    help="Compare two commits of the repository that you are in: COMMAND in each, checked out and built apart.",
    group="Commands",
)
@option(
    "--build",
    metavar="COMMAND",
    help="With --git: make what COMMAND runs, by this shell command, once for each.",
    group="Commands",
)
@budget_option("60s", " Where --runs or --min-runs is given and this is not, it waits for those runs.")
@within_option()
@option(
    "--baseline",
    type=PATH,
    metavar="DIR",
    help="Compare it with the earlier experiment in DIR, too, where machine and conditions are the same, until that is decided.",
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
    help="Exit code 1 where one is surely slower than the reference (or than at the baseline) by more, or fails.",
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
@seed_option
@out_option()
@resume_option("--budget, --max-runs and exports")
@json_option()
@ci_option
@run_options("Given several times, each command runs in each.")
@same_output_options(Kind.OFF)
@click.argument("commands", nargs=-1, metavar="COMMAND...")
@click.pass_context
def command(context: click.Context, /, run: RunChoice, **given: Any) -> int:
    """Say which of several commands is faster.

    Each COMMAND (one text each, as for a shell) is measured in random interleaved blocks.

    The first one is the reference. It ends as soon as each comparison is decided, or the budget is spent; all
    intervals hold together at 95%, however early that is. With one COMMAND and --baseline it is compared with that.
    Ctrl-C ends with what there is. Options of hyperfine mean the same here.

    Exit codes: 0 compared; 1 slower than --fail-if-slower allows, or failed; 2 bad input, a command that does not run, or
    --fail-if-slower and a --baseline that cannot be compared; 4 undecided, with --undecided fail.
    """
    if given["resume"] is not None and not context.obj:
        again_in(context, given["resume"], "compare", (*_ANEW, *(n for n in given if n.startswith("export_"))))
        return int(context.meta.get("nodewise.exit_code", 0))
    from nodewise.cli.progress import ProgressLine
    from nodewise.records.experiment import read_experiment
    from nodewise.verdicts.gate import gate_of
    from nodewise.verdicts.stored import stored

    if context.obj and given["runs"] is not None and given["max_runs"] is not None:
        # a comparison that goes on may have more runs than then
        given |= {"runs": None, "min_runs": min(given["runs"], given["max_runs"])}
    if given["runs"] is not None:
        refuse_ignored(context, "--runs says how many there are", ("min_runs", "max_runs"))
    if given["no_shell"]:
        refuse_ignored(context, "-N says that there is none", ("shell",))
    comparison = _asked(run, given, context.get_parameter_source("budget") is ParameterSource.COMMANDLINE)
    if given["undecided"] == "pass":
        _check_gate(comparison.question)
    # whether it can be kept is to be known before the time is spent
    targets = asked_exports(given, given["as_json"])
    question = comparison.question
    with ProgressLine(question.budget) as line, kept_in(question.out, "compare"), _likely_causes(given):
        try:
            verdict = comparison.answer(line.show, print_note)
        except ProgramError as problem:
            write_stopped(targets, {c.setting.key: c.text for c in question.contenders}, problem.what)
            raise
    code = _exit_code(gate_of(verdict, question.threshold), given["undecided"] == "fail")
    if context.parent is not None:
        context.parent.meta["nodewise.exit_code"] = code
    _hand_out(stored(read_experiment(question.out), verdict), targets, given["as_json"], given["ci"])
    return code


def _check_gate(question: CompareQuestion) -> None:
    """Raises InputError for a gate that would let everything pass: with so few runs nothing is sure, and what is not sure passes."""
    # of outputs one run is enough
    outputs = question.same.kind is not Kind.OFF
    if (
        question.threshold is not None
        and question.most is not None
        and question.most < question.deciding
        and not outputs
    ):
        option = "--runs" if question.fewest == question.most else "--max-runs"
        raise InputError(
            f"--fail-if-slower could not fail: {question.most} runs of each are too few for an interval",
            f"give {option} {question.deciding} or more, or neither; or --undecided fail",
        )


def _exit_code(gate: Gate, undecided_fails: bool) -> ExitCode:
    if gate.blocked:
        return ExitCode.FOUND
    if gate.incomparable and (gate.threshold is not None or undecided_fails):
        return ExitCode.BAD_INPUT
    return ExitCode.UNDECIDED if undecided_fails and gate.undecided else ExitCode.WELL


def _hand_out(found: Stored[CompareVerdict], targets: dict[str, Path], as_json: bool, ci: str | None) -> None:
    """The words, the exports and the page. What was found is printed also where a file cannot be written: StoreError then."""
    from nodewise.report.pages.write import write_page
    from nodewise.verdicts.encoding import encode

    problems: list[StoreError] = []
    # next to an export there is no room for words
    file = sys.stderr if STDOUT in targets.values() else sys.stdout

    def hand_exports() -> None:
        for name, target in targets.items():
            try:
                write_export(name, found, target)
            except StoreError as problem:
                problems.append(problem)

    def answer() -> None:
        print_answer(found, file)
        hand_exports()

    def print_json(page: Path | None) -> None:
        print(json.dumps(encode(found.verdict, report=page), indent=1), flush=True)
        hand_exports()

    hand_out(found.folder, write_page, answer, print_json if as_json else None, file)
    tell_ci(ci, lambda name: stored_text(name, found), aside=as_json or file is sys.stderr)
    if problems:
        raise problems[0]


def _asked(run: RunChoice, given: dict[str, Any], budget_given: bool) -> Comparison:
    """What the command line asks; a budget that is not given waits for the runs that are."""
    from nodewise.api.compare import check_enough, prepare_compare
    from nodewise.experiments.contenders import make_contenders, parse_parameters

    commands, names = list(given["commands"]), list(given["command_name"])
    if given["reference_name"] and not given["reference"]:
        raise InputError("--reference-name names the command of --reference, which is not given")
    if given["reference"]:
        commands.insert(0, given["reference"])
        if names or given["reference_name"]:
            names.insert(0, given["reference_name"] or given["reference"])
    for name, values in given["parameter_list"]:
        if values.startswith("--"):
            raise InputError(f"-L {name} has no values: {values} stands in their place", f"write -L {name} 1,2,4")
    if given["git"]:
        commands, names = _of_commits(given, run, commands, names)
    elif given["build"]:
        raise InputError("--build would do nothing", "it is for the commits of --git")
    else:
        _check_quoted(commands, run.options.cwd is not None)
    parameters = [*given["parameter"], *("=".join(pair) for pair in given["parameter_list"])]
    for text in commands:
        if literal := unfilled(text.split(), parse_parameters(parameters), "-P {}=1,2,4 would"):
            print(f"note: {literal}", file=sys.stderr)
    check_enough(len(commands) * max(1, len(run.isolation)), bool(given["baseline"] or parameters))
    contenders = make_contenders(
        commands,
        parse_parameters(parameters),
        names=names,
        shell="none" if given["no_shell"] else given["shell"],
        setup=given["setup"],
        prepare=given["prepare"],
        conclude=given["conclude"],
        cleanup=given["cleanup"],
        start=run.start,
    )
    return prepare_compare(
        contenders,
        run,
        given["resume"] or given["out"] or place_for("compare"),
        runs=given["runs"],
        min_runs=given["min_runs"],
        max_runs=given["max_runs"],
        warmup=given["warmup"],
        budget=given["budget"],
        within=given["within"],
        threshold=given["fail_if_slower"],
        baseline=given["baseline"],
        any_machine=given["any_machine"],
        seed=given["seed"],
        resume=given["resume"] is not None,
        asked=("nodewise", *sys.argv[1:]),
        firm=budget_given or not (given["runs"] or given["min_runs"] > 1),
    )


def _of_commits(
    given: Mapping[str, Any], run: RunChoice, commands: Sequence[str], names: list[str]
) -> tuple[list[str], list[str]]:
    """The command in each commit of --git, and what each is called."""
    from nodewise.api.refs import check_out
    from nodewise.base.note import Note
    from nodewise.runner.launch import quoted_line

    if not commands or given["reference"]:
        raise InputError("--git compares one COMMAND in two commits", "write: --git main HEAD --build make -- ./bench")
    if names and len(names) != len(given["git"]):
        raise InputError("--git gives two commands their names", "give --command-name for both, or for none")
    text = commands[0] if len(commands) == 1 else quoted_line(commands)
    found = check_out(given["git"], given["build"], run.options.cwd or Path.cwd())
    for one in found:
        print_note(Note("note", f"{one.name} is {one.commit[:12]}, in {one.folder}"))
    return [one.command(text) for one in found], names or [one.name for one in found]


@contextmanager
def _likely_causes(given: Mapping[str, Any]) -> Iterator[None]:
    """Where a command fails that has the place of a parameter without values, or that nobody has built, that is what to look at first."""
    try:
        yield
    except ProgramError as problem:
        if given["git"] and not given["build"] and _NOT_THERE.search(problem.what):
            problem.hint = "what is checked out has only what git keeps: --build COMMAND makes the rest in each commit"
        names = {p.partition("=")[0] for p in (*given["parameter"], *(name for name, _ in given["parameter_list"]))}
        open_ = [n for text in given["commands"] for n in _PLACE.findall(text) if n not in names]
        if open_:
            named = f"-P {open_[0]}=… is missing, which gives {{{open_[0]}}} its values: -P {open_[0]}=1,2,4"
            problem.hint = f"{named}; else {problem.hint}" if problem.hint else named
        raise


def _check_quoted(commands: Sequence[str], elsewhere: bool) -> None:
    """Raises InputError where the words of one command stand as several (the first is a program, and another is none), or one is the - of a file."""
    if not all(map(str.strip, commands)):
        # said of each command by itself
        return
    if "-" in commands:
        raise InputError(
            "- is no command", "--json prints by itself, and what takes a file has a name such as --export-json"
        )
    if any(set(text) & set(" \t\n;|&<>{}") or text.startswith("study:") for text in commands) or elsewhere:
        return
    from nodewise.runner.launch import quoted

    if "--" in commands:
        at = commands.index("--")
        parts = [" ".join(map(quoted, part)) for part in (commands[:at], commands[at + 1 :]) if part]
        raise InputError(
            "-- between commands parts nothing: each command is one text",
            f"quote each command: nodewise compare {' '.join(map(quoted, parts))}",
        )
    variables, words = split_variables(commands)
    others = [word for word in words[1:] if shutil.which(word) is None]
    if (others or variables) and words and shutil.which(words[0]):
        line = " ".join([*(f"{k}={quoted(v)}" for k, v in variables.items()), *map(quoted, words)])
        if others and "/" in others[0] and not Path(others[0]).exists():
            raise ProgramError(f"no such program: {others[0]}", "give its path, or a name that is found on PATH")
        raise InputError(
            f"{(others or list(commands))[0]} is no command: each command is one text",
            f"quote each command: nodewise compare {quoted(line)} ANOTHER",
        )
