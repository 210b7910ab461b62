# SPDX-License-Identifier: BSD-3-Clause
"""NumPy, scikit-learn and scikit-learn-intelex: the same analysis, each at its best."""

from pathlib import Path

import numpy as np

from nodewise.studies.peers import absent


def _environment():
    # OpenBLAS does not know every new processor and takes slow kernels then; and nothing set for it here should hold
    wide = "avx512dq" in Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else False
    return {"OPENBLAS_CORETYPE": "SkylakeX" if wide else "", "OPENBLAS_L2_SIZE": ""}


ENVIRONMENT = _environment()


def contenders():
    """What is not installed, by the contender's name."""
    return {
        "numpy": absent("threadpoolctl"),
        "scikit_learn": absent("scikit-learn"),
        "intelex": absent("scikit-learn-intelex"),
        "scikit_learn_randomized": absent("scikit-learn"),
    }


def _columns(point):
    if "file" not in point:
        return int(point["columns"])
    with Path(point["file"]).open() as file:
        line = next(line for line in file if line.strip())
    return 1 + line.count(next((mark for mark in "\t;," if mark in line), ","))


def prepare(inputs, point, threads):
    """The rows as a matrix, dense or sparse, and the threads."""
    columns, name = _columns(point), point["contender"]
    if "data" in inputs:
        data = inputs["data"].reshape(-1, columns)
    else:
        from scipy.sparse import csr_array

        rows = inputs["starts"].size - 1
        data = csr_array((inputs["value"], inputs["column"], inputs["starts"]), shape=(rows, columns))
    if name == "intelex":
        import daal4py

        daal4py.daalinit(threads)
    else:
        # libraries that are loaded later take the number from the environment, as it is given
        from threadpoolctl import threadpool_limits

        threadpool_limits(threads)
    analyses = {"numpy": _numpy, "scikit_learn": _scikit_learn, "intelex": _intelex}
    wanted = {"first": int(point.get("components", columns)), "leading": "components" in point}
    if name == "scikit_learn_randomized":
        analyses[name] = _randomized(data, point, wanted["first"])
    kept = int(point.get("project", 0))
    return {"data": data, "method": point["method"], "analyse": analyses[name], "kept": kept, **wanted}


def run(state):
    """Eigenvalues, and the axes as rows."""
    state["values"], state["vectors"] = state["analyse"](state["data"], state["method"])
    if state["kept"]:
        state["projection"] = _projected(state["data"], state["method"], np.asarray(state["vectors"])[: state["kept"]])


def _projected(data, method, axes):
    """Rows along the axes; sparse ones are not moved, which would fill them: what moving takes off is the same for all."""
    if isinstance(data, np.ndarray):
        mean = data.mean(axis=0)
        if method == "covariance":
            return (data - mean) @ axes.T
        deviation = data.std(axis=0, ddof=1)
        return (data - mean) @ (axes / np.where(deviation > 0, deviation, 1.0)).T
    from sklearn.utils.sparsefuncs import mean_variance_axis

    mean, variance = mean_variance_axis(data, axis=0)
    scaled = axes
    if method != "covariance":
        variance = variance * data.shape[0] / (data.shape[0] - 1)
        scaled = axes / np.sqrt(np.where(variance > 0, variance, 1.0))
    return data @ scaled.T - mean @ scaled.T


def _numpy(data, method):
    """XᵀX by BLAS, corrected by the means; by singular values, those of a triangular factor."""
    count, mean = data.shape[0], np.asarray(data.mean(axis=0)).ravel()
    if method == "svd":
        standard = data - mean
        standard /= np.sqrt(np.einsum("ij,ij->j", standard, standard) / (count - 1))
        _, singular, vectors = np.linalg.svd(np.linalg.qr(standard, mode="r"))
        return singular**2 / (count - 1), vectors
    products = data.T @ data
    cross = products.toarray() if not isinstance(products, np.ndarray) else products
    matrix = (cross - count * np.outer(mean, mean)) / (count - 1)
    if method == "correlation":
        deviation = np.sqrt(np.diag(matrix))
        matrix /= np.outer(deviation, deviation)
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors.T[::-1]


