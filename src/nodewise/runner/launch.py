# SPDX-License-Identifier: BSD-3-Clause
"""Launch: a Setting as people keep it: a line to paste into a POSIX shell, or the body of a script that does the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.base.late import late
from nodewise.base.masking import Masks, masked_names, shell_word
from nodewise.base.processors import format_processors
from nodewise.placement.memory import to_numactl
from nodewise.runner.launcher import RunOptions
from nodewise.runner.setting import Setting

#: What a shell takes for its own where it is the first word: reserved words and built-in commands of dash and bash.
_SHELLS_OWN = late(
    r"if|then|else|elif|fi|do|done|case|esac|while|until|for|in|function|select|time|coproc|\.|:|\[|alias|bg|bind|break|"
    r"builtin|caller|cd|command|compgen|complete|compopt|continue|declare|dirs|disown|echo|enable|eval|exec|exit|export|"
    r"false|fc|fg|getopts|hash|help|history|jobs|kill|let|local|logout|mapfile|popd|printf|pushd|pwd|read|readarray|"
    r"readonly|return|set|shift|shopt|source|suspend|test|times|trap|true|type|typeset|ulimit|umask|unalias|unset|wait"
)
#: Of these those that do as shells' own commands what they do as programs: a line that changes nothing has the words that its user typed.
_ALIKE = late(r"\[|echo|false|kill|printf|pwd|test|true")
#: What the programs that a line starts first take until they become the next one, in seconds, at most on machines that were tried.
_HELPERS_S = {"taskset": 0.002, "numactl": 0.004, "nodewise": 0.5}
#: A share of a run's time that makes no difference to anybody.
_NEGLIGIBLE = 0.005
_NAME = late(r"[A-Za-z_][A-Za-z0-9_]*")
#: Bytes of an argument that are no UTF-8 come as these.
_STRAY_BYTES = late("[\udc80-\udcff]+")


@dataclass(frozen=True)
class Start:
    """What holds for every start of a program, whatever the setting, since its user said so.

    `cwd` is the directory to run in and `stdin` the file for standard input, both by their whole path (empty: not given),
    `env` the variables over those of the shell, `limits` resource limits by their name in setrlimit(2) without RLIMIT_.
    """

    cwd: str = ""
    stdin: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values."""
        return {**asdict(self), "env": dict(self.env), "limits": dict(self.limits)}


def start_of(options: RunOptions, env: Mapping[str, str]) -> Start:
    """What the options of a run, and variables given besides, say of every start."""
    return Start(
        cwd=str(options.cwd.absolute()) if options.cwd else "",
        stdin=str(options.stdin.absolute()) if options.stdin else "",
        env=dict(env),
        limits=dict(options.limits),
    )


def quoted(text: str) -> str:
    """A word that dash and bash read back as `text`, whatever is in it; for what is masked in it stands a variable."""
    return shell_word(text, _quoted)


def _quoted(text: str) -> str:
    if not _STRAY_BYTES.search(text):
        return shlex.quote(text)
    parts = []
    at = 0
    for stray in _STRAY_BYTES.finditer(text):
        before = text[at : stray.start()]
        octal = "".join(f"\\{byte:03o}" for byte in stray[0].encode("utf-8", "surrogateescape"))
        parts += [shlex.quote(before) if before else "", f"\"$(printf '{octal}')\""]
        at = stray.end()
    return "".join(parts) + (shlex.quote(text[at:]) if text[at:] else "")


def quoted_line(words: Iterable[str]) -> str:
    """The words as a shell reads them back."""
    return " ".join(map(quoted, words))


