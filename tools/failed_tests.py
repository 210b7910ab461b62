# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest for `./dev test`: writes the names of tests that failed to build/failed-tests, below where it was started, one a line.

Nothing is written where tests were left out after a failure: what was not run says nothing.
"""

from pathlib import Path

import pytest

FILE = Path("build/failed-tests")
_failed: dict[str, None] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Called in the process that was started, for each test's set-up, call and end wherever it ran."""
    if report.failed:
        _failed[report.nodeid] = None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Called at the end."""
    if not (session.shouldfail or session.shouldstop or hasattr(session.config, "workerinput")):
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text("".join(f"{name}\n" for name in _failed))
