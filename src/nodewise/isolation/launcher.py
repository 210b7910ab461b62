# SPDX-License-Identifier: BSD-3-Clause
"""The launcher that all questions use: what a setting isolates it starts so, all else as `JobLauncher` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError, ProgramError
from nodewise.isolation.kind import Kind, Way
from nodewise.isolation.once import around
from nodewise.isolation.prepare import Prepared, isolation_kind, request_of, start_of
from nodewise.isolation.probe import working_way
from nodewise.runner.find_program import find_program
from nodewise.runner.isolation import STARTUP, TEARDOWN
from nodewise.runner.job import JobLauncher
from nodewise.runner.launcher import RunOptions
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting

#: The mark of a run whose times mean nothing.
EMULATED = "emulated"
#: The mark of a run whose program's pages were copied, although its root is mapped.
UNMAPPED = "unmapped"
_SAID = 400
_COUNTED = (
    *("minor_faults", "major_faults", "context_switches", "involuntary_switches", "migrations"),
    *("cycles", "instructions"),
)


class IsolatedLauncher(JobLauncher):
    """Implements `runner.launcher.Launcher`. The time of an isolated program is taken inside, next to the program."""

    def __init__(
        self, options: RunOptions | None = None, inherited: Mapping[str, str] | None = None, root: Path | None = None
    ):
        super().__init__(options, inherited, root)
        self._ways: dict[tuple[str, str], tuple[Kind, Way]] = {}
        self._isolated: tuple[Setting, Prepared, Way] | None = None

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """See `Launcher.run`. Raises UnavailableError where its kind of isolation does not work here."""
        if setting.isolation is None:
            return super().run(setting, timeout_s=timeout_s)
        if setting.ranks:
            raise InputError(
                "ranks are started by their launcher, outside of a container",
                "isolate each rank instead: mpirun -n 4 nodewise place --isolation bwrap -- ./app",
            )
        environment = setting.environment(self._inherited)
        kind, way = self._way(setting)
        request = request_of(
            setting.isolation,
            kind,
            way.name,
            program=self._program(setting, environment),
            cwd=Path(self._options.cwd or ".").resolve(),
            processors=setting.mask,
            environment=environment,
        )
        prepared = Prepared(start_of(kind, request), request)
        self._isolated = (setting, prepared, way)
        try:
            words = (*prepared.words, *setting.command)
            return super().run(replace(setting, command=words, isolation=None), timeout_s=timeout_s)
        finally:
            self._isolated = None
            prepared.close()

    def _program(self, setting: Setting, environment: Mapping[str, str]) -> str:
        """The program's file here; empty where only the image of its root may have it. Raises ProgramError."""
        assert setting.isolation is not None
        try:
            found = find_program(setting.command, environment, self._options.cwd)
        except ProgramError:
            if not setting.isolation.root:
                raise
            return ""
        return str(Path(self._options.cwd or ".", found))

    def _way(self, setting: Setting) -> tuple[Kind, Way]:
        isolation = setting.isolation
        assert isolation is not None
        key = (isolation.kind, isolation.way)
        if key not in self._ways:
            kind = isolation_kind(isolation)
            self._ways[key] = (kind, working_way(kind, isolation.way))
        return self._ways[key]

    def _sample(self, setting: Setting, reply: dict[str, Any]) -> Sample:
        sample = super()._sample(setting, reply)
        if self._isolated is None:
            return sample
        asked, prepared, way = self._isolated
        report = prepared.report()
        if "failed" in report:
            raise ProgramError(f"{asked.command[0]} cannot be executed inside: {report['failed']}")
        if way.emulated:
            why = "the processor is emulated, and times mean nothing"
            sample = replace(sample, marks=(*sample.marks, f"{EMULATED}: {why}"))
        if report.get("mapped") is False:
            why = f"the kernel maps the image, but not the file of {asked.command[0]} in it, which it packs with others or compresses"
            sample = replace(sample, marks=(*sample.marks, f"{UNMAPPED}: {why}"))
        if "begin" not in report and not sample.cut_off:
            said = " ".join((reply["err"]["text"] or reply["out"]["text"]).split())[-_SAID:]
            assert asked.isolation is not None
            return replace(sample, error=f"{asked.isolation.kind} did not start it: {said or 'it said nothing'}")
        if "wall_s" not in report:
            return sample
        return _timed_inside(sample, report)


def _timed_inside(sample: Sample, report: Mapping[str, Any]) -> Sample:
    """The sample with what was seen inside, and what lies before and after that as metrics."""
    startup, teardown = around(report)
    metrics = {**sample.metrics, STARTUP: startup, **({TEARDOWN: teardown} if teardown is not None else {})}
    # faults, switches and cycles are counted from outside, those of the runtime among them
    usage = {name: value for name, value in sample.usage.items() if name not in _COUNTED}
    usage |= {name: report[name] for name in ("user_s", "system_s", "peak_bytes")}
    seconds = report["wall_s"] if sample.source == "wall" else sample.seconds
    return replace(sample, seconds=seconds, metrics=metrics, usage=usage)
