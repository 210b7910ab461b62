# SPDX-License-Identifier: BSD-3-Clause
"""Principal components of files, in little memory, and of data that lose digits."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.base.errors import InputError
from nodewise.studies.commands import worker_command
from nodewise.studies.discovery import find_study
from nodewise.studies.peer_worker import Judge
from nodewise.studies.results import compute
from nodewise_studies.pca.headings import headings_of
from nodewise_studies.pca.study import turned

PCA = find_study("pca")
VARIANTS = ("plain", "blocked", "simd")
METHODS = ("correlation", "covariance", "svd")


def _run(variant: str, point: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [*worker_command(PCA, variant, PCA.study.point(point)), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _result(variant: str, point: dict[str, str], folder: Path, threads: str = "2") -> tuple[Any, Any]:
    done = _run(variant, point, "--threads", threads, "--dump", str(folder))
    assert done.returncode == 0, done.stderr
    values = np.load(folder / "eigenvalues.npy")
    return values, np.load(folder / "eigenvectors.npy").reshape(values.size, values.size)


def _write(path: Path, table: Any, **more: Any) -> dict[str, str]:
    np.savetxt(path, table, **{"delimiter": ",", "fmt": "%.17g", "comments": "", **more})
    return {"file": str(path)}


def _table(rows: int, columns: int) -> Any:
    random = np.random.default_rng(7)
    return np.cumsum(random.standard_normal((rows, columns)), axis=1) * 10.0 ** random.integers(-3, 4, columns)


def _expected(table: Any, method: str) -> Any:
    matrix = np.cov(table, rowvar=False) if method == "covariance" else np.corrcoef(table, rowvar=False)
    return np.linalg.eigvalsh(matrix)[::-1]


@pytest.mark.some(8)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "style", [{}, {"header": "a,b,c,d,e"}, {"delimiter": ";"}, {"delimiter": "\t"}, {"newline": "\r\n"}]
)
def test_a_file_gives_what_numpy_has(method: str, style: dict[str, str], tmp_path: Path) -> None:
    table = _table(503, 5)
    point = _write(tmp_path / "table.csv", table, **style)
    values, _ = _result("simd", {**point, "method": method}, tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "data.npy"), table.ravel())
    # a covariance of columns of such different size loses what is small compared with the largest
    wanted = _expected(table, method)
    np.testing.assert_allclose(values, wanted, rtol=1e-10, atol=1e-13 * wanted[0])


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("+1.5", 1.5),
        (" 2 ", 2.0),
        ("-0.000123", -0.000123),
        ("1e3", 1000.0),
        ("123456789012345678", 123456789012345678.0),
        ("0.1234567890123456789", 0.1234567890123456789),
        (".5", 0.5),
        ("7.", 7.0),
        ("-2.5E-3", -0.0025),
        ("1e-400", 0.0),
        ('"2.5"', 2.5),
        (' " -3" ', -3.0),
    ],
)
def test_numbers_are_read_as_they_are(cell: str, value: float, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(f"1,2\n{cell},4\n3,7\n")
    _result("simd", {"file": str(file)}, tmp_path)
    assert np.load(tmp_path / "data.npy")[2] == value


@pytest.mark.some(10)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n3,x4\n5,6\n", "line 3, column 2: 'x4' is not a number"),
        ("1,2\n3,\n5,6\n", "line 2, column 2: an empty cell"),
        ("1,2\n\n3,nan\n5,6\n", "line 3, column 2: 'nan' is not a number"),
        ("1,2\n3,4,5\n5,6\n", "line 2, column 3: the first row has 2 columns"),
        ("1,2\n3\n5,6\n", "line 2: 1 columns, the first row has 2"),
        ("a,2\n3,4\n5,6\n", "line 1, column 1: 'a' is not a number"),
        ("1,2\n3,4 5\n", "line 2, column 2: '4 5' is not a number"),
        ("1,1e999\n3,4\n", "line 1, column 2: '1e999' is not a number"),
        ('1,2\n"3",""\n', "line 2, column 2: '\"\"' is not a number"),
        ("1,2\n", "1 rows have no variance"),
        ("a,b\n", "0 rows"),
        ("", "no rows"),
    ],
)
@pytest.mark.parametrize("held", [{}, {"input": "sparse"}])
def test_what_is_wrong_in_a_file_is_said_in_a_line(text: str, said: str, held: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(text)
    done = _run("simd", {"file": str(file), **held})
    assert done.returncode == 1
    assert said in done.stderr and len(done.stderr.splitlines()) == 2
    assert done.stderr.splitlines()[1].startswith("hint: ")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        done = _run("simd", {"file": str(path)})
        assert done.returncode == 1 and str(path) in done.stderr and "hint: name a file" in done.stderr


@pytest.mark.some(9)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("held", ["dense", "sparse"])
def test_streamed_blocks_give_what_memory_gives(method: str, variant: str, held: str, tmp_path: Path) -> None:
    point = {"rows": "20011", "columns": "13", "method": method, "input": held, "density": "40"}
    values, axes = _result(variant, point, tmp_path)
    for block in ("701", "20010"):
        folder = tmp_path / block
        folder.mkdir()
        answer = _result(variant, {**point, "memory": str(21 * 2**20), "block": block}, folder)
        # the rows are in no array
        assert {p.stem for p in folder.glob("*.npy")} == {"eigenvalues", "eigenvectors"}
        np.testing.assert_allclose(answer[0], values, rtol=1e-11)
        np.testing.assert_allclose(answer[1], axes, atol=1e-9)


@pytest.mark.parametrize(
    ("held", "method"),
    [
        *(("dense", "correlation"), ("sparse", "svd")),
        pytest.param("dense", "svd", marks=pytest.mark.long),
        pytest.param("sparse", "correlation", marks=pytest.mark.long),
    ],
)
def test_a_larger_file_is_analysed_within_the_bound(held: str, method: str, tmp_path: Path) -> None:
    bound = 32 * 2**20
    random = np.random.default_rng(3)
    thousandths = random.integers(0, 1000, (400_000, 12)) * (random.random((400_000, 12)) < 0.6)
    thousandths[:, 1] += thousandths[:, 0]
    table = thousandths / 1000
    file = tmp_path / "table.csv"
    # all of one width, so that they are written at once
    written = np.array([f"{number / 1000:.3f}," for number in range(2000)], "S6")[thousandths]
    written[:, -1] = np.char.replace(written[:, -1], b",", b"\n")
    file.write_bytes(written.tobytes())
    assert table.nbytes > bound
    point = {"file": str(file), "memory": str(bound), "input": held, "method": method}
    command = [*worker_command(PCA, "simd", PCA.study.point(point)), "--threads", "2", "--dump", str(tmp_path)]
    # the peak of this child alone: a helper waits for it
    measure = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=sys.stderr); "
    measure += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    done = subprocess.run([sys.executable, "-c", measure, *command], capture_output=True, text=True, check=True)
    assert int(done.stdout) < bound
    np.testing.assert_allclose(np.load(tmp_path / "eigenvalues.npy"), _expected(table, method), rtol=1e-10)


def test_a_bound_that_is_too_small_is_said() -> None:
    done = _run("simd", {"rows": "20000", "memory": str(2**20)})
    assert done.returncode == 1 and "memory: 64 columns" in done.stderr
    least = int(done.stderr.split("take ")[1].split()[0])
    assert _run("simd", {"rows": "20000", "memory": str(least)}).returncode == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_singular_values_keep_the_digits_that_squares_lose(variant: str, tmp_path: Path) -> None:
    # two columns that differ by 1e-7: an eigenvalue near 1e-14 of the largest
    point = {"rows": "5003", "columns": "6", "shape": "collinear"}
    values, _ = _result(variant, {**point, "method": "svd"}, tmp_path)
    data = np.load(tmp_path / "data.npy").reshape(-1, 6)
    data = (data - data[0]).astype(np.longdouble)
    data -= data.mean(axis=0)
    data /= np.sqrt((data**2).sum(axis=0))
    # the small one, by exact means: the squared distance of the two columns, less what the columns explain of it
    others = data[:, :5].astype(float)
    apart = ((data[:, 0] - data[:, 5]) / np.sqrt(np.longdouble(2))).astype(float)
    apart -= others @ np.linalg.lstsq(others, apart, rcond=None)[0]
    assert values[-1] < 1e-12
    np.testing.assert_allclose(values[-1], apart @ apart, rtol=1e-6)
    by_matrix, _ = _result(variant, {**point, "method": "correlation"}, tmp_path)
    np.testing.assert_allclose(by_matrix[:-1], values[:-1], rtol=1e-10)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("method", METHODS)
def test_threads_change_nothing_but_rounding(variant: str, method: str, tmp_path: Path) -> None:
    point = {"rows": "10007", "columns": "19", "method": method, "offset": "1000000"}
    values, axes = _result(variant, point, tmp_path, "1")
    for threads in ("2", "3", "8"):
        other = _result(variant, point, tmp_path, threads)
        np.testing.assert_allclose(other[0], values, rtol=1e-12)
        np.testing.assert_allclose(other[1], axes, atol=1e-10)


def test_what_is_handed_back_is_a_file_of_ones_own(tmp_path: Path) -> None:
    table = _table(211, 4)
    point = _write(tmp_path / "table.csv", table, header='a,b,"c",d') | {"project": "2"}
    found = compute(PCA, PCA.study.point(point), threads=2)
    deviations = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)
    tables = {name: np.asarray(t.values) for name, t in found.tables.items()}
    values, shares = tables["eigenvalues"].T
    np.testing.assert_allclose(values, _expected(table, "correlation"), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(shares, values / 4, rtol=1e-12)
    np.testing.assert_allclose(tables["projection"], deviations @ tables["eigenvectors"][:2].T, atol=1e-10)
    assert found.tables["eigenvectors"].columns == ("a", "b", "c", "d")
    assert found.tables["projection"].columns == ("component_1", "component_2")


@pytest.mark.parametrize(
    "point", [{"memory": "30000000"}, {"input": "sparse"}, {"method": "svd", "memory": "30000000"}]
)
def test_rows_are_projected_however_they_are_held(point: dict[str, str], tmp_path: Path) -> None:
    table = _table(30000, 7)
    point = {**_write(tmp_path / "table.csv", table), **point, "project": "3", "block": "997"}
    found = compute(PCA, PCA.study.point(point), threads=2)
    deviations = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)
    axes = np.asarray(found.tables["eigenvectors"].values)
    np.testing.assert_allclose(found.tables["projection"].values, deviations @ axes[:3].T, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x; y ;\n1;2;3\n", ("x", "y", "column_3")),
        ("1,2,3\n", ("column_1", "column_2", "column_3")),
        ("a,b\n1,2,3\n", ("column_1", "column_2", "column_3")),
        ("\ufeffa\tb\tc\n1\t2\t3\n", ("a", "b", "c")),
    ],
)
def test_headings_are_those_of_the_file(text: str, names: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text)
    assert headings_of({"file": str(tmp_path / "x.csv")}, 3) == names


def test_more_components_than_columns_are_refused() -> None:
    with pytest.raises(InputError, match="3 columns have no 4 components"):
        compute(PCA, PCA.study.point({"rows": "9", "columns": "3", "project": "4"}), threads=1)


def _leading(variant: str, point: dict[str, str], folder: Path, threads: str = "2") -> tuple[Any, Any, dict[str, Any]]:
    done = _run(variant, point, "--threads", threads, "--dump", str(folder))
    assert done.returncode == 0, done.stderr
    kept = int(point["components"])
    values, variance = np.load(folder / "eigenvalues.npy"), np.load(folder / "variance.npy")
    assert values.size == kept and variance.size == 1
    answer = {**json.loads(done.stdout), "variance": variance[0]}
    return values, np.load(folder / "eigenvectors.npy").reshape(kept, -1), answer


@pytest.fixture(scope="module")
def sparse_table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, str]]:
    """A table and the knobs of its file, which takes longer to write than to analyse."""
    table = _table(3001, 23)
    table[:, 4] = 5.0
    table[np.abs(table) < 0.5] = 0.0
    return table, _write(tmp_path_factory.mktemp("sparse") / "table.csv", table)


@pytest.mark.some(9)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("variant", ["simd", "randomized"])
@pytest.mark.parametrize("style", [{}, {"input": "sparse"}, {"memory": "30000000", "block": "997"}])
def test_the_first_components_are_those_of_lapack(
    variant: str, method: str, style: dict[str, str], sparse_table: tuple[Any, dict[str, str]], tmp_path: Path
) -> None:
    table, file = sparse_table
    point = {**file, **style, "method": method, "components": "4", "digits": "12"}
    values, axes, answer = _leading(variant, point, tmp_path)
    deviations = table - table.mean(axis=0)
    if method != "covariance":
        deviations /= np.where(np.ptp(table, axis=0) > 0, table.std(axis=0, ddof=1), 1.0)
    _, singular, vectors = np.linalg.svd(deviations, full_matrices=False)
    wanted = singular**2 / 3000
    np.testing.assert_allclose(values, wanted[:4], rtol=1e-9)
    np.testing.assert_allclose(np.abs((axes * vectors[:4]).sum(axis=1)), 1.0, rtol=1e-9)
    assert answer["variance"] == pytest.approx(wanted.sum(), rel=1e-10)
    assert answer["explained_2"] == pytest.approx(wanted[1] / wanted.sum(), rel=1e-9)
    assert ("passes" in answer) == (variant == "randomized")


def test_more_digits_take_more_passes_and_are_there(tmp_path: Path) -> None:
    point = {"rows": "3000", "columns": "120", "components": "3"}
    full, _, _ = _leading("simd", {**point, "digits": "12"}, tmp_path)
    passes = []
    for digits in ("2", "5", "10"):
        values, _, answer = _leading("randomized", {**point, "digits": digits}, tmp_path)
        np.testing.assert_allclose(values, full, atol=10.0 ** -int(digits) * full[0])
        passes.append(answer["passes"])
    assert passes == sorted(passes) and passes[0] < passes[-1]


def _wrong_leading(change: Any) -> str:
    with Judge(str(PCA.binary), ["rows=500", "columns=30", "components=3", "digits=8"]) as judge:
        data = judge.inputs["data"].reshape(500, 30)
        values, vectors = np.linalg.eigh(np.corrcoef(data, rowvar=False))
        values, axes = values[::-1].copy(), turned(vectors.T[::-1])
        chosen, values, axes = change(values, axes)
        found = {"eigenvalues": values[chosen], "eigenvectors": axes[chosen].ravel(), "variance": np.array([30.0])}
        return judge.wrong(found) or ""


def test_what_are_not_the_first_components_is_noticed() -> None:
    assert _wrong_leading(lambda v, a: ([0, 1, 2], v, a)) == ""
    assert "larger than the last of the first 3" in _wrong_leading(lambda v, a: ([0, 1, 3], v, a))
    assert "larger than the last of the first 3" in _wrong_leading(lambda v, a: ([1, 2, 3], v, a))
    assert "component 1 is none" in _wrong_leading(lambda v, a: ([0, 1, 2], v * 1.0001, a))
    # a little of the next one in the last
    mixed = _wrong_leading(lambda v, a: ([0, 1, 2], v, np.vstack([a[:2], turned(_between(a[2], a[3]))])))
    assert "component 3 is none" in mixed


def _between(first: Any, second: Any) -> Any:
    return (first + 1e-4 * second)[None] / np.sqrt(1 + 1e-8)


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"components": "4"}, "3 columns have no 4 components"),
        ({"components": "2", "project": "3"}, "of 3 components 2 are computed"),
    ],
)
def test_components_that_are_not_there_are_refused(knobs: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        compute(PCA, PCA.study.point({"rows": "9", "columns": "3", **knobs}), threads=1)


def test_shares_of_the_first_components_are_of_all_variance() -> None:
    point = PCA.study.point({"rows": "900", "columns": "9", "components": "2", "project": "1"})
    found = compute(PCA, point, threads=2)
    values, shares = np.asarray(found.tables["eigenvalues"].values).T
    np.testing.assert_allclose(shares, values / 9, rtol=1e-12)
    assert np.shape(found.tables["eigenvectors"].values) == (2, 9)
    assert np.shape(found.tables["projection"].values) == (900, 1)


def test_randomized_is_there_where_the_first_are_asked_for_alone() -> None:
    assert PCA.study.select is not None
    point = PCA.study.point({})
    assert not [name for name in PCA.study.select(point) if "randomized" in name]
    assert {"randomized", "scikit_learn_randomized"} <= set(PCA.study.select({**point, "components": "2"}))


def test_the_explained_variance_is_reported(tmp_path: Path) -> None:
    point = {"rows": "1000", "columns": "12"}
    answer = json.loads(_run("simd", point, "--dump", str(tmp_path)).stdout)
    values = np.load(tmp_path / "eigenvalues.npy")
    assert answer["explained_1"] == pytest.approx(values[0] / values.sum())
    assert PCA.study.report is not None
    lines = PCA.study.report({"rows": [{"metrics": answer}]})
    assert len(lines) == 1 and f"{100 * answer['explained_1']:.1f}" in lines[0]


def test_the_example_separates_attacks() -> None:
    example = Path(__file__).parents[3] / "examples" / "pca_attacks.py"
    done = subprocess.run([sys.executable, str(example), "5000"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "records told apart" in done.stdout
