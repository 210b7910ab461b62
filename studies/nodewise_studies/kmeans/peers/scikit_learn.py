# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's KMeans by Lloyd's iteration, given the first centres."""

from nodewise.studies.peers import absent


def available():
    """Say why it cannot run, or None."""
    return absent("scikit-learn")


def prepare(inputs, point, threads):
    """Points and first centres as rows; threads are those of OpenMP."""
    import numpy as np
    from sklearn.cluster import KMeans

    dims = int(point["dims"])
    return {
        "np": np,
        "KMeans": KMeans,
        "points": inputs["points"].reshape(-1, dims),
        "initial": inputs["initial"].reshape(-1, dims),
        "iterations": int(point["iterations"]),
    }


def run(state):
    """A fit assigns once more after its iterations, so it is given one less; then the means."""
    np, points, initial = state["np"], state["points"], state["initial"]
    options = {"n_clusters": len(initial), "n_init": 1, "tol": 0, "algorithm": "lloyd"}
    if state["iterations"] > 1:
        found = state["KMeans"](init=initial, max_iter=state["iterations"] - 1, **options).fit(points)
        labels, used = found.labels_, np.asarray(found.cluster_centers_, np.float32)
    else:
        # a fit of the centres alone leaves them where they are
        used = initial
        labels = state["KMeans"](init=initial, max_iter=1, **options).fit(initial).predict(points)
    counts = np.bincount(labels, minlength=len(used))
    centres = used.copy()
    for dim in range(used.shape[1]):
        sums = np.bincount(labels, points[:, dim], minlength=len(used))
        np.divide(sums, counts, out=centres[:, dim], where=counts > 0, casting="unsafe")
    state["found"] = labels, used, centres


def outputs(state):
    """Labels, the centres that they are nearest to, and their means."""
    labels, used, centres = state["found"]
    return {"labels": labels.astype("int32"), "used": used, "centres": centres}
