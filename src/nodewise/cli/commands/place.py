# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise place`: where ranks and threads would sit, in any dialect, or a program run with its threads there."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodewise.api.given import split_variables
from nodewise.base.errors import InputError
from nodewise.base.meant import meant
from nodewise.base.words import split_words
from nodewise.cli.columns import terminal_columns
from nodewise.cli.completion import completer, dialects, huge_pages, policies
from nodewise.cli.help import OUTPUT, Command, GroupedOption, option
from nodewise.cli.kinds import (
    PATH,
    THREADS,
    allow_option,
    given_options,
    json_option,
    machine_option,
    refuse_ignored,
    svg_option,
)
from nodewise.cli.placed import isolated, run_placed
from nodewise.cli.typed import is_program

if TYPE_CHECKING:
    from nodewise.machine.model import Machine
    from nodewise.placement.job import Job
    from nodewise.placement.placement import Placement
    from nodewise.placement.rendering import Rendering
    from nodewise.placement.resolve import Request

SECTION = "Place"
#: What OMP_PROC_BIND may be.
_BINDINGS = ("spread", "close", "master", "primary", "true", "false")
#: Where the options that dialects bring are kept for the time of one call.
_BROUGHT = "nodewise.place.brought"


class _Place(Command):
    """The command with the options that dialects bring, which are asked for them only where they are needed."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """All options; what dialects bring stands behind what shapes the job."""
        if _BROUGHT not in ctx.meta:
            ctx.meta[_BROUGHT] = _brought(super().get_params(ctx))
        own = super().get_params(ctx)
        at = next(i for i, parameter in enumerate(own) if parameter.name == "machine_spec")
        return [*own[:at], *ctx.meta[_BROUGHT], *own[at:]]


def _brought(own: Sequence[click.Parameter]) -> list[click.Option]:
    """The options of the dialects' texts, and those whose values they bring. Raises InputError where one is there already."""
    from nodewise.placement.openmp.runtimes import RUNTIMES
    from nodewise.placement.registry import all_dialects, writers

    runtimes, names = "|".join(RUNTIMES), ", ".join(writers())
    fixed = [
        GroupedOption(
            ["--runtime"],
            metavar=runtimes,
            help="Whose rules OpenMP's variables follow: without it Intel's, and GNU's for --gomp.",
            group="Dialects",
        ),
        GroupedOption(
            ["--to", "dialect"],
            metavar="DIALECT",
            help=f"Write it in a dialect: {names}.",
            group="Dialects",
            shell_complete=completer(dialects),
        ),
    ]
    taken = {word for option in (*own, *fixed) for word in (*option.opts, option.name)} | {"--help"}
    found = fixed[:1]
    for dialect in all_dialects():
        for text in dialect.texts:
            if taken & {text.option, text.name, *filter(None, (text.short,))}:
                raise InputError(
                    f"the dialect {dialect.name} brings the option {text.option}, which `nodewise place` has already",
                    "give its text another name",
                )
            spelled = [*filter(None, (text.short,)), text.option, text.name]
            found.append(GroupedOption(spelled, metavar="TEXT", help=text.help, group="Dialects"))
    return [*found, *fixed[1:]]


