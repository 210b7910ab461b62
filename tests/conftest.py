# SPDX-License-Identifier: BSD-3-Clause
"""Property tests try the same examples each time, so that a change decides what they say; NODEWISE_EXPLORE=1 tries new ones.

Ctrl-C is tested, so programs are started with its signal as a terminal leaves it, also where a job in the background has it
ignored.
"""

import contextlib
import gc
import itertools
import os
import signal
import sys
from pathlib import Path

import pytest

# what is made while tests are collected stays to the end: to go through all of it again and again would be a twentieth of the time
gc.disable()

signal.signal(signal.SIGINT, signal.default_int_handler)
# nothing that a test measures, or a command that it starts, is the user's own history
os.environ["NODEWISE_HISTORY"] = "off"

# the guest of tools/guest.py has no hypothesis, and no property tests
with contextlib.suppress(ImportError):
    from hypothesis import settings

    from tests import examples

    def pytest_configure(config: pytest.Config) -> None:
        """Properties are tried with fewer examples where the long tests are left out."""
        examples.whole |= config.getoption("markexpr") != "not long"
        # a busy machine is no reason to fail
        settings.register_profile("exploring", deadline=None)
        settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=examples.examples(100))
        settings.load_profile("exploring" if os.environ.get("NODEWISE_EXPLORE") else "repeatable")


def pytest_collection_finish() -> None:
    """From here on garbage is collected, among what tests make."""
    gc.freeze()
    gc.enable()


_NUMBER = itertools.count()


@pytest.fixture(autouse=True)
def _alone(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test's experiments have no neighbours but each other, and no limits but its own: nothing of this machine is in an answer."""
    if "long" not in request.keywords:
        # an emulated guest that does not boot among other tests is tried anew by each, for twenty seconds of a processor
        monkeypatch.setenv("NODEWISE_GUEST_KERNEL", "/proc/none")
    # not by mktemp, which lists all that the tests before have made
    own = tmp_path_factory.getbasetemp() / "alone" / str(next(_NUMBER))
    if "nodewise.records.neighbours" in sys.modules:
        monkeypatch.setattr(sys.modules["nodewise.records.neighbours"], "shared_folder", lambda: _made(own / "running"))
    # other tests disturb every run, and to look at them for a second in each experiment decides nothing
    if "nodewise.runner.rests" in sys.modules:
        for share in ("_FIRST_S", "_SHARE"):
            monkeypatch.setattr(sys.modules["nodewise.runner.rests"], share, 0.0)
    if "nodewise.machine.sources" in sys.modules:
        from tests.known_hardware import remember

        remember()
    if "nodewise.records.kept_limits" in sys.modules:
        monkeypatch.setattr(sys.modules["nodewise.records.kept_limits"], "cache_folder", lambda: _made(own / "kept"))


def _made(folder: Path) -> Path:
    """A folder by the time it is asked for: most tests never do."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder
