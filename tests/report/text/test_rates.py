# SPDX-License-Identifier: BSD-3-Clause
"""Rates and latencies in their units."""

from nodewise.fabric.proof import Outcome, Proof, Transfer
from nodewise.machine.frequencies import FrequencyControl
from nodewise.report.text.fabric import _proof
from nodewise.report.text.governors import control_text


def test_what_a_provider_carries_is_in_gigabytes_a_second() -> None:
    carried = (Transfer(8, 1.5e-6, 5e6), Transfer(1 << 20, 1e-4, 1.2e10))
    assert _proof(Proof("tcp", "msg", Outcome.WORKS, carried)) == "works    8 B in 1.5 µs, 1 MiB at 12 GB/s"


def test_how_long_a_governor_takes_is_in_microseconds() -> None:
    control = FrequencyControl(3, "acpi", "ondemand", ("ondemand",), (), 800000, 2500000, 10000, False, None, {}, {})
    assert control_text(control, 3).endswith(", 10 µs a change")
