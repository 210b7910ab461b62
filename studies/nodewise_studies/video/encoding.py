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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .encoders import Contenders, ffmpeg, variants
from .quality import RATE, is_like, psnr, ssim_of_clip
from .search import RefusedError, curve_values, search
from .vmaf import has_vmaf, vmaf

_PIPE = 1 << 20


@dataclass
class State:
    """A clip, the value of the encoder's quality, and what encoding gave: seconds, the stream and the frames decoded."""

    name: str
    clip: Any
    width: int
    height: int
    threads: int
    wanted: float
    quality: float
    #: Points of rate and quality that were found before, as metrics.
    curve: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    decoded: Any = None
    #: A file in memory, without a name that anything could leave behind.
    file: int = field(default_factory=lambda: os.memfd_create("video"))


def contenders() -> Mapping[str, str | None]:
    """All encoders, each with the reason why it cannot run here."""
    return Contenders()


def settle(inputs: Mapping[str, Any], point: Mapping[str, str], threads: int) -> dict[str, float]:
    """The `quality` at which the encoder comes nearest to the PSNR that is wanted: see `search`; and a curve where that is asked for."""
    quality = variants()[point["contender"]].quality_for(_width(int(point["height"])) * int(point["height"]))
    state = prepare(inputs, {**point, "quality": str(quality.start)}, threads)

    def measure(value: float) -> float:
        state.quality = value
        run(state)
        return psnr(state.clip, _decode(state))

    found = search(quality, measure, state.wanted)
    return {"quality": found, **_curve(state, curve_values(quality, found, int(point.get("curve", 0))))}


def _curve(state: State, values: Sequence[float]) -> dict[str, float]:
    """Rate and quality at other settings, numbered; those that the encoder refuses are left out."""
    made: dict[str, float] = {}
    count = 0
    for value in values:
        state.quality = value
        try:
            run(state)
            near = psnr(state.clip, _decode(state))
        except RefusedError:
            continue
        count += 1
        made |= {f"curve_mbits_{count}": _mbits(state), f"curve_db_{count}": near}
        judged = _vmaf(state)
        made |= {f"curve_vmaf_{count}": judged} if judged is not None else {}
    return made


def _frames(state: State) -> int:
    return int(state.clip.size // (state.width * state.height * 3 // 2))


def _mbits(state: State) -> float:
    return os.fstat(state.file).st_size * 8e-6 * RATE / _frames(state)


def _vmaf(state: State) -> float | None:
    program = ffmpeg()
    if program is None or not has_vmaf(program):
        return None
    return vmaf(program, _file(state), state.clip, _raw(state), state.threads, state.file)


def prepare(inputs: Mapping[str, Any], point: Mapping[str, str], threads: int) -> State:
    """The clip's size follows from its height; the `quality` was settled."""
    height = int(point["height"])
    wanted, quality = float(point["psnr"]), float(point["quality"])
    curve = {name: float(value) for name, value in point.items() if name.startswith("curve_")}
    return State(point["contender"], inputs["clip"], _width(height), height, threads, wanted, quality, curve)


def _width(height: int) -> int:
    return 2 * round(height * 8 / 9)


def outputs(state: State) -> dict[str, Any]:
    """The frames of the last run."""
    state.decoded = _decode(state)
    return {"decoded": state.decoded}


def metrics(state: State) -> dict[str, float]:
    """Frames a second, nearness to the clip, bits, and the quality's value; `seconds` is the time of encoding alone.

    VMAF is there where FFmpeg has it, and the points of a curve where one was asked for. What is not as good as wanted, or better, is shown for scale.
    """
    near = psnr(state.clip, state.decoded)
    bits, judged = _mbits(state), _vmaf(state)
    return {
        "seconds": state.seconds,
        "fps": _frames(state) / state.seconds,
        "psnr_db": near,
        "ssim": ssim_of_clip(state.clip, state.decoded, state.width, state.height),
        "mbits": bits,
        "frames_per_mbit": RATE / bits,
        "quality": state.quality,
        "for_scale": float(not is_like(near, state.wanted)),
        **({} if judged is None else {"vmaf": judged}),
        **state.curve,
    }


def _file(state: State) -> str:
    return f"/proc/self/fd/{state.file}"


def _raw(state: State) -> list[str]:
    return ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{state.width}x{state.height}", "-r", str(RATE)]


def _command(state: State) -> list[str]:
    variant = variants()[state.name]
    program = ffmpeg()
    assert program is not None
    return [
        *(program, "-hide_banner", "-nostats", "-benchmark", "-y"),
        *(*variant.before, *_raw(state), "-i", "pipe:0", *variant.words(state.quality, state.threads)),
        *("-f", "matroska", _file(state)),
    ]


def _feed(pipe: Any, clip: Any) -> None:
    # an encoder that gives up says why by itself
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.write(clip.data)


def run(state: State) -> None:
    """Encode the clip."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        _command(state),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=[state.file],
    )
    assert process.stdin is not None and process.stderr is not None
    # a larger pipe is not always allowed
    with contextlib.suppress(OSError):
        fcntl.fcntl(process.stdin, fcntl.F_SETPIPE_SZ, _PIPE)
    feeder = threading.Thread(target=_feed, args=(process.stdin, state.clip))
    feeder.start()
    printed = process.stderr.read().decode(errors="replace")
    process.wait()
    feeder.join()
    if process.returncode != 0:
        raise RefusedError(f"{state.name}: {printed.strip()[-300:]}")
    state.seconds = encoding_seconds(printed) or time.perf_counter() - begin


def encoding_seconds(printed: str) -> float | None:
    """FFmpeg's own time from the first frame to the last, without its start, or None where it does not say."""
    read = re.search(r"bench: .*rtime=([0-9.]+)s", printed)
    return float(read[1]) or None if read else None


def _decode(state: State) -> Any:
    program = ffmpeg()
    assert program is not None
    out = ["-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", "pipe:1"]
    words = [program, "-hide_banner", "-loglevel", "error", "-nostdin", "-i", _file(state), *out]
    done = subprocess.run(words, capture_output=True, check=True, pass_fds=[state.file])
    frames = np.frombuffer(done.stdout, np.uint8)
    if frames.size != state.clip.size:
        raise RefusedError(f"{state.name}: {frames.size} bytes were decoded of {state.clip.size}")
    return frames
