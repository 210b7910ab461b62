# SPDX-License-Identifier: BSD-3-Clause
"""What is read of FFmpeg's words (recorded from Debian's 5.1.9 without any device), the rows, the check."""

import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.studies.commands import (
    contenders_of,
    default_command,
    native_contenders,
    script_command,
    script_contenders,
    settled_command,
    settling_command,
)
from nodewise.studies.discovery import find_study
from nodewise.studies.peer_worker import Judge
from nodewise_studies.video import encoders, encoding
from nodewise_studies.video.quality import LIKE_DB, is_like, psnr

VIDEO = find_study("video")

LISTED = """Encoders:
 V..... = Video
 A..... = Audio
 S..... = Subtitle
 .F.... = Frame-level multithreading
 ..S... = Slice-level multithreading
 ...X.. = Codec is experimental
 ....B. = Supports draw_horiz_band
 .....D = Supports direct rendering method 1
 ------
 V....D libaom-av1           libaom AV1 (codec av1)
 V....D librav1e             librav1e AV1 (codec av1)
 V..... libsvtav1            SVT-AV1(Scalable Video Technology for AV1) encoder (codec av1)
 V....D libx264              libx264 H.264 / AVC / MPEG-4 AVC / MPEG-4 part 10 (codec h264)
 V..... libx264rgb           libx264 H.264 / AVC / MPEG-4 AVC / MPEG-4 part 10 RGB (codec h264)
 V....D libvpx               libvpx VP8 (codec vp8)
 V....D libopenh264          OpenH264 H.264 / AVC / MPEG-4 AVC / MPEG-4 part 10 (codec h264)
 V....D h264_nvenc           NVIDIA NVENC H.264 encoder (codec h264)
 V..... h264_qsv             H.264 / AVC / MPEG-4 AVC / MPEG-4 part 10 (Intel Quick Sync Video acceleration) (codec h264)
 V..... h264_v4l2m2m         V4L2 mem2mem H.264 encoder wrapper (codec h264)
 V..... hevc_v4l2m2m         V4L2 mem2mem HEVC encoder wrapper (codec hevc)
 V....D h264_vaapi           H.264/AVC (VAAPI) (codec h264)
 V....D vp8_vaapi            VP8 (VAAPI) (codec vp8)
 V....D h264_vulkan          H.264/AVC (Vulkan) (codec h264)
 V....D mpeg2_vaapi          MPEG-2 (VAAPI) (codec mpeg2video)
 VFS..D ffv1                 FFmpeg video codec #1
 A....D aac                  AAC (Advanced Audio Coding)
"""

REASONS = {
    "h264_qsv": """[h264_qsv @ 0x55d3612865c0] Error initializing an internal MFX session: unsupported (-3)
Error initializing output stream 0:0 -- Error while opening encoder for output stream #0:0 - maybe incorrect parameters
""",
    "h264_nvenc": """[h264_nvenc @ 0x55f70ae885c0] Cannot load libcuda.so.1
Error initializing output stream 0:0 -- Error while opening encoder for output stream #0:0 - maybe incorrect parameters
""",
    "h264_vaapi": """[AVHWDeviceContext @ 0x555715e85cc0] No VA display found for device /dev/dri/renderD128.
Device creation failed: -22.
""",
    "h264_v4l2m2m": """[h264_v4l2m2m @ 0x55f1d30cb5c0] Could not find a valid device
[h264_v4l2m2m @ 0x55f1d30cb5c0] can't configure encoder
""",
}
SHORT = {
    "h264_qsv": "MFX session: unsupported (-3)",
    "h264_nvenc": "Cannot load libcuda.so.1",
    "h264_vaapi": "No VA display found for device /dev/dri/renderD128",
    "h264_v4l2m2m": "Could not find a valid device",
}
#: What people with other devices, drivers and versions of FFmpeg saw, from their reports.
REPORTED = {
    # FFmpeg 7 and a library that reports what it does (photoprism issue 5174)
    """libva info: VA-API version 1.22.0
libva info: Trying to open /usr/lib/x86_64-linux-gnu/dri/iHD_drv_video.so
libva info: Found init function __vaDriverInit_1_22
libva info: va_openDriver() returns 0
[AVHWDeviceContext @ 0x55f69fe0e980] Error creating a MFX session: -9.
Device creation failed: -1313558101.
""": "Error creating a MFX session: -9",
    # FFmpeg 7.0.1, a device without a driver (linuxserver/docker-ffmpeg issue 80)
    """[AVHWDeviceContext @ 0x55ca6d404d80] Failed to initialise VAAPI connection: -1 (unknown libva error).
Device creation failed: -5.
Failed to set value '/dev/dri/renderD128' for option 'vaapi_device': Input/output error
""": "Failed to initialise VAAPI connection: -1 (unknown libva error)",
    # an A100, which has no encoder (kijai/ComfyUI-CogVideoXWrapper issue 20)
    """[h264_nvenc @ 0x55d754c3ce80] OpenEncodeSessionEx failed: unsupported device (2): (no details)
[h264_nvenc @ 0x55d754c3ce80] No capable devices found
Error initializing output stream 0:0 -- Error while opening encoder for output stream #0:0 - maybe incorrect parameters
""": "OpenEncodeSessionEx failed: unsupported device (2): (no details)",
    # without AMD's library (GyanD/codexffmpeg issue 185)
    """[AMF @ 0000021a351542c0] DLL amfrt64.dll failed to open
[hevc_amf @ 0000021a35157100] Failed to create  hardware device context (AMF) : Unknown error occurred
[vost#0:0/hevc_amf @ 0000021a35158880] [enc:hevc_amf @ 0000021a35117b00] Error while opening encoder - maybe incorrect
""": "DLL amfrt64.dll failed to open",
    # the same report's last lines by themselves: two addresses
    "[vost#0:0/hevc_amf @ 0000021a35158880] [enc:hevc_amf @ 0000021a35117b00] Could not open encoder before EOF\n": (
        "Could not open encoder before EOF"
    ),
}
_VP8 = "libvpx-rt8"
BENCH = "bench: utime=0.424s stime=0.018s rtime=0.251s\nbench: maxrss=61916kB\n"


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ffmpeg that says what the real one did; software encoders of it work."""
    (tmp_path / "listed").write_text(LISTED)
    for name, text in REASONS.items():
        (tmp_path / name).write_text(text)
    program = tmp_path / "ffmpeg"
    program.write_text(f"""#!/bin/sh
