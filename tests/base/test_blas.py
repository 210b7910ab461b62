# SPDX-License-Identifier: BSD-3-Clause
"""NumPy's own threads are held back, in this process only."""

import os

import numpy as np

from nodewise.base.blas import use_one_thread


def test_the_environment_of_programs_stays_as_it_was() -> None:
    before = dict(os.environ)
    np.ones((2, 2)) @ np.ones((2, 2))
    use_one_thread()
    assert dict(os.environ) == before
