# SPDX-License-Identifier: BSD-3-Clause
"""Where on the page each instance and each edge has its words, and what each process is told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.pipelines.graph import orders, ways_to
from nodewise.pipelines.page import EDGE, FIXED, HEAD, TEXT
from nodewise.pipelines.plan import Channel, Plan

Instance = tuple[str, int]
Part = dict[str, Any]


@dataclass
class Layout:
    """`instances` by device and number, `edges` by channel, sender and receiver: the index of the first word of each.

    `errors`, `about` and `addresses` (by channel and receiver) are bytes, at which texts begin; `size` is that of the page.
    """

    instances: dict[Instance, int] = field(default_factory=dict)
    edges: dict[tuple[str, Instance, Instance], int] = field(default_factory=dict)
    errors: dict[Instance, int] = field(default_factory=dict)
    about: dict[Instance, int] = field(default_factory=dict)
    addresses: dict[tuple[str, Instance], int] = field(default_factory=dict)
    size: int = 0


def layout_of(plan: Plan) -> Layout:
    """The page of a plan."""
    found = Layout()
    word = HEAD
    for name, number in plan.instances_of(tuple(d.name for d in plan.devices)):
        found.instances[name, number] = word
        word += FIXED + len(plan.outputs(name))
    for channel in plan.channels:
        for sender in plan.instances_of(channel.senders):
            for receiver in plan.instances_of(channel.receivers):
                found.edges[channel.name, sender, receiver] = word
                word += EDGE
    byte = word * 8
    for instance in found.instances:
        found.errors[instance], found.about[instance] = byte, byte + TEXT
        byte += 2 * TEXT
    for channel in plan.channels:
        for receiver in plan.instances_of(channel.receivers):
            found.addresses[channel.name, receiver] = byte
            byte += TEXT
    found.size = byte
    return found


def words_of(plan: Plan, layout: Layout, instances: Collection[Instance]) -> list[tuple[int, int]]:
    """The words that these instances write: the first of each row, and how many."""
    found = [(layout.instances[one], FIXED + len(plan.outputs(one[0]))) for one in instances]
    for (_, sender, receiver), at in layout.edges.items():
        # who sends writes the first two of an edge, who receives the others
        found += [(at + i * 2, 2) for i, one in enumerate((sender, receiver)) if one in instances]
    return found


def parts_of(plan: Plan, layout: Layout, token: str, addresses: Mapping[Instance, str] | None = None) -> list[Part]:
    """What each process is told of its part, in the order of `layout.instances`; names have `token`, which nobody else has.

    `addresses` are those of the instances' nodes, at which others reach them (None: all are on this machine).
    """
    return [
        _part(plan, layout, token, instance, "127.0.0.1" if addresses is None else addresses[instance])
        for instance in layout.instances
    ]


def _part(plan: Plan, layout: Layout, token: str, instance: Instance, address: str) -> Part:
    name, number = instance
    device = plan.device(name)
    cpus = device.cpus[number]
    origins = plan.instances_of(tuple(d.name for d in plan.devices))
    ways = ways_to(plan, name)
    return {
        "size": layout.size,
        "device": name,
        "number": number,
        "instances": device.instances,
        "origin": origins.index(instance),
        "origins": [f"{one}.{n}" for one, n in origins],
        "kind": device.kind,
        "settings": dict(device.settings),
        # how many ways lead here from each origin, and whether somebody behind has to know of what is dropped
        "ways": [ways[one] for one, _ in origins],
        "ordered": any(one.name != name and ways_to(plan, one.name)[name] for one in orders(plan)),
        "cpus": None if cpus is None else list(cpus),
        "folder": str(plan.file.absolute().parent),
        "words": layout.instances[instance],
        "error": layout.errors[instance],
        "about": layout.about[instance],
        "inputs": [_input(plan, layout, token, c, instance, address) for c in plan.inputs(name)],
        "outputs": [_output(plan, layout, c, instance, i) for i, c in enumerate(plan.outputs(name))],
    }


def _input(plan: Plan, layout: Layout, token: str, channel: Channel, instance: Instance, address: str) -> Part:
    own = f"nodewise-{token}-{channel.name}-{instance[0]}-{instance[1]}"
    local = channel.transport in ("shm", "ipc", "ofi+shm")
    return {
        "channel": channel.name,
        "address": f"{channel.transport}://{own if local else f'{address}:0'}",
        "bound": layout.addresses[channel.name, instance],
        "slots": channel.messages,
        "capacity": channel.room,
        "edges": [layout.edges[channel.name, s, instance] for s in plan.instances_of(channel.senders)],
    }


def _output(plan: Plan, layout: Layout, channel: Channel, instance: Instance, index: int) -> Part:
    return {
        "channel": channel.name,
        "slots": channel.messages,
        "capacity": channel.room,
        "waited": layout.instances[instance] + FIXED + index,
        "sender": plan.instances_of(channel.senders).index(instance),
        "receivers": [
            {"bound": layout.addresses[channel.name, r], "edge": layout.edges[channel.name, instance, r]}
            for r in plan.instances_of(channel.receivers)
        ],
    }
