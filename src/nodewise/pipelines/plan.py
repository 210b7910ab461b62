# SPDX-License-Identifier: BSD-3-Clause
"""What a pipeline is: devices, of which each instance is a process, and channels between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.base.toml_lines import TomlLines


@dataclass(frozen=True)
class Device:
    """A device; `settings` are those of its kind, `cpus` the processors of each instance (None: any).

    `rank` and `host` say for each instance where it runs, where ranks are started (None: wherever there is room).
    """

    name: str
    kind: str
    instances: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    place: Any = None
    cpus: tuple[tuple[int, ...] | None, ...] = (None,)
    rank: tuple[int, ...] | None = None
    host: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Channel:
    """Messages from all instances of the devices `senders` to those of `receivers`, of which each message goes to one.

    `messages` and `room` (bytes) are its high-water mark: what may be on the way from one instance to another, both powers of two.
    `stated`: the channel itself names its transport.
    """

    name: str
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    transport: str = "shm"
    messages: int = 1024
    room: int = 64 << 20
    stated: bool = False


@dataclass(frozen=True)
class Plan:
    """A pipeline as its file has it, checked; `duration` in seconds (None: until its sources end)."""

    file: Path
    devices: tuple[Device, ...]
    channels: tuple[Channel, ...]
    duration: float | None
    lines: TomlLines = field(compare=False, repr=False)

    def device(self, name: str) -> Device:
        """The device of that name."""
        return next(d for d in self.devices if d.name == name)

    def inputs(self, name: str) -> tuple[Channel, ...]:
        """The channels that a device receives from."""
        return tuple(c for c in self.channels if name in c.receivers)

    def outputs(self, name: str) -> tuple[Channel, ...]:
        """The channels that a device sends into: each of its messages goes into all of them."""
        return tuple(c for c in self.channels if name in c.senders)

    def instances_of(self, names: tuple[str, ...]) -> list[tuple[str, int]]:
        """Every instance of some devices, in their order."""
        return [(name, number) for name in names for number in range(self.device(name).instances)]
