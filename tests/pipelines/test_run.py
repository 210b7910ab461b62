# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines of real processes: all arrives, once and as it was; where it backs up is named; nothing is left behind."""

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nodewise_transport", reason="messages are those of nodewise-transport")

from nodewise.api.pipeline import carry_out, prepare_pipeline
from nodewise.pipelines.result import Ended, PipelineResult
from tests.pipelines.files import WHOLE, simple, written
from tests.started import Begun


def _run(folder: Path, text: str, duration: float | None = None) -> PipelineResult:
    return carry_out(prepare_pipeline(written(folder, text)), duration)


def _sequences(content: bytes, size: int) -> list[int]:
    return [int.from_bytes(content[i : i + 8], "little") for i in range(0, len(content), size)]


def test_all_arrives_once_in_order_and_as_it_was(tmp_path: Path) -> None:
    found = _run(tmp_path, WHOLE)
    assert found.ended is Ended.WHOLE and found.problem == ""
    by_name = {d.name: d for d in found.devices}
    assert {d.state for d in found.devices} == {"done"}
    assert by_name["verify"].verified == by_name["out"].in_messages == 21
    pack = by_name["pack"]
    assert [one.state for one in pack.instances] == ["done", "done"]
    assert min(one.in_messages for one in pack.instances) >= 1
    content = gzip.decompress((tmp_path / "out.gz").read_bytes())
    assert len(content) == 21 * 200_000
    assert _sequences(content, 200_000) == list(range(21))
    assert [c.messages for c in found.channels] == [21] * 5


@pytest.mark.parametrize("transport", ["ipc", "tcp"])
def test_other_transports_carry_the_same(tmp_path: Path, transport: str) -> None:
    found = _run(tmp_path, f"[pipeline]\ntransport = '{transport}'\n{WHOLE}")
    assert found.ended is Ended.WHOLE, found.problem
    assert len(gzip.decompress((tmp_path / "out.gz").read_bytes())) == 21 * 200_000


def test_each_channel_gets_every_message_and_its_instances_share_them(tmp_path: Path) -> None:
    text = (
        "[device.source]\nkind = 'generator'\nsize = 100\ncount = 100\ninstances = 3\n"
        "[device.kept]\nkind = 'file'\npath = 'kept.{instance}'\ninstances = 2\n[device.counted]\nkind = 'discard'\n"
        "[channel.a]\nfrom = 'source'\nto = 'kept'\n[channel.b]\nfrom = 'source'\nto = 'counted'\n"
    )
    found = _run(tmp_path, text)
    source, kept, counted = found.devices
    assert source.out_messages == kept.in_messages == counted.in_messages == 100
    parts = [_sequences((tmp_path / f"kept.{i}").read_bytes(), 100) for i in range(2)]
    assert len({*parts[0], *parts[1]}) == 100 and min(map(len, parts)) > 0
    assert [one.out_messages for one in source.instances] == [34, 33, 33]


def test_messages_larger_than_the_room_of_a_channel_arrive(tmp_path: Path) -> None:
    found = _run(
        tmp_path,
        simple("kind = 'generator'\nsize = '3MB'\ncount = 4", "kind = 'checksum'\ninstances = 2", more="room = '1MB'"),
    )
    assert found.ended is Ended.WHOLE and found.devices[1].in_bytes == 12_000_000


def test_where_it_backs_up_is_named(tmp_path: Path) -> None:
    (tmp_path / "slow_part.py").write_text("import time\ndef nap(content):\n    time.sleep(0.01)\n    return content\n")
    found = _run(
        tmp_path,
        simple(
            "kind = 'generator'\nsize = '10KB'\ncount = 60",
            "kind = 'python'\ncall = 'slow_part:nap'",
            more="messages = 4",
        ),
    )
    assert found.backs_up is not None and found.backs_up.device == "middle" and found.backs_up.channel == "raw"
    assert found.sentence.startswith("backs up before middle: it is busy ")
    raw, made = found.channels
    assert raw.full_most > 0.7 and raw.waited > 0.5 and made.waited < 0.2
    assert found.devices[0].wait_out > 0.5


