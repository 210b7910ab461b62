# SPDX-License-Identifier: BSD-3-Clause
"""Masks: nothing of a secret is left, all of it comes back, and lines for a shell run."""

import json
import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodewise.base.masking import Masks, shell_text, shell_word
from nodewise.runner.launch import Start, launch_of, quoted
from nodewise.runner.setting import Setting
from tests.examples import examples

SECRET = "hunter2-Zq9"


def test_a_secret_is_masked_wherever_it_stands_and_comes_back() -> None:
    masks = Masks(environment={})
    record = {
        "command": ["./app", "--password", SECRET, f"--in={SECRET}.dat", "KEYBOARD=us"],
        "output": f"bad password {SECRET} for {json.dumps(SECRET)}",
        "env": {"API_TOKEN": "x", "OTHER": SECRET},
        "number": 3,
    }
    masked = masks.masked(record)
    assert SECRET not in json.dumps(masked) and masks.revealed(masked) == record
    assert masked["command"] == [
        "./app",
        "--password",
        "<masked:PASSWORD>",
        "--in=<masked:PASSWORD>.dat",
        "KEYBOARD=us",
    ]
    assert masked["env"]["API_TOKEN"] == "<masked:API_TOKEN>" and masked["number"] == 3
    assert masks.used == {"PASSWORD": [SECRET], "API_TOKEN": ["x"]}


def test_a_short_one_is_masked_where_it_is_given_only() -> None:
    masks = Masks(environment={})
    masks.masked(["./app", "--password", "abc"])
    assert masks.veiled("abc and abcdef") == "abc and abcdef"


def test_a_word_of_every_day_is_masked_where_it_is_given_only() -> None:
    masks = Masks(environment={})
    assert masks.masked(["./app", "--password", "default"])[2] == "<masked:PASSWORD>"
    assert masks.masked({"hugepages": "default"}) == {"hugepages": "default"}


def test_two_values_have_two_names_and_one_value_has_one() -> None:
    masks = Masks(environment={})
    axis = masks.masked({"token": ["aaaaaa", "bbbbbb"], "key": "token=bbbbbb threads=2"})
    assert axis == {"token": ["<masked:TOKEN>", "<masked:TOKEN_2>"], "key": "token=<masked:TOKEN_2> threads=2"}
    assert masks.masked("--secret aaaaaa") == "--secret <masked:TOKEN>"


def test_each_value_of_a_list_has_its_own_name() -> None:
    masks = Masks(environment={})
    assert masks.masked(["tune", "-P", "token=ab,cd", "--password=a,b"]) == [
        *("tune", "-P", "token=<masked:TOKEN>,<masked:TOKEN_2>", "--password=<masked:PASSWORD>")
    ]


def test_parameters_of_a_comparison_are_known_by_where_they_go() -> None:
    masks = Masks(environment={})
    asked = ["compare", "-L", "p", "ab,cd", "-P", "q=ef", "./app --password {p}", "./b --token={q} -L p x"]
    assert masks.masked(asked)[3:6] == ["<masked:PASSWORD>,<masked:PASSWORD_2>", "-P", "q=<masked:TOKEN>"]
    assert masks.revealed(masks.masked(asked)) == asked


def test_the_value_of_a_parameter_with_another_name_is_one_where_it_goes_into_a_secrets_place() -> None:
    masks = Masks(environment={})
    made = masks.masked({"command": ["./app", "--password", "{p}"], "parameters": {"p": ["a", "b"]}, "key": "p=b x=1"})
    assert made["parameters"]["p"] == ["<masked:PASSWORD>", "<masked:PASSWORD_2>"]
    assert made["key"] == "p=<masked:PASSWORD_2> x=1"


def test_a_variable_that_holds_the_value_gives_its_name_and_one_that_holds_another_does_not() -> None:
    masks = Masks(environment={"DB_PASSWORD": SECRET, "TOKEN": "another"})
    assert masks.masked(["--password", SECRET])[1] == "<masked:DB_PASSWORD>"
    assert masks.masked(["--token", "mine"])[1] == "<masked:TOKEN_2>"
    assert "TOKEN" not in masks.used


def test_inherited_secrets_are_masked_in_what_a_program_prints() -> None:
    masks = Masks(environment={"CI_TOKEN": SECRET})
    assert masks.veiled(f"env: CI_TOKEN={SECRET}") == "env: CI_TOKEN=<masked:CI_TOKEN>"


def test_other_spellings_of_a_value_are_masked_too() -> None:
    masks = Masks(environment={})
    masks.masked(["--password", 'p"ss w%rd'])
    text = 'url p%22ss%20w%25rd json "p\\"ss w%rd"'
    veiled = masks.veiled(text)
    assert "ss" not in veiled and masks.revealed(veiled) == text


@given(
    st.lists(st.text(st.sampled_from("ab<masked:PASSWORD>\\'\"$ =-"), max_size=40), max_size=5),
    st.text(min_size=1, max_size=12),
)
@settings(max_examples=examples(150), deadline=None)
def test_whatever_is_masked_comes_back(words: list[str], secret: str) -> None:
    masks = Masks(environment={})
    record = {"command": [*words, "--password", secret], "text": " ".join([*words, shlex.quote(secret), secret])}
    masked = masks.masked(record)
    assert masks.revealed(masked) == record
    assert masks.revealed(masks.veiled(record["text"])) == record["text"]
    assert Masks(masks.used, {}).revealed(masked) == record


@pytest.mark.parametrize("secret", [SECRET, "a b", "$HOME `x` \"q\" 'r' \\ !", "x"])
@pytest.mark.parametrize(
    "word", ["{}", "--password={}", "https://user:{}@host", "a b {} c", "$x '{}' \"y\" !z", "{}{}", "{}9", "\udcff{}"]
)
def test_a_word_with_masks_is_a_shells_word_that_names_the_variable(word: str, secret: str) -> None:
    line = shell_word(word.replace("{}", "<masked:PASSWORD>"), quoted)
    assert "*" not in line
    for shell in ("dash", "bash"):
        done = subprocess.run(
            [shell, "-c", f"printf %s {line}"], env={"PASSWORD": secret, "PATH": "/usr/bin:/bin"}, capture_output=True, check=True
        )  # fmt: skip
        assert done.stdout == word.replace("{}", secret).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    "text", ["printf %s M", "printf %s 'a M b'", 'printf %s "a M9 b"', r"printf %s \'M", "printf %s \"'M'\""]
)
def test_a_line_with_masks_names_the_variable_however_it_is_quoted(text: str) -> None:
    line = shell_text(text.replace("M", "<masked:PASSWORD>"))
    done = subprocess.run(
        ["sh", "-c", line],
        env={"PASSWORD": "a  b", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == shlex.split(text)[2].replace("M", "a  b")


def test_a_launch_line_and_a_script_name_variables_and_what_looks_like_a_mask_is_a_word() -> None:
    setting = Setting(("./app", "--password", SECRET, "KEYBOARD=us"), env={"API_TOKEN": "abc"})
    launch = launch_of(setting, Start(stdin=f"/in/{SECRET}"))
    assert launch.line() == 'API_TOKEN="$API_TOKEN" ./app --password "$PASSWORD" KEYBOARD=us < /in/"$PASSWORD"'
    assert launch.needed == ("API_TOKEN", "PASSWORD")
    assert ': "${PASSWORD:?' in launch.body() and SECRET not in launch.body()
    assert quoted("<masked:>X>") == "'<masked:X>'"
