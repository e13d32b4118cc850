"""Matrices in files: svmlight from either base, columns without end, arrays of objects."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from lapwing._app.inspection import inspect
from lapwing._app.requests import InfoRequest
from lapwing._tables.options import ReadOptions
from lapwing._tables.tables import Fitted, read_points, read_table
from lapwing.exceptions import LapwingWarning
from tests.helpers.reading import fitted

MARKED = ReadOptions(unlabeled=("-1",))


def write(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(rows) + "\n")
    return path


FROM_ZERO = ["1 0:1 2:5", "2 1:3 2:4", "-1 0:2 1:7", "-1 2:9"]
FROM_ONE = ["1 1:1 3:5", "2 2:3 3:4", "-1 1:2 2:7", "-1 3:9"]
DENSE = [[1, 0, 5], [0, 3, 4], [2, 7, 0], [0, 0, 9]]


@pytest.mark.filterwarnings("ignore:.*only one row has the label")
@pytest.mark.parametrize(("rows", "base"), [(FROM_ZERO, 0), (FROM_ONE, 1)])
def test_the_base_belongs_to_the_model(tmp_path: Path, rows: list[str], base: int) -> None:
    table = read_table(write(tmp_path / "t.svm", rows), MARKED)
    assert table.X.toarray().tolist() == DENSE
    assert table.svmlight_base == base
    # New rows need not have the first column, which tells the base.
    for part in (rows, rows[1:2], rows[3:]):
        new = read_points(write(tmp_path / "n.svm", part), fitted(table))
        assert new.X.toarray().tolist() == [DENSE[rows.index(row)] for row in part]


@pytest.mark.filterwarnings("ignore:.*only one row has the label")
def test_the_base_is_that_of_all_files_together(tmp_path: Path) -> None:
    first = write(tmp_path / "a.svm", FROM_ZERO[1:2] + FROM_ZERO[3:])
    second = write(tmp_path / "b.svm", FROM_ZERO[:1] + FROM_ZERO[2:3])
    table = read_table([first, second], MARKED)
    assert table.X.toarray().tolist() == [DENSE[i] for i in (1, 3, 0, 2)]
    assert table.svmlight_base == 0


@pytest.mark.filterwarnings("ignore:.*only one row has the label")
def test_an_index_below_the_model_s_base_is_refused(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "t.svm", FROM_ONE), MARKED)
    with pytest.raises(ValueError, match="has the index 0, but those of the model's table began"):
        read_points(write(tmp_path / "n.svm", FROM_ZERO), fitted(table))


def test_a_column_far_out_costs_nothing(tmp_path: Path) -> None:
    rows = [f"{i % 2 if i < 8 else -1} {1 + i % 5}:1.5 100000000:{i}" for i in range(30)]
    rows[0] += " 100000001:0"  # a stored 0 fills no column
    write(tmp_path / "t.svm", rows)
    tracemalloc.start()
    table = read_table(tmp_path / "t.svm", MARKED)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.X.shape == (30, 6)
    assert table.feature_names == ("x0", "x1", "x2", "x3", "x4", "x99999999")
    np.testing.assert_array_equal(table.X[:, [5]].toarray().ravel(), np.arange(30))
    assert peak < 5e6
    # New rows: other order of filled columns, one that the model has not seen, one that is empty.
    new = write(tmp_path / "n.svm", ["0 3:1 100000000:4", "0 7:2"])
    with pytest.warns(LapwingWarning, match="does not know the column 'x6'"):
        again = read_points(new, fitted(table))
    assert again.X.toarray().tolist() == [[0, 0, 1, 0, 0, 4], [0] * 6]


def test_columns_of_a_sparse_matrix_by_name(tmp_path: Path) -> None:
    rows = [f"{i % 2 if i < 8 else -1} 1:1 3:{i} 4:2" for i in range(30)]
    path = write(tmp_path / "t.svm", rows)
    assert read_table(path, ReadOptions(unlabeled=("-1",), drop=("x3",))).feature_names == (
        "x0",
        "x2",
    )
    chosen = read_table(path, ReadOptions(unlabeled=("-1",), features=("x3,x0",)))
    assert chosen.feature_names == ("x3", "x0")
    assert chosen.X[:2].toarray().tolist() == [[2, 1], [2, 1]]
    with pytest.raises(ValueError, match=r"no column 'x9' \(--drop\)"):
        read_table(path, ReadOptions(unlabeled=("-1",), drop=("x9",)))
    with pytest.raises(ValueError, match="has no column 'k': the only one with a name is 'target'"):
        read_table(path, ReadOptions(unlabeled=("-1",), id="k"))


def test_targets_of_svmlight_files_as_truth_and_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "t.svm", [f"{i % 2} 1:1 3:{i}" for i in range(12)])
    labels = write(tmp_path / "l.txt", ["1", "0"] + [""] * 10)
    truth = read_table(path, ReadOptions(labels_file=labels, truth="target")).truth
    assert truth is not None
    assert truth.tolist() == [0, 1] * 6
    write(path, [f"{i} 1:1 3:{i}" for i in range(12)])
    ids = read_table(path, ReadOptions(labels_file=labels, id="target")).ids
    assert ids.tolist() == [str(i) for i in range(12)]


@pytest.mark.parametrize(
    "roles",
    [{"label": "x1", "labels_file": None}, {"id": "x1"}, {"truth": "x1"}, {"layout": ("x1", "x2")}],
)
@pytest.mark.parametrize("name", ["t.mtx", "t.npy"])
def test_features_of_a_matrix_have_no_other_role(
    tmp_path: Path, name: str, roles: dict[str, Any]
) -> None:
    path = tmp_path / name
    points, labels = np.ones((4, 3)), write(tmp_path / "l.txt", ["a", "b", "", ""])
    if name == "t.npy":
        np.save(path, points)
    else:
        scipy.io.mmwrite(path, sp.coo_matrix(points))
    with pytest.raises(ValueError, match=r"holds only features, so 'x1' cannot be the label"):
        read_table(path, ReadOptions(**{"labels_file": labels} | roles))


def test_sparse_matrix_market_files_too(tmp_path: Path) -> None:
    dense = np.zeros((20, 5))
    dense[:, 1], dense[::2, 4] = np.arange(20), 3
    scipy.io.mmwrite(tmp_path / "t.mtx", sp.coo_matrix(dense))
    labels = write(tmp_path / "l.txt", ["a", "b"] * 3 + [""] * 14)
    table = read_table(tmp_path / "t.mtx", ReadOptions(labels_file=labels))
    assert table.feature_names == ("x1", "x4")
    np.testing.assert_array_equal(table.X.toarray(), dense[:, [1, 4]])
    again = read_points(tmp_path / "t.mtx", fitted(table))
    np.testing.assert_array_equal(again.X.toarray(), dense[:, [1, 4]])
    scipy.io.mmwrite(tmp_path / "n.mtx", sp.coo_matrix(dense[:, :3]))
    with pytest.raises(ValueError, match="has 3 columns, but the model was fitted on x4"):
        read_points(tmp_path / "n.mtx", fitted(table))
    # Another file may have other columns that are not empty.
    scipy.io.mmwrite(tmp_path / "m.mtx", sp.coo_matrix(dense[:, [1, 1, 2, 3, 4]]))
    write(labels, ["a", "b"] * 3 + [""] * 34)
    both = read_table([tmp_path / "t.mtx", tmp_path / "m.mtx"], ReadOptions(labels_file=labels))
    np.testing.assert_array_equal(both.X.toarray(), np.tile(dense[:, [1, 4]], (2, 1)))
    named = Fitted(("width",), ("numeric",))
    with pytest.raises(ValueError, match="no names of columns, and the model knows 'width'"):
        read_points(tmp_path / "t.mtx", named)


def test_a_matrix_for_a_model_of_a_table(tmp_path: Path) -> None:
    rows = "".join(f"{i % 7},{i % 5},{'ab'[i % 2] if i < 9 else ''}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("p,q,y\n" + rows)
    table = read_table(tmp_path / "t.csv", ReadOptions(label="y"))
    np.savez(tmp_path / "n.npz", X=table.X[:4, ::-1], feature_names=np.array(["q", "p"]))
    np.testing.assert_array_equal(read_points(tmp_path / "n.npz", fitted(table)).X, table.X[:4])
    both = read_points([tmp_path / "n.npz", tmp_path / "t.csv"], fitted(table))
    np.testing.assert_array_equal(both.X, np.concatenate([table.X[:4], table.X]))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_reads_sparse_matrices_saved_by_scipy(tmp_path: Path, form: str) -> None:
    points = sp.random_array((20, 6), density=0.3, rng=0)
    sp.save_npz(tmp_path / "t.npz", points.asformat(form))
    labels = write(tmp_path / "l.txt", ["a", "b"] * 3 + [""] * 14)
    table = read_table(tmp_path / "t.npz", ReadOptions(labels_file=labels))
    assert table.feature_names == tuple(f"x{j}" for j in range(6))
    np.testing.assert_array_equal(table.X.toarray(), points.toarray())
    np.testing.assert_array_equal(
        read_points(tmp_path / "t.npz", fitted(table)).X.toarray(), points.toarray()
    )


def test_rejects_indices_outside_of_a_matrix_saved_by_scipy(tmp_path: Path) -> None:
    X = sp.csr_array(np.eye(3))
    X.indices[1] = 9
    sp.save_npz(tmp_path / "t.npz", X)
    with pytest.raises(ValueError, match=r"t\.npz is not a readable NPZ file of scipy\.sparse"):
        read_table(tmp_path / "t.npz", ReadOptions(absent=True))


def test_matrix_without_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.mtx"
    scipy.io.mmwrite(path, sp.coo_matrix((5, 3)))
    found = inspect(InfoRequest(data=(path,)))
    assert found["graph"] is None
    (error,) = found["errors"]
    assert error == f"{path} has no column to learn from: all its numbers are 0. Give other points."
    # Empty columns exist, and columns beyond the matrix do not.
    assert read_points(path, Fitted(("x2",), ("numeric",))).X.toarray().tolist() == [[0]] * 5
    labels = write(tmp_path / "l.txt", ["a", "b", "", "", ""])
    chosen = read_table(path, ReadOptions(labels_file=labels, features=("x2,x0",)))
    assert chosen.feature_names == ("x2", "x0")
    with pytest.raises(ValueError, match=r"no column 'x3' \(--drop\)"):
        read_table(path, ReadOptions(labels_file=labels, drop=("x3",)))
