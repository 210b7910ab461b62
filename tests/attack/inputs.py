# SPDX-License-Identifier: BSD-3-Clause
"""Hostile command lines: commands and options as the command line itself lists them, with values that nobody means."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import click

from nodewise.cli.main import nodewise_command
from tests.attack.damages import nodewise_here
from tests.attack.place import DEFECT, WRONG, Ended, Finding, Place

#: What would wait for others, take minutes, or draw by a browser's engine; and what is printed and ends it all.
_LEFT_OUT = ("--on", "--wait", "--wait-quiet", "--png", "--roofline", "--help", "--pid", "--submit")
#: A shell carries these out: only what does no harm may stand there.
_SHELL = ("--setup", "--prepare", "--conclude", "--cleanup", "--build", "--shell", "--reference", "commands")
_HARMLESS = (
    *(
        "true",
        "false",
        "",
        " ",
        "exit 3",
        "echo {x}",
        "echo '",
        "kill -9 $$",
        "sleep 0.001",
        "no-such-program",
        "true; true",
    ),
    *(
        "\udcff",
        "echo \udcff",
        "{",
        "}",
        "{}",
        "true | true",
        "printf '\\377'",
        "sh -c 'exit 300'",
        "true " + "x" * 3000,
    ),
)
_PROGRAMS = (
    *(
        ["true"],
        ["false"],
        ["sleep", "0.001"],
        ["echo", "{t}"],
        ["no-such-program"],
        ["./file"],
        ["./dir"],
        [""],
        ["./loop"],
    ),
    *(
        ["printf", "\udcff"],
        ["sh", "-c", "exit 3"],
        ["/dev/null"],
        ["true", "--", "-x"],
        ["-x"],
        ["true | true"],
        ["./"],
    ),
    *(["study:is"], ["study:"], ["study:nothing"], ["mpirun", "-n", "x", "true"], ["true", "x" * 100_000]),
)
_NUMBERS = (
    *("0", "-1", "1", "2", "3", "7", "999999", "100000", "2147483648", "-9223372036854775809", "1e3", "0x10", "٣", ""),
    *(
        " 1",
        "1_000",
        "9" * 400,
        "nan",
        "inf",
        "-inf",
        "1e400",
        "1e-400",
        "0.5",
        "-0",
        "+1",
        "1,2",
        "½",
        "1.5.2",
        "\udcff",
    ),
)
_TIMES = (
    "0s",
    "-1s",
    "1e999h",
    "nan",
    "5 minutes",
    "0.1s",
    "1ms",
    "s",
    "1h1",
    "9" * 50 + "s",
    "",
    "1e-9s",
    "inf",
    "²s",
)
_PATHS = (
    *(
        "nothing",
        "n" * 300,
        "",
        ".",
        "..",
        "a/b/c",
        "/dev/full",
        "/dev/null",
        "loop",
        "file",
        "file/x",
        "\udcff",
        "-",
        "dir",
    ),
    *("x y'\"$`", "\n", "fifo", "stored", "stored/question.json", "m.xml", "m.json", "~", "%n", "{x}"),
)
_PATTERNS = (
    *(
        "(",
        "(a+)+$",
        "\\",
        "[",
        "(?P<n>",
        "a{99999}",
        "(?i" * 100,
        "",
        ".*",
        "x=(.*)",
        "(?<=a*)",
        "\udcff",
        "[[:alpha:]]",
    ),
    *("(" * 3000, "a{4294967296}", "(?P<1>x)", "\\1", "(?#", "x**", "name=(", "=", "=x", "seconds=", "a b=c", "é=é"),
)
_TEXTS = (
    *(
        "",
        " ",
        ",",
        ":",
        "=",
        "{",
        "}",
        "{0}",
        "{0:4}:8:4",
        "0-3,8",
        "3-0",
        "0-999999999",
        "0-3:2",
        "all",
        "none",
        "-",
        "--",
    ),
    *(
        "compact",
        "scatter",
        "balanced,0,9999",
        "granularity=fine",
        "verbose,,",
        "1s,2c,3t@1",
        "S0:0-3@S1",
        "E:N:99999999",
    ),
    *(
        "a=b",
        "a=1..9",
        "a=1..1e9",
        "a=1..9*1",
        "a=9..1",
        "a=1,1,1",
        "t=0..0.1*0",
        "x" * 100_000,
        "{" * 5000,
        "(" * 5000,
        "n" + ".a" * 900,
        "-" * 1500 + "1",
        "1" + "+1" * 900,
        "not " * 400 + "1",
        "[" * 900 + "]" * 900,
    ),
    *(
        "ranks * threads <= 64",
        "1/0",
        "a.b",
        "__import__('os')",
        "9**9**9",
        "threads <",
        "not",
        "x if y else z",
        "[1][2]",
    ),
    *(
        "synthetic:",
        "synthetic:core:61 pu:4",
        "synthetic:pu:0",
        "synthetic:pu:99999999",
        "synthetic:x:2",
        "xml:",
        "json:dir",
    ),
    *(
        "synthetic:pack:2 core:4 pu:2(indexes=0,8,2)",
        "bind:0",
        "bind:9999",
        "interleave:all",
        "weighted-interleave:0=0",
    ),
    *(
        "é",
        "\x00",
        "\udcff",
        "\x1b[2J",
        "\n",
        "٣",
        "1" * 5000,
        "%s%n",
        "$(true)",
        "'",
        '"',
        "NAME=",
        "=VALUE",
        "LD_PRELOAD=x",
    ),
)
_VARIABLES = (
    *(
        "OMP_NUM_THREADS",
        "OMP_PLACES",
        "OMP_PROC_BIND",
        "KMP_AFFINITY",
        "GOMP_CPU_AFFINITY",
        "COLUMNS",
        "LINES",
        "NO_COLOR",
    ),
    *(
        "HOME",
        "LANG",
        "LC_ALL",
        "PATH",
        "TERM",
        "PWD",
        "XDG_CACHE_HOME",
        "USER",
        "LOGNAME",
        "NODEWISE_RUN",
        "NODEWISE_HISTORY",
        "OMP_WAIT_POLICY",
    ),
    *(
        "SLURM_JOB_ID",
        "SLURM_PROCID",
        "OMPI_COMM_WORLD_RANK",
        "NODEWISE_PIN",
        "MALLOC_CONF",
        "HWLOC_XMLFILE",
        "HWLOC_SYNTHETIC",
    ),
)
_DRAWING = ("--svg", "--png", "--pdf")
_EXAMPLE = re.compile(r"(?:such as|as|:)\s+'?([^',]*[^', .])")
#: Commands that start programs take longest, and so come least;
# a server goes on until it is ended, and a cluster may be near
_WEIGHTS = {
    "serve": 0,
    "submit": 0,
    # minutes of runs in each
    "governors": 0,
    "run": 2,
    "compare": 2,
    "tune": 2,
    "study": 1,
    "confirm": 2,
    "vec": 1,
    "where": 1,
    "quiet": 1,
    "place": 20,
}
#: What a command is given where one option alone is odd: with it, each would do its work.
_MEANT = {
    **dict.fromkeys(("run", "tune", "where", "knobs", "profile", "submit", "scale"), ("--", "true")),
    **{"compare": ("true", "sleep 0.001"), "confirm": ("stored",), "report": ("stored",), "study": ("is", "--quick")},
    **{"place": ("compact",), "vec": ("loop.c",), "script": ("--", "true"), "fleet": ("stored", "stored")},
}


def attack(dice: random.Random, place: Place) -> list[Finding]:
    """One command line, carried out in this process."""
    here = _furnished(place)
    words, variables = made_up(dice)
    becomes = words[:1] == ["place"] and "--" in words
    if becomes or any(word.partition("=")[0] in _DRAWING for word in words):
        # it becomes the program; or it draws with an engine of many threads, of which copies of this process would have none
        ended = place.start(words, here).wait(30, tuple(range(-64, 256)) if becomes else (0, 1, 2, 3))
        return [Finding(f.kind, f"{_shown(words, {})}: {f.what}") for f in ended.judged()]
    before, typed = Path.cwd(), dict(os.environ)
    os.chdir(here)
    os.environ.update(variables)
    try:
        code, said = nodewise_here(*words)
    except BaseException as problem:
        return [Finding(DEFECT, f"{_shown(words, variables)}: {type(problem).__name__}: {problem}")]
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(typed)
    found = Ended(tuple(words), code, "", said, (0, 1, 2, 3)).judged()
    # 1 is an answer: of `check`, which found something, or of a comparison that was to fail
    if code > 1 and not said.strip():
        found.append(Finding(WRONG, "no word of what is wrong"))
    return [Finding(f.kind, f"{_shown(words, variables)}: {f.what}") for f in found]


def made_up(dice: random.Random) -> tuple[list[str], dict[str, str]]:
    """The words of a command line, and variables."""
    return _words(dice), _variables(dice)


def _shown(words: list[str], variables: dict[str, str]) -> str:
    texts = [*(f"{k}={v!r:.200}" for k, v in variables.items()), "nodewise", *(f"{w!r:.200}" for w in words)]
    return " ".join(texts)


def _furnished(place: Place) -> Path:
    """A folder with things of all sorts in it, for a hundred command lines."""
    here = place.folder / "inputs"
    if not here.exists():
        (here / "dir").mkdir(parents=True)
        (here / "file").write_text("x\n")
        (here / "loop").symlink_to("loop")
        os.mkfifo(here / "fifo")
        (here / "m.xml").write_text("<topology><object/></topology>")
        (here / "m.json").write_text('{"cores": []}')
        (here / "loop.c").write_text("void f(int* a) { for (int i = 0; i < 99; ++i) a[i]++; }\n")
        nodewise_here("run", "-r", "2", "--out", str(here / "stored"), "--", "true")
    return here


def _words(dice: random.Random) -> list[str]:
    names = nodewise_command.list_commands(click.Context(nodewise_command))
    if dice.random() < 0.03:
        return [dice.choice([*_TEXTS, "--version", "-h", "nothing", "--traceback"]) for _ in range(dice.randint(0, 3))]
    name = dice.choices(names, [_WEIGHTS.get(n, 8) for n in names])[0]
    command = nodewise_command.get_command(click.Context(nodewise_command), name)
    assert command is not None
    options = [p for p in command.params if isinstance(p, click.Option) and not set(p.opts) & set(_LEFT_OUT)]
    words = [name]
    if options and name in _MEANT and dice.random() < 0.4:
        words += _given(dice, dice.choice(options))
        return words + _bounded(name, {w for w in words if w.startswith("-")}) + list(_MEANT[name])
    for option in dice.sample(options, min(len(options), dice.choice([0, 1, 1, 2, 2, 3, 4]))):
        words += _given(dice, option)
    words += _bounded(name, {w for w in words if w.startswith("-")})
    return words + _rest(dice, name, command)


def _given(dice: random.Random, option: click.Option) -> list[str]:
    """An option with a value of its own kind, or of any."""
    name = dice.choice([o for o in option.opts if o.startswith("--")] or option.opts)
    if option.is_flag:
        return [name] if dice.random() < 0.95 else [f"{name}=x"]
    values = [_value(dice, option, name) for _ in range(max(1, option.nargs))]
    if dice.random() < 0.05:
        values = values[:-1]
    return [f"{name}={values[0]}"] if values and dice.random() < 0.1 and len(values) == 1 else [name, *values]


def _value(dice: random.Random, option: click.Option, name: str) -> str:
    if name in _SHELL:
        return dice.choice(_HARMLESS)
    if name in ("--budget", "--seconds"):
        return dice.choice(["0.1s", "0.3s", "0", "-1", "nan", "x", "", "1e-5"])
    if name in ("--max-runs", "--runs", "--blocks", "--warmup", "--min-runs"):
        return dice.choice(["0", "-1", "1", "2", "6", "x", "", "1e9", "nan"])
    own: tuple[str, ...] = _TEXTS
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType):
        own = _NUMBERS
    elif isinstance(option.type, click.Path):
        own = _PATHS
    elif "REGEX" in (option.metavar or "") or "metric" in name:
        own = _PATTERNS
    elif name in ("--timeout",):
        own = _TIMES
    examples = _EXAMPLE.findall(option.help or "")
    way = dice.random()
    if examples and way < 0.4:
        return _mutated(dice, dice.choice(examples))
    if way < 0.85:
        return dice.choice(own)
    return dice.choice(dice.choice([_TEXTS, _NUMBERS, _PATHS, _TIMES, _PATTERNS]))


def _mutated(dice: random.Random, text: str) -> str:
    """A text that is meant, with something changed."""
    for _ in range(dice.choice([0, 1, 1, 2, 4])):
        at = dice.randrange(len(text) + 1)
        way = dice.choice(["drop", "put", "twice", "number"])
        if way == "drop":
            text = text[:at] + text[at + dice.choice([1, 1, 3]) :]
        elif way == "put":
            text = text[:at] + dice.choice([*",:;=-@.{}()[]!x0 ", "9" * 30, "\udcff", "-1"]) + text[at:]
        elif way == "twice":
            text = text[:at] * 2 + text[at:]
        else:
            text = re.sub(r"\d+", lambda m: dice.choice([m[0], "0", "99", "4294967296"]), text)
    return text


def _bounded(name: str, given: set[str]) -> list[str]:
    """What keeps a command that runs something from running long."""
    more: list[str] = []
    takes = {"run": "0.3s", "compare": "0.3s", "tune": "0.3s", "confirm": "0.1s", "study": "0.1s"}
    if name in takes and "--budget" not in given and "--resume" not in given:
        more += ["--budget", takes[name]]
    if name in ("where", "quiet") and "--seconds" not in given:
        more += ["--seconds", "0"]
    if name == "knobs" and "--timeout" not in given:
        # a pipe that nobody writes to is waited for
        more += ["--timeout", "5s"]
    return more


def _rest(dice: random.Random, name: str, command: click.Command) -> list[str]:
    """What is no option: programs, commands, folders, words."""
    words: list[str] = ["--"] if dice.random() < 0.5 else []
    for _ in (p for p in command.params if isinstance(p, click.Argument)):
        if name in ("run", "tune", "place", "where", "knobs"):
            chosen = dice.choice(_PROGRAMS)
            policy = [dice.choice(["compact", "scatter", "balanced", *_TEXTS])] if name == "place" else []
            words = [*policy, *(["--", *chosen] if not policy or dice.random() < 0.2 else [])]
        elif name == "compare":
            words += [dice.choice(_HARMLESS) for _ in range(dice.choice([0, 1, 2, 2, 3]))]
        elif name == "vec":
            words = [dice.choice(["loop.c", "file", "nothing.c", "dir", "\udcff.c"])]
        elif name == "study":
            words.append(dice.choice(["nothing", "", "./dir", "./file", "\udcff", "n" * 300]))
        else:
            words += [dice.choice([*_PATHS, *_TEXTS]) for _ in range(dice.choice([0, 1, 1, 2]))]
    return words


def _variables(dice: random.Random) -> dict[str, str]:
    if dice.random() < 0.7:
        return {}
    values = [v for v in (*_TEXTS, *_NUMBERS, *_PATHS) if "\0" not in v]
    return {dice.choice(_VARIABLES): dice.choice(values) for _ in range(dice.choice([1, 1, 2]))}
