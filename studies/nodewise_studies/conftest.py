# SPDX-License-Identifier: BSD-3-Clause
"""As for the tests of nodewise's own studies."""

from nodewise.studies.conftest import guests_in_long_tests_alone, threads_that_wait_asleep

__all__ = ["guests_in_long_tests_alone", "threads_that_wait_asleep"]
