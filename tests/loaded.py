# SPDX-License-Identifier: BSD-3-Clause
"""What a command loads, by one run of its own."""

from collections.abc import Collection, Mapping, Sequence

from nodewise.runner.loaded import Loaded, run_watched
from nodewise.runner.local import LocalLauncher
from nodewise.runner.setting import Setting


def libraries_of(
    command: Sequence[str], environment: Mapping[str, str] | None = None, marks: Collection[str] = ()
) -> Loaded:
    """What a command loads here, by one run of its own. Raises ProgramError where it cannot be started."""
    with LocalLauncher(inherited=environment) as launcher:
        return run_watched(launcher, Setting(command=tuple(command)), environment, marks)[1]
