"""Matrices in files: svmlight from either base, columns without end, arrays of objects."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing._app.inspection import inspect
from lapwing._app.requests import InfoRequest
from lapwing._tables.encoders import NumberReading
from lapwing._tables.tables import Fitted, Table, read_points
from lapwing.exceptions import LapwingWarning
from tests.helpers.reading import fitted, read, rows, write

pytestmark = pytest.mark.filterwarnings("ignore:.*only one row has the label")


def svmlight(path: Path, rows: list[str], **options: Any) -> Table:
    """Write a file and read it, with -1 for rows without a label."""
    roles: dict[str, Any] = {"label": None, "unlabeled": ("-1",)}
    return read(write(path, "\n".join(rows)), **roles | options)


def labels_of(folder: Path, *labels: str, n: int) -> Path:
    """Write a file of labels for n rows."""
    return write(folder / "l.txt", "\n".join([*labels, *[""] * (n - len(labels)), ""]))


FROM_ZERO = ["1 0:1 2:5", "2 1:3 2:4", "-1 0:2 1:7", "-1 2:9"]
FROM_ONE = ["1 1:1 3:5", "2 2:3 3:4", "-1 1:2 2:7", "-1 3:9"]
DENSE = [[1, 0, 5], [0, 3, 4], [2, 7, 0], [0, 0, 9]]


@pytest.mark.parametrize(("rows", "base"), [(FROM_ZERO, 0), (FROM_ONE, 1)])
def test_new_rows_have_the_base_of_the_model(tmp_path: Path, rows: list[str], base: int) -> None:
    table = svmlight(tmp_path / "t.svm", rows)
    assert table.X.toarray().tolist() == DENSE
    assert table.svmlight_base == base
    # New rows need not have the first column, which tells the base.
    for part in (rows, rows[1:2], rows[3:]):
        new = read_points(write(tmp_path / "n.svm", "\n".join(part)), fitted(table))
        assert new.X.toarray().tolist() == [DENSE[rows.index(row)] for row in part]


def test_the_index_base_is_inferred_from_all_files(tmp_path: Path) -> None:
    parts = FROM_ZERO[1::2], FROM_ZERO[::2]
    paths = [write(tmp_path / f"{k}.svm", "\n".join(part)) for k, part in enumerate(parts)]
    table = read(paths, label=None, unlabeled=("-1",))
    assert table.X.toarray().tolist() == [DENSE[i] for i in (1, 3, 0, 2)]
    assert table.svmlight_base == 0
    # So it is for a model of another format; the targets of new rows need no remark.
    model = Fitted(tuple(map(NumberReading, table.feature_names)))
    np.testing.assert_array_equal(read_points(paths, model).X.toarray(), table.X.toarray())
    # The base of a model is that of its table.
    of_one = svmlight(tmp_path / "t.svm", FROM_ONE)
    with pytest.raises(ValueError, match="has the index 0, but those of the model's table began"):
        read_points(paths[1], fitted(of_one))


def test_a_large_index_takes_no_memory(tmp_path: Path) -> None:
    rows = [f"{i % 2 if i < 8 else -1} {1 + i % 5}:1.5 100000000:{i}" for i in range(30)]
    rows[0] += " 100000001:0"  # a stored 0 fills no column
    tracemalloc.start()
    table = svmlight(tmp_path / "t.svm", rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.X.shape == (30, 6)
    assert table.feature_names == ("x0", "x1", "x2", "x3", "x4", "x99999999")
    np.testing.assert_array_equal(table.X[:, [5]].toarray().ravel(), np.arange(30))
    assert peak < 5e6
    # New rows: other order of filled columns, one that the model has not seen, one that is empty.
    new = write(tmp_path / "n.svm", "0 3:1 100000000:4\n0 7:2")
    with pytest.warns(LapwingWarning, match="does not know the column 'x6'"):
        again = read_points(new, fitted(table))
    assert again.X.toarray().tolist() == [[0, 0, 1, 0, 0, 4], [0] * 6]


def test_columns_of_a_sparse_matrix_by_name(tmp_path: Path) -> None:
    rows = [f"{i % 2 if i < 8 else -1} 1:1 3:{i} 4:2" for i in range(30)]
    path = tmp_path / "t.svm"
    assert svmlight(path, rows, drop=("x3",)).feature_names == ("x0", "x2")
    chosen = svmlight(path, rows, features=("x3,x0",))
    assert chosen.feature_names == ("x3", "x0")
    assert chosen.X[:2].toarray().tolist() == [[2, 1], [2, 1]]


def test_labels_beside_the_targets_of_svmlight_files_are_refused(tmp_path: Path) -> None:
    first = write(tmp_path / "t.svm", "\n".join(FROM_ONE))
    later = {"t2.svm": "\n".join(FROM_ONE), "a.csv": "a,y\n1,u\n", "next.csv": "row,y\n1,u\n2,v\n"}
    refused = r"t\.svm.* has no column 'y' \(--label\)\. It has 'target'"
    for more in ([], *([write(tmp_path / name, text)] for name, text in later.items())):
        with pytest.raises(ValueError, match=refused):
            read([first, *more])


def test_targets_of_svmlight_files_as_truth_and_ids(tmp_path: Path) -> None:
    roles: dict[str, Any] = {"labels_file": labels_of(tmp_path, "1", "0", n=12), "unlabeled": ()}
    rows = [f"{i} 1:1 3:{i}" for i in range(12)]
    table = svmlight(tmp_path / "t.svm", rows, **roles, truth="target")
    assert table.truth.tolist() == list(range(12))
    table = svmlight(tmp_path / "t.svm", rows, **roles, id="target")
    assert table.ids.tolist() == [str(i) for i in range(12)]


@pytest.mark.parametrize(
    "roles",
    [{"label": "x1", "labels_file": None}, {"id": "x1"}, {"truth": "x1"}, {"layout": ("x1", "x2")}],
)
@pytest.mark.parametrize("name", ["t.mtx", "t.npy"])
def test_rejects_other_roles_of_features_of_a_matrix(tmp_path: Path, name: str, roles: Any) -> None:
    X = np.ones((4, 3))
    path = write(tmp_path / name, sp.coo_matrix(X) if name == "t.mtx" else X)
    labels = labels_of(tmp_path, "a", "b", n=4)
    with pytest.raises(ValueError, match="holds only features, so 'x1' cannot be the label"):
        read(path, **{"label": None, "labels_file": labels} | roles)


def test_reads_matrix_market_files(tmp_path: Path) -> None:
    dense = np.zeros((20, 5))
    dense[:, 1], dense[::2, 4] = np.arange(20), 3
    path = write(tmp_path / "t.mtx", sp.coo_matrix(dense))
    labels = labels_of(tmp_path, *"ababab", n=20)
    table = read(path, label=None, labels_file=labels)
    assert table.feature_names == ("x1", "x4")
    for found in (table, read_points(path, fitted(table))):
        np.testing.assert_array_equal(found.X.toarray(), dense[:, [1, 4]])
    narrow = write(tmp_path / "n.mtx", sp.coo_matrix(dense[:, :3]))
    with pytest.raises(ValueError, match=r"n\.mtx has no column 'x4', which is needed"):
        read_points(narrow, fitted(table))
    with pytest.raises(ValueError, match=r"t\.mtx has no names of columns, and .* 'width' by its"):
        read_points(path, Fitted((NumberReading("width"),)))
    # Another file may have other columns that are not empty.
    other = write(tmp_path / "m.mtx", sp.coo_matrix(dense[:, [1, 1, 2, 3, 4]]))
    labels = labels_of(tmp_path, *"ababab", n=40)
    both = read([path, other], label=None, labels_file=labels)
    np.testing.assert_array_equal(both.X.toarray(), np.tile(dense[:, [1, 4]], (2, 1)))


@pytest.mark.parametrize("empty", [False, True])
def test_labels_with_and_without_lines_for_empty_rows(tmp_path: Path, empty: bool) -> None:
    """The rule is one for all files, whose rows are counted together."""
    cells = ["mm,\n"] + [f"{i},{i % 3}\n" for i in range(12)]  # with a row of units
    cells[2:2] = cells[9:9] = [",\n"]
    paths = write(tmp_path / "t.csv", f"p,q\n{''.join(cells)}"), tmp_path / "u.csv"
    write(paths[1], "p,q\n7,1\n,\n8,2\n")
    labels = ["a", "", "", "b"] if empty else ["a", "", "b"]
    for files, n, n_empty in ((paths[:1], 12, 2), (paths, 14, 3)):
        n += n_empty * empty
        table = read(files, label=None, labels_file=labels_of(tmp_path, *labels, n=n))
        assert len(table.X) == n
        assert np.flatnonzero(table.labeled).tolist() == [0, len(labels) - 1]
        left_out = [] if empty else [f"{n_empty} rows without any value left out"]
        assert list(table.remarks[1:]) == left_out


def test_a_matrix_for_a_model_of_a_table(tmp_path: Path) -> None:
    table = read(write(tmp_path / "t.csv", "p,q,y\n" + rows("{a},{b},{y}")))
    write(tmp_path / "n.npz", {"X": table.X[:4, ::-1], "feature_names": np.array(["q", "p"])})
    np.testing.assert_array_equal(read_points(tmp_path / "n.npz", fitted(table)).X, table.X[:4])
    both = read_points([tmp_path / "n.npz", tmp_path / "t.csv"], fitted(table))
    np.testing.assert_array_equal(both.X, np.concatenate([table.X[:4], table.X]))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_reads_sparse_matrices_saved_by_scipy(tmp_path: Path, form: str) -> None:
    points = sp.random_array((20, 6), density=0.3, rng=0)
    sp.save_npz(tmp_path / "t.npz", points.asformat(form))
    labels = labels_of(tmp_path, *"ababab", n=20)
    table = read(tmp_path / "t.npz", label=None, labels_file=labels)
    assert table.feature_names == tuple(f"x{j}" for j in range(6))
    for found in (table, read_points(tmp_path / "t.npz", fitted(table))):
        np.testing.assert_array_equal(found.X.toarray(), points.toarray())


def test_rejects_indices_outside_of_a_matrix_saved_by_scipy(tmp_path: Path) -> None:
    X = sp.csr_array(np.eye(3))
    X.indices[1] = 9
    sp.save_npz(tmp_path / "t.npz", X)
    with pytest.raises(ValueError, match=r"t\.npz is not a readable NPZ file of scipy\.sparse"):
        read(tmp_path / "t.npz", label=None, absent=True)


def test_explains_an_archive_with_the_extension_of_an_array(tmp_path: Path) -> None:
    """A table can be read with another extension; labels must be in another file."""
    archive = write(tmp_path / "t.npy", {"X": DENSE, "y": [0, 1, -1, -1]})
    with pytest.raises(ValueError, match=r"t\.npy is an archive of arrays.* extension \.npz"):
        read(archive, label=None, absent=True)
    table = write(tmp_path / "x.npy", np.array(DENSE))
    with pytest.raises(ValueError, match=r"t\.npy must hold one array with one label for each row"):
        read(table, label=None, labels_file=archive)


def test_matrix_without_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "t.mtx", sp.coo_matrix((5, 3)))
    labels = labels_of(tmp_path, "a", "b", n=5)
    error = f"{path} has no column to learn from: all its numbers are 0. Give other points."
    found = inspect(InfoRequest(data=(path,)))
    assert (found["graph"], found["errors"]) == (None, [error])
    # Empty columns exist, and columns beyond the matrix do not.
    assert read_points(path, Fitted((NumberReading("x2"),))).X.toarray().tolist() == [[0]] * 5
    chosen = read(path, label=None, labels_file=labels, features=("x2,x0",))
    assert chosen.feature_names == ("x2", "x0")
    with pytest.raises(ValueError, match=r"no column 'x3' \(--drop\)"):
        read(path, label=None, labels_file=labels, drop=("x3",))