def test_where_nothing_backs_up_the_source_sets_the_pace(tmp_path: Path) -> None:
    found = _run(tmp_path, simple("kind = 'generator'\nsize = 100\ncount = 30\nrate = 100"))
    assert found.backs_up is None and found.sentence == "nothing backs up: source sets the pace"
    assert found.seconds > 0.28


def test_where_channels_hold_all_that_there_is_the_slowest_is_named(tmp_path: Path) -> None:
    (tmp_path / "slow_part.py").write_text("import time\ndef nap(content):\n    time.sleep(0.02)\n    return content\n")
    text = simple("kind = 'generator'\nsize = 100\ncount = 40", "kind = 'python'\ncall = 'slow_part:nap'")
    found = _run(tmp_path, text)
    assert found.backs_up is None
    assert found.sentence.startswith("nothing waits for room, and middle is the slowest: busy ")


def test_functions_and_commands_are_devices(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def numbers(upto):\n    for i in range(upto):\n        yield b'line %d\\n' % i\n"
        "def odd(content):\n    return content if int(bytes(content).split()[1]) % 2 else None\n"
    )
    text = (
        "[device.source]\nkind = 'python'\ncall = 'mine:numbers'\narguments = {upto = 6}\n"
        "[device.odd]\nkind = 'python'\ncall = 'mine:odd'\n[device.upper]\nkind = 'command'\nrun = 'tr a-z A-Z'\n"
        "[device.out]\nkind = 'file'\npath = 'out.txt'\n[channel.a]\nfrom = 'source'\nto = 'odd'\n"
        "[channel.b]\nfrom = 'odd'\nto = 'upper'\n[channel.c]\nfrom = 'upper'\nto = 'out'\n"
    )
    found = _run(tmp_path, text)
    assert found.problem == ""
    assert (tmp_path / "out.txt").read_text() == "LINE 1\nLINE 3\nLINE 5\n"


@pytest.mark.parametrize(
    ("middle", "said"),
    [
        ("kind = 'python'\ncall = 'bad:wrong'", "middle.0: ValueError: not today"),
        (
            "kind = 'python'\ncall = 'bad:none'",
            "middle.0: bad:none cannot be had: module 'bad' has no attribute 'none'",
        ),
        ("kind = 'python'\ncall = 'bad:number'", "middle.0: the function returned int, and bytes are needed, or None"),
        ("kind = 'python'\ncall = 'bad:gone'", "middle.0: was ended by SIGKILL"),
        ("kind = 'command'\nrun = 'false'", "middle.0: false ended with 1 for message 0"),
    ],
)
def test_a_device_that_fails_is_named_and_all_end(tmp_path: Path, middle: str, said: str) -> None:
    (tmp_path / "bad.py").write_text(
        "import os\ndef wrong(content):\n    raise ValueError('not today')\ndef number(content):\n    return 3\n"
        "def gone(content):\n    os.kill(os.getpid(), 9)\n"
    )
    found = _run(tmp_path, simple("kind = 'generator'\nsize = 100", middle))
    assert found.ended is Ended.FAILED
    assert found.problem == said
    assert {d.name: d.state for d in found.devices} == {"source": "stopped", "middle": "failed", "out": "stopped"}


def test_another_content_than_was_sent_is_found(tmp_path: Path) -> None:
    from nodewise.pipelines.message import Head, digest
    from nodewise.pipelines.work import Checksum, WrongError

    checksum = Checksum("crc32", ["source.0"])
    head = Head(0, 7, algorithm="crc32", digest=digest(b"as it was", "crc32"))
    assert [*checksum.handle(head, memoryview(b"as it was"))] and checksum.verified == 1
    with pytest.raises(WrongError, match=r"message 7 of source\.0 is another one than was sent: its crc32 is"):
        [*checksum.handle(head, memoryview(b"as it is!"))]


def test_instances_run_where_they_were_placed(tmp_path: Path) -> None:
    (tmp_path / "where.py").write_text(
        "import os\ndef me():\n    yield ','.join(map(str, os.sched_getaffinity(0))).encode()\n"
    )
    text = simple("kind = 'python'\ncall = 'where:me'\nplace = '0'", sink="kind = 'file'\npath = 'said'")
    assert _run(tmp_path, text).ended is Ended.WHOLE
    assert (tmp_path / "said").read_text() == "0"


