# SPDX-License-Identifier: BSD-3-Clause
"""What is printed while a command runs that was given a secret."""

import json
import sys

import pytest

from nodewise.base.escaping import painted
from nodewise.base.masking import Masks
from nodewise.cli.masked_terminal import hide, masked_terminal, shown
from tests.cli.conftest import Command

SECRET = "hunter2-Zq9"


def test_what_is_printed_names_the_variable(capsys: pytest.CaptureFixture[str]) -> None:
    with masked_terminal(["run", "--", "./app", "--password", SECRET]):
        print(f"./app --password {SECRET}: exit code 3, {SECRET}", file=sys.stderr)
        print("./app --password x")
        assert shown(f"leader in={SECRET}") == 'leader in="$PASSWORD"'
    out, err = capsys.readouterr()
    assert err == './app --password "$PASSWORD": exit code 3, "$PASSWORD"\n'
    assert out == './app --password "$PASSWORD_2"\n'
    print(SECRET)
    assert capsys.readouterr().out == f"{SECRET}\n"


def test_what_a_record_has_masked_names_its_variable(capsys: pytest.CaptureFixture[str]) -> None:
    with masked_terminal(["tune", "-P", "p=aaaaaa,bbbbbb", "--", "./app", "--password", "{p}"]):
        print("best      p=<masked:PASSWORD_2>: 518 ms, not p=aaaaaa: 1 s")
        print('launch    ./app --password "$PASSWORD_2" "https://me:$PASSWORD@host"')
    assert capsys.readouterr().out.splitlines() == [
        'best      p="$PASSWORD_2": 518 ms, not p="$PASSWORD": 1 s',
        'launch    ./app --password "$PASSWORD_2" "https://me:$PASSWORD@host"',
    ]


def test_json_stays_json(capsys: pytest.CaptureFixture[str]) -> None:
    with masked_terminal(["run", "--password", "threads_"]):
        print(json.dumps({"threads_": 'a "threads_" b', "n": 1}))
    assert json.loads(capsys.readouterr().out) == {"threads_": 'a "<masked:PASSWORD>" b', "n": 1}


def test_secrets_of_a_record_are_hidden_up_to_the_end_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with masked_terminal(["run", "--resume", "r"]):
        hide(Masks({"TOKEN": [SECRET]}, {}))
        print(f"it printed {SECRET}")
    assert capsys.readouterr().out == 'it printed "$TOKEN"\n'


def test_one_value_has_one_name_in_what_is_printed_and_in_what_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    one, other, third = (f"{SECRET}-{i}" for i in range(3))
    with masked_terminal(["compare", f"./a --password {one}", f"./b --password {other}"]):
        # a record comes upon them in another order, and upon one more
        record = Masks(environment={})
        assert record.masked({"x": f"./c --password {third}", "y": ["./b", "--password", other]}) == {
            "x": "./c --password <masked:PASSWORD_3>",
            "y": ["./b", "--password", "<masked:PASSWORD_2>"],
        }
        print(f"leader {third}")
    assert capsys.readouterr().out == 'leader "$PASSWORD_3"\n'
    with masked_terminal(["compare", "--resume", "c"]):
        kept = Masks({"PASSWORD_2": [one], "PASSWORD": [other]}, {})
        hide(kept)
        assert Masks(environment={}).masked(["--password", one])[1] == "<masked:PASSWORD_2>"
        assert kept.used == {"PASSWORD_2": [one], "PASSWORD": [other]}
    assert Masks(environment={}).masked(["--password", third])[1] == "<masked:PASSWORD>"


def test_a_terminal_obeys_nothing_of_others_not_even_colours(capsys: pytest.CaptureFixture[str]) -> None:
    with masked_terminal(["confirm"]):
        print("host: \x1b]0;pwn\x07\x1b[2JHOST\r\u202e, \x1b[32mfaster\x1b[0m\tand so on")
        print(painted("slower", "1;31"), "a \x1b[8mname\x1b[0m")
        assert shown("a\x1b[2Kb") == "a\\x1b[2Kb"
    told = capsys.readouterr().out
    assert told == "host: \\x1b]0;pwn\\x07\\x1b[2JHOST\\r\\u202e, \\x1b[32mfaster\\x1b[0m\tand so on\n" + (
        "\x1b[1;31mslower\x1b[0m a \\x1b[8mname\\x1b[0m\n"
    )


def test_what_a_failed_program_printed_is_not_obeyed(nodewise_here: Command) -> None:
    done = nodewise_here("run", "--", "printf", r"\033[8mhidden\033[0m; exit 3")
    assert "\x1b" not in done.stdout + done.stderr
    failed = nodewise_here("run", "--", "sh", "-c", r"printf '\033[8mhidden\033[0m'; exit 3")
    assert failed.returncode == 2 and "\\x1b[8mhidden" in failed.stderr and "\x1b" not in failed.stderr
    named = nodewise_here("compare", "-n", "a\x1b[8mhidden", "--runs", "2", "true", "true")
    assert "\x1b" not in named.stdout + named.stderr and "a\\x1b[8mhidden" in named.stdout


def test_a_stray_byte_is_shown_alike_in_quotes(nodewise_here: Command) -> None:
    done = nodewise_here("place", "comp\udcff")
    assert done.returncode == 2 and "comp\\xff" in done.stderr and "udcff" not in done.stderr
