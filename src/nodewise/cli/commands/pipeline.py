# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise pipeline`: devices and channels of a file, run until their sources end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from nodewise.base.errors import InputError
from nodewise.base.exit_codes import ExitCode
from nodewise.cli.help import OUTPUT, Command, option
from nodewise.cli.kinds import PATH, TIME, json_option, refuse_ignored
from nodewise.cli.options import launcher_options

SECTION = "Nodes"


@click.command(
    cls=Command,
    examples={
        "nodewise pipeline readout.toml": "run it until its sources end; Ctrl-C drains it",
        "nodewise pipeline --check readout.toml": "say what of the file is wrong, and start nothing",
        "nodewise pipeline --launcher srun --ranks 8 readout.toml": "deal its devices out to eight ranks of an allocation",
        "nodewise pipeline readout.toml -- mpirun -n 2 --host n1,n2": "to those that a launcher's command starts",
    },
)
@option(
    "--duration",
    type=TIME,
    metavar="TIME",
    help="Let sources end after this, whatever the file says.",
    group="Pipeline",
)
@option("--check", is_flag=True, help="Read the file, show what would be started, and start nothing.", group="Pipeline")
@launcher_options("Start ranks by this launcher, and deal the devices out to them.")
@option(
    "--html",
    type=PATH,
    metavar="FILE",
    help="Write a page with rates, states and where it backs up; while it runs, every two seconds.",
    group=OUTPUT,
)
@option("--quiet", is_flag=True, help="Show no rates meanwhile.", group=OUTPUT)
@json_option("the result")
@click.argument("file", type=PATH, metavar="FILE")
@click.argument("starter", nargs=-1, type=click.UNPROCESSED, metavar="[-- LAUNCHER...]")
@click.pass_context
def command(
    context: click.Context,
    duration: float | None,
    check: bool,
    launcher: str | None,
    ranks: int | None,
    ranks_per_node: int | None,
    html: Path | None,
    quiet: bool,
    as_json: bool,
    file: Path,
    starter: tuple[str, ...],
) -> int:
    """Run devices that are joined by channels of messages.

    Each instance of a device is a process of this machine, or of a rank that a launcher starts.

    \b
      [device.source]
      kind = "generator"
      size = "24MB"
      [device.pack]
      kind = "compress"
      instances = 2
      [device.out]
      kind = "file"
      path = "out.gz"
      [channel.raw]
      from = "source"
      to = "pack"
      [channel.packed]
      from = "pack"
      to = "out"

    It shows what each device does, how full channels are, and where it backs up. The first Ctrl-C lets sources end and what is on the way
    arrive; the second ends it at once. It needs the package nodewise-transport.

    Exit codes: 0 all went well, also after Ctrl-C where all arrived; 1 a device failed; 2 bad input; 130 ended at once.
    """
    from nodewise.api.pipeline import carry_out, launcher_words, masks_of, prepare_pipeline
    from nodewise.cli.masked_terminal import hide
    from nodewise.report.text.pipeline import pipeline_lines, plan_lines

    if starter and launcher is not None:
        raise InputError("--launcher and a launcher's command both start ranks", "give one of them")
    start = launcher_words(starter or launcher, ranks, ranks_per_node)
    plan = prepare_pipeline(file, bool(start[0]))
    # what the file gives to devices is no word of this command's
    hide(masks_of(plan))
    if check:
        refuse_ignored(context, "--check starts nothing", ("duration", "html", "quiet", "as_json"))
        print("\n".join(plan_lines(plan)))
        return ExitCode.WELL
    from nodewise.cli.pipeline_progress import PipelineProgress, write_page
    from nodewise.pipelines.result import Ended

    if html is not None:
        # before anything runs: a page that cannot be written is known at once
        write_page(html, None, str(plan.file))
    with PipelineProgress(quiet, html) as progress:
        result = carry_out(plan, duration, progress.show, start)
    if html is not None:
        write_page(html, result)
    if as_json:
        from nodewise.verdicts.encoding import encode

        print(json.dumps(encode(result, page=html), indent=1))
    else:
        print("\n".join(pipeline_lines(result)))
        if html is not None:
            print(f"page: {html}")
    sys.stdout.flush()
    code = ExitCode.FOUND if result.ended is Ended.FAILED else ExitCode.WELL
    if context.parent is not None:
        context.parent.meta["nodewise.exit_code"] = code
    return code
