# SPDX-License-Identifier: BSD-3-Clause
"""A record to be shown to strangers: host, user, paths and commands are left out before anything is made of it.

What was found stays: machine, settings, times. What a program printed goes, and so does what a user wrote to ask.
"""

from __future__ import annotations

import contextlib
import getpass
import pwd
import re
import socket
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.masking import ORDINARY
from nodewise.records.experiment import TELLING
from nodewise.runner.setting import setting_from_json
from nodewise.tuning.ranks import read_ranked

#: What the folder is called in the place of its own name.
FOLDER = Path("DIR")
PROGRAM = "program"
#: Folders that are alike on all machines.
_SYSTEM = "usr|lib|lib32|lib64|bin|sbin|proc|sys|dev|etc|opt|run|boot|nix"
_IN_PATH = r"[^\s'\"`:,;()<>|&\[\]{}]"
_PATH = re.compile(rf"(?<![\w/.:~])(?:~/|/(?!(?:{_SYSTEM})(?:/|\b))){_IN_PATH}+")
_HOME = re.compile(r"/(?:home|Users)/([^/\s'\"]+)")
#: In the values of a parameter what looks like the name of a file.
_FILE = re.compile(r".*/.*|[\w.-]*\.[A-Za-z]\w*", re.DOTALL)
#: Shorter words of a command are in other texts by chance.
_SHORTEST = 4


