# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise pipeline`: devices and channels of a file, run until their sources end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from nodewise.base.exit_codes import ExitCode
from nodewise.cli.help import OUTPUT, Command, option
from nodewise.cli.kinds import PATH, TIME, json_option, refuse_ignored

SECTION = "Nodes"


@click.command(
    cls=Command,
    examples={
        "nodewise pipeline readout.toml": "run it until its sources end; Ctrl-C drains it",
        "nodewise pipeline --check readout.toml": "say what of the file is wrong, and start nothing",
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
@option("--quiet", is_flag=True, help="Show no rates meanwhile.", group=OUTPUT)
@json_option("the result")
@click.argument("file", type=PATH, metavar="FILE")
@click.pass_context
def command(context: click.Context, duration: float | None, check: bool, quiet: bool, as_json: bool, file: Path) -> int:
    """Run devices that are joined by channels of messages.

    Each instance of a device is a process.

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

    Exit codes: 0 well, also after Ctrl-C where all arrived; 1 a device failed; 2 bad input; 130 ended at once.
    """
    from nodewise.api.pipeline import carry_out, prepare_pipeline
    from nodewise.report.text.pipeline import pipeline_lines, plan_lines

    plan = prepare_pipeline(file)
    if check:
        refuse_ignored(context, "--check starts nothing", ("duration", "quiet", "as_json"))
        print("\n".join(plan_lines(plan)))
        return ExitCode.WELL
    from nodewise.cli.pipeline_progress import PipelineProgress
    from nodewise.pipelines.result import Ended

    with PipelineProgress(quiet) as progress:
        result = carry_out(plan, duration, progress.show)
    if as_json:
        from nodewise.verdicts.encoding import encode

        print(json.dumps(encode(result), indent=1))
    else:
        print("\n".join(pipeline_lines(result)))
    sys.stdout.flush()
    code = ExitCode.FOUND if result.ended is Ended.FAILED else ExitCode.WELL
    if context.parent is not None:
        context.parent.meta["nodewise.exit_code"] = code
    return code
