# SPDX-License-Identifier: BSD-3-Clause
"""Where figures cannot be drawn as files, that is one message."""

import resource

import pytest

from nodewise.base.errors import UnavailableError
from nodewise.report.exports.rendering import svg_to_png


def test_where_the_address_space_is_limited_no_figure_is_drawn_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, resource.RLIM_INFINITY))
    with pytest.raises(UnavailableError, match="need 80 GiB of address space, and a limit allows 1 GiB"):
        svg_to_png("<svg/>")