echo "$*" >> {tmp_path}/asked
case "$*" in
*-version*) echo "ffmpeg version 5.1.9-0+deb12u1 Copyright (c) 2000-2026 the FFmpeg developers" ;;
*-encoders*) cat {tmp_path}/listed ;;
*"-c:v lib"*) exit 0 ;;
*) for name in {" ".join(REASONS)}; do case "$*" in *"-c:v $name "*) cat {tmp_path}/$name >&2; exit 1 ;; esac; done
   echo "Unknown encoder" >&2; exit 1 ;;
esac
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_encoders_are_read_from_what_ffmpeg_lists() -> None:
    found = encoders.encoders_listed(LISTED)
    assert found["libx264"] == found["h264_qsv"] == "h264" and found["libsvtav1"] == "av1"
    assert found["ffv1"] == "ffv1" and found["aac"] == "aac"
    assert "=" not in found and len(found) == 17
    assert encoders.encoders_listed("") == {}


@pytest.mark.usefixtures("pretended")
def test_encoders_that_ffmpeg_lists_beyond_those_known_are_ways_by_bits_a_second() -> None:
    found = encoders.variants()
    assert found.keys() - encoders.VARIANTS.keys() == {"hevc_v4l2m2m", "vp8_vaapi", "h264_vulkan", "libopenh264"}
    quality = found["vp8_vaapi"].quality_for(1920 * 1080)
    assert (quality.option, quality.start) == ("-b:v", pytest.approx(3_000_000 * 1920 * 1080 / (854 * 480), abs=500))
    words = found["vp8_vaapi"].words(quality.start, 4)
    assert words == ["-c:v", "vp8_vaapi", "-b:v", f"{quality.start:.0f}", "-vf", "format=nv12,hwupload"]
    assert found["vp8_vaapi"].before[0] == "-init_hw_device" and found["vp8_vaapi"].before[1].startswith(
        "vaapi=on:/dev/dri"
    )
    assert found["h264_vulkan"].before[:2] == ("-init_hw_device", "vulkan=on")
    assert found["libopenh264"].words(1e6, 4) == ["-c:v", "libopenh264", "-b:v", "1000000", "-threads", "4"]
    assert VIDEO.study.select({"encoders": "libopen"}) == ["libopenh264"]  # type: ignore[misc]


@pytest.mark.parametrize("name", REASONS)
def test_the_reason_is_ffmpegs_without_its_addresses(name: str) -> None:
    assert encoders.reason_of(REASONS[name]) == SHORT[name]


@pytest.mark.parametrize("text", REPORTED)
def test_the_reason_is_found_in_what_others_saw(text: str) -> None:
    assert encoders.reason_of(text) == REPORTED[text]


