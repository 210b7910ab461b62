# SPDX-License-Identifier: BSD-3-Clause
"""The options of exports, one for each exporter that is registered, and writing what they ask for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodewise.base.errors import InputError
from nodewise.cli.experiments import STDOUT, check_target
from nodewise.cli.help import OUTPUT, Command, GroupedOption
from nodewise.cli.kinds import TARGET

if TYPE_CHECKING:
    from nodewise.verdicts.stored import Stored
    from nodewise.verdicts.suite import SuiteVerdict


#: In place of a kind of experiment: exports of a suite's rows.
SUITE = "suite"
#: Where the options of exporters are kept for the time of one call.
_OPTIONS = "nodewise.exports.options"


class Exporting(Command):
    """A command that has `--export-NAME FILE` of each exporter of the kind of experiment `exports_of`, None being all exporters.

    They stand before the parameter `exports_before`. Exporters are asked for where the options are needed, not where the command is listed.
    """

    exports_of: str | None = None
    exports_before = "as_json"

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """All options."""
        own = super().get_params(ctx)
        if _OPTIONS not in ctx.meta:
            ctx.meta[_OPTIONS] = _export_options(self.exports_of)
        at = next(i for i, parameter in enumerate(own) if parameter.name == self.exports_before)
        return [*own[:at], *ctx.meta[_OPTIONS], *own[at:]]


def _export_options(kind: str | None) -> list[click.Option]:
    from nodewise.report.exports.registry import exporters, suite_exporters

    return [
        GroupedOption(
            [f"--export-{exporter.name}", export_parameter(exporter.name)],
            type=TARGET,
            metavar="FILE",
            help=f"{exporter.help.rstrip('.')}; - prints it.",
            group=OUTPUT,
        )
        for exporter in (suite_exporters() if kind == SUITE else exporters(kind)).values()
    ]


def export_parameter(name: str) -> str:
    """The parameter of an exporter's option."""
    return f"export_{name.replace('-', '_')}"


def asked_exports(parameters: Mapping[str, Any], as_json: bool) -> dict[str, Path]:
    """The files that the options name, by exporter. Raises InputError where one cannot be written, or two go to standard output."""
    from nodewise.report.exports.registry import exporters

    targets = {name: at for name in exporters() if (at := parameters.get(export_parameter(name))) is not None}
    for name, target in targets.items():
        check_target(target, f"--export-{name}")
    if [*targets.values(), *([STDOUT] if as_json else [])].count(STDOUT) > 1:
        raise InputError("only one thing can go to standard output", "give the other exports a file")
    return targets


def write_export(name: str, stored: Stored[Any], target: Path) -> None:
    """Write one. Raises InputError where the format is not for such an experiment, StoreError where it cannot be written."""
    _write(stored_text(name, stored), target)


def stored_text(name: str, stored: Stored[Any]) -> str:
    """An experiment in the format of an exporter. Raises InputError where that is not for such an experiment."""
    from nodewise.report.exports.registry import export_text

    return export_text(name, stored)


def write_stopped(targets: Mapping[str, Path], commands: Mapping[str, str], why: str) -> None:
    """Write what exporters have for commands, by name and text, of which one did not run: a continuous integration reads no exit code.

    What cannot be made or written is left out: why nothing was compared is the answer.
    """
    from nodewise.report.exports.registry import exporters

    for name, target in targets.items():
        if (make := exporters()[name].stopped) is not None:
            with suppress(Exception):
                _write(make(commands, why), target)


def write_suite_export(name: str, verdict: SuiteVerdict, target: Path) -> None:
    """Write a suite's rows. Raises StoreError where they cannot be written."""
    _write(suite_text(name, verdict), target)


def suite_text(name: str, verdict: SuiteVerdict) -> str:
    """A suite's rows in the format of an exporter that has them."""
    from nodewise.report.exports.registry import suite_exporters

    make = suite_exporters()[name].suite
    assert make is not None, "only those are offered"
    return make(verdict)


def _write(text: str, target: Path) -> None:
    from nodewise.base.files import write_whole

    if target == STDOUT:
        sys.stdout.write(text)
    else:
        write_whole(target, text)
