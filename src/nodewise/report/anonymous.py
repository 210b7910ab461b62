# SPDX-License-Identifier: BSD-3-Clause
"""A record to be shown to strangers: host, user, paths and commands are left out before anything is made of it.

What was found stays: machine, settings, times. What a program printed goes, and so does what a user wrote to ask: names of
parameters, of their values and of metrics become `param-1`, `value-1` and `metric-1`, alike wherever they stand.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.masking import ORDINARY
from nodewise.records.kept_variables import KEPT_VARIABLES
from nodewise.records.result_store import STUDY
from nodewise.report.anonymous_study import OwnStudy
from nodewise.runner.setting import setting_from_json
from nodewise.studies.shelves import published
from nodewise.tuning.catalogue.read import load_catalogue
from nodewise.tuning.known_axes import AXES, axis_names
from nodewise.tuning.ranks import read_ranked

#: What the folder is called in the place of its own name.
FOLDER = Path("DIR")
PROGRAM = "program"
#: Folders that are alike on all machines.
_SYSTEM = "usr(?!/local/)|lib|lib32|lib64|bin|sbin|proc|sys|dev(?!/shm/)|etc|boot|nix"
_IN_PATH = r"[^\s'\"`:,;()<>|&\[\]{}]"
_PATH = re.compile(rf"(?<![\w/.:~])(?:~/|/(?!(?:{_SYSTEM})(?:/|\b))){_IN_PATH}+")
_HOME = re.compile(r"/(?:home|Users)/([^/\s'\"]+)")
#: What ran meanwhile (`records.sample_lines.ran_meanwhile`): whose it is, and in which folder, up to the next one.
_NEIGHBOUR = re.compile(
    r"(nodewise \S+ of )\S+ \(process \d+\)(, kept in .*?(?=; nodewise \S+ of |; \d+ more$|$))?", re.MULTILINE
)
#: In the values of a parameter what looks like the name of a file.
_FILE = re.compile(r".*/.*|[\w.-]*\.[A-Za-z]\w*", re.DOTALL)
#: A number, a size or a level of optimising says nothing of who uses it.
_AMOUNT = re.compile(r"[+-]?[\d.,:]+([eE][+-]?\d+)?([kKmMgGtT]?i?[bB]?|[mun]?s|%)|-O(\d|s|z|fast|g)|[A-Za-z]")
#: NAME=VALUE in the key of a setting.
_ASSIGNED = re.compile(r"(?<!\S)([A-Za-z_][\w-]*)=(\S+)")
#: Questions about users' own programs; those of a study are of numbers that the study names.
_ASKED_BY_USERS = ("tune", "compare", "run", "confirm", "scale")
#: What nodewise counts of a run, or any program may.
_COUNTED = frozenset(
    [
        "seconds",
        "wall_s",
        "cpu_s",
        "work",
        "flops",
        "items",
        "bytes",
        "cost",
        "verified",
        "user_s",
        "system_s",
        "peak_bytes",
        "context_switches",
        "migrations",
        "involuntary_switches",
        "waited_s",
        "watched_s",
        "busiest_s",
        "left_s",
        "read_s",
        "watched_threads",
        "minor_faults",
        "major_faults",
        "exit_code",
        "cycles",
        "instructions",
        "cache_misses",
        "branch_misses",
        "steal_s",
        "busy_s",
        "mask_steal_s",
        "mask_busy_s",
        "domain_busy_s",
        "processors",
        "ready",
        "pressure_cpu_s",
        "pressure_memory_s",
        "pressure_io_s",
        "throttled_s",
        "heat_events",
        "frequency_hz",
        "base_frequency_hz",
        "load_average",
        "energy_j",
        "energy_package_j",
        "energy_dram_j",
        "energy_psys_j",
        "rest_s",
        "rest_busy_s",
    ]
)
#: Shorter words of a command are in other texts by chance.
_SHORTEST = 4


@cache
def own_axes() -> frozenset[str]:
    """The names of all axes that come with nodewise."""
    own = (name for name in axis_names() if AXES.brought(name) is None)
    return frozenset((*own, *(knob.name for library in load_catalogue() for knob in library.knobs)))


class Anonymous:
    """Leads a record past its reader without what says whose it is; for one directory."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._literal: dict[str, str] = {}
        self._pattern = re.compile(r"(?!)")
        self._paths: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self._parameters: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._metrics: dict[str, str] = {}
        self._kind = ""
        #: The name of a study that does not come with nodewise, if it is one.
        self._own_study: OwnStudy | None = None

    # --- what is looked for

    def _learn(self, data: Mapping[str, Any]) -> None:
        """Take from the question whose it is and what was run."""
        # as it was recorded: who makes the report, and where, has no part in it
        hosts = {data["machine"].get("hostname", "")} - {"", "localhost"}
        hosts |= {host.partition(".")[0] for host in hosts}
        paths = {data.get("home", ""), data.get("cwd", ""), str(self._folder.absolute())}
        paths |= {str((data.get("start") or {}).get(name, "")) for name in ("cwd", "stdin")}
        users = {data.get("user", ""), *(name for path in paths for name in _HOME.findall(path))}
        for path in sorted((p for p in paths if len(p) > 1), key=len, reverse=True):
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
        """A text without paths, host, user, the words of commands and names of the user's own."""
        if text in self._names:
            return self._names[text]
        text = _NEIGHBOUR.sub(lambda m: f"{m[1]}another user{', kept in another folder' if m[2] else ''}", text)
        own = {**self._metrics, **self._parameters, **self._values}
        for name in sorted((n for n in own if len(n) >= _SHORTEST), key=len, reverse=True):
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", own[name], text)
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

    def _parameter(self, name: str) -> str:
        """A name of nodewise's own axes, or of a variable that is everywhere; that of a user's by its number."""
        if name in own_axes() or name.startswith(KEPT_VARIABLES):
            return name
        return self._parameters.setdefault(name, f"param-{len(self._parameters) + 1}")

    def _value(self, name: str, value: Any) -> Any:
        """A value of a parameter: numbers, sizes and words of nodewise's own stay, others are kept apart by numbers."""
        if not isinstance(value, str) or _is_plain(value) or _AMOUNT.fullmatch(value):
            return value
        if _FILE.fullmatch(value):
            return self._numbered(value)
        if self._parameter(name) == name:
            return self._text(value)
        return self._values.setdefault(value, f"value-{len(self._values) + 1}")

    def _valued(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values by the names of their parameters; of some, lists of them."""
        return {
            self._parameter(k): [self._value(k, one) for one in v] if isinstance(v, list) else self._value(k, v)
            for k, v in values.items()
        }

    def _metric(self, name: str) -> str:
        """A number that nodewise counts, or any program; that of a user's own by its number."""
        base = name.removesuffix("/s")
        if base in _COUNTED or (self._kind not in _ASKED_BY_USERS and self._own_study is None):
            return name
        return self._metrics.setdefault(base, f"metric-{len(self._metrics) + 1}") + name[len(base) :]

    # --- the record

    def question(self, data: dict[str, Any]) -> dict[str, Any]:
        """The question without what was typed, where and by whom."""
        self._kind = str(data["kind"])
        self._learn(data)
        wanted = data.get("wanted") or {}
        for name in (*wanted.get("parameters", ()), *wanted.get("variables", ()), *data.get("axes", ())):
            self._parameter(name)
        contenders = data.get("contenders") or ()
        for i, one in enumerate(contenders, 1):
            self._names[one["text"]] = f"command {i}"
            # one that is repeated is called as its setting
            if self._kind != "confirm" or one["text"] in one["name"]:
                self._names[one["name"]] = f"command {i}"
        made = {
            k: v if k in ("machine", "readme", "kind") else self._all(v)
            for k, v in data.items()
            if k not in ("loaded", "how", "defaults", "earlier", "refuted")
        }
        made |= {"asked": [], "cwd": "", "user": "", "home": "", "id": "", "commit": None}
        machine = dict(data["machine"])
        source, sign, _ = str(machine.get("source", "")).partition(":")
        made["machine"] = {**machine, "hostname": ""}
        if source in ("xml", "json"):
            made["machine"]["source"] = source + sign
        made["environment"] = self._environment(data.get("environment") or {})
        if self._kind == STUDY and data["study"] not in published():
            self._own_study = OwnStudy(str(data["study"]), self._parameter, self._value, self._metric)
            made |= self._own_study.question(made | {"point": data.get("point") or {}, "only": data.get("only") or ()})
        elif "readme" in data:
            made["readme"] = self._text(data["readme"])
        if "start" in data:
            start = data["start"]
            made["start"] = {**start, "cwd": "", "stdin": "", "env": self._environment(start.get("env") or {})}
        made |= self._searched(data, made)
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

    def _searched(self, data: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
        """What was tried and what was looked at, of a question whose other texts are `plain`."""
        made: dict[str, Any] = {}
        if "wanted" in data:
            wanted = data["wanted"]
            kept = {name: self._valued(wanted[name]) for name in ("parameters", "variables")}
            constraints = [self._constraint(text) for text in wanted["constraints"]]
            made["wanted"] = {**plain["wanted"], **kept, "build": None, "constraints": constraints}
        if "axes" in data:
            made["axes"] = self._valued(data["axes"])
        if "objective" in data:
            made["objective"] = {**data["objective"], "metric": self._metric(data["objective"]["metric"])}
        if "shown" in data:
            shown_ones = [{**one, "metric": self._metric(one["metric"])} for one in data["shown"]["metrics"]]
            made["shown"] = {**data["shown"], "metrics": shown_ones}
        if "knobs" in data:
            # what a knob is for is the catalogue's; why it may help names files of the program
            made["knobs"] = {self._parameter(k): self._knob(k, knob) for k, knob in data["knobs"].items()}
        return made

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Those that bear on a run; others say more of their user than of the result."""
        return {k: self._text(v) for k, v in variables.items() if k.startswith(KEPT_VARIABLES)}

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
            made = self._names.get(key) or self._text(_ASSIGNED.sub(self._assigned, key))
            if made in self._keys.values():
                made = f"{made} ({len(self._keys) + 1})"
            self._keys[key] = made
        return self._keys[key]

    def _knob(self, name: str, knob: Mapping[str, Any]) -> dict[str, Any]:
        if (called := self._parameter(name)) == name:
            return {**knob, "why": {}}
        return {**knob, "why": {}, "sources": {}, "source": "", "title": called, "variable": called}

    def _assigned(self, found: re.Match[str]) -> str:
        return f"{self._parameter(found[1])}={self._value(found[1], found[2])}"

    def _constraint(self, text: str) -> str:
        """A condition on parameters by their names; what is text in it are values."""
        named = re.sub(r"[A-Za-z_][\w-]*", lambda m: self._parameters.get(m[0], m[0]), text)
        return re.sub(r"'([^']*)'|\"([^\"]*)\"", lambda m: f"'{self._values.get(m[1] or m[2], 'value')}'", named)

    def line(self, data: dict[str, Any]) -> dict[str, Any]:
        """A line of samples: settings without their commands, runs without what they printed."""
        kind = data.get("type")
        if kind == "setting":
            return self._setting(data)
        if kind == "sample":
            made = {k: v for k, v in data.items() if k != "output"}
            made["setting"] = self._key(str(data.get("setting")))
            if isinstance(numbers := data.get("metrics"), Mapping):
                made["metrics"] = {self._metric(str(name)): number for name, number in numbers.items()}
            made |= {name: self._all(data[name]) for name in ("marks", "error") if data.get(name)}
            return made | ({"differs": "some place"} if data.get("differs") else {})
        if kind == "differs":
            return {**data, "differs": "some place"}
        if kind == "plan" and isinstance(data.get("ablations"), dict):
            ablations = {self._parameter(axis): self._key(str(key)) for axis, key in data["ablations"].items()}
            axes = [self._parameter(str(axis)) for axis in data.get("axes", ())]
            candidate = self._key(str(data.get("candidate")))
            return {**data, "candidate": candidate, "ablations": ablations, "axes": axes}
        if kind == "neighbour":
            return {**data, "pid": 0, "user": "another user", "directory": "another folder"}
        unknown: dict[str, Any] = self._all(data)
        return unknown

    def _setting(self, data: dict[str, Any]) -> dict[str, Any]:
        setting = setting_from_json(data)
        env = {
            k: self._text(v) for k, v in setting.env.items() if k.startswith(KEPT_VARIABLES) and k not in setting.values
        }
        env |= {self._parameter(k): str(self._value(k, v)) for k, v in setting.env.items() if k in setting.values}
        made = {
            **data,
            "command": self._command(list(setting.command)),
            "env": env,
            "values": self._valued(setting.values),
        }
        made = {k: v for k, v in made.items() if k not in ("name", "broken", "build")}
        if setting.isolation is not None:
            made["isolation"] = self._all(data["isolation"])
        if setting.broken:
            made["broken"] = "it could not be made"
        plain = setting_from_json(made).key
        if not setting.name and setting.key not in self._keys and plain not in self._keys.values():
            self._keys[setting.key] = plain
        key = self._key(setting.key)
        return made if setting_from_json(made).key == key else {**made, "name": key}

    def found(self, data: dict[str, Any]) -> dict[str, Any]:
        """Results without paths, host and user."""
        if self._own_study is not None:
            data = {**data, "results": [self._own_study.result(one) for one in data["results"]]}
        made: dict[str, Any] = self._all(data)
        return made


def _is_plain(word: str) -> bool:
    """Whether a word says nothing of who uses it: a number, an option's switch, or a word of nodewise's own."""
    return word.lower() in ORDINARY or bool(re.fullmatch(r"[\d.,:+*-]+|study:\w+|command|path-\d+|\{[\w-]+\}", word))
