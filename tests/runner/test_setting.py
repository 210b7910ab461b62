# SPDX-License-Identifier: BSD-3-Clause
"""What of a setting makes a difference."""

from nodewise.runner.setting import Setting


def test_settings_start_alike_whatever_their_values_are_called() -> None:
    inherited = {"A": "1", "B": "2"}
    plain = Setting(("./app",))
    same = Setting(("./app",), {"a": "default"}, {"A": "1"}, ("C",), (0, 1))
    assert same.start(inherited, (0, 1)) == plain.start(inherited, (0, 1))
    others = [Setting(("./app",), env={"A": "2"}), Setting(("./app",), unset=("B",)), Setting(("./app",), mask=(0,))]
    assert all(other.start(inherited, (0, 1)) != plain.start(inherited, (0, 1)) for other in others)
