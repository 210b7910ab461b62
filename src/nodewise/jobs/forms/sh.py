# SPDX-License-Identifier: BSD-3-Clause
"""A script for sh that becomes the program, from wherever it is started."""

from __future__ import annotations

from nodewise.jobs.script import Form, Kept, as_inherited, commented, self_contained
from nodewise.runner.launch import launch_of


def shell_script(kept: Kept) -> str:
    """The text; ranks are started through a text inside it."""
    body = launch_of(self_contained(kept.setting), as_inherited(kept)).body(kept.asked_in)
    return "\n".join(["#!/bin/sh", *commented(kept.about), "set -eu", body])


FORM = Form("sh", "a shell", "launch.sh", shell_script)
