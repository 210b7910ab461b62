# SPDX-License-Identifier: BSD-3-Clause
"""Whatever a public function is given: an answer, or one error that names the keyword and what is expected."""

import ast
import contextlib
import inspect
import os
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nodewise
from nodewise.api import compare as compare_module
from nodewise.api import confirm, roofline, run, scale, study, tune, where
from nodewise.api import submit as submit_module
from nodewise.api.caller import in_keywords
from nodewise.base.arguments import checked_arguments, keywords_of
from nodewise.base.errors import InputError
from nodewise.machine import sources
from nodewise.machine.given import machine
from nodewise.placement.registry import all_texts
from tests.examples import examples

QUESTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(nodewise, name) for name in nodewise.__all__ if name.islower() and name != "machine"},
    "machine": machine,
}
#: What has to be given besides.
NEEDED: dict[str, dict[str, Any]] = {
    "compare": {"contenders": ("true", "true")},
    "confirm": {"experiment": "."},
    "run": {"command": "true"},
    "scale": {"command": "true"},
    "study": {"name": "is"},
    "submit": {"command": "true", "out": "submitted"},
    "suite": {"file": "nodewise.toml", "out": "suite"},
    "tune": {"command": "true"},
    "pipeline": {"file": "pipeline.toml"},
    "place": {"policy": "compact"},
    "where": {"command": "true"},
}
#: Wrong for whatever there is.
WRONG: dict[str, Callable[[], Any]] = {
    "object": object,
    "bytes": lambda: b"text",
    "complex": lambda: 3 + 4j,
    "ellipsis": lambda: ...,
    "nul": lambda: "\0",
    "surrogate": lambda: "\ud800",
    "list": lambda: [object()],
    "dict": lambda: {object(): object()},
    "generator": lambda: (x for x in "ab"),
    "function": lambda: lambda a, b, c: None,
}


def _keywords(name: str) -> list[str]:
    return [*keywords_of(QUESTIONS[name]), *(all_texts() if name == "place" else ())]


def _ask(name: str, keyword: str, value: object) -> None:
    words: dict[str, Any] = {**NEEDED.get(name, {}), keyword: value}
    if name == "where" and keyword == "pid":
        del words["command"]
    if name == "place" and keyword in all_texts():
        del words["policy"]
    contenders = words.pop("contenders", ())
    QUESTIONS[name](*(("true", contenders) if keyword == "contenders" else contenders), **words)


@pytest.mark.parametrize(
    ("name", "keyword"), [(name, keyword) for name in QUESTIONS for keyword in _keywords(name)], ids=str
)
def test_a_value_of_a_wrong_kind_is_an_error_that_names_the_keyword(name: str, keyword: str) -> None:
    for kind, wrong in WRONG.items():
        with pytest.raises(InputError) as caught:
            _ask(name, keyword, wrong())
        said = "contender 2" if keyword == "contenders" else keyword
        assert caught.value.what.startswith(said), (kind, caught.value.what)
        assert caught.value.hint and "--" not in str(caught.value), kind


# --- values of the right kind, sensible or not


class _Reached(BaseException):
    pass


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """What would start something says that it was reached."""

    def reached(*_: object, **__: object) -> None:
        raise _Reached

    for kind in (
        compare_module.Comparison,
        confirm.Confirmation,
        roofline.Roofline,
        run.Single,
        scale.Scaling,
        study.Study,
        tune.Tuning,
    ):
        monkeypatch.setattr(kind, "answer", reached)
    (tmp_path / "nodewise.toml").write_text('[command.nothing]\nrun = "true"\n')
    monkeypatch.setattr(submit_module, "submit_job", reached)
    monkeypatch.setattr(where, "_watch_command", reached)
    monkeypatch.setattr(where, "watch_for", reached)
    # this machine, which does not change meanwhile, is read thousands of times
    state = sources.read_state(Path("/"), os.sched_getaffinity(0))
    monkeypatch.setattr(sources, "read_state", lambda *_: state)
    monkeypatch.chdir(tmp_path)
    yield


