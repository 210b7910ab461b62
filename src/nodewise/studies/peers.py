# SPDX-License-Identifier: BSD-3-Clause
"""What peers in Python share."""

from __future__ import annotations

from importlib.util import find_spec


def absent(*packages: str) -> str | None:
    """Why a peer that needs these packages cannot run, or None; `scikit-learn` is named as one installs it."""
    modules = {
        "scikit-learn": "sklearn",
        "scikit-learn-intelex": "sklearnex",
        "faiss-cpu": "faiss",
        "cython": "Cython",
        "zlib-ng": "zlib_ng",
    }
    missing = [name for name in packages if find_spec(modules.get(name, name)) is None]
    return f"{', '.join(missing)} not installed: pip install {' '.join(missing)}" if missing else None
