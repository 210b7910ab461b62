# SPDX-License-Identifier: BSD-3-Clause
"""The encoders that are tried, at which presets and qualities, and what FFmpeg says of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_INSTALL = "ffmpeg is not installed: apt-get install ffmpeg"
_TRIAL_S = 20
#: The first device for rendering, which is named where there is none.
_DEVICE = Path("/dev/dri/renderD128")


@dataclass(frozen=True)
class Way:
    """An encoder with its options. `qualities` are three values of the option `quality`, the coarsest first.

    `before` are options that stand before the input (a device), `frames` what the frames are made for it.
    """

    encoder: str
    options: tuple[str, ...]
    quality: str
    qualities: tuple[int, int, int]
    before: tuple[str, ...] = ()
    frames: str = ""

    @property
    def hardware(self) -> bool:
        """Whether a device does the work."""
        return not self.encoder.startswith("lib")

    def words(self, which: int, threads: int) -> list[str]:
        """FFmpeg's words after the input, for one of the three qualities."""
        made = ["-c:v", self.encoder, *self.options, self.quality, str(self.qualities[which])]
        made += ["-vf", self.frames] if self.frames else []
        if self.hardware:
            return made
        own = {
            "libsvtav1": ["-svtav1-params", f"lp={threads}"],
            "libx265": ["-x265-params", f"pools={threads}:log-level=error"],
        }
        return [*made, "-threads", str(threads), *own.get(self.encoder, [])]


def _software() -> dict[str, Way]:
    ways = {
        f"libx264-{p}": Way("libx264", ("-preset", p), "-crf", (29, 24, 19))
        for p in ("ultrafast", "veryfast", "medium")
    }
    ways |= {f"libx265-{p}": Way("libx265", ("-preset", p), "-crf", (30, 25, 20)) for p in ("ultrafast", "medium")}
    ways |= {f"libsvtav1-{p}": Way("libsvtav1", ("-preset", p), "-crf", (47, 36, 25)) for p in ("12", "8")}
    row = ("-row-mt", "1")
    ways |= {
        "libvpx-vp9-rt8": Way(
            "libvpx-vp9", ("-deadline", "realtime", "-cpu-used", "8", *row, "-b:v", "0"), "-crf", (44, 33, 22)
        ),
        "libvpx-vp9-4": Way(
            "libvpx-vp9", ("-deadline", "good", "-cpu-used", "4", *row, "-b:v", "0"), "-crf", (44, 33, 22)
        ),
        "libaom-av1-8": Way(
            "libaom-av1", ("-usage", "realtime", "-cpu-used", "8", *row, "-b:v", "0"), "-crf", (46, 35, 24)
        ),
        "librav1e-10": Way("librav1e", ("-speed", "10"), "-qp", (140, 100, 60)),
    }
    return ways


def _hardware() -> dict[str, Way]:
    ways = {
        f"{codec}_qsv": Way(f"{codec}_qsv", ("-pix_fmt", "nv12"), "-global_quality", (30, 25, 20))
        for codec in ("h264", "hevc", "vp9", "av1")
    }
    nodes = sorted(Path("/dev/dri").glob("renderD*"))
    device = ("-init_hw_device", f"vaapi=va:{nodes[0] if nodes else _DEVICE}", "-filter_hw_device", "va")
    for codec in ("h264", "hevc", "vp9", "av1"):
        option = "-qp" if codec in ("h264", "hevc") else "-global_quality"
        values = (30, 25, 20) if codec in ("h264", "hevc") else (120, 90, 60)
        ways[f"{codec}_vaapi"] = Way(f"{codec}_vaapi", (), option, values, device, "format=nv12,hwupload")
    for codec in ("h264", "hevc", "av1"):
        ways[f"{codec}_nvenc"] = Way(f"{codec}_nvenc", ("-rc", "constqp"), "-qp", (30, 25, 20))
    ways["h264_v4l2m2m"] = Way("h264_v4l2m2m", ("-pix_fmt", "nv12"), "-b:v", (1_000_000, 3_000_000, 9_000_000))
    return ways


#: All ways by the names of their contenders.
WAYS: Mapping[str, Way] = {**_software(), **_hardware()}


def encoders_listed(text: str) -> set[str]:
    """The names in what `ffmpeg -encoders` prints."""
    return set(re.findall(r"^ [VAS][.FSXBD]{5} (\S+)", text.partition("------")[2], re.MULTILINE))


def version_of(text: str) -> str:
    """The version in what `ffmpeg -version` prints."""
    read = re.match(r"ffmpeg version (\S+)", text)
    return read[1] if read else "of unknown version"


def reason_of(text: str) -> str:
    """Why an encoder does not work, from what FFmpeg printed: its first complaint without its address."""
    lines = [re.sub(r"^\[[^\]]*\]\s*", "", line).strip() for line in text.splitlines()]
    first = next((line for line in lines if line), "ffmpeg said nothing")
    for start in ("Error initializing an internal ", "Error initializing the "):
        first = first.removeprefix(start)
    return first.rstrip(".")


def ffmpeg() -> str | None:
    """The program, or None."""
    return shutil.which("ffmpeg")


def _say(program: str, *words: str) -> str:
    return subprocess.run([program, "-hide_banner", *words], capture_output=True, text=True, check=False).stdout


@lru_cache(maxsize=4)
def _known(program: str) -> tuple[str, frozenset[str]]:
    return version_of(_say(program, "-version")), frozenset(encoders_listed(_say(program, "-encoders")))


def trial(program: str, way: Way) -> str | None:
    """Encode a tiny clip for real: why that does not work, or None."""
    source = ["-f", "lavfi", "-i", "testsrc=size=256x144:rate=5:duration=1", "-pix_fmt", "yuv420p"]
    words = [*way.before, *source, *way.words(1, 1), "-f", "null", "-"]
    try:
        done = subprocess.run(
            [program, "-hide_banner", "-nostdin", "-loglevel", "error", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TRIAL_S,
        )
    except subprocess.TimeoutExpired:
        return f"it did not encode 5 tiny frames in {_TRIAL_S} s"
    return reason_of(done.stderr) if done.returncode != 0 else None


def why_not(name: str) -> str | None:
    """Why a way cannot run here, or None: tries it, and asks FFmpeg for its encoders where that fails."""
    program = ffmpeg()
    if program is None:
        return _INSTALL
    problem = trial(program, WAYS[name])
    if problem is None:
        return None
    version, encoders = _known(program)
    return problem if WAYS[name].encoder in encoders else f"ffmpeg {version} has no encoder {WAYS[name].encoder}"


class Contenders(Mapping[str, str | None]):
    """The ways by name with the reason why one cannot run; each is tried when it is asked for."""

    def __getitem__(self, name: str) -> str | None:
        if name not in WAYS:
            raise KeyError(name)
        return why_not(name)

    def __iter__(self) -> Iterator[str]:
        return iter(WAYS)

    def __len__(self) -> int:
        return len(WAYS)