ODD: list[Any] = [
    *(None, True, False, -1, 0, 1, 2**31, 10**30, float("nan"), float("inf"), -0.5, 1e308, timedelta(-1), timedelta(1)),
    *(
        "",
        " ",
        "x",
        "-1",
        "0",
        "99999999999999999999",
        "a=b",
        "--x",
        "{n}",
        "1..",
        "(",
        "x" * 5000,
        "\udcff",
        "é" * 300,
    ),
    *([], [""], ["x", "y"], [-1], [10**30], {}, {"n": "x"}, {"n": [1]}, {"": ""}, {"a b": 1}, {1, 2}, print),
]


@pytest.mark.some(4)
@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_odd_value_is_taken_or_is_an_error_of_the_family(name: str) -> None:
    for keyword in _keywords(name):
        for value in ODD:
            try:
                _ask(name, keyword, value)
            except _Reached:
                continue
            except nodewise.NodewiseError as problem:
                # what a tool's own options are called is the tool's
                if keyword not in all_texts() and value != "--x":
                    assert not _options_left(str(problem)), problem


@pytest.mark.usefixtures("nothing_runs")
@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_any_value_is_taken_or_is_an_error_of_the_family(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(QUESTIONS)))
    keyword = data.draw(st.sampled_from(_keywords(name)))
    plain = st.one_of(st.text(max_size=20), st.integers(), st.floats(), st.booleans(), st.none())
    value = data.draw(
        st.one_of(plain, st.lists(plain, max_size=3), st.dictionaries(st.text(max_size=5), plain, max_size=3))
    )
    with contextlib.suppress(_Reached, nodewise.NodewiseError):
        _ask(name, keyword, value)


# --- what is said


def _said(name: str, *args: Any, **given: Any) -> str:
    with pytest.raises(InputError) as caught:
        QUESTIONS[name](*args, **given)
    return str(caught.value)


def test_a_text_is_no_list_of_its_letters() -> None:
    assert "show: 'a,b' is one text, and a list of texts is expected\n\nhint: write it as show=['a', 'b']" in _said(
        "compare", "a", "b", show="a,b"
    )
    for name, keyword in (("compare", "names"), ("tune", "constraints"), ("study", "only")):
        first = ("is",) if name == "study" else ("true", "true")[: 1 + (name == "compare")]
        assert f"write it as {keyword}=['x']" in _said(name, *first, **{keyword: "x"})
    # where one text is a list by itself it stays so
    assert "did you mean threads" in _said("tune", "true", axes="thread")
    assert "did you mean threads" in _said("tune", "true", sweep=["thread"])
    assert "both name what is tried" in _said("tune", "true", axes="threads", sweep="placement")


def test_words_of_a_command_may_be_long_and_empty_and_names_of_files_may_not() -> None:
    bound = checked_arguments(nodewise.run, (["echo", "x" * 300, ""],), {})
    assert bound.arguments["command"] == ("echo", "x" * 300, "")
    for name, told in (("", "it is empty, and names nothing"), ("x" * 300, "is longer than a file's name may be")):
        with pytest.raises(InputError, match=rf"^out: .*{told}"):
            checked_arguments(nodewise.run, ("true",), {"out": name})
    with pytest.raises(InputError, match=r"^same_output: it is empty"):
        nodewise.compare("true", "false", same_output="")


def test_what_a_placement_is_written_with_is_checked_too() -> None:
    there = nodewise.place("compact", threads=2, machine="synthetic:core:4 pu:1")
    for wrong, said in (
        (lambda: there.render(3), "dialect: 3 is not a text"),  # type: ignore[arg-type]
        (lambda: there.render("omp", "a,b"), "write it as hosts=['a', 'b']"),
        (lambda: there.render("omp").line("./app"), "write it as command=['./app']"),
    ):
        with pytest.raises(InputError) as caught:
            wrong()
        assert said in str(caught.value)