@dataclass(frozen=True)
class Launch:
    """What a shell has to do: variables to clear and to set, the words to start, the directory and the input."""

    clear: tuple[str, ...]
    env: Mapping[str, str]
    words: tuple[str, ...]
    cwd: str = ""
    stdin: str = ""

    def line(self) -> str:
        """The line to paste into a shell; it leaves the shell in the directory that it is in."""
        plain = all(map(_NAME.fullmatch, self.env))
        first = self.words[0]
        own = _SHELLS_OWN.fullmatch(first) and (self.env or not _ALIKE.fullmatch(first))
        if self.clear or not plain or own:
            words = [*self._env_words(self.clear, self.env), *map(quoted, self.words)]
        else:
            # quoted, a name with a sign in it is no assignment
            program = shlex.quote(first) if "=" not in first else "'" + first.replace("'", "'\"'\"'") + "'"
            program = quoted(first) if _STRAY_BYTES.search(first) or masked_names(first) else program
            words = [*(f"{k}={quoted(v)}" for k, v in self.env.items()), program, *map(quoted, self.words[1:])]
        text = " ".join(words)
        if self.stdin:
            text += f" < {quoted(self.stdin)}"
        return f"(cd {quoted(self.cwd)} && {text})" if self.cwd else text

    @property
    def needed(self) -> tuple[str, ...]:
        """The variables that have to be set for it, since they stand for secrets."""
        return masked_names("\n".join([*self.env.values(), *self.words, self.cwd, self.stdin]))

    def body(self, cwd: str = "") -> str:
        """The lines of a script that become the program; in the directory `cwd` where the start names none."""
        where = self.cwd or cwd
        lines = [f': "${{{name}:?has to be set: it stands for a secret}}"' for name in self.needed]
        lines += [f"cd {quoted(where)}"] if where else []
        plain = [v for v in self.clear if _NAME.fullmatch(v)]
        lines += [f"unset {' '.join(plain)}"] if plain else []
        lines += [f"export {k}={quoted(v)}" for k, v in self.env.items() if _NAME.fullmatch(k)]
        odd = {k: v for k, v in self.env.items() if not _NAME.fullmatch(k)}
        left = [v for v in self.clear if not _NAME.fullmatch(v)]
        head = self._env_words(left, odd) if odd or left else []
        text = " ".join(["exec", *head, *map(quoted, self.words)])
        return "\n".join([*lines, f"{text} < {quoted(self.stdin)}" if self.stdin else text]) + "\n"

    def _env_words(self, clear: tuple[str, ...] | list[str], env: Mapping[str, str]) -> list[str]:
        """The words of env(1) for variables; it would take a program whose name has a sign in it for one more, nice not."""
        words = ["env", *(word for name in clear for word in ("-u", quoted(name)))]
        words += [quoted(f"{k}={v}") if not _NAME.fullmatch(k) else f"{k}={quoted(v)}" for k, v in env.items()]
        return words if "=" not in self.words[0] else [*words, "nice", "-n", "0"]


def helpers_of(setting: Setting) -> tuple[str, ...]:
    """The words of the programs that a shell starts before the setting's own, for what it cannot do itself."""
    words = ["taskset", "-c", format_processors(setting.mask)] if setting.mask is not None else []
    words += to_numactl(setting.memory) if setting.memory is not None else ()
    # no program of the system's own sets what forbids huge pages, nor makes what every runtime wants
    placed = ["--huge-pages", "never"] if setting.no_huge_pages else []
    placed += ["--isolation", setting.isolation.text] if setting.isolation is not None else []
    words += ["nodewise", "place", *placed, "--"] if placed else []
    return tuple(words)


def helpers_matter(setting: Setting, run_s: float) -> bool:
    """Whether the time that those programs take shows in a run of so many seconds: then a promise has to hold with them."""
    return sum(_HELPERS_S.get(word, 0.0) for word in helpers_of(setting)) > _NEGLIGIBLE * run_s


def launch_of(setting: Setting, start: Start | None = None, masks: Masks | None = None) -> Launch:
    """How a shell starts a setting as nodewise's own runner does.

    Variables are those that the setting changes and those that the user gave besides; what is only inherited is not said.
    Secrets among all of it are masked, if they are not yet: a line names a variable for each, as `masks` call them.
    """
    start = start or Start()
    env = {**{k: v for k, v in start.env.items() if k not in setting.unset}, **setting.env}
    limits = [f"--{name.lower()}={value}" for name, value in start.limits.items()]
    words = [*(["prlimit", *limits] if limits else []), *helpers_of(setting)]
    clear = tuple(v for v in setting.unset if v not in env)
    made = {"env": env, "command": list(setting.command), "cwd": start.cwd, "stdin": start.stdin}
    masked = (masks or Masks()).masked(made, within=True)
    return Launch(clear, masked["env"], (*words, *masked["command"]), masked["cwd"], masked["stdin"])
