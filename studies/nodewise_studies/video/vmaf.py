# SPDX-License-Identifier: BSD-3-Clause
"""VMAF, by FFmpeg's filter where it was built with it: how viewers would judge a clip, from 0 to 100."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_GRAPH = "[0:v]settb=1/30,setpts=N[made];[1:v]settb=1/30,setpts=N[clip];[made][clip]libvmaf=n_threads={threads}"


@lru_cache(maxsize=4)
def has_vmaf(program: str) -> bool:
    """Whether FFmpeg lists the filter."""
    words = [program, "-hide_banner", "-filters"]
    listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return re.search(r"^ \S+ +libvmaf ", listed, re.MULTILINE) is not None


def vmaf_of(printed: str) -> float | None:
    """The score in what FFmpeg prints, or None where there is none."""
    read = re.findall(r"VMAF score: ([0-9.]+)", printed)
    return float(read[-1]) if read else None


def vmaf(program: str, made: str, clip: Any, raw: Sequence[str], threads: int, file: int) -> float | None:
    """The score of an encoded file against the raw clip, frame by frame; None where the filter refuses, as it does tiny frames.

    `raw` are FFmpeg's words that describe the clip, `file` the descriptor that `made` names.
    """
    words = [program, "-hide_banner", "-nostats", "-i", made, *raw, "-i", "pipe:0"]
    words += ["-lavfi", _GRAPH.format(threads=threads), "-f", "null", "-"]
    done = subprocess.run(words, input=clip.data, capture_output=True, check=False, pass_fds=[file])
    return vmaf_of(done.stderr.decode(errors="replace")) if done.returncode == 0 else None
