# SPDX-License-Identifier: BSD-3-Clause
"""Programs that make pictures and films."""

from __future__ import annotations

from benchmarks._real.catalogue import INPUTS, Case, Room, program, with_parameter


@program("ffmpeg", {"ffmpeg": "ffmpeg"})
def _ffmpeg(room: Room) -> list[Case]:
    """Films with motion and grain, decoded once into raw pictures so that only the encoder's work is measured."""
    quiet = ["ffmpeg", "-nostdin", "-v", "error", "-y"]
    for name, size, frames in (("small", "640x360", "60"), ("large", "1280x720", "8")):
        source = f"testsrc2=size={size}:rate=25,noise=alls=12:allf=t:all_seed=7,format=yuv420p"
        room.do(*quiet, "-f", "lavfi", "-i", source, "-frames:v", frames, f"{name}.y4m")

    def encode(name: str, *codec: str) -> list[str]:
        return [*quiet, "-i", f"{name}.y4m", *codec, "-f", "null", "-"]

    room.do(*quiet, "-i", "large.y4m", "-c:v", "libx264", "-preset", "fast", "large.mkv")
    vp9 = ("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "6")
    return [
        Case("H.264", tuple(encode("large", "-c:v", "libx264", "-preset", "medium"))),
        with_parameter(
            "H.264, one thread",
            encode("large", "-c:v", "libx264", "-preset", "medium", "-threads", "{workers}"),
            "workers",
            ["1", "2", "4"],
            "2",
        ),
        Case(
            "H.265", tuple(encode("small", "-c:v", "libx265", "-preset", "veryfast", "-x265-params", "log-level=none"))
        ),
        with_parameter(
            "VP9, rows and tiles",
            encode("small", *vp9, "-threads", "2", "-tile-columns", "1", "-row-mt", "{rows}"),
            "rows",
            ["0", "1"],
        ),
        Case(
            "scale",
            (*quiet, "-i", "large.mkv", "-vf", "scale=640:360:flags=lanczos,unsharp=7:7:1.2", "-f", "null", "-"),
        ),
    ]


@program("POV-Ray", {"povray": "povray"})
def _povray(room: Room) -> list[Case]:
    room.write("scene.pov", (INPUTS / "scene.pov").read_text())

    def render(width: int, height: int, *more: str) -> list[str]:
        return ["povray", "+Iscene.pov", f"+W{width}", f"+H{height}", "-D", "-GA", "+Oscene.png", *more]

    return [
        Case("plain", tuple(render(240, 180))),
        with_parameter(
            "anti-aliased, threads", render(100, 75, "+A0.2", "+WT{workers}"), "workers", ["1", "2", "4"], "2"
        ),
        with_parameter("size of blocks", render(360, 270, "+BS{block}"), "block", ["200", "32", "16", "8"]),
    ]