def test_a_keyword_that_there_is_not() -> None:
    assert "nodewise.run has no keyword 'run'" in _said("run", "true", run=3) and "did you mean runs?" in _said(
        "run", "true", run=3
    )
    assert "did you mean parameters?" in _said("tune", "true", parameter={})
    assert "its keywords are machine, allow" in _said("machine", wat=1)
    assert "give contenders by position" in _said("compare", contenders=["a", "b"])
    assert "did you mean threads?" in _said("place", thread=3)
    assert "missing a required argument: 'command'" in _said("tune")
    assert "by position comes command" in _said("run", "true", 5)


def test_how_a_wrong_value_is_reported() -> None:
    assert _said("run", "true", runs="5") == "runs: '5' is not a whole number\n\nhint: such as runs=10"
    assert "parameters['n'][1]: None is not a text or a number" in _said("tune", "true", parameters={"n": [1, None]})
    assert "env, a name in it: 3 is not a text" in _said("run", "true", env={3: "x"})
    assert "<lambda> cannot be called with one argument" in _said("run", "true", progress=lambda: None)
    assert "functools.partial" in _said("compare", len, print)
    assert "machine: 3 is not a nodewise.Machine, a text, a path or None" in _said("tune", "true", machine=3)
    assert "\x1b" not in _said("run", "true", cwd=["\x1b[31m"])


def test_a_number_of_another_library_is_one() -> None:
    def taking(whole: int, number: float, listed: list[int], yes: bool) -> None:
        raise NotImplementedError

    bound = checked_arguments(taking, (np.int64(3), np.float32(0.5), np.arange(2), np.True_), {})
    assert bound.arguments == {"whole": 3, "number": 0.5, "listed": (0, 1), "yes": True}
    assert [type(v) for v in bound.arguments.values()] == [int, float, tuple, bool]
    for wrong in (True, 1.0, "1", None):
        with pytest.raises(InputError, match="whole"):
            checked_arguments(taking, (wrong, 1.0, [], True), {})
    with pytest.raises(InputError, match="yes: 1 is not True or False"):
        checked_arguments(taking, (1, 1.0, [], 1), {})


# --- options of the command line


def _options_left(text: str) -> list[str]:
    """Options of nodewise's that are named outside a whole command line."""
    text = re.sub(r"(nodewise \w+|pip|ps|lstopo|mpirun) [^;`]*", "", text)
    return re.findall(r"(?<![\w'-])--[a-z][\w-]*", text)


def _hints() -> Iterator[tuple[str, str]]:
    """Every text of an error that is made below the command line, with what is put in as `x`."""
    root = Path(nodewise.__file__).parent
    for layer in ("api", "experiments", "tuning", "search", "records", "runner", "statistics", "machine"):
        for path in sorted((root / layer).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error"):
                    for argument in node.args[1:2]:
                        yield f"{path.relative_to(root)}:{node.lineno}", _text_of(argument)


def _text_of(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(p.value) if isinstance(p, ast.Constant) else "x" for p in node.values)
    if isinstance(node, ast.BinOp):
        return _text_of(node.left) + _text_of(node.right)
    if isinstance(node, ast.IfExp):
        return f"{_text_of(node.body)} {_text_of(node.orelse)}"
    return str(node.value) if isinstance(node, ast.Constant) else ""


def test_every_hint_can_be_given_in_keywords() -> None:
    left: dict[str, set[str]] = {}
    for at, hint in _hints():
        found = []
        for name, function in QUESTIONS.items():
            texts = all_texts() if name == "place" else ()
            with contextlib.suppress(nodewise.NodewiseError), in_keywords(function, texts):
                try:
                    raise InputError("", hint)
                except InputError as problem:
                    error = problem
                    raise
            found.append(set(_options_left(error.hint or "")))
        if rest := set.intersection(*found):
            left[f"{at} {hint}"] = rest
    # a script is written by the command alone
    assert {option for rest in left.values() for option in rest} <= {"--script", "--causes"}, left


def test_the_examples_and_the_types_are_those_of_the_function() -> None:
    for name, function in QUESTIONS.items():
        assert function.__name__ == name and function.__doc__ and ">>>" in function.__doc__
        assert inspect.signature(function) == inspect.signature(inspect.unwrap(function))
