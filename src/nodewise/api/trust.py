# SPDX-License-Identifier: BSD-3-Clause
"""Who owns an experiment: continuing or repeating one runs the commands that it names, so its owner has to be known."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.lists import listed
from nodewise.base.masking import has_masks, shell_text

#: What of a folder says which commands are run, and how.
_DECISIVE = ("question.json", "samples.jsonl", "secrets.json")


class ForeignError(InputError):
    """A folder is another user's. `lines` show what would be run, with true values: whoever decides must see them."""

    def __init__(self, what: str, hint: str, lines: Sequence[str]):
        super().__init__(what, hint)
        self.lines = tuple(lines)


def check_owner(folder: Path, trust: bool) -> None:
    """Raises ForeignError where a folder, or what it holds, is another user's, whom one does not `trust`."""
    if trust:
        return
    owners = dict.fromkeys(
        uid for path in (folder, *(folder / name for name in _DECISIVE)) if (uid := _owner(path)) is not None
    )
    others = [uid for uid in owners if uid != os.geteuid()]
    if not others:
        return
    whose = listed([_user(uid) for uid in others])
    lines = _would_be_run(folder)
    raise ForeignError(
        f"{folder} belongs to {whose}, not to you ({_user(os.geteuid())}), and these commands of {whose} would be run:\n"
        + "\n".join(lines),
        "where you trust them, give --trust",
        lines,
    )


def _would_be_run(folder: Path) -> list[str]:
    """The commands, and where and with which variables they are run, with their true values where these can be read."""
    # commands that need no trust are over before these are imported
    from nodewise.records.experiment import read_experiment
    from nodewise.records.secret_file import SECRETS, Revealed
    from nodewise.runner.launch import quoted, quoted_line

    through: Revealed | None = None
    unknown = ""
    try:
        through = Revealed(folder)
        found = read_experiment(folder, judged=False, through=through)
    except InputError as problem:
        found = read_experiment(folder, judged=False)
        unknown = f"what is written as a variable here is not known: {problem}" if has_masks(found.question) else ""
    question = found.question
    start = question.get("start") or {}
    asked = quoted_line(question["asked"])
    settings = [quoted_line(s.command) for s in found.settings.values()]
    builds = [s.build for s in found.settings.values() if s.build]
    commands = [shell_text(text) for text in dict.fromkeys([*_commands(question), *settings, *builds])]
    variables = {k: v for k, v in question["environment"].items() if os.environ.get(k) != v}
    variables |= _given_variables(question["asked"]) | start.get("env", {})
    set_to = {f"{k}={quoted(v)}" for s in found.settings.values() for k, v in s.env.items()}
    set_to |= {f"{k}={quoted(v)}" for k, v in variables.items()}
    lines = [*commands, f"asked for as: {asked}", f"in the directory: {start.get('cwd') or question['cwd']}"]
    lines += [f"with the input: {start['stdin']}"] if start.get("stdin") else []
    lines += [f"with the variable: {text}" for text in sorted(set_to)]
    lines += [unknown.replace(str(folder / SECRETS), SECRETS)] if unknown else []
    return [f"  {_printable(line)}" for line in lines]


def _given_variables(asked: Sequence[str]) -> dict[str, str]:
    """What --env sets, of a kind of experiment that keeps it in the line that asked for it alone."""
    own = list(asked[: asked.index("--")] if "--" in asked else asked)
    texts = [word.removeprefix("--env=") for word in own if word.startswith("--env=")]
    texts += [word for option, word in pairwise(own) if option == "--env"]
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def _printable(text: str) -> str:
    """One line in which nothing is hidden from who reads it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


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
