# SPDX-License-Identifier: BSD-3-Clause
"""The launcher of jobs: what mpirun, mpiexec, srun or aprun starts, rank by rank, and all that is started without one."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.base.native import native_path
from nodewise.placement.registry import rank_variables
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.runner.mpi import Checked
from nodewise.runner.over_nodes import names_others
from nodewise.runner.protocol import Reported
from nodewise.runner.ranks import RankPart, Seen, combine, read_seen, still_running, why_failed
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.runner.standstill import stands_still, wait_for_start

#: Left to itself srun waits for the other ranks of one that has died, which may wait for it (srun(1), --kill-on-bad-exit).
_ENDED_TOGETHER = {"SLURM_KILL_BAD_EXIT": "1"}


class JobLauncher(LocalLauncher):
    """Implements `runner.launcher.Launcher`: a setting without ranks is run as `LocalLauncher` does.

    Each rank is started through nodewise-rank, which reports it (`Sample.ranks`); what its launcher bound it to stays.
    """

    def __init__(
        self, options: RunOptions | None = None, inherited: Mapping[str, str] | None = None, root: Path | None = None
    ):
        super().__init__(options, inherited, root)
        self._job: Setting | None = None
        self._checked = Checked()
        self._folder = Path()
        self._seen: list[Seen] = []
        self._parts: list[RankPart] = []

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """See `Launcher.run`, and `LocalLauncher.run` for what it raises.

        Raises InputError where its launcher and its program do not belong together, before the first run of the two, and ProgramError where
        a launcher starts nothing any more. What has not begun in its time, as a node was gone for a moment, is run once more.
        """
        if not setting.ranks:
            self._job = None
            return super().run(setting, timeout_s=timeout_s)
        environment = setting.environment(self._inherited)
        self._checked.check(setting.command, setting.program_at, setting.ranks, environment, self._options.cwd)
        sample = self._once(setting, environment, timeout_s)
        if setting.launcher == "slurm" and stands_still(sample, self._seen, setting.ranks):
            head = setting.command[: setting.program_at]
            if wait_for_start(head, setting.ranks, environment, self._options.cwd):
                sample = self._once(setting, environment, timeout_s)
        return sample

    def _once(self, setting: Setting, environment: Mapping[str, str], timeout_s: float | None) -> Sample:
        with tempfile.TemporaryDirectory(prefix="nodewise-ranks-", dir=self._shared(setting)) as folder:
            self._job, self._folder = setting, Path(folder)
            wrapper = (str(native_path("nodewise-rank")), folder, ",".join(rank_variables()))
            at = setting.program_at
            words = (*setting.command[:at], *wrapper, *setting.command[at:])
            env = {**{k: v for k, v in _ENDED_TOGETHER.items() if k not in environment}, **setting.env}
            return super().run(replace(setting, command=words, env=env), timeout_s=timeout_s)

    def _shared(self, setting: Setting) -> Path | None:
        """A directory that all of a job's nodes see; None where there is this node alone, and any does."""
        environment = setting.environment(self._inherited)
        # who is in a job's shell need not be on a node of it
        away = "SLURM_JOB_ID" in environment and "SLURMD_NODENAME" not in environment
        alone = setting.ranks_per_node in (0, setting.ranks) and environment.get("SLURM_JOB_NUM_NODES", "1") == "1"
        alone = alone and not away and not names_others(setting.command[: setting.program_at], self._options.cwd)
        elsewhere = setting.launcher == "aprun" or (setting.launcher == "slurm" and "SLURM_JOB_ID" not in environment)
        return None if alone and not elsewhere else Path(self._options.cwd or ".").absolute()

    def _reported(self, reply: dict[str, Any]) -> Reported:
        if self._job is None:
            return super()._reported(reply)
        self._seen = read_seen(self._folder)
        self._parts, reported = combine(self._seen, self._options.metrics, self._options.over_ranks)
        return reported

    def _sample(self, setting: Setting, reply: dict[str, Any]) -> Sample:
        sample = super()._sample(setting, reply)
        if self._job is None:
            return sample
        ranks = self._job.ranks
        error = sample.error
        if error is not None:
            why = (still_running if sample.cut_off else why_failed)(self._seen, ranks)
            error = f"{error}: {why}" if why else error
        elif len(self._parts) != ranks:
            error = f"{len(self._parts)} of {ranks} ranks ran to their end: {still_running(self._seen, ranks)}"
        return replace(sample, error=error, ranks=tuple(self._parts), usage=self._usage(sample))

    def _usage(self, sample: Sample) -> dict[str, float]:
        """Processor time and memory of the ranks, too, where these are no children of their launcher."""
        usage = dict(sample.usage)
        lines = [s.line for s in self._seen]
        usage["user_s"] = max(usage.get("user_s", 0.0), sum(line.get("user_s", 0.0) for line in lines))
        usage["system_s"] = max(usage.get("system_s", 0.0), sum(line.get("system_s", 0.0) for line in lines))
        usage["peak_bytes"] = max([usage.get("peak_bytes", 0), *(line.get("peak_bytes", 0) for line in lines)])
        return usage
