# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of studies, which start their worker by the thousand."""

import os

import pytest

# nothing that a test measures is the user's own history
os.environ["NODEWISE_HISTORY"] = "off"


@pytest.fixture(autouse=True)
def threads_that_wait_asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that spin for each other while another test has their processor would take most of the time."""
    if "OMP_WAIT_POLICY" not in os.environ:
        monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
