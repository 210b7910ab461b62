# SPDX-License-Identifier: BSD-3-Clause
"""Whether devices and channels make a pipeline: all connected, nothing going in circles."""

from __future__ import annotations

from nodewise.base.errors import InputError
from nodewise.pipelines.kinds import KINDS
from nodewise.pipelines.plan import Plan


def check_graph(plan: Plan) -> None:
    """Raises InputError, with line and key, for a device that is not connected as its kind needs, and for a circle."""
    for device in plan.devices:
        kind = KINDS[device.kind]
        at = plan.lines.at(f"device.{device.name}")
        into, out = plan.inputs(device.name), plan.outputs(device.name)
        for wanted, there, key, what in (
            (kind.into, into, "to", "no channel leads to it"),
            (kind.out, out, "from", "no channel leads away from it"),
        ):
            if wanted and not there:
                raise InputError(
                    f"{at} is not connected: {what}", f'add a channel that has {key} = "{device.name}", or leave it out'
                )
            if wanted is False and there:
                raise InputError(
                    f"{plan.lines.at(f'channel.{there[0].name}.{key}')}: {device.name} is a {device.kind}, which "
                    + ("receives nothing" if key == "to" else "sends nothing"),
                    "name another device",
                )
        if not into and not out:
            raise InputError(f"{at} is not connected", "add a channel, or leave the device out")
    _check_circles(plan)


def _check_circles(plan: Plan) -> None:
    after = {d.name: [(c.name, to) for c in plan.outputs(d.name) for to in c.receivers] for d in plan.devices}
    done: set[str] = set()
    for start, first in after.items():
        # by hand: a chain may be longer than Python calls deep
        way: list[tuple[str, str]] = [("", start)]
        left = [list(first)]
        while way:
            if not left[-1]:
                done.add(way.pop()[1])
                left.pop()
                continue
            channel, name = left[-1].pop()
            names = [one for _, one in way]
            if name in names:
                circle = [*names[names.index(name) :], name]
                raise InputError(
                    f"{plan.lines.at(f'channel.{channel}.to')}: messages would go in a circle: {' → '.join(circle)}",
                    "a pipeline leads from its sources to its sinks: lead this channel elsewhere",
                )
            if name not in done:
                way.append((channel, name))
                left.append(list(after[name]))
