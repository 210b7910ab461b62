# SPDX-License-Identifier: BSD-3-Clause
"""Series of numbers that look drawn and are the same everywhere, without a generator."""

from statistics import NormalDist

#: By its index the share of a sequence that fills 0 to 1 evenly and in no order that one sees.
_STEPS = (0.6180339887498949, 0.4142135623730951, 0.7320508075688772, 0.2360679774997898)


def uneven(count: int, which: int = 0) -> list[float]:
    """So many numbers spread as standard normal ones are."""
    return [NormalDist().inv_cdf((0.5 + (i + 1) * _STEPS[which]) % 1 or 0.5) for i in range(count)]
