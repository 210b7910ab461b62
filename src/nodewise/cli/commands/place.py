# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise place`: where threads would sit, or a program run with its threads there."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.errors import InputError, ProgramError

if TYPE_CHECKING:
    from nodewise.runner.setting import Setting


@click.command(context_settings={"allow_interspersed_args": True})
@click.option("--threads", type=int, help="How many threads (default: all that may run at once).")
@click.option("--machine", "spec", help="Another machine: synthetic:TEXT, FILE.xml or FILE.json.")
@click.option("--allow", help="Use only these processors, such as 0-3,8.")
@click.option("--json", "as_json", is_flag=True, help="Print the places as JSON.")
@click.option("--svg", type=click.Path(path_type=Path), help="Draw it into this file.")
@click.argument("policy")
@click.argument("command_words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def command(
    policy: str,
    threads: int | None,
    spec: str | None,
    allow: str | None,
    as_json: bool,
    svg: Path | None,
    command_words: tuple[str, ...],
) -> None:
    """Place threads by POLICY (compact, scatter, balanced, os): show it, or run COMMAND so."""
    from nodewise.api.experiment import write_whole
    from nodewise.machine.sources import load_machine
    from nodewise.report.machine_drawing import machine_svg
    from nodewise.report.machine_text import machine_text
    from nodewise.search.axes import make_setting

    machine = load_machine(spec, allow)
    count = machine.parallelism if threads is None else threads
    setting = make_setting(machine, command_words or ("COMMAND",), {"threads": count, "placement": policy})
    if svg is not None:
        write_whole(svg, machine_svg(machine, setting.places, f"{count} threads, {policy}"))
    if command_words:
        if not machine.live:
            raise InputError(
                "a program can be placed only on the machine that it runs on", "leave out --machine, or the command"
            )
        _execute(setting)
    if as_json:
        places = None if setting.places is None else [list(p) for p in setting.places]
        more = {"policy": policy, "threads": count, "env": dict(setting.env), "mask": setting.mask}
        print(json.dumps({"places": places, **more}))
        return
    print(machine_text(machine, setting.places))
    print(f"launch     {setting.launch_line(os.environ)}")


def _execute(setting: Setting) -> None:
    """Become the program, under the setting."""
    environment = setting.environment(os.environ)
    program = shutil.which(setting.command[0], path=environment.get("PATH", os.defpath))
    if program is None:
        raise ProgramError(f"no such program: {setting.command[0]}", "give its path, or a name that is found on PATH")
    if setting.mask is not None:
        os.sched_setaffinity(0, setting.mask)
    try:
        os.execve(program, list(setting.command), environment)
    except OSError as problem:
        hint = "start a script through its interpreter" if problem.errno == errno.ENOEXEC else None
        raise ProgramError(f"{setting.command[0]} cannot be executed: {problem.strerror}", hint) from problem
