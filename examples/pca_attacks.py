# SPDX-License-Identifier: BSD-3-Clause
"""Tell network attacks apart by principal components: python pca_attacks.py [records].

Connection records of five kinds, with 24 columns of very different size, are made and written as CSV. The study `pca`
finds their principal components; a record's kind is then guessed by the nearest class centre along the first few.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from nodewise.studies.commands import worker_command
from nodewise.studies.discovery import find_study

KINDS = ("normal", "flood", "port scan", "password guessing", "data theft")
COLUMNS = (
    *("seconds", "bytes_sent", "bytes_received", "packets_sent", "packets_received", "mean_gap", "wrong_fragments"),
    *("urgent", "failed_logins", "logged_in", "root_shell", "files_opened", "files_created", "outbound_commands"),
    *("same_host", "same_service", "syn_errors", "reset_errors", "same_service_rate", "other_service_rate"),
    *("other_host_rate", "host_count", "host_service_count", "host_syn_errors"),
)
# what a kind of connection is driven by: volume out, volume in, half-open, refused, spread over services, logins
DRIVERS = np.array(
    [
        [1.0, 2.0, 0.0, 0.0, 0.3, 0.2],
        [0.2, 0.0, 4.0, 0.2, 0.0, 0.0],
        [0.0, 0.0, 1.0, 4.0, 4.0, 0.0],
        [0.3, 0.3, 0.0, 1.0, 0.0, 5.0],
        [5.0, 0.5, 0.0, 0.0, 0.2, 1.5],
    ]
)


def make_records(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Records and their kinds: each column is a mixture of the drivers, in a unit of its own, with noise."""
    random = np.random.default_rng(4)
    kinds = random.choice(len(KINDS), count, p=(0.6, 0.15, 0.1, 0.1, 0.05))
    drivers = DRIVERS[kinds] + 0.6 * random.standard_normal((count, DRIVERS.shape[1]))
    mixture = random.standard_normal((DRIVERS.shape[1], len(COLUMNS)))
    units = 10.0 ** random.integers(-2, 6, len(COLUMNS))
    noise = 1.2 * random.standard_normal((count, len(COLUMNS)))
    return (drivers @ mixture + noise + 5.0) * units, kinds


def components(table: Path, method: str, folder: Path) -> tuple[np.ndarray, np.ndarray, float]:
    """The eigenvalues, the axes as rows, and the seconds, by the study's worker."""
    point = {"file": str(table), "method": method}
    command = [*worker_command(find_study("pca"), "simd", point), "--dump", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    values = np.load(folder / "eigenvalues.npy")
    return values, np.load(folder / "eigenvectors.npy").reshape(len(values), -1), json.loads(done.stdout)["seconds"]


def share_told_apart(positions: np.ndarray, kinds: np.ndarray) -> float:
    """The share of the second half's records that are nearest to the centre that their kind has in the first half."""
    half = len(kinds) // 2
    centres = np.array([positions[:half][kinds[:half] == k].mean(axis=0) for k in range(len(KINDS))])
    distances = ((positions[half:, None, :] - centres) ** 2).sum(axis=2)
    return float((distances.argmin(axis=1) == kinds[half:]).mean())


def main() -> int:
    """Make, analyse and print; 0 where both methods agree and the first components tell the kinds apart."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    records, kinds = make_records(count)
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "records.csv"
        np.savetxt(table, records, delimiter=",", fmt="%.8g", header=",".join(COLUMNS), comments="")
        values, axes, seconds = components(table, "correlation", Path(name))
        by_svd, _, svd_seconds = components(table, "svd", Path(name))
    standard = (records - records.mean(axis=0)) / records.std(axis=0)
    shares = {}
    print(
        f"{count} records of {len(COLUMNS)} columns: correlation {1e3 * seconds:.2f} ms, svd {1e3 * svd_seconds:.2f} ms"
    )
    print("components  variance explained  records told apart")
    for most in (1, 2, 3, 4, 6):
        shares[most] = share_told_apart(standard @ axes[:most].T, kinds)
        print(f"{most:>10}  {100 * values[:most].sum() / values.sum():>17.1f}%  {100 * shares[most]:>17.1f}%")
    largest = np.argsort(-np.abs(axes[0]))[:4]
    print("the first component is mostly:", ", ".join(COLUMNS[j] for j in largest))
    agree = bool(np.allclose(values, by_svd, rtol=1e-10))
    return 0 if agree and shares[4] > 0.9 > shares[1] else 1


if __name__ == "__main__":
    sys.exit(main())
