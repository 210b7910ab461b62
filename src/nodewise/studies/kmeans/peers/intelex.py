# SPDX-License-Identifier: BSD-3-Clause
"""The KMeans that scikit-learn-intelex puts in place of scikit-learn's; used in the same way."""

from pathlib import Path

from nodewise.studies.discovery import load_module
from nodewise.studies.peers import absent

plain = load_module(Path(__file__).with_name("scikit_learn.py"), "nodewise_kmeans_scikit_learn")
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
