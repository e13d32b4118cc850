"""Short versions of the papers' tables, one line per set, from the complete tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchmarks.shared.measured import Merged, StoredResult
from benchmarks.shared.tables import Table

LAPSVM = ("lapsvm-small", "lapsvm-mnist3vs8", "lapsvm-facemit")
S3VM = ("s3vm-text", "s3vm-uspst", "s3vm-coil")
EMBEDDED = ("embedded-facemit", "embedded-mnist", "embedded-usps")
_DEVIATION = re.compile(r" \([^()]*\)")


def in_short(results: Mapping[str, StoredResult]) -> list[Merged]:
    """Return one table per paper, without pieces that were not measured."""
    made = ((lapsvm, LAPSVM), (s3vm, S3VM), (embedded, EMBEDDED))
    return [
        Merged(table, tuple(results[name] for name in pieces if name in results))
        for make, pieces in made
        if (table := make(results)).rows
    ]


def lapsvm(results: Mapping[str, StoredResult]) -> Table:
    """Return the errors on U of the supervised SVM and of three manifold methods."""
    rows = []
    for name in LAPSVM:
        errors = _rows(results, name, "Table 4:", 2) | _rows(results, name, "Table 7:", 2)
        for (dataset,), sizes in _rows(results, name, "Table 2:", 1).items():
            cells = [
                _means(errors.get((dataset, method), ["-"])[0])
                for method in ("SVM", "LapRLSC", "LapSVM exact (auto)", "PCG [Stability Check]")
            ]
            # The exact solution is that of Newton in the paper, in whose row the paper's result is.
            paper = re.search(r"\[.*?\]", errors.get((dataset, "LapSVM Primal (Newton)"), [""])[0])
            if paper and "[" not in cells[2]:
                cells[2] += f" {_means(paper[0])}"
            rows.append([dataset, sizes[0], *cells])
    header = ["set", "splits", "SVM", "LapRLS", "LapSVM, exact", "LapSVM, PCG to stability"]
    return Table("LapSVM paper: errors (%) on U", header, rows)


def s3vm(results: Mapping[str, StoredResult]) -> Table:
    """Return the errors on U of supervised learning and of three low-density methods."""
    title, columns = "Continuation paper, Table 1", ("SVC (labels)", "continuation", "gradient")
    rows = []
    for name in S3VM:
        for table in _tables(results, name, title):
            at = [table.header.index(column) for column in ("Dataset", "problems", *columns)]
            rows += [[row[j] for j in at] for row in table.rows]
    header = ["set", "problems", "SVC, labels alone", "S3VC", "S3VC, gradient"]
    return Table("Continuation paper: errors (%) on U", header, rows)


def embedded(results: Mapping[str, StoredResult]) -> Table:
    """Return the errors on the large sets, with validated and with default parameters."""
    methods = {
        "SVM, rbf": "SVM",
        "LapESVR, f, by validation": "LapESVR",
        "LapERLS, f, by validation": "LapERLS",
        "LapERLS, f, defaults": "LapERLS, defaults",
    }
    rows = []
    for name in EMBEDDED:
        for table in _tables(results, name, "Table III"):
            cells = {row[0]: row[1:] for row in table.rows}
            for j, dataset in enumerate(table.header[1:]):
                rows.append(
                    [dataset, *(_means(cells[m][j]) if m in cells else "-" for m in methods)]
                )
    title = "Embedded-regression paper: errors (%) with ten labels per class"
    return Table(title, ["set", *methods.values()], rows)


def _tables(results: Mapping[str, StoredResult], piece: str, title: str) -> list[Table]:
    if piece not in results:
        return []
    return [table for table in results[piece].tables if table.title.startswith(title)]


def _rows(
    results: Mapping[str, StoredResult], piece: str, title: str, keys: int
) -> dict[tuple[str, ...], Sequence[str]]:
    return {
        tuple(row[:keys]): row[keys:]
        for table in _tables(results, piece, title)
        for row in table.rows
    }


def _means(cell: str) -> str:
    """Remove deviations and numbers of splits from a cell."""
    return _DEVIATION.sub("", cell)
