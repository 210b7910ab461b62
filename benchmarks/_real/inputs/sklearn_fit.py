# SPDX-License-Identifier: BSD-3-Clause
"""`sklearn_fit.py kmeans|boosting|forest|components [JOBS]`: fits one model to made data."""

import sys

import numpy as np

what, *jobs = sys.argv[1:]
random = np.random.default_rng(7)
if what == "kmeans":
    from sklearn.cluster import KMeans

    print(KMeans(40, n_init=1, max_iter=15, tol=0, random_state=7).fit(random.random((30_000, 16))).inertia_)
elif what == "boosting":
    from sklearn.ensemble import HistGradientBoostingClassifier

    x = random.random((120_000, 20))
    model = HistGradientBoostingClassifier(max_iter=30, early_stopping=False, random_state=7)
    print(model.fit(x, x[:, 0] + x[:, 1] * x[:, 2] > 0.7).score(x[:1000], x[:1000, 0] > 0.5))
elif what == "forest":
    from sklearn.ensemble import RandomForestClassifier

    x = random.random((4_000, 20))
    model = RandomForestClassifier(40, random_state=7, n_jobs=int(jobs[0]))
    print(model.fit(x, x[:, 0] + x[:, 1] > 1).score(x[:500], x[:500, 0] > 0.5))
else:
    from sklearn.decomposition import PCA

    print(PCA(40, svd_solver="full").fit(random.random((4_000, 500))).explained_variance_.sum())
