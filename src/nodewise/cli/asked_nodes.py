# SPDX-License-Identifier: BSD-3-Clause
"""The options of commands that ask nodes, and asking them: which nodes, what reaches them, how long each may take."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.cli.asked_speed import AskedSpeed
from nodewise.cli.help import NODES, option
from nodewise.cli.kinds import PATH, TIME, refuse_ignored
from nodewise.cli.masked_terminal import redrawn

_CLEAR = "\r\x1b[K"
#: How nodes are asked, which does nothing where none are.
_HOW = ("through", "timeout", "fanout", "remote")


@dataclass(frozen=True)
class AskedNodes:
    """What the options say."""

    hosts: str | None
    hostfile: Path | None
    through: str | None
    timeout: float
    fanout: int
    remote: str | None

    def collect(
        self, more: Sequence[str], tell: Callable[[str, str, str], None], speed: AskedSpeed | None = None
    ) -> int:
        """Ask each node for a snapshot, with further words of that command and tests of speed; see `nodes.asking.collect.collect`.

        How far it has come is shown on a terminal, and who gave no answer is told; how many those are. Raises InputError,
        UnavailableError.
        """
        from nodewise.base.escaping import visible
        from nodewise.nodes.asking.collect import collect
        from nodewise.nodes.asking.starters import nodes_asked, remote_words, starter_of

        if self.fanout < 1:
            raise InputError(f"--fanout: not a number of nodes: {self.fanout}")
        nodes = nodes_asked(self.hosts, self.hostfile, os.environ)
        starter = starter_of(self.through, os.environ)
        words = [*remote_words(self.remote, (sys.executable, "-m", "nodewise")), "snapshot", "--framed", *more]
        seconds, fanout = self.timeout, self.fanout
        if speed:
            words += speed.words(nodes)
            seconds += speed.seconds
            # partners wait for each other
            fanout = max(fanout, len(nodes)) if speed.together else fanout
        lively = sys.stderr.isatty()
        silent: list[str] = []
        done = 0

        def heard(node: str, line: str, reason: str) -> None:
            nonlocal done
            done += 1
            tell(node, line, reason)
            if reason:
                silent.append(node)
                print(f"{_CLEAR if lively else ''}{node}: {visible(reason)}", file=redrawn(sys.stderr))
            if lively:
                print(
                    f"{_CLEAR}{done} of {len(nodes)} nodes, by {starter.kind}",
                    end="",
                    file=redrawn(sys.stderr),
                    flush=True,
                )

        try:
            collect(starter, nodes, words, seconds, fanout, heard, os.environ)
        finally:
            if lively:
                print(_CLEAR, end="", file=redrawn(sys.stderr), flush=True)
        return len(silent)


def asked_nodes(context: click.Context, values: Mapping[str, Any]) -> AskedNodes | None:
    """What the options' values ask for; None where no nodes are named, and then raises InputError for what would do nothing."""
    if values["hosts"] is None and values["hostfile"] is None:
        refuse_ignored(context, "no nodes are named: --hosts or --hostfile", _HOW)
        return None
    return AskedNodes(**{name: values[name] for name in ("hosts", "hostfile", *_HOW)})


def nodes_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options, which `asked_nodes` reads."""
    options = (
        option(
            "--hosts",
            metavar="A,B",
            help="Ask these nodes: n[1-4],login1; @job are those of this job, @NAME a group of ClusterShell.",
            group=NODES,
        ),
        option("--hostfile", type=PATH, metavar="FILE", help="Ask the nodes in FILE, one a line.", group=NODES),
        option(
            "--through",
            metavar="COMMAND",
            help="What reaches nodes: clush, srun, mpirun or ssh, with its options. [default: srun inside a job of Slurm, else clush or ssh]",
            group=NODES,
        ),
        option(
            "--timeout",
            type=TIME,
            metavar="TIME",
            default="30s",
            show_default=True,
            help="How long each node may take.",
            group=NODES,
        ),
        option(
            "--fanout",
            type=int,
            metavar="N",
            default=32,
            show_default=True,
            help="How many nodes are asked at once.",
            group=NODES,
        ),
        option(
            "--remote",
            metavar="COMMAND",
            help="How nodewise is started on a node. [default: as here, from a folder that all see]",
            group=NODES,
        ),
    )
    for one in reversed(options):
        function = one(function)
    return function
