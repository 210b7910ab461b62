# SPDX-License-Identifier: BSD-3-Clause
"""Exporter: an experiment in the format of another tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nodewise.base.frozen import dataclass

if TYPE_CHECKING:
    from nodewise.verdicts.stored import Stored
    from nodewise.verdicts.suite import SuiteVerdict


@dataclass(frozen=True)
class Exporter:
    """One format: `--export-NAME FILE` writes it, with `help` as that option's text.

    `export` makes the text of the file of a stored experiment; `kinds` are the kinds of experiments (`records.kinds`) that it takes.
    `suite` makes that of a suite's rows, and `stopped` that of commands, by name and text, of which one did not run, and why, where
    the format has something for them.
    """

    name: str
    help: str
    export: Callable[[Stored[Any]], str]
    kinds: tuple[str, ...] = ("compare", "run", "confirm")
    suite: Callable[[SuiteVerdict], str] | None = None
    stopped: Callable[[Mapping[str, str], str], str] | None = None
