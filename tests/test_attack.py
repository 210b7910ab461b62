# SPDX-License-Identifier: BSD-3-Clause
"""A slice of the campaign of tools/attack.py, and that it sees what it is there to see."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack import children, damages, inputs
from tests.attack.place import DEFECT, LONG, WRONG, Ended

TOOL = Path(__file__).parent.parent / "tools/attack.py"
#: What is left by a nodewise that leaves everything: run by itself, since it adopts orphans and has mounts of its own.
LEAVING = """
import os, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.attack import place as tried
tried._PATIENCE_S = 0.3
place = tried.Place(Path(sys.argv[2]))
here = place.fresh()
print(len(place.left_over()))
subprocess.Popen(["sh", "-c", "sleep 60 & true"]).wait()
(here.parent / "tmp/part").touch()
if place.mounts:
    Path("/dev/shm/left").touch()
found = place.left_over()
print(*sorted(f.what.partition(":")[0] for f in found), sep=", ")
print(len(place.left_over()))
running = place.start(["run", "--", "sleep", "60"], here)
time.sleep(1)
print(running.wait(0.1).judged()[0].kind)
"""


@pytest.mark.parametrize(
    ("kinds", "cases"),
    [
        *(("inputs", 12), ("kills,signals,disks", 1)),
        *(
            pytest.param(k, n, marks=pytest.mark.long)
            for k, n in [("inputs", 400), ("stores,children,kills,signals,disks", 8)]
        ),
    ],
)
def test_a_slice_of_the_campaign_finds_nothing(kinds: str, cases: int) -> None:
    command = [sys.executable, str(TOOL), "--seed", "1", "--only", kinds, "--cases", str(cases), "--workers", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1].endswith("0 exit 70, 0 left-overs, 0 lost samples")


def test_what_is_left_is_found(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LEAVING, str(TOOL.parent.parent), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    said = done.stdout.splitlines()
    assert said[0] == "0" and said[1].startswith("processes") and "temporary files" in said[1], done.stderr
    # the files are still there, the process was ended
    assert said[3] == LONG


def test_how_it_ended_is_judged() -> None:
    kinds = [
        [f.kind for f in Ended(("run",), code, "", error).judged()]
        for code, error in [
            *((0, ""), (2, "error: no such file"), (70, "error: a defect in nodewise: KeyError: 1"), (71, "")),
            *((0, 'Traceback:\n  File "/x/nodewise/cli/main.py", line 1'), (-signal.SIGSEGV, ""), (None, "")),
        ]
    ]
    assert kinds == [[], [], [DEFECT], [DEFECT], [DEFECT], [WRONG], [LONG]]


def test_a_seed_makes_the_same_again() -> None:
    words = [inputs.made_up(random.Random("1 inputs 5")) for _ in range(2)]
    assert words[0] == words[1]
    assert children.program(random.Random("1")) == children.program(random.Random("1"))
    compile(children.program(random.Random("2")), "p.py", "exec")


def test_a_store_is_damaged_again_whatever_was_done_to_it(tmp_path: Path) -> None:
    """A line of a hundred thousand brackets is none that the second damage can read."""
    done = []
    for seed in range(40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        (folder / "samples.jsonl").write_bytes(b"[" * 100_000 + b"\n")
        done.append(damages.damage(random.Random(seed), folder))
    assert any("has no fields any more" in one for one in done)


def test_a_finding_comes_with_the_line_that_makes_it_again(tmp_path: Path) -> None:
    """Without a runner no program can be run, which is none of the ends that an attack may have."""
    environment = {**os.environ, "NODEWISE_NATIVE": str(tmp_path)}
    command = [sys.executable, str(TOOL), "--seed", "3", "--only", "children", "--number", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=100)
    assert done.returncode == 1 and "nodewise-runner is missing" in done.stdout, done.stdout + done.stderr
    assert "./dev attack --seed 3 --only children --number 4" in done.stdout
    assert "1 faults, 0 inputs: 0 exit 70, 0 left-overs, 0 lost samples, 1 wrong answer" in done.stdout
