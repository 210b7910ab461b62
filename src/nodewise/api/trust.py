# SPDX-License-Identifier: BSD-3-Clause
"""Whose an experiment is: going on with one, or repeating it, runs the commands that it names, so its owner has to be known."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.lists import listed
from nodewise.base.masking import shell_text

#: What of a folder says which commands are run, and how.
_TELLING = ("question.json", "samples.jsonl", "secrets.json")


def check_owner(folder: Path, trust: bool) -> None:
    """Raises InputError where a folder, or what it holds, is another user's, whom one does not `trust`."""
    if trust:
        return
    owners = dict.fromkeys(
        uid for path in (folder, *(folder / name for name in _TELLING)) if (uid := _owner(path)) is not None
    )
    others = [uid for uid in owners if uid != os.geteuid()]
    if not others:
        return
    # commands that need no trust are over before these are imported
    from nodewise.records.experiment import read_question
    from nodewise.runner.launch import quoted_line

    question = read_question(folder)
    whose = listed([_user(uid) for uid in others])
    asked = [word.replace("\n", " ") for word in question["asked"]]
    commands = [f"  {' '.join(shell_text(text).split())}" for text in _commands(question)]
    raise InputError(
        f"{folder} belongs to {whose}, not to you ({_user(os.geteuid())}), and these commands of {whose} would be run:\n"
        + "\n".join([*commands, f"  asked for as: {quoted_line(asked)}"]),
        "where you trust them, give --trust",
    )


def _commands(question: dict[str, Any]) -> list[str]:
    """The lines that going on runs, as far as the question says them."""
    if "contenders" in question:
        steps = [text for c in question["contenders"] for text in (c["steps"] or {}).values() if text]
        return list(dict.fromkeys([*(c["text"] for c in question["contenders"]), *steps]))
    from nodewise.runner.launch import quoted_line

    build = (question.get("wanted") or {}).get("build")
    words = question.get("command") or [question["kind"], str(question.get("study", ""))]
    return [quoted_line(words), *([build] if build else [])]


def _owner(path: Path) -> int | None:
    try:
        # of a link it is also what it leads to that counts
        return path.stat().st_uid
    except OSError:
        return None


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
