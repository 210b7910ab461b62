# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise study`: a study against its peers and the machine's limit."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from nodewise.api.given import check_threads
from nodewise.base.distributions import how_to_install
from nodewise.base.errors import InputError
from nodewise.base.units import format_seconds
from nodewise.cli.completion import completer, studies
from nodewise.cli.help import MEASUREMENT, Command, option
from nodewise.cli.kinds import PATH, budget_option, json_option, out_option, refuse_ignored, resume_option
from nodewise.cli.masked_terminal import redrawn
from nodewise.cli.options import disturbed_option, launcher_options, wait_option, wait_quiet_option
from nodewise.cli.trust import trust_option

if TYPE_CHECKING:
    from nodewise.api.study import Study
    from nodewise.experiments.progress import StudyProgress
    from nodewise.studies.contract import Used
    from nodewise.studies.discovery import Found


SECTION = "Studies"
#: In place of a name: then the contract is checked.
_CHECK = "check"


def split_knobs(words: Sequence[str]) -> list[str]:
    """Knobs may be written as class=A, --class=A or --class A: all become NAME=VALUE."""
    knobs = []
    rest = iter(words)
    for word in rest:
        name = word.removeprefix("--")
        if name != word and "=" not in name:
            value = next(rest, None)
            if value is None:
                raise InputError(f"knob {name} has no value", f"write it such as --{name} VALUE or {name}=VALUE")
            knobs.append(f"{name}={value}")
        else:
            knobs.append(name)
    return knobs


#: What a tune does with a study's program.
_SWEEP = "--sweep"
#: The options that a roofline has.
_ROOFLINE = ("roofline", "threads", "budget", "out", "wait", "as_json")


