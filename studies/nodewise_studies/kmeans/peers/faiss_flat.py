# SPDX-License-Identifier: BSD-3-Clause
"""Faiss: its Clustering over an exact index, given the first centres; the last assignment by the index itself."""

from nodewise.studies.peers import absent


def available():
    """Say why it cannot run, or None."""
    return absent("faiss-cpu")


def prepare(inputs, point, threads):
    """Points and first centres as rows."""
    import faiss
    import numpy as np

    faiss.omp_set_num_threads(threads)
    dims = int(point["dims"])
    return {
        "faiss": faiss,
        "np": np,
        "points": inputs["points"].reshape(-1, dims),
        "initial": inputs["initial"].reshape(-1, dims),
        "iterations": int(point["iterations"]),
    }


def _train(state, iterations):
    faiss, points, initial = state["faiss"], state["points"], state["initial"]
    if iterations == 0:
        return initial
    training = faiss.Clustering(initial.shape[1], len(initial))
    training.niter = iterations
    training.min_points_per_centroid = 1
    training.max_points_per_centroid = len(points)
    training.check_input_data_for_NaNs = False
    faiss.copy_array_to_vector(initial.ravel(), training.centroids)
    training.train(points, faiss.IndexFlatL2(initial.shape[1]))
    return faiss.vector_to_array(training.centroids).reshape(initial.shape)


def run(state):
    """All iterations; it does not return the labels of the last one, so that one is done by hand."""
    faiss, np, points = state["faiss"], state["np"], state["points"]
    used = _train(state, state["iterations"] - 1)
    index = faiss.IndexFlatL2(used.shape[1])
    index.add(used)
    labels = index.assign(points, 1).ravel()
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
