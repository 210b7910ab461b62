# SPDX-License-Identifier: BSD-3-Clause
"""The KMeans that scikit-learn-intelex puts in place of scikit-learn's; used in the same way."""

from nodewise.studies.peers import absent

from . import scikit_learn as plain

run, outputs = plain.run, plain.outputs


def available():
    """Say why it cannot run, or None."""
    return absent("scikit-learn", "scikit-learn-intelex")


def prepare(inputs, point, threads):
    """As for scikit-learn; threads are those of the library."""
    import daal4py
    from sklearnex.cluster import KMeans

    daal4py.daalinit(threads)
    return {**plain.prepare(inputs, point, threads), "KMeans": KMeans}
