# SPDX-License-Identifier: BSD-3-Clause
"""Launch lines and scripts, run by real shells and read back."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nodewise.base.shapes import fit
from nodewise.placement.memory import MemoryPolicy
from nodewise.runner.launch import Start, helpers_matter, helpers_of, launch_of, start_of
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.runner.setting import Setting
from tests.examples import examples

SHELLS = ("sh", "bash")
NASTY = [
    "a b",
    "it's",
    'say "hi"',
    "$HOME",
    "`id`",
    "a\nb\n",
    "é 漢 🦀",
    "\\",
    "*",
    "~",
    "-n",
    "",
    "x=y",
    "a;b&c|d",
    "!",
    "#",
    "\udce9\n",
]

#: Reports how it was started, as JSON on standard output.
REPORTER = f"""#!{sys.executable} -IS
import json, os, sys
start = dict(arguments=sys.argv[1:], cwd=os.getcwd(), affinity=sorted(os.sched_getaffinity(0)), input=sys.stdin.read(),
            environment={{k: v for k, v in os.environ.items() if k not in ("PWD", "OLDPWD", "_", "SHLVL", "LC_CTYPE")}},
            open_files=__import__("resource").getrlimit(7)[0])
print(json.dumps(start))
"""
INHERITED = {"PATH": os.environ["PATH"], "GONE": "1", "KEPT": "k"}


def _program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(REPORTER)
    path.chmod(0o755)
    return path


def _answer(shell: str, text: str, cwd: Path, environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [shell, "-c", text],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, (text, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=examples(25), deadline=None)
@given(
    words=st.lists(
        st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))),
        max_size=4,
    ),
    values=st.dictionaries(
        st.sampled_from(["A", "B_1", "odd name", "with-dash", "GONE"]), st.sampled_from(NASTY), max_size=3
    ),
    clear=st.booleans(),
    name=st.sampled_from(["./tell", "./te'll me $now", "./a=b", "./-x", "./two\nlines"]),
)
@example(words=NASTY, values={"A": 'it\'s\n"$x"'}, clear=True, name="./a=b")
@example(words=NASTY, values={"odd name": "é"}, clear=False, name="./two\nlines")
def test_a_line_and_a_script_start_what_the_setting_says(
    tmp_path_factory: pytest.TempPathFactory,
    shell: str,
    words: list[str],
    values: dict[str, str],
    clear: bool,
    name: str,
) -> None:
    folder = tmp_path_factory.getbasetemp() / 'it\'s $a "folder"'
    _program(folder, Path(name).name)
    setting = Setting((name, *words), env=values, unset=("GONE", "odd") if clear else ())
    launch = launch_of(setting)
    expected = setting.environment(INHERITED)
    line = _answer(shell, launch.line(), folder, INHERITED)
    script = _answer(shell, f"set -eu\n{launch.body()}", folder, INHERITED)
    for answer in (line, script):
        assert answer["arguments"] == words
        assert answer["environment"] == expected
        assert answer["cwd"] == str(folder)


@pytest.mark.parametrize("shell", SHELLS)
def test_directory_input_variables_and_limits_that_the_user_gave_belong_to_the_line(tmp_path: Path, shell: str) -> None:
    folder, file = tmp_path / "a 'b'", tmp_path / "in $put"
    _program(folder, "tell")
    file.write_text("text of the input")
    options = RunOptions(cwd=folder, stdin=file, limits={"NOFILE": 64})
    start = start_of(options, {"GIVEN": "by user", "CLEARED": "x"})
    assert fit(json.loads(json.dumps(start.to_json())), Start) == start
    cpu = min(os.sched_getaffinity(0))
    launch = launch_of(Setting(("./tell",), env={"OWN": "1"}, unset=("CLEARED",), mask=(cpu,)), start)
    for text in (launch.line(), launch.body()):
        answer = _answer(shell, text, Path("/"), INHERITED)
        assert (answer["cwd"], answer["input"], answer["open_files"], answer["affinity"]) == (
            str(folder),
            "text of the input",
            64,
            [cpu],
        )
        assert answer["environment"] == {**INHERITED, "GIVEN": "by user", "OWN": "1"}
    # the shell itself stays where it is
    assert (
        subprocess.run(
            [shell, "-c", f"{launch.line()} >/dev/null; pwd"], cwd="/", capture_output=True, text=True, check=True
        ).stdout
        == "/\n"
    )


def test_the_line_starts_what_the_runner_starts(tmp_path: Path) -> None:
    """Both reported by the program itself, from the same environment."""
    _program(tmp_path, "tell")
    setting = Setting(("./tell", "a b"), env={"A": "it's"}, unset=("GONE",), mask=(max(os.sched_getaffinity(0)),))
    keep = RunOptions(cwd=tmp_path, expect=__import__("re").compile("impossible"))
    with LocalLauncher(keep, INHERITED) as launcher:
        by_runner = json.loads(launcher.run(setting).output)
    by_line = _answer("sh", launch_of(setting, start_of(RunOptions(cwd=tmp_path), {})).line(), Path("/"), INHERITED)
    assert by_line == by_runner


def test_the_shells_own_words_start_programs() -> None:
    assert launch_of(Setting(("time", "x"))).line() == "env time x"
    assert launch_of(Setting(("true", "a b"), env={"A": "1"})).line() == "env A=1 true 'a b'"
    assert launch_of(Setting(("true",), unset=("A",))).line() == "env -u A true"
    assert launch_of(Setting(("if", "x"))).line() == "env if x"
    assert launch_of(Setting(("a=b",))).line() == "'a=b'"
    assert launch_of(Setting(("a=b",), unset=("X",))).line() == "env -u X nice -n 0 a=b"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "words", [("true",), ("echo", "a b", "$x"), ("printf", "%s\n", "it's"), ("[", "a", "=", "a", "]")]
)
def test_a_start_that_changes_nothing_has_the_users_own_words(
    tmp_path: Path, shell: str, words: tuple[str, ...]
) -> None:
    line = launch_of(Setting(words)).line()
    assert shlex.split(line) == list(words)
    by_shell = subprocess.run([shell, "-c", line], capture_output=True, check=True, cwd=tmp_path)
    assert by_shell.stdout == subprocess.run(words, capture_output=True, check=True, cwd=tmp_path).stdout


def test_a_line_is_in_the_order_that_people_write() -> None:
    setting = Setting(
        ("./a b",), env={"OMP_PLACES": "{0}"}, mask=(0, 1, 2, 5), memory=MemoryPolicy("interleave", (0, 1))
    )
    assert launch_of(setting).line() == "OMP_PLACES='{0}' taskset -c 0-2,5 numactl --interleave=0-1 './a b'"
    cleared = Setting(("./a",), unset=("X",), no_huge_pages=True)
    assert launch_of(cleared).line() == "env -u X nodewise place --huge-pages never -- ./a"


@pytest.mark.parametrize(
    ("setting", "matters_up_to_s"),
    [
        (Setting(("./a",)), 0.0),
        (Setting(("./a",), env={"OMP_NUM_THREADS": "2"}), 0.0),
        (Setting(("./a",), mask=(0,)), 0.4),
        (Setting(("./a",), mask=(0,), memory=MemoryPolicy("interleave", (0, 1))), 1.2),
        (Setting(("./a",), no_huge_pages=True), 100.0),
    ],
)
def test_what_a_line_starts_first_matters_to_short_programs(setting: Setting, matters_up_to_s: float) -> None:
    assert helpers_matter(setting, 0.9 * matters_up_to_s) == (matters_up_to_s > 0)
    assert not helpers_matter(setting, 1.1 * matters_up_to_s)
    assert launch_of(setting).words == (*helpers_of(setting), "./a")


def test_where_only_memory_is_asked_for_threads_are_left_as_they_are(tmp_path: Path) -> None:
    _program(tmp_path, "tell")
    environment = {**os.environ, "OMP_NUM_THREADS": "7", "OMP_PLACES": "{0}"}
    words = [sys.executable, "-m", "nodewise", "place", "--huge-pages", "never", "--", "./tell", "x"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["arguments"] == ["x"] and done.stderr == ""
    assert (answer["environment"]["OMP_NUM_THREADS"], answer["environment"]["OMP_PLACES"]) == ("7", "{0}")
