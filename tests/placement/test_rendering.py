# SPDX-License-Identifier: BSD-3-Clause
"""Renderings as lines to paste, where their files lie, and the reasons of those that a dialect cannot express."""

from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.rendering import NotExpressibleError, Rendering, common, left_out, single


def test_a_line_has_variables_words_and_the_program() -> None:
    made = Rendering({"A": "x y", "B": "1"}, ("run", "a b"))
    assert made.line() == "A='x y' B=1 run 'a b' PROGRAM"
    assert made.line(["./a", "$b"]) == "A='x y' B=1 run 'a b' ./a '$b'"
    assert Rendering().line() == "PROGRAM"


def test_files_are_named_by_where_they_lie() -> None:
    made = Rendering(
        {"F": "ranks", "G": "other"},
        ("./ranks", "ranks", "--map=seq:file=ranks", "--map=seq:file=ranks:x", "x:file=ranks2", "ranks2", "x"),
        {"ranks": "content"},
        ("a note",),
    )
    there = made.located(Path("/d"))
    assert there.words == (
        "/d/ranks",
        "/d/ranks",
        "--map=seq:file=/d/ranks",
        "--map=seq:file=/d/ranks:x",
        "x:file=ranks2",
        "ranks2",
        "x",
    )
    assert there.env == {"F": "/d/ranks", "G": "other"} and (there.files, there.notes) == (made.files, made.notes)
    # in the folder where one is they are named as they are
    assert made.located(Path()) == made
    with pytest.raises(InputError) as caught:
        made.located(Path("/a:b"))
    assert (caught.value.what, caught.value.hint) == (
        "--map=seq has no words for a path with a colon: /a:b/ranks",
        "name another directory for --files",
    )


def test_what_is_left_out_is_noted() -> None:
    assert left_out([]) == []
    assert left_out([3, 3]) == ["processor 3 is not there or not allowed: left out"]
    assert left_out({3, 4, 9}) == ["processors 3-4,9 are not there or not allowed: left out"]


def test_one_processor_a_thread_or_one_set_for_all() -> None:
    assert single("it", [(3,), (1,)]) == [3, 1] and common("it", [(3, 4), (3, 4)]) == (3, 4)
    for refused, why in (
        (lambda: single("it", [(3,), (1, 2)]), "it binds a thread to one processor, and thread 1 may use 1-2"),
        (lambda: single("it", [(0, 1), (1, 2)]), "it binds a thread to one processor, and thread 0 may use 0-1"),
        (
            lambda: common("it", [(3, 4), (3, 4), (5,)]),
            "it holds all threads to one set, and thread 0 is to use 3-4, thread 2 5",
        ),
    ):
        with pytest.raises(NotExpressibleError) as caught:
            refused()
        assert caught.value.what == f"it cannot express this placement: {why}"
        assert caught.value.hint == "name another dialect with --to"
