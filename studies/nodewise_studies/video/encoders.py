# SPDX-License-Identifier: BSD-3-Clause
"""The encoders that are tried, at which presets, what sets their quality, and what FFmpeg says of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .search import Quality

_INSTALL = "ffmpeg is not installed: apt-get install ffmpeg"
_TRIAL_S = 20
#: The first device for rendering, which is named where there is none.
_DEVICE = Path("/dev/dri/renderD128")
#: Formats whose encoders are looked for in FFmpeg's list; what encodes something else than yuv420p is left out.
_FORMATS = ("h264", "hevc", "vvc", "av1", "vp8", "vp9")
_OTHER_PIXELS = ("libx264rgb",)
#: Bits a second are for clips of so many pixels; larger ones get more in proportion.
_PIXELS = 854 * 480
_BITS = Quality("-b:v", 250_000, 3_000_000, 6_000_000, 30_000_000, 1000)
_CRF_264 = Quality("-crf", 51, 24, 19, 0, 0.1)
_CRF_265 = Quality("-crf", 51, 25, 20, 0, 0.1)
# 0 means that it is not given
_CRF_SVT = Quality("-crf", 63, 36, 25, 1)
_CRF_VPX = Quality("-crf", 63, 33, 22, 0)
_CRF_AOM = Quality("-crf", 63, 35, 24, 0)
_QP_RAV = Quality("-qp", 255, 100, 60, 1)
_QP = Quality("-qp", 51, 25, 20, 1)

#: Complaints that say nothing of the cause; FFmpeg reports that only when it is asked for more.
_VAGUE = ("Error initializing output stream", "Error while opening encoder", "No capable devices found")


@dataclass(frozen=True)
class Variant:
    """An encoder with its options and what sets its `quality`; bits a second are for 480p.

    `before` are options that stand before the input (a device), `frames` what the frames are made for it.
    """

    encoder: str
    options: tuple[str, ...]
    quality: Quality
    before: tuple[str, ...] = ()
    frames: str = ""

    @property
    def hardware(self) -> bool:
        """Whether a device does the work."""
        return not self.encoder.startswith("lib")

    def quality_for(self, pixels: int) -> Quality:
        """The quality for frames of so many pixels."""
        one = self.quality
        if one.option != _BITS.option:
            return one
        values = (v * pixels / _PIXELS for v in (one.coarsest, one.start, one.finer, one.finest))
        return Quality(one.option, *(max(one.step, round(v, -3)) for v in values), one.step)

    def words(self, value: float, threads: int) -> list[str]:
        """FFmpeg's words after the input, for one value of the quality's option."""
        made = ["-c:v", self.encoder, *self.options, self.quality.option, f"{value:.10g}"]
        made += ["-vf", self.frames] if self.frames else []
        if self.hardware:
            return made
        own = {
            "libsvtav1": ["-svtav1-params", f"lp={threads}"],
            "libx265": ["-x265-params", f"pools={threads}:log-level=error"],
        }
        return [*made, "-threads", str(threads), *own.get(self.encoder, [])]


def _on_device(interface: str) -> tuple[tuple[str, ...], str]:
    """What FFmpeg is given for a device that frames have to be brought to, and how they are."""
    nodes = sorted(Path("/dev/dri").glob("renderD*"))
    kinds = {"vaapi": f"vaapi=on:{nodes[0] if nodes else _DEVICE}", "vulkan": "vulkan=on"}
    if interface not in kinds:
        return (), ""
    return ("-init_hw_device", kinds[interface], "-filter_hw_device", "on"), "format=nv12,hwupload"


def _software() -> dict[str, Variant]:
    variants = {
        f"libx264-{p}": Variant("libx264", ("-preset", p), _CRF_264) for p in ("ultrafast", "veryfast", "medium")
    }
    variants |= {f"libx265-{p}": Variant("libx265", ("-preset", p), _CRF_265) for p in ("ultrafast", "medium")}
    variants |= {f"libsvtav1-{p}": Variant("libsvtav1", ("-preset", p), _CRF_SVT) for p in ("12", "8")}
    row = ("-row-mt", "1")
    variants |= {
        # -8: a speed that does not follow the time that is left, by which no two encodes would be alike
        "libvpx-rt8": Variant("libvpx", ("-deadline", "realtime", "-cpu-used", "-8"), _BITS),
        "libvpx-vp9-rt8": Variant(
            "libvpx-vp9", ("-deadline", "realtime", "-cpu-used", "8", *row, "-b:v", "0"), _CRF_VPX
        ),
        "libvpx-vp9-4": Variant("libvpx-vp9", ("-deadline", "good", "-cpu-used", "4", *row, "-b:v", "0"), _CRF_VPX),
        "libaom-av1-8": Variant("libaom-av1", ("-usage", "realtime", "-cpu-used", "8", *row, "-b:v", "0"), _CRF_AOM),
        "librav1e-10": Variant("librav1e", ("-speed", "10"), _QP_RAV),
    }
    return variants


def _hardware() -> dict[str, Variant]:
    variants = {
        f"{codec}_qsv": Variant(f"{codec}_qsv", ("-pix_fmt", "nv12"), Quality("-global_quality", 51, 25, 20, 1))
        for codec in ("h264", "hevc", "vp9", "av1")
    }
    device, frames = _on_device("vaapi")
    for codec in ("h264", "hevc", "vp9", "av1"):
        quality = _QP if codec in ("h264", "hevc") else Quality("-global_quality", 255, 90, 60, 1)
        variants[f"{codec}_vaapi"] = Variant(f"{codec}_vaapi", (), quality, device, frames)
    for codec in ("h264", "hevc", "av1"):
        variants[f"{codec}_nvenc"] = Variant(f"{codec}_nvenc", ("-rc", "constqp"), _QP)
    variants["h264_v4l2m2m"] = Variant("h264_v4l2m2m", ("-pix_fmt", "nv12"), _BITS)
    return variants


#: The variants that are known, by the names of their contenders.
VARIANTS: Mapping[str, Variant] = {**_software(), **_hardware()}


def variants() -> Mapping[str, Variant]:
    """All variants by the names of their contenders: those known, then the others that FFmpeg lists, by bits a second."""
    program = ffmpeg()
    known = {variant.encoder for variant in VARIANTS.values()}
    listed = _known(program)[1] if program is not None else {}
    others = [
        name for name, made in listed.items() if made in _FORMATS and name not in known and name not in _OTHER_PIXELS
    ]
    return {**VARIANTS, **{name: Variant(name, (), _BITS, *_on_device(name.rpartition("_")[2])) for name in others}}


def encoders_listed(text: str) -> dict[str, str]:
    """The names in what `ffmpeg -encoders` prints, each with the format that it makes."""
    lines = re.findall(r"^ [VAS][.FSXBD]{5} (\S+)(.*)$", text.partition("------")[2], re.MULTILINE)
    formats = {name: re.search(r"\(codec (\S+)\)", rest) for name, rest in lines}
    return {name: found[1] if found else name for name, found in formats.items()}


def version_of(text: str) -> str:
    """The version in what `ffmpeg -version` prints."""
    read = re.match(r"ffmpeg version (\S+)", text)
    return read[1] if read else "of unknown version"


def reason_of(text: str) -> str:
    """Why an encoder does not work, from what FFmpeg printed: its first complaint without addresses."""
    lines = [re.sub(r"^(\[[^\]]*\]\s*)+", "", line).strip() for line in text.splitlines()]
    # the library below reports what it does, too
    first = next((line for line in lines if line and not line.startswith("libva info:")), "ffmpeg said nothing")
    for start in ("Error initializing an internal ", "Error initializing the "):
        first = first.removeprefix(start)
    return first.rstrip(".") + _forbidden(first)


def detail_of(text: str, encoder: str) -> str:
    """The last that an encoder itself printed before it gave up, from what FFmpeg prints with `-loglevel verbose`."""
    lines = re.findall(rf"^\[{re.escape(encoder)} @ [^\]]*\] (.*)$", text, re.MULTILINE)
    return next((line.strip().rstrip(".") for line in reversed(lines) if not line.startswith(_VAGUE)), "")


def _forbidden(reason: str) -> str:
    """FFmpeg does not distinguish a device that is not there from one that may not be opened."""
    named = re.search(r"/dev/\S+?(?=[.:,']|$|\s)", reason)
    if named is None or not Path(named[0]).exists() or os.access(named[0], os.R_OK | os.W_OK):
        return ""
    return f" ({named[0]} is there, but this user may not open it)"


def ffmpeg() -> str | None:
    """The program, or None."""
    return shutil.which("ffmpeg")


def _printed(program: str, *words: str) -> str:
    return subprocess.run([program, "-hide_banner", *words], capture_output=True, text=True, check=False).stdout


@lru_cache(maxsize=4)
def _known(program: str) -> tuple[str, Mapping[str, str]]:
    return version_of(_printed(program, "-version")), encoders_listed(_printed(program, "-encoders"))


def _try(program: str, variant: Variant, level: str) -> subprocess.CompletedProcess[str]:
    source = ["-f", "lavfi", "-i", "testsrc=size=256x144:rate=5:duration=1", "-pix_fmt", "yuv420p"]
    words = [*variant.before, *source, *variant.words(variant.quality_for(256 * 144).start, 1), "-f", "null", "-"]
    command = [program, "-hide_banner", "-nostdin", "-loglevel", level, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TRIAL_S)


def trial(program: str, variant: Variant) -> str | None:
    """Encode a tiny clip for real: why that does not work, or None."""
    try:
        done = _try(program, variant, "error")
        if done.returncode == 0:
            return None
        reason = reason_of(done.stderr)
        if not reason.startswith(_VAGUE):
            return reason
        return detail_of(_try(program, variant, "verbose").stderr, variant.encoder) or reason
    except subprocess.TimeoutExpired:
        return f"it did not encode 5 tiny frames in {_TRIAL_S} s"


def why_not(variant: Variant) -> str | None:
    """Why a variant cannot run here, or None: tries it, and asks FFmpeg for its encoders where that fails."""
    program = ffmpeg()
    if program is None:
        return _INSTALL
    problem = trial(program, variant)
    if problem is None:
        return None
    version, encoders = _known(program)
    return problem if variant.encoder in encoders else f"ffmpeg {version} has no encoder {variant.encoder}"


class Contenders(Mapping[str, str | None]):
    """The variants by name with the reason why one cannot run; each is tried when it is asked for."""

    def __init__(self) -> None:
        self._variants = variants()

    def __getitem__(self, name: str) -> str | None:
        return why_not(self._variants[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._variants)

    def __len__(self) -> int:
        return len(self._variants)
