# SPDX-License-Identifier: BSD-3-Clause
"""What is said below the table: half round trips by their quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def report(result: Mapping[str, Any]) -> list[str]:
    """Half a round trip by its quantiles; nothing of the other classes, whose table says it all."""
    rows = [r for r in result["rows"] if r.get("seconds") and r.get("metrics")]
    if result["point"].get("class") != "latency" or not rows:
        return []
    lines = [f"{'half a round trip':<20}{'half within':>14}{'99 % within':>14}{'99.9 % within':>16}{'cores busy':>13}"]
    for row in rows:
        found = row["metrics"]
        if "p50_us" in found:
            lines.append(
                f"  {row['contender']:<18}{found['p50_us']:>11.2f} us{found['p99_us']:>11.2f} us{found['p999_us']:>13.2f} us"
                f"{found.get('busy_cores', 0):>13.3f}"
            )
    return lines
