# SPDX-License-Identifier: BSD-3-Clause
"""How a launcher's text is split: options, their values, programs and what stands in front, each at its edges."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.job import Job
from nodewise.placement.launcher_options import (
    Beside,
    in_front,
    job_from,
    options_and_notes,
    read_options,
    whole,
    without_program,
    words_of,
)

KNOWN = {"-n": "ranks", "--ranks": "ranks", "-b": "bare", "--hosts": "hosts"}
BESIDE = Beside(
    words=words_of("-q --quiet", "-o --out", "-env"),
    unmodelled=("-u", "--unmodelled"),
    settings=("-env",),
    places=("bind",),
    apart=(("-q", "--out"), ("-n", "-o")),
    names=("other",),
    fronts={"outer": "outer starts it"},
    own=("OWN_",),
    joined=("hosts",),
    choosing=("-o",),
)


def _read(text, beside=BESIDE):
    return options_and_notes("tool", text, KNOWN, ("bare",), beside)


def _refused(text, beside=BESIDE):
    with pytest.raises(InputError) as caught:
        _read(text, beside)
    return caught.value.what


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("-n 2", {"ranks": "2"}),
        ("-n2", {"ranks": "2"}),
        ("-n=2", {"ranks": "2"}),
        ("--ranks=2", {"ranks": "2"}),
        ("--ranks 2 -b", {"ranks": "2", "bare": ""}),
        ("-b -n 2", {"ranks": "2", "bare": ""}),
        ("-b=x -n 2", {"ranks": "2", "bare": "x"}),
        ("-q -n 2", {"ranks": "2"}),
        ("--out -n -b", {"bare": ""}),
        ("-ox -b", {"bare": ""}),
        ("--out=x -n 2", {"ranks": "2"}),
        ("-env A B -n 2", {"ranks": "2"}),
        ("--hosts a --hosts b --hosts a", {"hosts": "a,b,a"}),
        ("tool -n 2 program -n 3", {"ranks": "2"}),
        ("tool -n 2 -- -n 3", {"ranks": "2"}),
        ("/bin/other -n 2", {"ranks": "2"}),
        ("nohup A=b tool -n 2", {"ranks": "2"}),
    ],
)
def test_options_and_their_values(text, found):
    assert _read(text)[0] == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-n", "tool: -n needs a value"),
        ("-o", "tool: -o needs a value"),
        ("-env A", "tool: -env needs 2 values"),
        ("-env bind_x A", "tool: -env bind_x A bears on placement, and what it does is not modelled"),
        ("-n 2 -n 2", "tool: -n is given twice"),
        ("-n 2 --ranks 3", "tool: --ranks is given twice"),
        ("-u 1", "tool: -u bears on placement, and what it does is not modelled"),
        ("--unmodelled=1", "tool: --unmodelled bears on placement, and what it does is not modelled"),
        ("-x", "tool: '-x' is not known here"),
        ("--ranksx=2", "tool: '--ranksx=2' is not known here"),
        ("program", "tool: 'program' is no option"),
        ("-", "tool: '-' is not known here"),
        ("-q --out x", "tool refuses -q and --out together"),
        ("-o x -n 2", "tool refuses -o and -n together"),
        ("tool a : b", "tool: several programs in one job, parted by a colon, are not modelled"),
        ("OWN_X=1 tool -n 2", "tool: OWN_X may bear on placement, and what it does is not modelled"),
        ("A=1 OWN_X=1 outer -n 2", "tool: OWN_X may bear on placement, and what it does is not modelled"),
    ],
)
def test_what_is_refused(text, said):
    # those that exclude each other are asked about in the last of these only
    beside = BESIDE if "refuses" in said else Beside(**{**vars(BESIDE), "apart": ()})
    assert _refused(text, beside) == said


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("-n 2", []),
        ("tool", []),
        ("-q --quiet -q", ["tool: passed over, as it says nothing of placement: -q, --quiet"]),
        ("-o x", ["tool: -o chooses nodes by what they are: this machine is taken for one that is chosen"]),
        ("tool p", ["tool: passed over, as it is what is started: p"]),
        ("tool p a", ["tool: passed over, as it is what is started: p and its argument"]),
        ("tool p a b", ["tool: passed over, as it is what is started: p and its arguments"]),
        ("tool -- -p", ["tool: passed over, as it is what is started: -p"]),
        ("tool --", []),
        ("A=b time C= tool", ["tool: passed over, as they are not the launcher's: A, C"]),
        ("outer -n 2", ["outer starts it"]),
    ],
)
def test_what_is_noted(text, notes):
    assert _read(text)[1] == notes


def test_of_what_is_given_again_the_last_counts_where_a_launcher_does_so():
    last = Beside(last=True)
    assert _read("-n 2 --ranks 3", last) == ({"ranks": "3"}, ["tool: --ranks is given again, and the last counts"])
    assert _read("-n 2 --ranks 2", last) == ({"ranks": "2"}, [])
    assert _read("-n 2 -n 3 -n 2", last) == ({"ranks": "2"}, ["tool: -n is given again, and the last counts"])


def test_without_more_options_a_launcher_has_its_own_name_and_another():
    assert read_options("tool", "tool -n 2 program", KNOWN) == {"ranks": "2"}
    assert read_options("tool", "alias -n 2 program", KNOWN, alias="alias") == {"ranks": "2"}
    assert read_options("tool", "-b -n 2", KNOWN, ("bare",)) == {"ranks": "2", "bare": ""}
    # variables are then no matter of the launcher's
    assert read_options("tool", "A=b tool -n 2 program", KNOWN) == {"ranks": "2"}
    with pytest.raises(InputError, match="'alias' is no option"):
        read_options("tool", "alias -n 2", KNOWN)


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("tool -a", ["-a"]),
        ("time /x/tool -a", ["-a"]),
        ("exec A=1 nohup tool", []),
        ("tools -a", None),
        ("time", None),
        ("A=1", None),
        ("", None),
        ("1A=1 tool", None),
    ],
)
def test_a_tools_name_is_taken_off(words, left):
    given = words.split()
    assert in_front("tool", given) == (left is not None)
    assert given == (words.split() if left is None else left)


def test_a_variable_may_have_a_value_of_several_lines():
    given = ["A=first\nsecond", "tool", "-a"]
    assert in_front("tool", given) and given == ["-a"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("tool -a 1 program -b", "tool -a 1"),
        ("tool -a 1 -- program", "tool -a 1"),
        ("tool -a 1", "tool -a 1"),
        ("tool -- 1", "tool -- 1"),
        ("nohup tool 1 2", "tool 1"),
        ("-a 1 program", "-a 1 program"),
    ],
)
def test_the_program_is_cut_off(text, kept):
    # one word that is no option is the tool's
    assert without_program("tool", text, lambda word, before: word.isdigit() and before < 1) == kept


@pytest.mark.parametrize(
    ("text", "least", "number"), [("1", 1, 1), ("0", 0, 0), ("9999999", 1, 9999999), ("007", 1, 7)]
)
def test_a_number(text, least, number):
    assert whole("tool", "-n", text, least) == number


@pytest.mark.parametrize(
    ("text", "least"), [("0", 1), ("1", 2), ("10000000", 1), ("", 1), ("-1", 0), ("+1", 0), ("1.0", 1)]
)
def test_what_is_no_number(text, least):
    with pytest.raises(InputError) as caught:
        whole("tool", "-n", text, least)
    assert caught.value.what == f"tool: -n {text!r} is no number from {least} on"


@pytest.mark.parametrize(
    ("options", "job", "found"),
    [
        ({"ranks": "4"}, Job(2), Job(2, 4)),
        ({}, Job(2, 4), Job(2, 4)),
        ({"ranks": "4"}, Job(2, 4, 2), Job(2, 4, 2)),
        ({"threads": "3"}, Job(2, 4), Job(3, 4)),
        ({"per_node": "2"}, Job(1), Job(1, 2, 1, 2)),
        ({"per_node": "2"}, Job(1, nodes=3), Job(1, 6, 3, 2)),
        ({"ranks": "5", "per_node": "2"}, Job(1), Job(1, 5, 3, 2)),
        ({"ranks": "2", "per_node": "4"}, Job(1), Job(1, 2, 1, 2)),
        ({"ranks": "4"}, Job(1, 4, 2, 3), Job(1, 4, 2, 3)),
    ],
)
def test_the_job_of_a_line(options, job, found):
    assert job_from("tool", options, job) == found


@pytest.mark.parametrize(
    ("options", "job", "said"),
    [
        ({}, Job(1), "tool places ranks, and no number of ranks is given"),
        ({"ranks": "4"}, Job(1, 3), "tool: 4 ranks in its options, and 3 by --ranks"),
        ({"ranks": "4", "per_node": "2"}, Job(1, nodes=3), "tool: 4 ranks, 2 a node, need 2 nodes, not 3"),
        ({"ranks": "0"}, Job(1), "tool: ranks '0' is no number from 1 on"),
        ({"threads": "x"}, Job(1), "tool: threads 'x' is no number from 1 on"),
        ({"per_node": "x"}, Job(1), "tool: ranks a node 'x' is no number from 1 on"),
    ],
)
def test_jobs_that_a_line_cannot_be_of(options, job, said):
    with pytest.raises(InputError) as caught:
        job_from("tool", options, job)
    assert caught.value.what == said
