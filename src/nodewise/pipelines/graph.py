# SPDX-License-Identifier: BSD-3-Clause
"""Whether devices and channels make a pipeline: all connected, nothing going in circles."""

from __future__ import annotations

from graphlib import TopologicalSorter

from nodewise.base.errors import InputError
from nodewise.pipelines.kinds import KINDS
from nodewise.pipelines.plan import Device, Plan


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
    _check_orders(plan)


def orders(plan: Plan) -> list[Device]:
    """The devices that bring messages into the order in which they were made."""
    return [d for d in plan.devices if d.kind == "merge" and d.settings["order"] == "sequence"]


def ways_to(plan: Plan, name: str) -> dict[str, int]:
    """By device, over how many ways each of its messages comes to the device `name`: 1 for itself, 0 where none leads there."""
    after = {d.name: {to for c in plan.outputs(d.name) for to in c.receivers} for d in plan.devices}
    found: dict[str, int] = {}
    # whoever receives comes before who sends
    for one in TopologicalSorter(after).static_order():
        ways = sum(max(found[to] for to in c.receivers) for c in plan.outputs(one))
        found[one] = 1 if one == name else ways
    return found


def _check_orders(plan: Plan) -> None:
    for device in orders(plan):
        if device.instances > 1:
            raise InputError(
                f"{plan.lines.at(f'device.{device.name}.instances')}: of several instances none sees all messages, so that "
                'none can bring them into their order: order = "sequence" needs one instance',
                'leave `instances` out, or take order = "arrival"',
            )
        ways = ways_to(plan, device.name)
        for channel in plan.channels:
            numbers = [ways[to] for to in channel.receivers]
            if min(numbers) != max(numbers):
                least = channel.receivers[numbers.index(min(numbers))]
                raise InputError(
                    f"{plan.lines.at(f'channel.{channel.name}.to')}: each message goes to one of "
                    f"{', '.join(channel.receivers)}, and from {least} fewer ways lead to {device.name}, which would wait for ever",
                    f'lead all of them to {device.name}, or give that order = "arrival"',
                )


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
