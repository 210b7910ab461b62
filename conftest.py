# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of the engine and of all studies."""

import pytest

from tests.some_cases import leave_some


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before what is `long` is left out."""
    leave_some(items)