@click.command(
    cls=_Place,
    examples={
        "nodewise place scatter --threads 16": "where 16 threads would sit, and the launch line for it",
        "nodewise place compact --threads 4 --ranks 2 --to openmpi": "two ranks of four threads in Open MPI's words",
        "nodewise place spread -- ./solver input.dat": "run a program so",
    },
    context_settings={"allow_interspersed_args": True},
)
@option(
    "--threads",
    type=THREADS,
    metavar="N",
    help="How many threads each rank has; 2,4: two, each with an inner OpenMP team of four. [default: what fits]",
    group="Placement",
)
@option("--ranks", type=int, metavar="N", default=0, help="How many MPI ranks, in all.", group="Placement")
@option("--nodes", type=int, metavar="N", default=1, help="On how many nodes like this machine.", group="Placement")
@option(
    "--zones",
    default="share",
    metavar="share|packed|none",
    help="What each rank gets where no launcher is named.",
    group="Placement",
)
@option(
    "--near",
    default="",
    metavar="DEVICE,...",
    help="Keep to the processors nearest to gpu0, mlx5_0, nvme0n1 …; of several, each rank gets one in turn.",
    group="Placement",
)
@option("--hosts", metavar="A,B", default="", help="The nodes' names, for rank files: a,b,c.", group="Dialects")
@machine_option
@allow_option
@option(
    "--via", default="auto", metavar="auto|openmp|preload|mask", help="How COMMAND's threads are bound.", group="Start"
)
@option("--memory", metavar="POLICY", help="Where pages go: local, bind:0, preferred:fast, interleave:all, weighted-interleave:0=3,1=1.", group="Memory")  # fmt: skip
@option(
    "--huge-pages",
    default="default",
    metavar="KIND",
    help="default, transparent, reserved or never.",
    group="Memory",
    shell_complete=completer(huge_pages),
)
@option(
    "--isolation",
    metavar="KIND[,OPTION...]",
    help="Run COMMAND in a container or virtual machine: bwrap, runc,volume=DIR …",
    group="Start",
)
@option("--files", type=PATH, metavar="DIR", help="Write the files that --to needs into this directory.", group=OUTPUT)
@option("--explain", "explained", is_flag=True, help="Explain what the setting does, and its traps.", group=OUTPUT)
@json_option("the places")
@option(
    "--compare",
    "other",
    metavar="OTHER",
    help="Compare it with another: a policy, or 'places=cores bind=spread'.",
    group=OUTPUT,
)
@svg_option()
@option("--png", type=PATH, metavar="FILE", help="Draw it as pixels into this file.", group=OUTPUT)
@click.argument(
    "words",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="[POLICY] [-- COMMAND...]",
    shell_complete=completer(policies, first=True),
)
@click.pass_context
def command(
    context: click.Context,
    /,
    threads: tuple[int, ...] | None,
    ranks: int,
    nodes: int,
    near: str,
    machine_spec: str | None,
    allow: str | None,
    hosts: str,
    via: str,
    memory: str | None,
    huge_pages: str,
    isolation: str | None,
    dialect: str | None,
    files: Path | None,
    explained: bool,
    as_json: bool,
    other: str | None,
    svg: Path | None,
    png: Path | None,
    words: tuple[str, ...],
    **asked: Any,
) -> None:
    """Show where threads and ranks would sit, or run COMMAND so.

    They are placed by POLICY (compact, scatter, balanced, os, spread, close) or by a text in any dialect.

    Show it, write it in another dialect, or run COMMAND with it. With a text all words are the COMMAND's, and so they are where
    only memory is asked for (--memory, --huge-pages), or --isolation: threads are then left as they are.
    """
    _check_together(context, bool(other))
    from nodewise.api.place import prepare_place
    from nodewise.machine.sources import load_machine
    from nodewise.placement.openmp.lengths import overlong

    inside = None if isolation is None else isolated(isolation)
    asked_of_pages = memory is not None or huge_pages != "default" or isolation is not None
    only_memory = asked_of_pages and threads is None and not ranks
    asked["near"] = tuple(filter(None, near.split(",")))
    request, command_words = _request(asked, words, only_memory)
    # placed threads are drawn without devices
    machine = load_machine(machine_spec, allow, devices=bool(asked["near"]) or only_memory)
    untouched = only_memory and command_words == words and set(request.given()) == {"policy"}
    placed = prepare_place(
        machine,
        request,
        threads=threads,
        ranks=ranks,
        nodes=nodes,
        memory=memory,
        huge_pages=huge_pages,
        untouched=untouched,
    )
    placement = placed.resolved.placement
    for note in placed.resolved.notes:
        print(f"note: {note}", file=sys.stderr)
    for trap in placed.traps:
        print(f"warning: {trap}", file=sys.stderr)
    compared = None if other is None else _compared(machine, other, asked, placed.job, placement.levels)
    if svg is not None or png is not None:
        _draw(svg, png, machine, placement, compared)
    if command_words:
        refuse_ignored(context, "a COMMAND is run", ("dialect", "files", "hosts", "as_json", "explained"))
        if svg is None and png is None:
            refuse_ignored(context, "a COMMAND is run, which --compare is not for without --svg or --png", ("other",))
        variables, program = split_variables(command_words)
        if not program:
            raise InputError(f"no program follows {' '.join(command_words)}", "name it behind its variables")
        run_placed(placed, program, via, untouched, variables, inside)
        return
    refuse_ignored(context, "there is no COMMAND to run", ("via", "isolation"))
    found = placed.output()
    if dialect is not None:
        _show_rendering(found.render(dialect, _named_hosts(hosts)), files, placed.resolved.notes)
        return
    if as_json:
        from nodewise.verdicts.encoding import encode

        print(json.dumps(encode(found)))
        return
    _show(machine, placement, request, explained, (other, compared) if other and compared else None, untouched)
    if (launch := found.launch()) is not None:
        print(f"launch     {launch.line()}")
        written, wanted = launch.env.get("OMP_PROC_BIND", ""), request.texts.get("bind", "")
        if explained and written and wanted not in ("", written):
            same = f"OMP_PROC_BIND={written} takes the places above in their order"
            print(f"note: {same}: each thread is where {wanted} puts it here", file=sys.stderr)
        for note in overlong(launch.env) if request.runtime == "intel" else ():
            print(f"note: {note}", file=sys.stderr)
    elif ranks and found.bound:
        from nodewise.placement.registry import writers

        names = [name for name, one in writers().items() if one.write_job is not None]
        print(f"launch     by a launcher, whose options --to writes: {', '.join(names)}")


