"""README and pages: programs, commands, demo, tables, links."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import lapwing
from lapwing import plotting
from lapwing._app import cli, requests
from lapwing._app.demo import run_demo
from lapwing._app.methods import METHODS
from lapwing._app.options import flag_of
from lapwing._tables.labels import NO_LABEL
from lapwing._tables.reading import FORMATS

ROOT = Path(__file__).resolve().parents[1]


def read(*paths: Path | str) -> str:
    """Texts of files, from the root of the repository."""
    return "\n".join((ROOT / path).read_text(encoding="utf-8") for path in paths)


def cells_of(table: str) -> list[list[str]]:
    """Cells of a table in Markdown, by row."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


GUIDE = Path("docs/guide")
README = read("README.md")
PICTURES, WHICH = read(GUIDE / "pictures.md"), read("docs/which_method.md")
# The pages on the command line, in the order in which their commands are run.
COMMAND_PAGES = ("cli", "tables", "cli_methods", "cli_files", "next_labels")
CLI = read(*(GUIDE / f"{name}.md" for name in COMMAND_PAGES))
# Without those that the build makes.
DOCS_PAGES = [
    path
    for path in sorted(ROOT.glob("docs/**/*.md"))
    if not {"_build", "_generated", "auto_examples"} & set(path.parts)
]
PAGES = [ROOT / "README.md", *DOCS_PAGES]
DOCUMENTS = [*PAGES, ROOT / "CONTRIBUTING.md"]
# What contributors read.
CONTRIBUTING = read(
    "CONTRIBUTING.md", *(f"docs/{name}.md" for name in ("add_a_part", "design", "benchmarking"))
)
# Comparisons of all methods, which tests of `compare` and the transcript make of fewer rows, and
# fits of seconds: the first by S3VC, the second by scikit-learn, the third of all 1,797 digits.
LONG = (*("which_method-0", "texts-1"), *("next_labels-1", "scikit_learn-6", "graphlearning-0"))
PROGRAMS = [
    pytest.param(
        program,
        id=f"{path.stem}-{i}",
        marks=[pytest.mark.slow] if f"{path.stem}-{i}" in LONG else [],
    )
    for path in PAGES
    for i, program in enumerate(re.findall(r"```python\n(.*?)```", read(path), re.DOTALL))
]
SHOWN = re.compile(r"print\(.*\)  # (.*)$", re.MULTILINE)

# Printed shares of right answers, which may differ by a point or two from machine to machine.
TOLERANCE = 0.01