# of few messages on the way, so that it is soon drained
ENDLESS = simple(
    "kind = 'generator'\nsize = '100KB'", "kind = 'compress'\ninstances = 2", "kind = 'discard'", "messages = 4"
)


def test_when_its_time_is_over_all_that_was_sent_arrives(tmp_path: Path) -> None:
    found = _run(tmp_path, ENDLESS, 0.2)
    assert found.ended is Ended.DURATION
    source, out, middle = found.devices
    assert source.out_messages == middle.in_messages == out.in_messages > 0


def _processes(folder: Path) -> list[int]:
    """Those that carry the mark of a test's folder in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                alive = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
                if alive and f"PIPELINE_TEST={folder}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@contextmanager
def _endless(folder: Path, begin: Callable[..., subprocess.Popen[str]]) -> Iterator[subprocess.Popen[str]]:
    """A pipeline without end, of which messages flow."""
    path = written(folder, ENDLESS.replace("kind = 'discard'", "kind = 'file'\npath = 'out.gz'"))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = begin("pipeline", str(path), "--json", env={**os.environ, "PIPELINE_TEST": str(folder)}, **pipes)
    until = time.monotonic() + 60
    while not ((folder / "out.gz").exists() and (folder / "out.gz").stat().st_size > 1000):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """One that is forked from a process that has loaded nodewise."""
    with _endless(tmp_path, partial(Begun, cwd=tmp_path)) as process:
        yield process


@pytest.fixture
def endless_group(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """One in a group of processes of its own, as a terminal starts it."""

    def begin(*words: str, **more: Any) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-m", "nodewise", *words], start_new_session=True, **more)

    with _endless(tmp_path, begin) as process:
        yield process


def test_the_first_ctrl_c_drains_and_loses_nothing(endless_group: subprocess.Popen[str], tmp_path: Path) -> None:
    import json

    os.killpg(endless_group.pid, signal.SIGINT)
    out, err = endless_group.communicate(timeout=60)
    assert endless_group.returncode == 0, err
    result = json.loads(out)
    assert result["ended"] == "drained"
    sent = result["devices"][0]["out_messages"]
    content = gzip.decompress((tmp_path / "out.gz").read_bytes())
    assert len(content) == sent * 100_000 > 0
    assert sorted(_sequences(content, 100_000)) == list(range(sent))
    assert _processes(tmp_path) == []


def test_the_second_ctrl_c_ends_at_once(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    (tmp_path / "slow_part.py").write_text(
        f"import pathlib, time\ndef nap(content):\n    pathlib.Path({str(begun)!r}).touch()\n    time.sleep(60)\n"
    )
    path = written(tmp_path, simple("kind = 'generator'\nsize = 100", "kind = 'python'\ncall = 'slow_part:nap'"))
    process = Begun(
        *("pipeline", str(path)),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PIPELINE_TEST": str(tmp_path)},
    )
    until = time.monotonic() + 60
    while not begun.exists():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert _processes(tmp_path) == []


@pytest.mark.parametrize("whose", ["parent", "host"])
def test_nothing_is_left_after_a_kill(endless: subprocess.Popen[str], tmp_path: Path, whose: str) -> None:
    assert len(_processes(tmp_path)) >= 6
    if whose == "parent":
        endless.kill()
    else:
        children = Path(f"/proc/{endless.pid}/task/{endless.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
    _, err = endless.communicate(timeout=30)
    until = time.monotonic() + 10
    while _processes(tmp_path) and time.monotonic() < until:
        time.sleep(0.02)
    assert _processes(tmp_path) == []
    if whose == "host":
        assert endless.returncode == 2 and "the process above the devices was killed" in err


@pytest.mark.parametrize("whose", ["guard", "host", "device", "command"])
def test_nothing_is_left_of_a_command_whoever_is_killed(tmp_path: Path, whose: str) -> None:
    path = written(
        tmp_path, simple("kind = 'generator'\nsize = 100", "kind = 'command'\nrun = 'sh -c \"sleep 600; :\"'")
    )
    environment = {**os.environ, "PIPELINE_TEST": str(tmp_path)}
    process = Begun("pipeline", str(path), cwd=tmp_path, text=True, env=environment)

    def sleeping() -> list[int]:
        return [p for p in _processes(tmp_path) if _command_line(p)[:2] == ["sleep", "600"]]

    until = time.monotonic() + 60
    while not sleeping() and time.monotonic() < until:
        time.sleep(0.05)
    command = _parent(sleeping()[0])
    assert _command_line(command)[0] == "sh"
    above = [_parent(command)]
    above += [_parent(above[0])]
    above += [_parent(above[1])]
    os.kill({"command": command, "device": above[0], "host": above[1], "guard": above[2]}[whose], signal.SIGKILL)
    out, err = process.communicate(timeout=30)
    assert process.returncode == (1 if whose in ("device", "command") else 2), err
    assert _processes(tmp_path) == []
    if whose == "device":
        assert "middle.0: was ended by SIGKILL" in out


def _command_line(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return [""]


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])


def _delivered_once(folder: Path, count: int) -> None:
    """Fan-out to two devices and to instances of each, merged and ordered: each number once, with its checksum verified."""
    text = (
        f"[device.source]\nkind = 'generator'\nsize = 16\ncount = {count}\n"
        "[device.sum]\nkind = 'checksum'\n[device.left]\nkind = 'checksum'\ninstances = 2\n[device.right]\nkind = 'checksum'\n"
        "[device.all]\nkind = 'merge'\norder = 'sequence'\n[device.out]\nkind = 'file'\npath = 'numbers'\n"
        "[channel.a]\nfrom = 'source'\nto = 'sum'\n[channel.b]\nfrom = 'sum'\nto = ['left', 'right']\n"
        "[channel.c]\nfrom = ['left', 'right']\nto = 'all'\n[channel.d]\nfrom = 'all'\nto = 'out'\n"
    )
    found = _run(folder, text)
    assert found.ended is Ended.WHOLE, found.problem
    by_name = {d.name: d for d in found.devices}
    assert by_name["left"].verified + by_name["right"].verified == count
    assert min(i.in_messages for i in (*by_name["left"].instances, *by_name["right"].instances)) > 0
    content = (folder / "numbers").read_bytes()
    assert len(content) == 16 * count
    for number, at in enumerate(range(0, len(content), 16)):
        assert int.from_bytes(content[at : at + 8], "little") == number


def test_messages_through_fan_out_and_merge_are_delivered_once(tmp_path: Path) -> None:
    _delivered_once(tmp_path, 5000)


@pytest.mark.long
def test_a_million_messages_through_fan_out_and_merge_are_delivered_once(tmp_path: Path) -> None:
    _delivered_once(tmp_path, 1_000_000)


def test_copies_that_come_by_two_ways_are_all_there(tmp_path: Path) -> None:
    text = (
        "[device.source]\nkind = 'generator'\nsize = 16\ncount = 300\n[device.left]\nkind = 'checksum'\ninstances = 2\n"
        "[device.right]\nkind = 'checksum'\ninstances = 2\n[device.all]\nkind = 'merge'\norder = 'sequence'\n[device.out]\n"
        "kind = 'file'\npath = 'numbers'\n[channel.a]\nfrom = 'source'\nto = 'left'\n[channel.b]\nfrom = 'source'\nto = 'right'\n"
        "[channel.c]\nfrom = ['left', 'right']\nto = 'all'\n[channel.d]\nfrom = 'all'\nto = 'out'\n"
    )
    assert _run(tmp_path, text).ended is Ended.WHOLE
    assert sorted(_sequences((tmp_path / "numbers").read_bytes(), 16)) == sorted([*range(300)] * 2)


def test_the_processors_of_an_instance_are_read_back(tmp_path: Path) -> None:
    found = _run(tmp_path, simple("kind = 'generator'\nsize = 100\ncount = 10\ninstances = 2\nplace = ['0', '0']"))
    source, out = found.devices
    assert [(one.asked, one.allowed) for one in source.instances] == [((0,), (0,))] * 2
    assert (out.instances[0].asked, out.instances[0].allowed) == (None, tuple(sorted(os.sched_getaffinity(0))))
    assert len({one.pid for d in found.devices for one in d.instances} - {0}) == 3


def test_how_full_channels_were_is_kept_over_time(tmp_path: Path) -> None:
    (tmp_path / "slow_part.py").write_text("import time\ndef nap(content):\n    time.sleep(0.02)\n    return content\n")
    middle = "kind = 'python'\ncall = 'slow_part:nap'"
    seen: list[PipelineResult] = []
    plan = prepare_pipeline(
        written(tmp_path, simple("kind = 'generator'\nsize = 100\ncount = 80", middle, more="messages = 4"))
    )
    found = carry_out(plan, None, seen.append)
    assert len(found.moments) >= 3 and all(len(one.full) == 2 for one in found.moments)
    assert [one.backs_up for one in found.moments][1] == "raw" and max(one.full[0] for one in found.moments) > 0.7
    assert sorted(one.seconds for one in found.moments) == [one.seconds for one in found.moments]
    assert any(one.ended is Ended.RUNNING and one.channels[0].waited > 0.5 for one in seen)


def test_an_order_does_not_wait_for_what_was_dropped(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(
        f"import time\nTIMES = {str(tmp_path / 'times')!r}\n"
        "def odd(content):\n    return bytes(content) if content[0] % 2 else None\n"
        "def late(content):\n    time.sleep(0.002 * (content[0] % 3))\n    return bytes(content)\n"
        "def none(content):\n    return None\n"
        "def noted(content):\n"
        "    with open(TIMES, 'ab') as file:\n        file.write(time.monotonic_ns().to_bytes(8, 'little') + content[:8])\n"
        "    return content\n"
    )
    text = (
        "[device.source]\nkind = 'generator'\nsize = 16\ncount = 120\nrate = 100\n"
        "[device.odd]\nkind = 'python'\ncall = 'parts:odd'\n[device.late]\nkind = 'python'\ncall = 'parts:late'\ninstances = 3\n"
        # copies by another way, which has none
        "[device.none]\nkind = 'python'\ncall = 'parts:none'\ninstances = 2\n"
        "[device.all]\nkind = 'merge'\norder = 'sequence'\n[device.noted]\nkind = 'python'\ncall = 'parts:noted'\n"
        "[device.out]\nkind = 'file'\npath = 'numbers'\n"
        "[channel.a]\nfrom = 'source'\nto = 'odd'\n[channel.b]\nfrom = 'odd'\nto = 'late'\n[channel.c]\nfrom = 'source'\nto = 'none'\n"
        "[channel.d]\nfrom = ['late', 'none']\nto = 'all'\n[channel.e]\nfrom = 'all'\nto = 'noted'\n[channel.f]\nfrom = 'noted'\nto = 'out'\n"
    )
    found = _run(tmp_path, text)
    assert found.ended is Ended.WHOLE, found.problem
    assert _sequences((tmp_path / "numbers").read_bytes(), 16) == list(range(1, 120, 2))
    by_name = {d.name: d for d in found.devices}
    assert (by_name["odd"].out_messages, by_name["none"].out_messages, by_name["all"].in_messages) == (60, 0, 60)
    assert [c.messages for c in found.channels] == [120, 60, 120, 60, 60, 60]
    # they were handed on as they came, and not all at the end: the source took 1.2 s
    times = (tmp_path / "times").read_bytes()
    stamps = [int.from_bytes(times[at : at + 8], "little") for at in range(0, len(times), 16)]
    assert stamps[-1] - stamps[0] > 0.5e9


@pytest.mark.parametrize(
    "how",
    [
        "input()",
        "busy()",
        *(pytest.param(how, marks=pytest.mark.long) for how in ("time.sleep(3600)", "threading.Event().wait()")),
    ],
)
def test_a_source_that_gives_nothing_is_interrupted_when_the_time_is_over(tmp_path: Path, how: str) -> None:
    (tmp_path / "waits.py").write_text(
        "import os, sys, threading, time\nsys.stdin = os.fdopen(os.pipe()[0])\ndef busy():\n    while True:\n        try:\n            time.sleep(0)\n"
        "        except Exception:\n            pass\n"
        f"def source():\n    yield b'one'\n    try:\n        {how}\n    finally:\n        open({str(tmp_path / 'closed')!r}, 'w').close()\n"
    )
    begin = time.monotonic()
    found = _run(tmp_path, simple("kind = 'python'\ncall = 'waits:source'"), 0.5)
    assert found.ended is Ended.DURATION, found.problem
    assert found.devices[1].in_messages == 1 and time.monotonic() - begin < 15
    assert (tmp_path / "closed").exists()