def _scikit_learn(data, method):
    """PCA on standardised data; its scaler divides by the deviation of the whole, not of the sample."""
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    correction = 1.0
    if method != "covariance":
        data = StandardScaler(with_mean=isinstance(data, np.ndarray)).fit_transform(data)
        correction = (data.shape[0] - 1) / data.shape[0]
    fitted = PCA(svd_solver="full" if method == "svd" else "covariance_eigh", copy=method == "covariance").fit(data)
    return fitted.explained_variance_ * correction, fitted.components_


def _intelex(data, method):
    """PCA of oneDAL, which standardises by itself for two of the methods."""
    if method == "covariance":
        from sklearnex.decomposition import PCA

        fitted = PCA(svd_solver="covariance_eigh").fit(data)
        return fitted.explained_variance_, fitted.components_
    import daal4py

    found = daal4py.pca(method="svdDense" if method == "svd" else "correlationDense").compute(data)
    values = found.eigenvalues.ravel()
    return (values**2 / (data.shape[0] - 1) if method == "svd" else values), found.eigenvectors


#: Power iterations that are tried: so many as the digits take that are asked for, and no more.
_POWERS = (2, 4, 7, 12, 20, 35, 60, 100, 200)


def _randomized(data, point, first):
    """scikit-learn's randomized solver with the fewest power iterations that reach the digits, found before the clock runs."""
    accuracy = 10.0 ** -int(point["digits"])
    standard = _standardised(data, point["method"])
    for power in _POWERS:
        values, vectors = _randomized_analysis(data, point["method"], first, power)
        off = standard.T @ (standard @ vectors.T) / (len(standard) - 1) - vectors.T * values
        if np.linalg.norm(off, axis=0).max() <= accuracy * values[0]:
            break
    return lambda data, method: _randomized_analysis(data, method, first, power)


def _standardised(data, method):
    moved = data - data.mean(axis=0)
    if method == "covariance":
        return moved
    deviation = moved.std(axis=0, ddof=1)
    return moved / np.where(deviation > 0, deviation, 1.0)


def _randomized_analysis(data, method, first, power):
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    correction = 1.0
    if method != "covariance":
        data = StandardScaler().fit_transform(data)
        correction = (data.shape[0] - 1) / data.shape[0]
    solver = PCA(
        first,
        svd_solver="randomized",
        copy=method == "covariance",
        n_oversamples=max(10, first),
        iterated_power=power,
        power_iteration_normalizer="QR",
        random_state=0,
    )
    fitted = solver.fit(data)
    return fitted.explained_variance_ * correction, fitted.components_


def _variance(data, method):
    """The trace of the matrix whose axes are looked for."""
    if isinstance(data, np.ndarray):
        variance = data.var(axis=0, ddof=1)
    else:
        from sklearn.utils.sparsefuncs import mean_variance_axis

        variance = mean_variance_axis(data, axis=0)[1] * (data.shape[0] / (data.shape[0] - 1))
    return np.sum(variance if method == "covariance" else variance > 0, keepdims=True, dtype=float)


def outputs(state):
    """Axes turned as the study's are."""
    vectors = np.asarray(state["vectors"])[: state["first"]]
    large = np.abs(vectors)
    lead = np.argmax(large >= large.max(axis=1, keepdims=True) * (1 - 1e-8), axis=1)
    signs = np.where(vectors[np.arange(len(vectors)), lead] < 0, -1.0, 1.0)
    values = np.maximum(state["values"][: state["first"]], 0.0)
    found = {"eigenvalues": values, "eigenvectors": vectors * signs[:, None]}
    if state["leading"]:
        found["variance"] = _variance(state["data"], state["method"])
    if state["kept"]:
        found["projection"] = state["projection"] * signs[: state["kept"]]
    return found
