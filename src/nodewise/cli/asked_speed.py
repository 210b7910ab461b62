# SPDX-License-Identifier: BSD-3-Clause
"""The options of tests of speed, and running them here or on the nodes that are asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.processors import parse_processors
from nodewise.cli.help import option
from nodewise.cli.kinds import PLACE, allow_option, refuse_ignored
from nodewise.cli.masked_terminal import redrawn

if TYPE_CHECKING:
    from nodewise.nodes.site import SpeedSite
    from nodewise.nodes.snapshot import Snapshot

_HOW = ("threads", "allow", "folder")
_ONLY_WITH_SPEED = (*_HOW, "meet")


@dataclass(frozen=True)
class AskedSpeed:
    """What the options say, and the site's file where they say nothing."""

    tests: tuple[str, ...]
    threads: int | None
    allow: str | None
    folder: str | None
    meet: str | None = None

    @property
    def seconds(self) -> float:
        """How long the tests may take: each begins with making its data."""
        from nodewise.api.speed import SECONDS_EACH

        return len(self.tests) * 3 * SECONDS_EACH

    @property
    def together(self) -> bool:
        """Whether all nodes have to be at it at the same time."""
        from nodewise.api.speed import PING

        return PING in self.tests

    def words(self, nodes: Sequence[str]) -> list[str]:
        """The options that ask a node for the same; `nodes` are all that are asked."""
        from nodewise.api.speed import PING, Meet

        given = {"--threads": self.threads, "--allow": self.allow, "--folder": self.folder}
        if PING in self.tests:
            if len(nodes) < 2:
                raise InputError("--speed ping: pairs of nodes are measured, and one is asked")
            given["--meet"] = Meet.new(nodes).text()
        return [f"--speed={','.join(self.tests)}", *(f"{k}={v}" for k, v in given.items() if v is not None)]

    def measured(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with the rates of the tests, which run on this node."""
        from nodewise.api.speed import Meet, with_speeds

        def show(test: str) -> None:
            if sys.stderr.isatty():
                print(f"\r\x1b[K{test} …", end="", file=redrawn(sys.stderr), flush=True)

        processors = parse_processors(self.allow) if self.allow is not None else None
        try:
            return with_speeds(
                snapshot,
                self.tests,
                self.threads,
                processors,
                Path(self.folder) if self.folder else None,
                Meet.read(self.meet) if self.meet is not None else None,
                show,
            )
        finally:
            if sys.stderr.isatty():
                print("\r\x1b[K", end="", file=redrawn(sys.stderr), flush=True)


def speed_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options, which `asked_speed` reads."""
    options = (
        option(
            "--speed",
            metavar="LIST",
            help="Measure dgemm, bandwidth, latency, disk, ping (pairs of nodes), or all: some 10 s each, on nodes that do nothing else.",
            group="Speed",
        ),
        option(
            "--threads", type=int, metavar="N", help="Threads of dgemm and bandwidth. [default: all]", group="Speed"
        ),
        allow_option,
        option(
            "--folder",
            type=PLACE,
            metavar="DIR",
            help="Where disk writes. [default: that of temporary files]",
            group="Speed",
        ),
    )
    for one in reversed(options):
        function = one(function)
    return function


def asked_speed(context: click.Context, values: Mapping[str, Any], site: SpeedSite | None = None) -> AskedSpeed | None:
    """What the options' values ask for; None where no test is named. Raises InputError for what cannot be, or would do nothing."""
    if values["speed"] is None:
        refuse_ignored(context, "no speed is measured: --speed", _ONLY_WITH_SPEED)
        return None
    given = {name: values[name] if values[name] is not None else getattr(site, name, None) for name in _HOW}
    if given["threads"] is not None and given["threads"] < 1:
        raise InputError(f"--threads: not a number of threads: {given['threads']}")
    if given["allow"] is not None:
        parse_processors(given["allow"])
    # studies bring half of nodewise, and a check without them is to be quick
    from nodewise.api.speed import PING, speed_tests

    tests, meet = speed_tests(values["speed"]), values.get("meet")
    if values["speed"] == "all" and meet is None and values["hosts"] is None and values["hostfile"] is None:
        # of one node there are no pairs
        tests = tuple(t for t in tests if t != PING)
    return AskedSpeed(tests, **given, meet=meet)
