# SPDX-License-Identifier: BSD-3-Clause
"""Encoding by FFmpeg: raw frames go in by a pipe; what comes out is decoded again and compared."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nodewise.studies.video.encoders import Contenders, ffmpeg, ways
from nodewise.studies.video.quality import at_quality, psnr, ssim_of_clip

_RATE = 30
_PIPE = 1 << 20
_EVERY = _COARSE, _MIDDLE, _FINE = range(3)


@dataclass
class State:
    """A clip, the PSNR wanted, and what encoding gave, by quality: seconds, the stream and the frames decoded."""

    name: str
    clip: Any
    width: int
    height: int
    threads: int
    wanted: float
    begun: bool = False
    seconds: dict[int, float] = field(default_factory=dict)
    decoded: dict[int, Any] = field(default_factory=dict)
    #: Files in memory, without a name that anything could leave behind.
    files: dict[int, int] = field(default_factory=lambda: {w: os.memfd_create(f"video-{w}") for w in _EVERY})


def contenders() -> Mapping[str, str | None]:
    """All encoders, each with the reason why it cannot run here."""
    return Contenders()


def prepare(inputs: Mapping[str, Any], point: Mapping[str, str], threads: int) -> State:
    """The clip's size follows from its height."""
    height = int(point["height"])
    return State(point["contender"], inputs["clip"], 2 * round(height * 8 / 9), height, threads, float(point["psnr"]))


def run(state: State) -> None:
    """The first run is not counted: it is of the coarse quality. The others are of the middle one."""
    _encode(state, _MIDDLE if state.begun else _COARSE)
    state.begun = True


def outputs(state: State) -> dict[str, Any]:
    """What comes out of the middle quality."""
    _encode(state, _FINE)
    for which in _EVERY:
        state.decoded[which] = _decode(state, which)
    return {"decoded": state.decoded[_MIDDLE]}


def metrics(state: State) -> dict[str, float]:
    """Of the middle quality frames a second, nearness to the clip and bits; speed and bits at the PSNR that is wanted.

    `seconds` is the time of encoding alone.
    """
    frames = state.clip.size // (state.width * state.height * 3 // 2)
    quality = {w: psnr(state.clip, state.decoded[w]) for w in _EVERY}
    bits = {w: os.fstat(state.files[w]).st_size * 8e-6 * _RATE / frames for w in _EVERY}
    speed = {w: frames / state.seconds[w] for w in _EVERY}
    told = {
        "seconds": state.seconds[_MIDDLE],
        "fps": speed[_MIDDLE],
        "psnr_db": quality[_MIDDLE],
        "ssim": ssim_of_clip(state.clip, state.decoded[_MIDDLE], state.width, state.height),
        "mbits": bits[_MIDDLE],
        "psnr_db_coarse": quality[_COARSE],
        "psnr_db_fine": quality[_FINE],
    }
    like_speed = at_quality([(quality[w], speed[w]) for w in _EVERY], state.wanted)
    like_bits = at_quality([(quality[w], bits[w]) for w in _EVERY], state.wanted)
    if like_speed is not None and like_bits is not None:
        told |= {"like_fps": like_speed, "like_mbits": like_bits, "like_frames_per_mbit": _RATE / like_bits}
    return told


def _file(state: State, which: int) -> str:
    return f"/proc/self/fd/{state.files[which]}"


def _command(state: State, which: int) -> list[str]:
    way = ways()[state.name]
    program = ffmpeg()
    assert program is not None
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{state.width}x{state.height}", "-r", str(_RATE)]
    return [
        *(program, "-hide_banner", "-nostats", "-benchmark", "-y"),
        *(*way.before, *raw, "-i", "pipe:0", *way.words(which, state.threads, state.width * state.height)),
        *("-f", "matroska", _file(state, which)),
    ]


def _feed(pipe: Any, clip: Any) -> None:
    # an encoder that gives up says why by itself
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.write(clip.data)


def _encode(state: State, which: int) -> None:
    begin = time.perf_counter()
    process = subprocess.Popen(
        _command(state, which),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=[state.files[which]],
    )
    assert process.stdin is not None and process.stderr is not None
    # a larger pipe is not always allowed
    with contextlib.suppress(OSError):
        fcntl.fcntl(process.stdin, fcntl.F_SETPIPE_SZ, _PIPE)
    feeder = threading.Thread(target=_feed, args=(process.stdin, state.clip))
    feeder.start()
    said = process.stderr.read().decode(errors="replace")
    process.wait()
    feeder.join()
    if process.returncode != 0:
        raise RuntimeError(f"{state.name}: {said.strip()[-300:]}")
    state.seconds[which] = encoding_seconds(said) or time.perf_counter() - begin


def encoding_seconds(said: str) -> float | None:
    """FFmpeg's own time from the first frame to the last, without its start, or None where it does not say."""
    read = re.search(r"bench: .*rtime=([0-9.]+)s", said)
    return float(read[1]) or None if read else None


def _decode(state: State, which: int) -> Any:
    program = ffmpeg()
    assert program is not None
    out = ["-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", "pipe:1"]
    words = [program, "-hide_banner", "-loglevel", "error", "-nostdin", "-i", _file(state, which), *out]
    done = subprocess.run(words, capture_output=True, check=True, pass_fds=[state.files[which]])
    frames = np.frombuffer(done.stdout, np.uint8)
    if frames.size != state.clip.size:
        raise RuntimeError(f"{state.name}: {frames.size} bytes were decoded of {state.clip.size}")
    return frames