class Anonymous:
    """Leads a record past its reader without what says whose it is; for one directory."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._literal: dict[str, str] = {}
        self._pattern = re.compile(r"(?!)")
        self._paths: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._keys: dict[str, str] = {}

    # --- what is looked for

    def _learn(self, data: Mapping[str, Any]) -> None:
        """Take from the question whose it is and what was run."""
        hosts = {data["machine"].get("hostname", ""), socket.gethostname()} - {"", "localhost"}
        hosts |= {host.partition(".")[0] for host in hosts}
        paths = {str(Path.home()), data.get("cwd", ""), str(self._folder.absolute()), tempfile.gettempdir()}
        paths |= {str((data.get("start") or {}).get(name, "")) for name in ("cwd", "stdin")}
        users = {name for path in paths for name in _HOME.findall(path)}
        with contextlib.suppress(OSError, KeyError):
            users.add(getpass.getuser())
            users.add(pwd.getpwuid(self._folder.stat().st_uid).pw_name)
        for path in sorted(paths - {"", "/"}, key=len, reverse=True):
            self._literal[path] = self._numbered(path)
        words = [word for text in self._texts(data) for word in re.split(r"\s+", text)]
        for word in (w for w in words if len(w) >= _SHORTEST and not w.startswith("-") and not _is_plain(w)):
            self._literal.setdefault(word, PROGRAM)
            base = word.rstrip("/").rpartition("/")[2]
            if len(base) >= _SHORTEST and not _is_plain(base):
                self._literal.setdefault(base, PROGRAM)
        self._literal |= dict.fromkeys(users - {"root", ""}, "user") | dict.fromkeys(hosts, "host")
        longest = sorted(self._literal, key=len, reverse=True)
        # of a path also what lies below it
        ends = {True: _IN_PATH + "*", False: r"(?![\w-])"}
        texts = [rf"(?<![\w.-]){re.escape(text)}{ends[text.startswith('/')]}" for text in longest]
        self._pattern = re.compile("|".join(texts) or "(?!)")

    @staticmethod
    def _texts(data: Mapping[str, Any]) -> list[str]:
        """The words and lines that were run."""
        contenders = data.get("contenders") or ()
        steps = [text for c in contenders for text in (c.get("steps") or {}).values() if text]
        build = (data.get("wanted") or {}).get("build")
        return [*data.get("command", ()), *(c["text"] for c in contenders), *steps, *([build] if build else [])]

    def _numbered(self, path: str) -> str:
        return self._paths.setdefault(path.rstrip("/"), f"path-{len(self._paths) + 1}")

    def _text(self, text: str) -> str:
        """A text without paths, host, user and the words of commands."""
        if text in self._names:
            return self._names[text]
        for name in sorted(self._names, key=len, reverse=True):
            text = text.replace(name, self._names[name])
        text = self._pattern.sub(lambda found: self._literal.get(found[0]) or self._numbered(found[0]), text)
        return _PATH.sub(lambda found: self._numbered(found[0]), text)

    def _all(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {k: self._all(v) for k, v in value.items()}
        return [self._all(v) for v in value] if isinstance(value, list) else value

    def _value(self, value: Any) -> Any:
        """A value of a parameter: the name of a file goes, others are kept apart by theirs."""
        file = isinstance(value, str) and _FILE.fullmatch(value) and not _is_plain(value)
        return self._numbered(value) if file else self._all(value)

    # --- the record

    def question(self, data: dict[str, Any]) -> dict[str, Any]:
        """The question without what was typed, where and by whom."""
        self._learn(data)
        contenders = data.get("contenders") or ()
        for i, one in enumerate(contenders, 1):
            # a name that its user gave, or that of a setting, is no command
            self._names[one["text"]] = f"command {i}"
            if one["text"] in one["name"]:
                self._names[one["name"]] = f"command {i}"
        made = {
            k: v if k in ("machine", "readme", "kind") else self._all(v)
            for k, v in data.items()
            if k not in ("loaded", "how")
        }
        made |= {"asked": [], "cwd": ""}
        machine = dict(data["machine"])
        source, sign, _ = str(machine.get("source", "")).partition(":")
        made["machine"] = {**machine, "hostname": ""}
        if source in ("xml", "json"):
            made["machine"]["source"] = source + sign
        made["environment"] = self._environment(data.get("environment") or {})
        if "readme" in data:
            made["readme"] = self._text(data["readme"])
        if "start" in data:
            start = data["start"]
            made["start"] = {**start, "cwd": "", "stdin": "", "env": self._environment(start.get("env") or {})}
        if "wanted" in data:
            wanted = data["wanted"]
            kept = {name: [self._value(v) for v in values] for name, values in wanted["parameters"].items()}
            made["wanted"] = {**made["wanted"], "parameters": kept, "build": None}
        if "axes" in data:
            made["axes"] = {name: [self._value(v) for v in values] for name, values in data["axes"].items()}
        if contenders:
            made["contenders"] = [
                {
                    "name": self._key(c["name"]),
                    "text": self._names[c["text"]],
                    "shell": c["shell"] and "sh",
                    "steps": {},
                }
                for c in contenders
            ]
            made["command"] = [self._names[c["text"]] for c in contenders]
        elif "command" in data:
            made["command"] = self._command(data["command"])
        if isinstance(same := data.get("same_output"), dict):
            made["same_output"] = {**same, "what": same["what"] and "what was asked for"}
            made["same_output"]["reference"] = self._key(str(same["reference"]))
        if isinstance(promise := data.get("promise"), dict):
            named = {name: self._key(promise[name]) for name in ("one", "other")}
            shown: dict[str, Any] = {"experiment": str(FOLDER), "launch_line": PROGRAM, "command": [PROGRAM]}
            # the other machine's name is not known
            shown["differences"] = [text for text in made["promise"]["differences"] if not text.startswith("host")]
            made["promise"] = {**made["promise"], **named, **shown}
        return made

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Those that bear on a run; others say more of their user than of the result."""
        return {k: self._text(v) for k, v in variables.items() if k.startswith(TELLING)}

    def _command(self, words: list[str]) -> list[str]:
        """The program, and how many ranks of it are started by which launcher."""
        with contextlib.suppress(InputError):
            ranked = read_ranked(words)
            if ranked is not None:
                return [Path(ranked.head[0]).name, "-n", str(ranked.ranks), PROGRAM]
        return [PROGRAM]

    def _key(self, key: str) -> str:
        """A setting's key; two are never made one."""
        if key not in self._keys:
            made = self._text(key)
            if made in self._keys.values():
                made = f"{made} ({len(self._keys) + 1})"
            self._keys[key] = made
        return self._keys[key]

    def line(self, data: dict[str, Any]) -> dict[str, Any]:
        """A line of samples: settings without their commands, runs without what they printed."""
        kind = data.get("type")
        if kind == "setting":
            return self._setting(data)
        if kind == "sample":
            made = {k: v for k, v in data.items() if k != "output"}
            made["setting"] = self._key(str(data.get("setting")))
            made |= {name: self._all(data[name]) for name in ("marks", "error") if data.get(name)}
            return made | ({"differs": "some place"} if data.get("differs") else {})
        if kind == "differs":
            return {**data, "differs": "some place"}
        if kind == "plan" and isinstance(data.get("ablations"), dict):
            ablations = {axis: self._key(str(key)) for axis, key in data["ablations"].items()}
            return {**data, "candidate": self._key(str(data.get("candidate"))), "ablations": ablations}
        if kind == "neighbour":
            return {**data, "pid": 0, "user": "another user", "directory": "another folder"}
        unknown: dict[str, Any] = self._all(data)
        return unknown

    def _setting(self, data: dict[str, Any]) -> dict[str, Any]:
        setting = setting_from_json(data)
        known = (*TELLING, *(name for name in setting.env if name in setting.values))
        made = {
            **data,
            "command": self._command(list(setting.command)),
            "env": {k: self._text(v) for k, v in setting.env.items() if k.startswith(known)},
            "values": {k: self._value(v) for k, v in setting.values.items()},
        }
        made = {k: v for k, v in made.items() if k not in ("name", "broken", "build")}
        if setting.broken:
            made["broken"] = "it could not be made"
        key = self._key(setting.key)
        return made if setting_from_json(made).key == key else {**made, "name": key}

    def found(self, data: dict[str, Any]) -> dict[str, Any]:
        """Results without paths, host and user."""
        made: dict[str, Any] = self._all(data)
        return made


def _is_plain(word: str) -> bool:
    """Whether a word says nothing of who uses it: a number, an option's switch, or a word of nodewise's own."""
    return word.lower() in ORDINARY or bool(re.fullmatch(r"[\d.,:+*-]+|study:\w+|command|path-\d+|\{[\w-]+\}", word))