def test_what_ffmpeg_reports_only_when_asked_for_more_is_found() -> None:
    # recorded from Debian's 5.1.9
    text = """[graph 0 input from stream 0:0 @ 0x558477c3fd80] w:256 h:144 pixfmt:rgb24 tb:1/5 fr:5/1 sar:1/1
[h264_omx @ 0x558477c3ce00] libOMX_Core.so not found
[h264_omx @ 0x558477c3ce00] libOmxCore.so not found
Error initializing output stream 0:0 -- Error while opening encoder for output stream #0:0 - maybe incorrect parameters
"""
    assert encoders.detail_of(text, "h264_omx") == "libOmxCore.so not found"
    # as in a report on a GTX 1070 (k4yt3x/video2x issue 1437)
    text = """[h264_nvenc @ 0000021f1cdbe7c0] Multiple reference frames are not supported by the device
[h264_nvenc @ 0000021f1cdbe7c0] No capable devices found
"""
    assert encoders.detail_of(text, "h264_nvenc") == "Multiple reference frames are not supported by the device"
    assert encoders.detail_of(text, "h264_qsv") == ""


def test_a_device_that_may_not_be_opened_is_not_called_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    text = (
        "[AVHWDeviceContext @ 0x555715e85cc0] No VA display found for device /dev/null.\nDevice creation failed: -22.\n"
    )
    answer = encoders.reason_of(text)
    assert answer == "No VA display found for device /dev/null (/dev/null is there, but this user may not open it)"


def test_what_else_ffmpeg_says() -> None:
    assert encoders.version_of("ffmpeg version 5.1.9-0+deb12u1 Copyright (c)") == "5.1.9-0+deb12u1"
    assert encoders.version_of("") == "of unknown version"
    assert encoders.reason_of("") == "ffmpeg said nothing"
    assert encoding.encoding_seconds(BENCH) == 0.251
    assert encoding.encoding_seconds("no such line") is None


@pytest.mark.usefixtures("pretended")
def test_each_encoder_is_tried_and_says_why_it_does_not_work() -> None:
    reasons = dict(encoders.Contenders())
    assert {name: reasons[name] for name in SHORT} == SHORT
    assert reasons["libx264-medium"] is None and reasons["libsvtav1-8"] is None
    assert reasons["av1_qsv"] == "ffmpeg 5.1.9-0+deb12u1 has no encoder av1_qsv"


@pytest.mark.usefixtures("pretended")
def test_the_study_has_a_row_for_each() -> None:
    rows = {c.name: c for c in contenders_of(VIDEO, VIDEO.study.point({}))}
    assert rows.keys() == encoders.variants().keys()
    assert rows["h264_nvenc"].not_run == "Cannot load libcuda.so.1" and rows["h264_nvenc"].kind == "variant"
    assert "--contender" in default_command("video", ["height=90"])
    few = contenders_of(VIDEO, VIDEO.study.point({"encoders": "libx264,stored"}))
    assert [c.name for c in few] == ["stored", "libx264-ultrafast", "libx264-veryfast", "libx264-medium"]


@pytest.mark.usefixtures("pretended")
def test_only_who_is_asked_for_is_tried(tmp_path: Path) -> None:
    rows = script_contenders(VIDEO, VIDEO.study.point({}), ("h264_nvenc",))
    assert {c.name: c.not_run for c in rows if c.not_run} == {"h264_nvenc": "Cannot load libcuda.so.1"}
    tried = re.findall(r"-c:v (\S+)", (tmp_path / "asked").read_text())
    assert tried == ["h264_nvenc"]


def test_without_ffmpeg_every_row_says_what_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    reasons = dict(encoders.Contenders())
    assert set(reasons.values()) == {"ffmpeg is not installed: apt-get install ffmpeg"}


def _row(name: str, for_scale: bool = False, **values: float) -> dict[str, Any]:
    metrics = {"fps": 50.0, "mbits": 3.0, "psnr_db": 46.2, "quality": 23.5, **values}
    return {
        "contender": name,
        "kind": "variant",
        "seconds": 1.0,
        "metrics": metrics,
        "not_run": None,
        "for_scale": for_scale,
    }


