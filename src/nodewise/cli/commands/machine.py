# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise machine`: what this machine, or another one, is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.base.units import format_bytes
from nodewise.cli.columns import terminal_columns
from nodewise.cli.help import OUTPUT, Command, option
from nodewise.cli.kinds import PATH, allow_option, json_option, machine_option, refuse_ignored, svg_option

if TYPE_CHECKING:
    from nodewise.machine.model import Machine


SECTION = "Understand"


@click.command(
    cls=Command,
    examples={
        "nodewise machine --table": "processors by socket, core and thread; caches and NUMA domains as tables",
        "nodewise machine --machine 'synthetic:pack:2 numa:2 core:8 pu:2' --svg node.svg": "draw a machine that is not here",
    },
)
@machine_option
@allow_option
@json_option("all that is known")
@svg_option()
@option("--png", type=PATH, metavar="FILE", help="Draw it as pixels into this file.", group=OUTPUT)
@option(
    "--table",
    is_flag=True,
    help="Print tables: every processor with socket, core and thread, cache groups, and NUMA domains with their distances.",
    group=OUTPUT,
)
@option("--save", type=PATH, metavar="FILE", help="Save it: FILE.xml for hwloc, FILE.json for nodewise.", group=OUTPUT)
@click.pass_context
def command(
    context: click.Context,
    machine_spec: str | None,
    allow: str | None,
    as_json: bool,
    table: bool,
    svg: Path | None,
    png: Path | None,
    save: Path | None,
) -> None:
    """Show a machine, and what may be used of it.

    Shown are its sockets, caches, cores, hardware threads and memory, and what may be used of it."""
    from nodewise.base.files import write_whole
    from nodewise.cli.drawing_output import write_drawing
    from nodewise.machine.sources import hwloc_xml, load_machine
    from nodewise.report.drawings.machine import machine_svg
    from nodewise.report.text.topology import topology_tables

    if as_json:
        refuse_ignored(context, "--json prints one thing alone", ("table",))
    machine = load_machine(machine_spec, allow)
    if save is not None:
        if save.suffix == ".json":
            write_whole(save, json.dumps(machine.to_json(), indent=1))
        elif save.suffix == ".xml":
            write_whole(save, hwloc_xml(machine_spec))
        else:
            raise InputError(f"a machine is saved as .xml or .json, not as {str(save)!r}")
    if svg is not None or png is not None:
        write_drawing(svg, png, machine_svg(machine, None))
    if as_json:
        print(json.dumps(machine.to_json(), indent=1))
    elif table:
        print(topology_tables(machine))
    else:
        _print(machine)


def _print(machine: Machine) -> None:
    from nodewise.placement.memory import fast_nodes
    from nodewise.report.text.machine import machine_text
    from nodewise.runner.memory import huge_page_pools

    print(machine_text(machine, width=max(60, terminal_columns(100))))
    unknown = "unknown: this system does not show it"
    p, limits = machine.processor, machine.limits
    if machine.live:
        print(f"clock      {f'{p.frequency_hz / 1e9:.2f} GHz' if p.frequency_hz else unknown}")
        print(f"governor   {p.governor or unknown}" + (f" ({p.driver})" if p.driver else ""))
        under = "a hypervisor that gives no name" if machine.hypervisor == "unnamed" else machine.hypervisor
        print(f"kernel     {machine.kernel}" + (f" under {under}" if under else ""))
        pools = [pool for pool in huge_page_pools() if pool.node is None]
        reserved = "".join(
            f", {format_bytes(p.page_bytes)}: {f'{p.free} of {p.total} reserved ones free' if p.total else 'none reserved'}"
            for p in pools
        )
        print(f"huge pages transparent: {machine.transparent_huge_pages or unknown}{reserved}")
    for kind in machine.kinds if len(machine.kinds) > 1 else ():
        print(f"{kind.name:<10} cores on processors {format_processors(kind.pus)}")
    if len(machine.distances) > 1:
        rows = "; ".join(" ".join(map(str, row)) for row in machine.distances)
        print(f"distances  {rows}")
        fast, why = fast_nodes(machine)
        print(f"fast       {f'NUMA nodes {format_processors(fast)}' if fast else 'no NUMA node'}: {why}")
    print(f"allowed    {len(machine.allowed)} of {len(machine.pus)} processors: {format_processors(machine.allowed)}")
    if limits.cpu_quota is not None:
        print(
            f"quota      {limits.cpu_quota:g} processors by the cgroup: plans are made for {machine.parallelism} threads"
        )
    if limits.memory_bytes is not None:
        print(f"memory     at most {format_bytes(limits.memory_bytes)} by the cgroup")
