# SPDX-License-Identifier: BSD-3-Clause
"""Trees of sysfs, made by hand: no machine with such adapters was at hand when they were written."""

from __future__ import annotations

from pathlib import Path


def port(
    root: Path,
    name: str,
    rate: str,
    state: str = "4: ACTIVE",
    physical: str = "5: LinkUp",
    model: str = "MT4123",
    layer: str = "InfiniBand",
) -> Path:
    """A port such as mlx5_0/1; gives its adapter's folder."""
    adapter, _, number = name.partition("/")
    folder = root / "sys/class/infiniband" / adapter
    ports = folder / "ports" / number
    ports.mkdir(parents=True)
    for file, text in (("rate", rate), ("state", state), ("phys_state", physical), ("link_layer", layer)):
        (ports / file).write_text(text + "\n")
    (folder / "hca_type").write_text(model + "\n")
    return folder


def slot(adapter: Path, lanes: int, speed: str) -> None:
    """The slot of an adapter."""
    (adapter / "device").mkdir()
    (adapter / "device/current_link_width").write_text(f"{lanes}\n")
    (adapter / "device/current_link_speed").write_text(f"{speed}\n")
