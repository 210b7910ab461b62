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


@pytest.fixture(autouse=True)
def guests_in_long_tests_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in tests/conftest.py: without a kernel for them none is tried."""
    if "long" not in request.keywords:
        monkeypatch.setenv("NODEWISE_GUEST_KERNEL", "/proc/none")
