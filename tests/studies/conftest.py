# SPDX-License-Identifier: BSD-3-Clause
"""As for the tests next to the studies."""

from nodewise.studies.conftest import threads_that_wait_asleep

__all__ = ["threads_that_wait_asleep"]