def test_encoders_are_reported_at_one_quality_with_those_that_do_not_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # one that is installed may lack what the report names then
    monkeypatch.setenv("PATH", str(tmp_path))
    report, advise = VIDEO.study.report, VIDEO.study.advise
    assert report is not None and advise is not None
    absent = {"contender": "h264_qsv", "kind": "variant", "seconds": None, "not_run": "MFX session: unsupported (-3)"}
    rows = [
        _row("libx265-medium", fps=18.0, mbits=1.0),
        _row("libx264-medium", fps=90.0, mbits=2.0, psnr_db=45.5),
        _row("libx265-ultrafast", fps=17.0, mbits=1.5),
        # by far the best in both if that were at like quality
        _row("librav1e-10", for_scale=True, fps=900.0, mbits=0.1, psnr_db=45.4, quality=1.0),
    ]
    lines = report({"rows": [*rows, absent], "point": {"psnr": "46"}})
    assert lines[0].startswith("at like quality, PSNR within 0.5 dB of 46;")
    assert re.search(r"libx264-medium +90\.0 frames/s +2\.00 Mbit/s +45\.50 dB  -crf 23\.5$", lines[1])
    assert (
        lines[1].startswith("* ") and lines[2].startswith("* libx265-medium") and lines[3].startswith("  libx265-ultra")
    )
    assert lines[4] == "not comparable, farther than 0.5 dB from 46 at best: librav1e-10 (45.4 dB at -qp 1)"
    assert lines[5].startswith("no device encodes here")
    best = advise({"rows": [*rows, absent], "point": {"psnr": "46"}})
    assert best[0].startswith("fastest libx264-medium, fewest bits libx265-medium: 5.0 times the speed for 2.0 times")
    assert best[1] == "fewest bits of those that keep up with 30 frames a second: libx264-medium, 2.00 Mbit/s"
    slow = [_row("libx265-medium", fps=18.0, mbits=1.0), _row("libaom-av1-8", fps=9.0, mbits=0.9)]
    assert "none keeps up with 30 frames a second" in advise({"rows": slow, "point": {"psnr": "46"}})
    none = ["no device encodes here; each was tried, and the table says why not"]
    assert report({"rows": [absent], "point": {"psnr": "42"}}) == none
    alone = report({"rows": [_row("libx264-medium", for_scale=True), absent], "point": {"psnr": "42"}})
    assert alone == [
        "not comparable, farther than 0.5 dB from 42 at best: libx264-medium (46.2 dB at -crf 23.5)",
        *none,
    ]
    working = report({"rows": [_row("h264_qsv")], "point": {"psnr": "46"}})
    assert working[-1] == "encoders of devices that work here: h264_qsv"


def _judged(change: Any, frames: int = 6) -> str | None:
    with Judge(str(VIDEO.binary), ["height=48", f"frames={frames}"]) as judge:
        clip = judge.inputs["clip"].reshape(frames, -1)
        return judge.wrong({"decoded": change(clip.copy())})


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c[::-1],
        lambda c: np.roll(c, 1, axis=0),
        lambda c: np.roll(c, 4, axis=1),
        lambda c: np.concatenate([c[:-1], np.full_like(c[-1:], 16)]),
        np.zeros_like,
        lambda c: np.concatenate(
            [c[:, : c.shape[1] * 2 // 3], c[:, c.shape[1] * 5 // 6 :], c[:, c.shape[1] * 2 // 3 : c.shape[1] * 5 // 6]],
            axis=1,
        ),
    ],
    ids=["backwards", "late", "shifted", "last-grey", "black", "colours-exchanged"],
)
def test_a_broken_stream_is_never_right(change: Any) -> None:
    assert "dB from the clip's" in (_judged(change) or "")


