# SPDX-License-Identifier: BSD-3-Clause
"""Which instance runs on which rank, and by which transport a channel joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.meant import meant
from nodewise.pipelines.layout import Instance
from nodewise.pipelines.plan import Channel, Device, Plan

#: Those that join processes of one machine alone.
LOCAL = ("shm", "ipc", "ofi+shm")
#: What takes their place between machines where the file does not say.
_BETWEEN = "tcp"


@dataclass(frozen=True)
class Seat:
    """A rank: its `number`, its node's name, and the `address` at which other nodes reach it; `machine` is the same for ranks that share memory."""

    number: int = 0
    host: str = ""
    address: str = "127.0.0.1"
    machine: str = ""


def dealt(plan: Plan, seats: Sequence[Seat]) -> dict[Instance, Seat]:
    """The rank of each instance: as the file says by `rank` or `host`, else in its order, as many on each as on the others.

    Raises InputError, with line and key, for ranks and hosts that are not there.
    """
    by_number = {seat.number: seat for seat in seats}
    hosts: dict[str, list[Seat]] = {}
    for seat in seats:
        hosts.setdefault(seat.host, []).append(seat)
    free = [i for d in plan.devices if d.rank is None and d.host is None for i in plan.instances_of((d.name,))]
    found = {instance: seats[at * len(seats) // len(free)] for at, instance in enumerate(free)}
    turns = dict.fromkeys(hosts, 0)
    for device in plan.devices:
        for number in range(device.instances):
            if device.rank is not None:
                found[device.name, number] = _by_rank(plan, device, number, by_number)
            elif device.host is not None:
                host = _host(plan, device, number, hosts)
                found[device.name, number] = hosts[host][turns[host] % len(hosts[host])]
                turns[host] += 1
    return found


def _by_rank(plan: Plan, device: Device, number: int, seats: Mapping[int, Seat]) -> Seat:
    assert device.rank is not None
    rank = device.rank[number]
    if rank not in seats:
        raise InputError(
            f"{plan.lines.at(f'device.{device.name}.rank')}: there is no rank {rank}",
            f"ranks are 0 to {len(seats) - 1}",
        )
    return seats[rank]


def _host(plan: Plan, device: Device, number: int, hosts: Mapping[str, list[Seat]]) -> str:
    assert device.host is not None
    wanted = device.host[number]
    # a node is called by the first part of its name, too
    for host in hosts:
        if host == wanted or host.partition(".")[0] == wanted:
            return host
    raise InputError(
        f"{plan.lines.at(f'device.{device.name}.host')}: no rank runs on {wanted!r}{meant(wanted, [*hosts])}",
        f"ranks run on: {', '.join(hosts)}",
    )


def joined(plan: Plan, seats: Mapping[Instance, Seat]) -> Plan:
    """The plan with transports that reach from node to node where channels do. Raises InputError where the file names one that does not."""
    return replace(plan, channels=tuple(_joined(plan, channel, seats) for channel in plan.channels))


def _joined(plan: Plan, channel: Channel, seats: Mapping[Instance, Seat]) -> Channel:
    ends = [seats[one] for one in plan.instances_of((*channel.senders, *channel.receivers))]
    nodes = {(seat.machine, seat.host) for seat in ends}
    if len(nodes) == 1:
        return channel
    if channel.transport in LOCAL:
        if channel.stated:
            names = " and ".join(sorted({host for _, host in nodes})[:3])
            raise InputError(
                f"{plan.lines.at(f'channel.{channel.name}.transport')}: {channel.transport} joins processes of one node, "
                f"and this channel those of {names}",
                'give "tcp" or "ofi+tcp", or leave it out',
            )
        channel = replace(channel, transport=_BETWEEN)
    lonely = sorted({seat.host for seat in ends if seat.address.startswith("127.")})
    if lonely and len({machine for machine, _ in nodes}) > 1:
        raise InputError(
            f"{plan.lines.at(f'channel.{channel.name}')} leads to other nodes, and {lonely[0]} has no address but the loopback's",
            "give the node an address in the network of the others",
        )
    return channel