def section(title: str, text: str = README, level: str = "##") -> str:
    """The text between a heading and the next one."""
    found = re.search(rf"^{level} {title}\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"there is no section {title!r}"
    return found[1]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_programs_print_the_numbers_shown(
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In a separate namespace: a separate process would have to import the library again."""
    shown = SHOWN.findall(program)
    assert len(shown) == program.count("print("), "say behind every print what it prints"
    assert shown
    monkeypatch.chdir(tmp_path)
    if "onnx" in program:
        pytest.importorskip("onnxruntime")
    # Dataclasses look up their module in sys.modules.
    module = ModuleType("program")
    monkeypatch.setitem(sys.modules, "program", module)
    exec(compile(program, "<program>", "exec"), vars(module))
    printed = [float(line) for line in capsys.readouterr().out.splitlines()]
    assert printed == pytest.approx([float(text) for text in shown], abs=TOLERANCE)


def test_output_of_commands_agrees_with_the_transcript() -> None:
    """`docs/make_transcript.py` writes the transcript, with the outputs.

    A page may show the first lines of an output, and commands without output.
    """
    parts = read("docs/transcript.txt").strip().split("\n\n")
    outputs = {part.splitlines()[0]: part for part in parts}
    seen = []
    for path in PAGES:
        for block in re.findall(r"```(?:console)?\n(\$ .*?)```", read(path), re.DOTALL):
            for part in re.split(r"\s+(?=\$ )", block.strip()):
                command, *lines = part.splitlines()
                if lines:
                    assert outputs[command].startswith(part), f"{path.name}: {command}"
                    seen.append(path.name)
    assert seen.count("README.md") == 3
    assert len(seen) >= 6


def test_getting_started_writes_its_tables(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """The command that `docs/getting_started.md` shows, and the tables that its commands read."""
    script = "docs/make_transcript.py"
    assert f"$ python {script} --tables" in read("docs/getting_started.md")
    monkeypatch.chdir(tmp_path)
    main = runpy.run_path(str(ROOT / script))["main"]
    monkeypatch.setattr(sys, "argv", [script, "--tables"])
    assert main() == 0
    assert capsys.readouterr().out == "written: wines.csv and new.csv\n"
    written = {path.name: len(read(path).splitlines()) for path in tmp_path.iterdir()}
    assert written == {"wines.csv": 179, "new.csv": 10}


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the table that the pages on the command line speak of."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = ["cell,width,height,type"]
    for i in range(60):
        kind = "ab"[i % 2]
        x, y = rng.normal(size=2) + 4 * (i % 2)
        rows.append(f"c{i},{x:.3f},{y:.3f},{kind if i < 8 else ''}")
    (tmp_path / "cells.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    # As the page to label on saves them.
    (tmp_path / "labels.csv").write_text("cell,type\nc20,a\nc21,b\n", encoding="utf-8")
    return tmp_path


def test_commands_of_the_guide_run_in_order(cells: Path, capsys: Any) -> None:
    """In their order, with the files that are filled in between them."""
    typed = re.findall(r"^ {4,}(lapwing .*)$|`(lapwing fit cells.*?)`", CLI, re.MULTILINE)
    commands = [block or inline for block, inline in typed]
    assert len(commands) == 13
    for command in commands:
        words = shlex.split(command)
        if "cell" not in words:
            words += ["--drop", "cell"]
        assert cli.main(words[1:]) == 0, capsys.readouterr().err
        said = capsys.readouterr()
        assert said.err == ""
        for path in sorted(cells.glob("next*.csv")):
            lines = read(path).splitlines()
            filled = [f"{line}{'ab'[int(line[1:].split(',')[0]) % 2]}" for line in lines[1:]]
            if lines[1].endswith(","):
                path.write_text("\n".join([lines[0], *filled]) + "\n", encoding="utf-8")
                # The line to paste is the one that the guide shows next.
                assert commands[commands.index(command) + 1] in said.out or "-2" in path.name
    assert "type" in read(cells / "next-2.csv")


def test_guide_names_all_options_methods_and_formats() -> None:
    verbs = ("Compare", "Fit", "Info", "Label", "Predict", "Suggest", "Tune")
    kinds = [getattr(requests, f"{verb}Request") for verb in verbs]
    flags = {flag_of(one) for kind in kinds for one in fields(kind)} - {"--data"}
    # And `--output`, another name of `--out`.
    elsewhere = {"--help", "--install-completion", "--show-completion", "--output"}
    assert flags_in(CLI) - elsewhere - flags == set()
    # What only the help says.
    assert flags - flags_in(read(*(ROOT / GUIDE).glob("*.md"))) == {"--n-neighbors"}
    assert f"| `{requests.FitRequest.default_method}` (default) |" in CLI
    assert [name for name in METHODS if f"`{name}`" not in CLI] == []
    assert [suffix for suffix in FORMATS if f"`{suffix}`" not in CLI] == []
    words = section("Which rows have no label", CLI).partition("- `--unlabeled")[0]
    assert set(re.findall(r"`([^`]+)`", words)) - {"--truth"} == NO_LABEL - {""}


def flags_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def test_all_displays_are_listed() -> None:
    names = [name for name in plotting.__all__ if name not in ("PALETTE", "decision_map")]
    assert [name for name in names if f"| `{name}` |" not in PICTURES] == []


def test_demo_prints_the_errors_shown() -> None:
    lines = re.findall(r"^  (\S.*?)  +([\d.]+) ± ([\d.]+) %", section("Install"), re.MULTILINE)
    shown = {name: (float(mean), float(deviation)) for name, mean, deviation in lines}
    wrong = run_demo().errors
    assert list(shown) == list(wrong)
    for name, shares in wrong.items():
        errors = 100 * shares
        assert shown[name] == pytest.approx((errors.mean(), errors.std()), abs=0.3)


def test_errors_in_the_picture_are_those_of_its_caption() -> None:
    pytest.importorskip("matplotlib")
    alone, together = re.search(r"SVM is wrong on ([\d.]+) %, LapSVC on (\w+)\]", README).groups()
    draw = runpy.run_path(str(ROOT / "examples" / "plot_two_moons.py"))["draw"]
    titles = [axes.get_title(loc="left") for axes in draw().axes]
    assert together == "none"
    assert titles == [f"Supervised SVM: {alone}% wrong", "LapSVC: 0.0% wrong"]


def test_table_of_estimators_is_complete_and_can_be_evaluated() -> None:
    table = section("All estimators", WHICH)
    names = {name: getattr(lapwing, name) for name in lapwing.__all__} | {"affinity": np.eye(2)}
    calls = re.findall(r"`((?:[A-Z]\w+)\(.*?\))`", table)
    assert len(calls) > 10
    made = {type(eval(call, names)).__name__ for call in calls}
    estimators = {name for name in lapwing.__all__ if hasattr(getattr(lapwing, name), "predict")}
    assert estimators <= made, f"docs/which_method.md leaves out {sorted(estimators - made)}"


def test_errors_of_the_readme_are_the_measured_ones() -> None:
    """The first table of the README and the line on sparse text: medians over the draws."""
    pages = map(read, (ROOT / "docs" / "measured").glob("*.md"))
    results = "\n".join(page for page in pages if page.startswith("<!-- Made by"))
    (table,) = re.findall(
        r"^### Text with one and with ten labels.*?\n\n(.*?)\n\n", results, re.M | re.S
    )
    wrong = {(row[0], row[1]): row[3] for row in cells_of(table)}
    shown = re.search(
        r"newsgroup posts of two topics .*\| ([\d.]+) % \(`S3VC`\) \| ([\d.]+) % \|", README
    )
    assert shown.groups() == (wrong["2", "S3VC('linear')"], wrong["2", "SVC(kernel='linear')"])
    right = re.search(
        r"(\d+) % right; `LapSVC\(\)` has (\d+) %, with a cosine graph (\d+) %", WHICH
    )
    names = ("S3VC('linear')", "LapSVC()", "LapSVC(graph=KNNGraph(metric='cosine'))")
    assert right.groups() == tuple(f"{100 - float(wrong['20', name]):.0f}" for name in names)


def test_comparison_with_scikit_learn_is_the_measured_one() -> None:
    """The table of the page for those who come from scikit-learn, and the claim beside it."""
    page, peers = read("docs/coming_from/scikit_learn.md"), read("docs/measured/peers.md")
    sets = re.findall(r"^### (\w+): errors by labels per class\n\n(.*?)\n\n", peers, re.M | re.S)
    measured = {
        (name, row[1]): [cell.split()[0] for cell in row[2:5]]
        for name, table in sets
        for row in cells_of(table)
        if row[0] != "library"
    }
    shown = re.findall(r"^\| `(.*?)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    assert len(shown) == 3
    for method, *errors in shown:
        assert measured["ssl_usps", method] == errors
    others = [name for name, _ in sets if name != "ssl_usps"]
    assert len(others) == 9
    for name in others:
        ours, theirs = (
            np.array(measured[name, method], dtype=float)
            for method in ("LapSVC()", "LabelSpreading('knn')")
        )
        assert (ours - theirs).max() < 4, name


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_links_and_named_files_exist(path: Path) -> None:
    """Named are paths in backquotes, from the root or from src/lapwing."""
    linked = re.findall(r"\]\(([^)#:]+)\)", read(path))
    named = re.findall(r"`((?:[\w.-]+/)+(?:[\w-]+\.\w+)?)`", read(path))
    roots = [ROOT, ROOT / "src", ROOT / "src" / "lapwing"]
    assert [target for target in linked if not (path.parent / target).exists()] == []
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


def test_names_in_files_exist() -> None:
    """ "`NAME` and `OTHER` in `file.py`": who follows the text finds them there."""
    text = " ".join(CONTRIBUTING.split())
    sent = re.findall(r"((?:`\w+`(?:, | and )?)+) in `([\w/]+\.py)`", text)
    assert len(sent) > 10
    missing = [
        f"{name} in {path}"
        for names, path in sent
        for name in re.findall(r"\w+", names.replace(" and ", " "))
        if not re.search(rf"^(?:class |def )?{name}\b", source(path), re.MULTILINE)
    ]
    assert missing == []


def test_words_in_backquotes_are_in_the_source() -> None:
    files = {
        file for name in ("src", "tests", "benchmarks") for file in ROOT.glob(f"{name}/**/*.py")
    }
    code = set(re.findall(r"\w+", read(*files - {Path(__file__).resolve()})))
    words = set(re.findall(r"`([A-Za-z_]\w+)`", CONTRIBUTING))
    assert len(words) > 30
    assert sorted(words - code) == []


def source(path: str) -> str:
    """The text of a file that is named from the root, src or src/lapwing."""
    found = [ROOT / base / path for base in ("", "src", "src/lapwing")]
    return next(read(file) for file in found if file.exists())