def test_a_clip_that_is_near_is_right() -> None:
    assert _judged(lambda c: c) is None
    assert _judged(lambda c: c // 4 * 4 + 2) is None
    assert "not those of the study" in (_judged(lambda c: c[:-1]) or "")


def test_an_odd_height_is_one_clear_message() -> None:
    (stored,) = native_contenders(VIDEO, {"height": "481"})
    done = subprocess.run(stored.command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "height 481 is odd" in done.stderr


def test_the_clip_moves_and_has_texture(tmp_path: Path) -> None:
    (stored,) = native_contenders(VIDEO, {"height": "120", "frames": "3"})
    subprocess.run([*stored.command, "--dump", str(tmp_path)], check=True, capture_output=True)
    clip = np.load(tmp_path / "clip.npy").reshape(3, -1)
    width = 2 * round(120 * 8 / 9)
    light = clip[:, : width * 120].reshape(3, 120, width).astype(int)
    assert clip.shape[1] == width * 120 * 3 // 2
    assert 10 < light.std() < 80
    # neither still nor noise: neighbours in space are near, frames differ
    assert 0.5 < np.abs(np.diff(light, axis=2)).mean() < 10
    assert 20 < psnr(clip[0], clip[1]) < 40


def _working(among: Sequence[str]) -> list[str]:
    point = VIDEO.study.point({"height": "90", "frames": "5", "psnr": "40"})
    return [c.name for c in script_contenders(VIDEO, point, among) if c.name in among and c.not_run is None]


@pytest.fixture(scope="module")
def all_live() -> list[str]:
    """The encoders that work here; each is tried, which takes seconds."""
    found = _working(list(encoders.variants()))
    if not found:
        pytest.skip("no encoder works here: apt-get install ffmpeg; what is read of it is tested above")
    return found


@pytest.fixture(scope="module")
def live(request: pytest.FixtureRequest) -> list[str]:
    """Some of them, the first two and the last two of a processor's, and VP8's; all where none of these works."""
    processors = [name for name in encoders.VARIANTS if name.startswith("lib")]
    found = _working([*processors[:2], _VP8, *processors[-2:]])
    return found or list(request.getfixturevalue("all_live"))


def _ran(name: str, words: Sequence[str] = (), **knobs: str) -> subprocess.CompletedProcess[str]:
    script = VIDEO.folder / "programs" / "ffmpeg.py"
    command = [*script_command(VIDEO, script, name, VIDEO.study.point(knobs)), *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def _answer(name: str, words: Sequence[str] = (), **knobs: str) -> dict[str, Any]:
    done = _ran(name, words, **knobs)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


#: Of the encoders that work one, or in the long tests all.
SOME = pytest.mark.parametrize("which", ["live", pytest.param("all_live", marks=pytest.mark.long)])
_MOST = {"live": 1, "all_live": 100}


@pytest.mark.long
@SOME
def test_encoders_that_work_are_timed_at_like_quality(which: str, request: pytest.FixtureRequest) -> None:
    for name in request.getfixturevalue(which)[: _MOST[which]]:
        settled = _answer(name, settling_command(()), height="90", frames="5", psnr="40")
        assert settled.keys() == {"nodewise", "quality"}, name
        words = settled_command((), {"quality": settled["quality"]})
        answer = _answer(name, words, height="90", frames="5", psnr="40")
        assert answer["verified"] is True and answer["items"] == 5, name
        assert answer["fps"] == pytest.approx(5 / answer["seconds"]), name
        assert answer["quality"] == settled["quality"] and is_like(answer["psnr_db"], 40), name
        assert answer["for_scale"] == 0 and 0.8 < answer["ssim"] < 1, name
        assert answer["frames_per_mbit"] == pytest.approx(30 / answer["mbits"]), name


@pytest.mark.long
def test_what_does_not_reach_the_wanted_psnr_keeps_its_row_and_is_not_compared(live: list[str]) -> None:
    # the finest setting of VP8's bits a second is far below
    name = _VP8 if _VP8 in live else live[-1]
    answer = _answer(name, height="90", frames="3", psnr="75")
    assert answer["verified"] is True and answer["psnr_db"] < 75 - LIKE_DB
    assert answer["fps"] > 0 and answer["for_scale"] == 1


@SOME
def test_one_tiny_frame_is_encoded_or_the_encoder_says_why_not(which: str, request: pytest.FixtureRequest) -> None:
    for name in request.getfixturevalue(which)[-_MOST[which] :]:
        done = _ran(name, height="16", frames="1")
        if done.returncode != 0:
            # SVT-AV1 takes nothing below 64 by 64
            assert name.startswith("libsvtav1") and "RefusedError: libsvtav1" in done.stderr, name
            continue
        answer = json.loads(done.stdout)
        assert answer["verified"] is True and answer["items"] == 1, name


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_nothing_is_left_where_it_is_ended_meanwhile(live: list[str], tmp_path: Path, how: signal.Signals) -> None:
    point = VIDEO.study.point({"height": "360", "frames": "60"})
    command = script_command(VIDEO, VIDEO.folder / "programs" / "ffmpeg.py", live[0], point)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not _encoding(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        coders = _encoding(process.pid)
        assert coders
        os.kill(process.pid, how)
        process.wait(30)
        while any(map(_is_alive, coders)) and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert not any(map(_is_alive, coders)) and not list(tmp_path.iterdir())


def _encoding(parent: int) -> list[int]:
    """The processes of FFmpeg below one that read a clip."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    found = []
    for child in children:
        # one may end between being listed and being looked at
        with contextlib.suppress(OSError):
            if b"rawvideo" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    return found


def _is_alive(process: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def test_the_programs_file_needs_nothing_but_numpy() -> None:
    script = VIDEO.folder / "programs" / "ffmpeg.py"
    asked = ["--available", "--among", _VP8]
    words = [sys.executable, "-m", "nodewise.studies.peer_worker", str(script), str(VIDEO.binary), *asked]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["contenders"].keys() == encoders.variants().keys()