@click.command(
    cls=Command,
    examples={
        "nodewise study is --class A --threads 2": "one study against its peers and the machine's limit",
        "nodewise study --roofline": "this machine's roofs, and where the studies lie below them",
    },
    context_settings={"ignore_unknown_options": True},
)
@option("--threads", type=int, metavar="N", help="How many threads. [default: all that may be used]", group="Study")
@launcher_options("Run each contender as --ranks ranks by it, of --threads each.")
@option("--quick", is_flag=True, help="End within a minute.", group="Study")
@option("--full", is_flag=True, help="Run each 201 times; how long that takes is said after the first.", group="Study")
@option("--only", default="", metavar="A,B", help="The contenders to run. [default: all]", group="Study")
@option(
    "--blocks",
    type=int,
    metavar="N",
    default=25,
    show_default=True,
    help="How often each contender runs, at most.",
    group=MEASUREMENT,
)
@budget_option(None, " [default: 2min, or longer where each has not run six times by then]")
@option(
    "--result",
    metavar="FILE",
    type=PATH,
    help="Write what a study computes (pca, krylov) to FILE.npz, .csv or .json, or - as JSON to the terminal; nothing is measured.",
    group="Study",
)
@option(
    "--roofline",
    is_flag=True,
    help="Place all studies that compute, or NAME, under this machine's roofs.",
    group="Study",
)
@out_option()
@resume_option()
@disturbed_option
@wait_quiet_option
@wait_option
@trust_option
@json_option("the rows")
@click.argument(
    "name", required=False, metavar="[NAME|FOLDER|check FOLDER]", shell_complete=completer(studies, first=True)
)
@click.argument("knob_words", nargs=-1, type=click.UNPROCESSED, metavar="[--KNOB VALUE]...")
@click.pass_context
def command(
    context: click.Context,
    threads: int | None,
    launcher: str | None,
    ranks: int | None,
    ranks_per_node: int | None,
    quick: bool,
    full: bool,
    only: str,
    blocks: int,
    budget: float | None,
    result: Path | None,
    roofline: bool,
    out: Path | None,
    resume: Path | None,
    accept_disturbed: bool,
    wait_quiet: float | None,
    wait: bool,
    as_json: bool,
    name: str | None,
    knob_words: tuple[str, ...],
) -> None:
    """Run a study against its peers and the machine's limit.

    Run the study NAME, or the one in FOLDER: its variants, its peers and the limit, interleaved.

    Without a name the studies are listed. Knobs are given as --class A or class=A. `nodewise study check FOLDER` checks whether a
    study keeps the contract of all studies, and ends with exit code 1 where it does not.
    """
    if name == _CHECK:
        _check(context, knob_words)
    if resume is not None and not context.obj:
        from nodewise.cli.experiments import again_in

        again_in(context, resume, "study", ("as_json", "budget"))
        return
    check_threads(threads)
    if roofline and knob_words:
        raise InputError("a roofline has no knobs: studies run at their quick points", "leave them out")
    if roofline:
        refuse_ignored(context, "a roofline is measured with all that there is", but=_ROOFLINE)
        from nodewise.cli.roofline import run_roofline

        run_roofline(threads, name, out, as_json, budget, wait)
        return
    if name is None:
        refuse_ignored(context, "without a NAME the studies are listed", but=("as_json",))
        _list(as_json)
        return
    from nodewise.studies.discovery import find_study, study_names

    if name.isidentifier() and find_spec(f"nodewise.cli.commands.{name}") and name not in study_names():
        raise InputError(f"unknown study: {name!r}; did you mean `nodewise {name}`?", f"nodewise {name} --help")
    found = find_study(name)
    if any(word.split("=")[0] == _SWEEP for word in knob_words):
        raise InputError(
            "a study compares its contenders at one number of threads",
            f"nodewise tune {_SWEEP} threads,placement -- study:{name}",
        )
    words = split_knobs(knob_words)
    if use := next(
        (use for option, use in found.study.uses.items() if any(w.startswith(f"{option}=") for w in words)), None
    ):
        refuse_ignored(context, "nothing is measured here", but=("threads",))
        _use(use, words, threads or found.study.threads)
    if result is not None:
        refuse_ignored(context, "nothing is measured where a result is handed back", but=("threads", "result"))
        _hand_back(found, words, threads, result)
        return
    # not before a use, which may be over before they are imported
    from nodewise.api.study import prepare_study
    from nodewise.base.note import Note
    from nodewise.cli.experiments import print_note, result_place
    from nodewise.studies.contract import parse_knobs

    asked = prepare_study(
        found,
        resume or result_place(out, f"study-{found.study.name}"),
        knobs=words,
        threads=threads,
        launcher=launcher,
        ranks=ranks,
        ranks_per_node=ranks_per_node,
        quick=quick,
        full=full,
        only=tuple(filter(None, only.split(","))),
        blocks=blocks,
        budget=budget,
        resume=resume is not None,
        accept_disturbed=accept_disturbed,
        wait_quiet=wait_quiet,
        wait=wait,
        asked=("nodewise", *sys.argv[1:]),
    )
    usual = found.study.point(parse_knobs(words)) if quick else {}
    if less := [f"{k}={v} instead of {usual[k]}" for k, v in asked.question.point.items() if v != usual.get(k, v)]:
        print_note(Note("note", f"--quick: {', '.join(less)}"))
    _measure(asked, as_json)


def _measure(asked: Study, as_json: bool) -> None:
    """Run it and tell what came of it, also where that cannot be kept."""
    from nodewise.cli.experiments import print_note
    from nodewise.cli.keeping import hand_out, kept_in, print_answer
    from nodewise.experiments.study import UnkeptError
    from nodewise.records.experiment import read_experiment
    from nodewise.report.pages.write import write_page
    from nodewise.runner.launch import quoted
    from nodewise.verdicts.encoding import encode
    from nodewise.verdicts.stored import read_stored, stored

    folder = asked.out
    unkept: UnkeptError | None = None
    try:
        with _Line() as line, kept_in(folder, "study"):
            verdict = asked.answer(line.show, print_note)
    except UnkeptError as problem:
        # it is told all the same, and then why it is not kept
        verdict, unkept = problem.verdict, problem

    def print_json(page: Path | None) -> None:
        print(json.dumps(encode(verdict, report=page), indent=1))

    def answer() -> None:
        if unkept is None:
            print_answer(replace(read_stored(folder), verdicts=(verdict,)))
        else:
            print_answer(stored(read_experiment(folder, judged=False), verdict))

    def page(folder: Path) -> Path:
        if unkept is not None:
            raise unkept
        return write_page(folder)

    again = f"nodewise study --resume {quoted(str(folder))}" if unkept is not None else None
    hand_out(folder, page, answer, print_json if as_json else None, again=again)