def _named_hosts(text: str) -> list[str]:
    """The names of --hosts. Raises InputError where one is empty."""
    names = [name.strip() for name in text.split(",")] if text else []
    if "" in names:
        raise InputError(f"--hosts {text!r}: a name is empty", "write them as a,b,c")
    return names


def _check_together(context: click.Context, compared: bool) -> None:
    """Raises InputError for options that would do nothing next to others."""
    given = given_options(context)
    if "ranks" in given and context.params["ranks"] == 0:
        raise InputError("cannot place 0 ranks", "give a number from 1, or leave --ranks out for one process")
    if "dialect" not in given:
        refuse_ignored(context, "it is for what --to writes", ("files", "hosts"))
    for name in ("dialect", "as_json"):
        if name in given:
            refuse_ignored(
                context, f"{given[name]} prints one thing alone", {"dialect", "as_json", "explained"} - {name}
            )
    if compared and not {"svg", "png"} & given.keys():
        refuse_ignored(
            context, "--compare is seen in the terminal, or drawn by --svg and --png", ("dialect", "as_json")
        )


def _request(
    asked: dict[str, Any], words: tuple[str, ...], only_memory: bool = False
) -> tuple[Request, tuple[str, ...]]:
    """What was asked for, and the command: the first word is a policy only where no text is given.

    With `only_memory`, or near a device, a command alone will do: its threads are the system's to place.
    """
    from nodewise.api.place import NAMED, request_of
    from nodewise.placement.registry import placing

    near = asked["near"]
    texts = {name: text for name, text in asked.items() if name not in ("zones", "runtime", "near")}
    policy, rest = None, words
    by_text = placing(texts)
    _check_one_policy(words, by_text)
    if words and not by_text:
        alone = (only_memory or bool(near)) and words[0] not in NAMED
        if not alone:
            _check_policy_first(words)
        policy, rest = ("os", words) if alone else (words[0], words[1:])
    return request_of(policy, asked["zones"], asked["runtime"], texts, near), rest


def _check_one_policy(words: tuple[str, ...], by_text: bool) -> None:
    """Raises InputError where a policy's name stands where a COMMAND is expected, but behind --."""
    from nodewise.api.place import NAMED

    if by_text and words and words[0] in NAMED and not _behind_dashes(words):
        raise InputError(
            f"the policy {words[0]} and a text both say where threads go",
            f"give one of them; a program of that name is started by: -- {words[0]}",
        )
    if len(words) > 1 and words[0] in NAMED and words[1] in NAMED and "--" not in sys.argv:
        raise InputError(
            f"two policies are named: {words[0]} and {words[1]}",
            f"to compare them: nodewise place {words[0]} --compare {words[1]}; "
            f"a program of that name is started by: {words[0]} -- {words[1]}",
        )


def _behind_dashes(words: tuple[str, ...]) -> bool:
    """Whether all of the words stand behind --."""
    return "--" in sys.argv and len(sys.argv) - sys.argv.index("--") - 1 == len(words)


def _check_policy_first(words: tuple[str, ...]) -> None:
    """Raises InputError where the first word is not meant as a policy: it stands behind --, is a program, or binds by a text."""
    from nodewise.api.place import BINDINGS, NAMED
    from nodewise.placement.policies import POLICIES

    line = shlex.join(words)
    if _behind_dashes(words) or (
        words[0] not in POLICIES and (len(words) > 1 or "/" in words[0]) and is_program(words[0])
    ):
        raise InputError(
            f"nothing says where the threads of {words[0]} are to go",
            f"name a policy ({', '.join(NAMED)}) before --: nodewise place compact -- {line}",
        )
    if words[0].lower() in _BINDINGS and words[0].lower() not in BINDINGS:
        raise InputError(
            f"{words[0]} is no policy, but what OMP_PROC_BIND says; did you mean --bind {words[0]}?",
            f"write it with its places: --places cores --bind {words[0]}; the policies are {', '.join(NAMED)}",
        )


