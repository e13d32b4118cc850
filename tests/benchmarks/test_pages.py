"""The commands `all`, which runs the benchmarks in pieces, and `pages`, which renders results."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.all.command import run_all
from benchmarks.all.running import Pieces, State
from benchmarks.pages.command import import_results
from benchmarks.pages.short import in_short
from benchmarks.pages.writing import all_pages, merge, page_text, pieces_of, read_templates
from benchmarks.shared.files import plain
from benchmarks.shared.measured import DOCS, KEPT, StoredResult, read_results
from benchmarks.shared.pieces import PIECES, QUICK, Piece
from benchmarks.shared.run import RunInfo
from benchmarks.shared.tables import Table

# Commands that measure nothing by themselves.
NO_SUITES = {"all", "convert", "pages"}
RUN = RunInfo("python -m benchmarks reading", "2026-01-02T03:04:05+00:00", 60.0, "2 cores", 1,
            (0.5, 1.5), {"lapwing": "1.0"})  # fmt: skip
ONE, TWO = Piece("one", "reading --rows 5", 2), Piece("two", "page --quick", 3)


# Pieces


def test_every_benchmark_has_its_pieces() -> None:
    """A new benchmark needs a line in PIECES, and one in QUICK of benchmarks/shared/pieces.py."""
    suites = set(BENCHMARKS) - NO_SUITES
    assert {piece.suite for piece in PIECES} == suites
    assert [piece.command for piece in QUICK] == [f"{piece.name} --quick" for piece in QUICK]
    assert {piece.name for piece in QUICK} == suites
    assert len({piece.name for piece in PIECES}) == len(PIECES)


@pytest.mark.parametrize("piece", [*PIECES, *QUICK], ids=lambda piece: piece.command)
def test_pieces_are_commands(piece: Piece, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    command = f"benchmarks.{piece.suite}.command"
    monkeypatch.setattr(f"{command}.run", lambda arguments: seen.append(arguments) or 0)
    assert main([*piece.arguments, "--output", "somewhere"]) == 0
    assert seen[0].output == Path("somewhere")


TABLE = {"title": "T", "header": ["a"], "rows": [["1"]], "notes": ["n"]}
RESULT = json.dumps({"run": plain(RUN), "tables": [TABLE], "raw": [1, 2, 3]})


def starter(
    leave: Callable[[Path], None] = lambda work: (
        (work / "reading.json").write_text(RESULT, encoding="utf-8") and None
    ),
) -> tuple[Callable[[Sequence[str]], int], list[list[str]]]:
    """Return a fake for the process of a benchmark, and the list of its calls."""
    calls: list[list[str]] = []

    def start(arguments: Sequence[str]) -> int:
        calls.append(list(arguments))
        assert arguments[-2] == "--output"
        leave(Path(arguments[-1]))
        return 1  # as benchmarks do whose expectations are missed

    return start, calls


def test_finished_pieces_are_found_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start, calls = starter()
    pieces = Pieces(tmp_path, start)
    assert pieces.status(ONE).state is State.OPEN
    assert run_all(pieces, [ONE, TWO], None) == 0
    assert [call[:-2] for call in calls] == [ONE.arguments, TWO.arguments]
    kept = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert (kept["piece"], kept["command"], kept["raw"]) == ("one", ONE.command, [1, 2, 3])
    again = Pieces(tmp_path, start)
    assert again.status(ONE).state is State.DONE
    assert again.status(ONE).forecast < ONE.minutes
    assert run_all(again, [ONE, TWO], None) == 0
    assert len(calls) == 2
    assert "one: done, 2026-01-02" in capsys.readouterr().err
    assert run_all(again, [ONE], None, again=True) == 0
    assert len(calls) == 3


def test_results_of_earlier_runs_are_removed(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "reading.json").write_text(RESULT, encoding="utf-8")
    assert not Pieces(tmp_path, starter(lambda work: None)[0]).run(ONE)


def test_stopped_piece_continues_from_its_files(tmp_path: Path) -> None:
    def stopped(work: Path) -> None:
        (work / "kept.jsonl").write_text("1\n", encoding="utf-8")
        raise KeyboardInterrupt

    pieces = Pieces(tmp_path, starter(stopped)[0])
    assert run_all(pieces, [ONE, TWO], None) == 130
    assert pieces.status(ONE).state is State.BEGUN
    assert pieces.status(TWO).state is State.OPEN

    def goes_on(work: Path) -> None:
        assert (work / "kept.jsonl").read_text(encoding="utf-8") == "1\n"
        (work / "reading.json").write_text(RESULT, encoding="utf-8")

    assert run_all(Pieces(tmp_path, starter(goes_on)[0]), [ONE], None) == 0


def test_changed_command_is_measured_again(tmp_path: Path) -> None:
    start, calls = starter()
    pieces = Pieces(tmp_path, start)
    assert pieces.run(ONE)
    (tmp_path / "one" / "kept.jsonl").write_text("1\n", encoding="utf-8")
    changed = ONE._replace(command="reading --rows 6")
    assert pieces.status(changed).state is State.OTHER
    assert run_all(pieces, [changed], None) == 0
    assert len(calls) == 2
    assert not (tmp_path / "one" / "kept.jsonl").exists()


# Pages


def measured(piece: str, *tables: Table) -> StoredResult:
    return StoredResult(piece, RUN, tables)


def test_tables_of_several_pieces_become_one() -> None:
    a, b = Table("T", ["x"], [["1"]], ["same", "a"]), Table("T", ["x"], [["2"]], ["same", "b"])
    other = Table("T", ["y"], [["3"]])
    found = merge([measured("one", a), measured("two", b, other)])
    assert [merged.table.rows for merged in found] == [[["1"], ["2"]], [["3"]]]
    assert found[0].table.notes == ["same", "a", "b"]
    assert [source.piece for source in found[0].sources] == ["one", "two"]
    assert merge([measured("one", a)], "Other") == []


def test_tables_on_a_page_have_their_source() -> None:
    template = "# Title\n\nMore.\n\n<!-- results: reading pag*; tables: T -->\n"
    tables = [Table(title, ["x"], [["1"]]) for title in ("T", "Other")]
    text = page_text(template, {"reading": measured("reading", *tables)})
    assert "# Title\n\nMore.\n\n### T\n" in text
    assert "### Other" not in text
    line = "*2026-01-02; 2 cores; 1 BLAS thread; load 0.5 before and 1.5 after; 60 seconds; "
    assert line + "lapwing 1.0:* `python -m benchmarks reading`" in text
    assert "Not measured yet:\n\n- `python -m benchmarks page`, about 5 minutes" in text


def test_import_of_results_without_raw_measurements(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path, starter()[0])
    known = {piece.name: piece for piece in PIECES}
    pieces.run(known["reading"])
    pieces.run(known["page"]._replace(command="page --draws 3"))
    (path,) = import_results(tmp_path, tmp_path / "kept")
    assert path.name == "reading.json"
    assert set(json.loads(path.read_text(encoding="utf-8"))) == {"piece", "run", "tables"}
    assert read_results(tmp_path / "kept")["reading"].run == RUN


def test_pages_are_up_to_date(tmp_path: Path) -> None:
    assert main(["pages", "--output", str(tmp_path)]) == 0
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    shown = {name: (DOCS / name).read_text(encoding="utf-8") for name in made}
    assert made == shown, "run `python -m benchmarks pages`, and commit what it writes"


def test_pages_change_with_results() -> None:
    results = read_results(KEPT)
    table = Table("T", ["x"], [["4711"]])
    changed = all_pages({**results, "reading": measured("reading", table)})
    assert changed != all_pages(results)
    assert any("4711" in text for text in changed.values())


def test_short_table_of_the_papers() -> None:
    header = ["Dataset", "Method", "U"]
    of_4 = [
        ["G50C", "SVM", "9.76 (2.14) [9.33 (2.00)]"],
        ["G50C", "LapSVM exact (auto)", "7.49 (2.27)"],
    ]
    of_7 = [
        ["G50C", "LapSVM Primal (Newton)", "7.5 (2) [6.16 (1.4)] (1 split)"],
        ["G50C", "PCG [Stability Check]", "7.47 (2.28) [6.13 (1.46)]"],
    ]
    sizes = Table("Table 2: sizes", ["Dataset", "splits"], [["G50C", "12"]])
    errors = Table("Table 4: errors", header, of_4), Table("Table 7: errors", header, of_7)
    found = measured("lapsvm-small", sizes, *errors)
    (short,) = in_short({"lapsvm-small": found})
    assert short.sources == (found,)
    assert short.table.rows == [["G50C", "12", "9.76 [9.33]", "-", "7.49 [6.16]", "7.47 [6.13]"]]
    assert in_short({}) == []


def test_every_result_is_on_a_page_and_every_page_in_the_index() -> None:
    known = {piece.name for piece in PIECES}
    templates = read_templates()
    assert {name for text in templates.values() for name in pieces_of(text)} == known
    assert set(read_results(KEPT)) <= known
    index = templates.pop("index.md")
    assert all(f"\n{name.removesuffix('.md')}\n" in index for name in templates)
