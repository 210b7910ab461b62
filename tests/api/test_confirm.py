# SPDX-License-Identifier: BSD-3-Clause
"""What `confirm` makes of what it is given, before anything is read."""

from pathlib import Path

import pytest

from nodewise.api.confirm import prepare_confirm
from nodewise.base.errors import InputError


def test_isolation_is_refused_as_settings_run_as_recorded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="isolation cannot be given to confirm"):
        prepare_confirm(tmp_path, (), tmp_path / "out", how={"isolation": "bwrap"})
