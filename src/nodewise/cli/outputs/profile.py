# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise profile --json` prints."""

from __future__ import annotations

from dataclasses import fields

from nodewise.base.frozen import dataclass
from nodewise.profile.changes import Since
from nodewise.profile.result import ProfileResult


@dataclass(frozen=True)
class ProfileOutput(ProfileResult):
    """A profile, and what changed `since` the one that it was held `--against` (None: it was held against none)."""

    since: Since | None = None


def profile_output(result: ProfileResult, since: Since | None) -> ProfileOutput:
    """A profile with what changed."""
    return ProfileOutput(**{f.name: getattr(result, f.name) for f in fields(ProfileResult)}, since=since)