def _all_threads() -> int:
    from nodewise.machine.cgroups import read_limits

    return read_limits(Path("/"), os.sched_getaffinity(0), memory_bytes=0).parallelism


def _hand_back(found: Found, words: Sequence[str], threads: int | None, path: Path) -> None:
    """Compute once, and write what was computed."""
    from nodewise.report.exports.tables import STDOUT, check_target, json_text, write_result
    from nodewise.studies.contract import parse_knobs
    from nodewise.studies.results import compute

    check_target(path)
    result = compute(found, found.study.point(parse_knobs(words)), threads or found.study.threads or _all_threads())
    if path == STDOUT:
        print(json_text(result))
        return
    shapes = ", ".join(f"{name} {len(t.values)} × {len(t.columns)}" for name, t in result.tables.items())
    print(f"{found.study.name}: {shapes}; by {result.variant} in {format_seconds(result.seconds)}, checked")
    for place in write_result(result, path):
        print(f"result    {place}")


def _use(
    use: Callable[[Mapping[str, Sequence[str]], int], Used], words: Sequence[str], threads: int | None
) -> NoReturn:
    """Put a study's kernels to use on what the user has; ends with its exit code."""
    threads = threads or _all_threads()
    given: dict[str, list[str]] = {}
    for word in words:
        option, _, value = word.partition("=")
        given.setdefault(option, []).append(value)
    used = use(given, threads)
    sys.stdout.buffer.write(used.out)
    sys.stdout.buffer.flush()
    for line in used.errors:
        print(line, file=sys.stderr)
    sys.exit(used.code)


def _check(context: click.Context, words: Sequence[str]) -> NoReturn:
    """Hold a study to the contract, rule by rule."""
    from click.core import ParameterSource

    given = [p for p in context.params if context.get_parameter_source(p) == ParameterSource.COMMANDLINE]
    if len(words) != 1 or set(given) - {"name", "knob_words"}:
        raise InputError("a check takes a study and no options", "write: nodewise study check ./mine")
    from nodewise.api.study_check import check_study

    broken = 0
    for checked in check_study(words[0]):
        broken += bool(checked.faults)
        print(f"{'WRONG' if checked.faults else 'right'}  {checked.demands}", flush=True)
        for fault in checked.faults:
            print(textwrap.indent(fault, " " * 7))
    print(f"{broken} {'rule is' if broken == 1 else 'rules are'} broken" if broken else "it keeps the contract")
    sys.exit(1 if broken else 0)


class _Line:
    """The progress line on standard error, on a terminal only."""

    def __enter__(self) -> _Line:
        from rich.console import Console

        console = Console(file=redrawn(sys.stderr))
        self._status = console.status("starting") if console.is_terminal else None
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def show(self, progress: StudyProgress) -> None:
        if self._status:
            at = format_seconds(progress.seconds)
            block = f"block {progress.block} of {progress.blocks}" if progress.block else "before the blocks"
            self._status.update(f"{block}, {at}: {progress.contender}")


def _list(as_json: bool) -> None:
    from nodewise.studies.discovery import find_study, study_names
    from nodewise.studies.shelves import elsewhere

    studies = [find_study(n).study for n in study_names()]
    if as_json:
        from nodewise.cli.outputs.studies import study_output
        from nodewise.verdicts.encoding import encode

        print(json.dumps([encode(study_output(s)) for s in studies]))
        return
    for study in studies:
        print(f"{study.name:<10} {study.title}")
        for knob in study.knobs:
            values = f" ({', '.join(knob.values)})" if knob.values else ""
            default = f", default {knob.default}" if knob.default else ""
            print(f"  --{knob.name:<8} {knob.meaning}{values}{default}")
    more = elsewhere()
    for source in dict.fromkeys(more.values()):
        print(f"{', '.join(n for n, s in more.items() if s == source)}: {how_to_install(source)}")
