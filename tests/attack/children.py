# SPDX-License-Identifier: BSD-3-Clause
"""Programs that do what no one expects: daemons, deaf ones, stopped ones, floods, lines of the protocol of every wrong kind."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from tests.attack.place import WRONG, Finding, Place

#: Each does one thing; several are put together.
DEEDS = (
    "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(60)\n    os._exit(0)",
    "if os.fork() == 0: time.sleep(60)",
    "if os.fork() == 0:\n    os.setpgid(0, 0)\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(60)",
    "os.setsid() if os.getpid() != os.getpgid(0) else None",
    "[signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 13, 15)]",
    "os.kill(os.getppid(), signal.SIGSTOP)",
    "os.kill(os.getppid(), signal.SIGTERM)",
    "os.kill(os.getppid(), signal.SIGINT)",
    "os.kill(os.getpid(), signal.SIGSTOP)",
    "os.kill(0, signal.SIGTERM)",
    "os.closerange(0, 100)",
    "os.close(1)",
    "os.close(2)",
    "sys.stdin.read()",
    "os.write(1, b'x' * 5_000_000)",
    "[os.write(2, os.urandom(100_000)) for _ in range(20)]",
    "while True: os.write(1, b'y\\n' * 50_000)",
    "while True: time.sleep(1)",
    "os.abort()",
    "ctypes.string_at(0)",
    "os.chdir('/'); os.rmdir(cwd) if not os.listdir(cwd) else None",
    "os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})",
    "open('/proc/self/comm', 'w').write('a) R 1 (')",
    "open('/proc/self/comm', 'wb').write(b'\\xff\\n\\x1b[2J')",
    "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    "os.nice(19)",
    "[os.fork() or time.sleep(0.2) or os._exit(0) for _ in range(30)]",
    "os.dup2(os.open('/dev/full', os.O_WRONLY), 1)",
    "os.execv('/bin/sh', ['sh', '-c', 'exec sleep 60 &'])",
)
#: What may be in a line of the protocol.
_PARTS = (
    *('"seconds": 1', '"seconds": 0', '"seconds": -1', '"seconds": 1e-308', '"seconds": 1e308', '"seconds": NaN'),
    *('"seconds": "1"', '"seconds": null', '"seconds": [1]', '"seconds": 1' + "0" * 400, '"seconds": true'),
    *('"items": "3e8"', '"items": 1e99', '"items": 0', '"items": -5', '"items": {}', '"flops": "x"', '"bytes": true'),
    *('"verified": true', '"verified": false', '"verified": "yes"', '"verified": null', '"verified": 1'),
    *('"": 1', '"a\\ud800": 1', '"\\u0000": 1', '"é": 1', '"wall_s": 3', '"cost": 1', '"x": ' + "[" * 2000),
    *('"' + "n" * 5000 + '": 1', '"nodewise": 2', '"x": Infinity', '"x": 1.0000000000000000000000001', '"x": 1e-400'),
    '"many": 1, ' + ", ".join(f'"m{i}": {i}' for i in range(600)),
)
_HEADS = ('{"nodewise": 1', '{"nodewise": 1', '{"nodewise": 1', '{"nodewise":1', '{"nodewise": 2', '{"nodewise": "1"')
_BEFORE = ("", "", "", "", " ", "x", "\r", "\x00", "\ufeff", "[", "rank 0: ")
_AFTER = ("}\n", "}\n", "}\n", "}", "\n", "}}\n", ', "a"\n', "}\r\n", "}\x00\n", "}" + " " * 20_000 + "\n")
_CODES = (0, 0, 0, 0, 1, 2, 3, 126, 127, 255)


def program(dice: random.Random) -> str:
    """A program in Python that does some of this, in words of its own."""
    lines = ["import ctypes, os, resource, signal, sys, time", "cwd = os.getcwd()"]
    deeds = [dice.choice(DEEDS).replace("\n", "\n    ") for _ in range(dice.choice([0, 1, 1, 2, 3]))]
    lines += [f"try:\n    {deed}\nexcept OSError: pass" for deed in deeds]
    for _ in range(dice.choice([0, 0, 1, 2, 5])):
        parts = ", ".join(["", *dice.sample(_PARTS, dice.choice([0, 1, 2, 3]))])
        text = f"{dice.choice(_BEFORE)}{dice.choice(_HEADS)}{parts}{dice.choice(_AFTER)}"
        data = text.encode("utf-8", "surrogatepass")
        size = max(1, -(-len(data) // dice.choice([1, 1, 1, 2, 7])))
        stream = dice.choice([1, 1, 1, 2])
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        lines += [f"try: os.write({stream}, {piece!r})\nexcept OSError: pass" for piece in pieces]
    lines.append(
        f"os.kill(os.getpid(), {dice.randint(1, 64)})" if dice.random() < 0.15 else f"os._exit({dice.choice(_CODES)})"
    )
    return "\n".join(lines) + "\n"


def attack(dice: random.Random, place: Place) -> list[Finding]:
    """One such program run, compared or watched, with a limit of time."""
    here = place.fresh()
    (here / "p.py").write_text(program(dice))
    (here / "in").write_bytes(dice.choice([b"", b"x" * 100_000, b"\xff\x00"]))
    command = [sys.executable, str(here / "p.py")]
    limit = ["--timeout", dice.choice(["0.4s", "1s"])]
    more = dice.choice([[], [], ["--input", "in"], ["--expect", "x+$"], ["--metric", r"seconds=([\d.]+)"]])
    words = dice.choice(
        [
            ["run", "-r", "1", "-w", "0", *limit, *more, "--out", "x", "--", *command],
            ["run", "-r", "1", "-w", "0", *limit, "--json", "--out", "x", "--", *command],
            ["compare", "-r", "6", "--budget", "3s", *limit, "--out", "x", " ".join(command), "true"],
            ["tune", "--max-runs", "4", "--budget", "3s", *limit, "--axes", "", "-P", "t=1,2", "--out", "x", "--", *command, "{t}"],
        ]
    )  # fmt: skip
    ended = place.start(words, here).wait(60)
    found = ended.judged() + place.left_over()
    if ended.code == 0 and "--json" in words:
        try:
            json.loads(ended.out)
        except ValueError as problem:
            found.append(Finding(WRONG, f"what it prints is no JSON: {problem}"))
    report = here / "x/question.json"
    if report.exists() and dice.random() < 0.3:
        found += place.start(["report", "--csv", "t.csv", "x"], here).wait(60).judged()
    source = (here / "p.py").read_text() if Path(here / "p.py").exists() else ""
    return [Finding(f.kind, f"{f.what}\n--- its program:\n{source[:3000]}") for f in found]
