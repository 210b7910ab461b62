# SPDX-License-Identifier: BSD-3-Clause
"""Rules of a file of one's own: what of an outlier's cannot be used is named with its line."""

from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.nodes.rule import read_rules

OUTLIER = """[[rule]]
id = "heat"
kind = "outlier"
reads = "sensors.processor"
severity = "note"
side = "high"
scale = "log"
step = 0.02
reason = "it lowers its clock first"
remedy = "look at its fans"
source = "https://docs.kernel.org/hwmon/coretemp.html"
"""


def test_an_outlier_is_read(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OUTLIER)
    (rule,) = read_rules(tmp_path / "own.toml")
    assert (rule.id, rule.condition["side"], rule.condition["scale"]) == ("heat", "high", "log")


@pytest.mark.parametrize(
    ("line", "other", "said", "at"),
    [
        ('scale = "log"', 'scale = "loq"', "scale: not known: 'loq'", 7),
        ('side = "high"', 'side = "up"', "side: not known: 'up'", 6),
        ("step = 0.02", "step = 0", "an outlier's step is a number above zero", 8),
        ('reads = "sensors.processor"', 'reads = "system.kernel"', "an outlier is among numbers", 4),
    ],
)
def test_what_is_wrong_with_an_outlier_is_named(tmp_path: Path, line: str, other: str, said: str, at: int) -> None:
    assert line in OUTLIER
    (tmp_path / "own.toml").write_text(OUTLIER.replace(line, other))
    with pytest.raises(InputError) as caught:
        read_rules(tmp_path / "own.toml")
    assert said in caught.value.what and f"own.toml, line {at}," in caught.value.what
