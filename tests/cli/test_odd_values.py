# SPDX-License-Identifier: BSD-3-Clause
"""Values of options that nobody means: one message, exit code 2."""

import pytest

from nodewise.base.units import MOST_WHOLE
from tests.cli.conftest import Command


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["place", "compact", "--compare", "'"], '--compare: "\'" cannot be split into words: no closing quotation'),
        (["place", "--slurm", "srun 'x"], 'srun: "srun \'x" cannot be split into words'),
        (["place", "--numactl", "numactl \\"], "cannot be split into words: no escaped character"),
        (["compare", "--shell", "'", "true;", "false;"], "cannot be split into words: no closing quotation"),
        (["check", "--through", "'", "--hosts", "a"], '--through: "\'" cannot be split into words'),
    ],
)
def test_an_open_quotation_is_bad_input(nodewise_here: Command, words: list[str], said: str) -> None:
    done = nodewise_here(*words)
    assert done.returncode == 2 and said in done.stderr, done.stderr


@pytest.mark.parametrize(
    "words", [["compare", "--runs"], ["scale", "--blocks"], ["run", "--warmup"], ["place", "compact", "--ranks"]]
)
@pytest.mark.parametrize("number", ["9" * 400, "9007199254740993", "-" + "9" * 400])
def test_a_count_beyond_all_counts_is_bad_input(nodewise_here: Command, words: list[str], number: str) -> None:
    done = nodewise_here(*words, number, *([] if words[0] == "place" else ["true", "true"]))
    assert done.returncode == 2 and (f"±{MOST_WHOLE}" in done.stderr or "not in the range" in done.stderr), done.stderr