def _compared(machine: Machine, other: str, asked: dict[str, Any], job: Job, levels: tuple[int, ...]) -> Placement:
    """The placement that --compare names: a policy, or texts as NAME=TEXT by the names of the options."""
    from nodewise.api.place import BINDINGS, NAMED
    from nodewise.placement.policies import POLICIES
    from nodewise.placement.registry import all_texts
    from nodewise.placement.resolve import Request, resolve

    keep = {name: asked[name] for name in ("zones", "runtime", "near")}
    if other in POLICIES:
        return resolve(machine, job, Request(**keep, policy=other).nested(levels)).placement
    if other in BINDINGS:
        return resolve(machine, job, Request(**keep, places="cores", bind=other).nested(levels)).placement
    names = all_texts()
    texts: dict[str, str] = {}
    for word in split_words(other, "--compare") or [""]:
        name, equals, text = word.partition("=")
        if not equals or name.replace("-", "_") not in names:
            raise InputError(
                f"--compare {other!r}: {word!r} is neither a policy nor NAME=TEXT{meant(name, [*NAMED, *names], {'kmp': 'affinity', 'omp': 'places'})}",
                f"policies are {', '.join(NAMED)}; names are {', '.join(sorted(names))}",
            )
        texts[name.replace("-", "_")] = text
    return resolve(machine, job, Request(**keep, **texts).nested(levels)).placement


def _title(placement: Placement) -> str:
    threads = f"{placement.threads} thread{'s' * (placement.threads != 1)}"
    if placement.levels:
        threads = f"{' × '.join(map(str, placement.levels))} threads"
    if placement.ranks:
        threads = f"{placement.per_node} ranks × {placement.ranks[0]} threads"
    nodes = f" on each of {placement.nodes} nodes" if placement.nodes > 1 else ""
    return f"{threads}{nodes}: {placement.policy}"


def _draw(
    svg: Path | None, png: Path | None, machine: Machine, placement: Placement, compared: Placement | None
) -> None:
    from nodewise.cli.drawing_output import write_drawing
    from nodewise.report.drawings.machine import machine_svg
    from nodewise.report.drawings.placements import compare_svg

    if compared is None:
        drawing = machine_svg(machine, placement, _title(placement))
    else:
        drawing = compare_svg(machine, placement, compared, (_title(placement), _title(compared)))
    write_drawing(svg, png, drawing)


def _show_rendering(rendering: Rendering, folder: Path | None, printed: Sequence[str]) -> None:
    """The line on standard output, with its files: written where a directory is given, shown where not. Notes that are `printed` are not repeated."""
    from nodewise.base.files import write_whole

    if folder is not None and rendering.files:
        rendering = rendering.located(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(
                f"cannot write into {folder}: {problem.strerror}", "name a directory for --files"
            ) from problem
        for name, text in rendering.files.items():
            write_whole(folder / name, text)
            if text.startswith("#!"):
                (folder / name).chmod(0o755)
    print(rendering.line())
    if folder is not None and not rendering.files:
        print(f"note: this needs no files: nothing was written into {folder}", file=sys.stderr)
    for note in (one for one in rendering.notes if one not in printed):
        print(f"note: {note}", file=sys.stderr)
    for name, text in rendering.files.items() if folder is None else ():
        print(f"\n# {name}\n{text}", end="")


def _show(
    machine: Machine,
    placement: Placement,
    request: Request,
    explained: bool,
    compared: tuple[str, Placement] | None,
    untouched: bool,
) -> None:
    """Drawn in the terminal; what it is `compared` with by the words that were typed for it."""
    from nodewise.placement.explain import explain
    from nodewise.report.text.machine import machine_text
    from nodewise.report.text.placements import compare_text

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = max(60, terminal_columns(100))
    if compared is not None:
        print(f"{placement.policy}:")
    print(machine_text(machine, None if untouched else placement, width, colour))
    if compared is not None:
        typed, there = compared
        print(f"{typed}:", machine_text(machine, there, width, colour), sep="\n")
        print(compare_text(machine, placement, there, (placement.policy, typed)))
    if explained:
        print()
        print("\n".join(explain(machine, placement, request)))
