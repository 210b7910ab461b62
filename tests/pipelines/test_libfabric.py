# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines of real processes whose messages libfabric carries."""

import gzip
import os
from pathlib import Path

import pytest

pytest.importorskip("nodewise_transport", reason="messages are those of nodewise-transport")

from nodewise.api.pipeline import carry_out, prepare_pipeline
from nodewise.pipelines.result import Ended
from nodewise_transport import PULL, Endpoint, TransportError
from tests.kernel_symbols import no_kernel_symbols
from tests.pipelines.files import WHOLE, written

__all__ = ["no_kernel_symbols"]
pytestmark = pytest.mark.usefixtures("no_kernel_symbols")


@pytest.mark.parametrize("transport", ["ofi+tcp", "ofi+shm"])
def test_libfabric_carries_the_same(tmp_path: Path, transport: str) -> None:
    try:
        with Endpoint(
            f"{transport}://{'127.0.0.1:0' if transport == 'ofi+tcp' else f'nw-{os.getpid()}'}", PULL, bind=True
        ):
            pass
    except TransportError as problem:
        pytest.skip(f"libfabric's provider does not work here: {problem}")
    before = {*Path("/dev/shm").iterdir()}
    found = carry_out(prepare_pipeline(written(tmp_path, f"[pipeline]\ntransport = '{transport}'\n{WHOLE}")), None)
    assert found.ended is Ended.WHOLE, found.problem
    assert {c.transport for c in found.channels} == {transport}
    content = gzip.decompress((tmp_path / "out.gz").read_bytes())
    assert [int.from_bytes(content[i : i + 8], "little") for i in range(0, len(content), 200_000)] == [*range(21)]
    assert not [p for p in {*Path("/dev/shm").iterdir()} - before if "nodewise" in p.name]
