# SPDX-License-Identifier: BSD-3-Clause
"""Full disks: from the beginning, or from some moment on; and outputs that take nothing."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import time
from pathlib import Path

from tests.attack.kills import WORK
from tests.attack.place import LEFT, LOST, WRONG, Finding, Place

_ROOMY = 32 << 20


def attack(dice: random.Random, place: Place) -> list[Finding]:
    """An experiment on a disk that is full, or becomes so; then going on once there is room."""
    here = place.fresh()
    if not place.mounts or dice.random() < 0.15:
        return _full_output(dice, place, here)
    size = dice.choice([4, 8, 16, 64, 256, 1024]) << 10
    with place.disk(size) as disk:
        return _on_disk(dice, place, disk, size)


def _full_output(dice: random.Random, place: Place, here: Path) -> list[Finding]:
    words = dice.choice(
        [
            ["run", "--out", "x", "-r", "2", "--", "true"],
            ["compare", "-r", "6", "true", "true"],
            ["machine"],
            ["place", "compact"],
            ["run", "--json", "--out", "x", "-r", "2", "--", "true"],
            ["where", "--", "true"],
        ]
    )
    ended = place.start(words, here, out=Path("/dev/full")).wait(60)
    found = ended.judged() + place.left_over()
    if ended.code == 0 and words[0] != "where":
        found.append(Finding(WRONG, f"nodewise {' '.join(words)} > /dev/full ended well"))
    return found


def _on_disk(dice: random.Random, place: Place, disk: Path, size: int) -> list[Finding]:
    work = disk.parent / "here/work"
    work.write_text(WORK)
    work.chmod(0o755)
    kinds = {
        "run": ["run", "--out", "x", "-r", "6", "--", str(work), "0.01"],
        "compare": ["compare", "--accept-disturbed", "-r", "6", "--out", "x", f"{work} 0.01", f"{work} 0.02"],
        "tune": [
            *("tune", "--accept-disturbed", "--max-runs", "24", "-P", "t=0.03,0.01", "--axes", ""),
            *("--out", "x", "--", str(work), "{t}"),
        ],
    }
    kind = dice.choice(list(kinds))
    free = dice.choice([0, 1, 100, 4096, 5000, 20_000, 1 << 30])
    later = dice.random() < 0.4
    if not later:
        _fill(disk / "other", free)
    running = place.start(kinds[kind], disk)
    if later:
        time.sleep(dice.random() * 0.8)
        _fill(disk / "other", free)
    ended = running.wait(60)
    found = ended.judged() + place.left_over()
    folder, samples = disk / "x", disk / "x/samples.jsonl"
    if folder.exists() and not (folder / "question.json").exists():
        found.append(Finding(LEFT, f"a folder without a question: {[p.name for p in folder.iterdir()]}"))
    parts = [p.name for p in folder.glob(".*")] if folder.exists() else []
    if parts:
        found.append(Finding(LEFT, f"parts of files: {parts}"))
    before = samples.read_bytes() if samples.exists() else b""
    if before and not before.endswith(b"\n"):
        found.append(Finding(LOST, "half a line of samples"))
    (disk / "other").unlink(missing_ok=True)
    subprocess.run(["mount", "-o", f"remount,size={_ROOMY}", str(disk)], check=False, capture_output=True)
    if not found and (folder / "question.json").exists() and before:
        again = place.start([kind, "--resume", "x"], disk).wait(90, (0, 1))
        found += again.judged() + place.left_over()
        if not samples.read_bytes().startswith(before):
            found.append(Finding(LOST, "going on has changed what was there"))
    when = "later " if later else ""
    return [Finding(f.kind, f"{kind} on a disk of {size} bytes, {when}{free} free: {f.what}") for f in found]


def _fill(path: Path, free: int) -> None:
    """Take all room but so many bytes."""
    room = os.statvfs(path.parent)
    try:
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, room.f_bavail * room.f_bsize - free))
    except OSError as problem:
        if problem.errno != errno.ENOSPC:
            raise
