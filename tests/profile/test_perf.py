# SPDX-License-Identifier: BSD-3-Clause
"""How programs and ranks are recorded."""

from pathlib import Path

import pytest

from nodewise.api.stored_profile import Kept, read_recordings
from nodewise.base.errors import InputError
from nodewise.profile.perf import Perf, Recording, bytes_copied, chain_words, read_chains, recorded_event, sample_bytes

ECHO = Perf("echo", "6.1", "cycles:u", True)


def test_where_threads_wait_each_switch_counts() -> None:
    words = Recording(ECHO, Path("p"), 199, "dwarf", True, 10**6).words(["app"])
    said = " ".join(words)
    assert "-e cycles/freq=199/u -c 1 -e sched:sched_switch" in said
    assert "--call-graph dwarf,8192" in said and "--max-size=1000000B" in said and said.endswith("-- app")


def test_how_much_of_a_stack_is_copied_can_be_said() -> None:
    assert [read_chains(t) for t in ("fp", "none", "dwarf", "dwarf,32768", "dwarf,65528", "dwarf,15")] == [
        *("fp", "none", "dwarf", "dwarf,32768", "dwarf,65528", "dwarf,8")
    ]
    # in units as elsewhere: of 1000, or with an i of 1024
    assert [read_chains(f"dwarf,{size}") for size in ("8K", "8kB", "8KiB", "32 KiB")] == [
        *("dwarf,8000", "dwarf,8000", "dwarf,8192", "dwarf,32768")
    ]
    assert [chain_words(t) for t in ("none", "fp", "dwarf,32768")] == [
        [],
        ["--call-graph", "fp"],
        ["--call-graph", "dwarf,32768"],
    ]
    assert (bytes_copied("dwarf"), bytes_copied("dwarf,16"), bytes_copied("fp"), bytes_copied("none")) == (
        8192,
        16,
        0,
        0,
    )
    assert sample_bytes("dwarf,65528") > sample_bytes("dwarf") > sample_bytes("fp") > sample_bytes("none")


@pytest.mark.parametrize(
    "text",
    [
        "lbr",
        "",
        "fp,8",
        "dwarf,",
        "dwarf,7",
        "dwarf,65536",
        "dwarf,64KiB",
        "dwarf,much",
        "dwarf,1GB",
        "dwarf,-8",
    ],
)
def test_other_chains_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"no such call chains|no size of a stack's copy"):
        read_chains(text)


def test_a_recording_without_samples_says_what_it_is_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no counters perf takes the clock, whatever it was asked for."""
    (perf := tmp_path / "perf").write_text("#!/bin/sh\n[ $1 = script ] || echo cpu-clock/freq=99/u\n")
    perf.chmod(0o755)
    (folder := tmp_path / "kept").mkdir()
    (folder / "perf.data").touch()
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    kept = Kept(("true",), "m", "t", 1.0, 0, "cycles", 99, "none", "asked for", False, "6", ())
    result = read_recordings(folder, kept).result
    assert (result.samples, result.event) == (0, "cpu-clock")
    assert recorded_event("/bin/false", folder / "perf.data") == ""
