"""Architecture: imports go one way.

The layers are those of the design: problem, kernels → spaces, graphs → losses → objective → solvers
→ estimators → the rest. Everything is read from the syntax trees, so imports inside functions and
those for type checking count too: knowing a higher layer's name is knowing the layer.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"

# Lowest first. A module named nowhere fails: its place is a decision to take here.
LAYERS = tuple(
    frozenset(parts.split())
    for parts in (
        "_arrays _features _parameters _version _host _words exceptions",
        "_rows",
        "linalg problem kernels",
        "classes losses graphs spaces",
        "objectives",
        "solvers",
        "estimators",
        "_report _tables dask datasets model_selection models onnx_export plotting",
        "_label table_encoder",
        "_app",
        "__init__ __main__",
    )
)

# Imports that are forbidden although they are downward: losses do not depend on X, solvers not on
# kernels, graphs or labels, and estimators contain no numerics.
FORBIDDEN = {
    "losses": [f"lapwing.{part}" for part in ["classes", "graphs", "kernels", "problem", "spaces"]],
    "solvers": [
        *(f"lapwing.classes.{module}" for module in ("label_checks", "labels", "markers")),
        *(f"lapwing.{part}" for part in ("graphs", "kernels", "problem")),
    ],
    "estimators": ["scipy.linalg", "scipy.optimize", "scipy.sparse.linalg"],
}

# All other packages are imported by lapwing._host.modules.require, whose error names the extra.
REQUIRED = sys.stdlib_module_names | {
    *("lapwing", "numpy", "scipy", "sklearn", "joblib", "threadpoolctl")
}

# The verbs are declared with typer, the page with Starlette: lapwing._app.cli and
# lapwing._label.serving require these before they load the modules.
EXEMPT = {
    "lapwing._app.verbs": {"rich", "typer"},
    "lapwing._app.console": {"rich"},
    "lapwing._label.server": {"anyio", "starlette"},
}


class Module(NamedTuple):
    """Source file of the package.

    Attributes
    ----------
    name : str
        Such as ``lapwing.spaces.full``; an ``__init__`` file has the name of its package.
    imports : list of (str, int, bool)
        Imported modules, as fully as can be, the lines, and whether for type checking only.
    calls : set of str
        Called functions, ``name`` or ``module.name``.
    """

    name: str
    imports: list[tuple[str, int, bool]]
    calls: set[str]


def part_of(name: str) -> str:
    """The member of `LAYERS` that a module belongs to."""
    return name.split(".")[1] if "." in name else "__init__"


def layer(name: str) -> int:
    """The place of a module's part in `LAYERS`."""
    for index, parts in enumerate(LAYERS):
        if part_of(name) in parts:
            return index
    raise AssertionError(f"{name} has no place in LAYERS of {Path(__file__).name}")


def load(root: Path) -> dict[str, Module]:
    """Read all modules below a folder."""
    paths = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    modules = {}
    for name, path in paths.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        guarded = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
            for inner in ast.walk(node)
        }
        imports, calls = [], set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for target in targets(node, package, paths):
                    imports.append((target, node.lineno, id(node) in guarded))
            elif isinstance(node, ast.Call):
                calls.add(ast.unparse(node.func))
        modules[name] = Module(name, imports, calls)
    return modules


def targets(node: Any, package: str, known: Any) -> Iterator[str]:
    """The modules that an import names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        anchor = package.split(".")
        base = ".".join([*anchor[: len(anchor) - node.level + 1], *filter(None, [base])])
    for alias in node.names:
        # `from lapwing import kernels` names a module, `from lapwing import LapSVC` not;
        # `from scipy import linalg` is ambiguous and counts as an import of scipy.linalg.
        full = f"{base}.{alias.name}"
        yield base if is_within(base, "lapwing") and full not in known else full


def is_within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


MODULES = load(SOURCE)


def test_contributors_are_told_the_packages_in_order() -> None:
    text = SOURCE.with_name("CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("\n## Packages\n")[2].partition("\n## ")[0]
    cells = " ".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))
    parts = re.findall(r"`(\w+)(?:/|\.py)`", cells)
    known = set().union(*LAYERS) - {"_version", "__init__", "__main__"}
    assert sorted(parts) == sorted(known), "the table of packages in CONTRIBUTING.md"
    layers = [layer(f"lapwing.{part}") for part in parts]
    assert layers == sorted(layers)


def upward(module: Module, target: str, typing: bool) -> bool:
    return is_within(target, "lapwing") and layer(target) > layer(module.name)


def forbidden(module: Module, target: str, typing: bool) -> bool:
    return any(is_within(target, name) for name in FORBIDDEN.get(part_of(module.name), ()))


def optional(module: Module, target: str, typing: bool) -> bool:
    allowed = REQUIRED | EXEMPT.get(module.name, set())
    return not typing and target.partition(".")[0] not in allowed


RULES = (upward, forbidden, optional)


def broken(rule: Any, modules: dict[str, Module]) -> list[str]:
    """The imports against a rule."""
    return [
        f"{module.name}:{line} imports {target}"
        for module in modules.values()
        for target, line, typing in module.imports
        if rule(module, target, typing)
    ]


@pytest.mark.parametrize("rule", RULES)
def test_no_import_is_upward_forbidden_or_optional(rule: Any) -> None:
    assert len(MODULES) > 1
    assert broken(rule, MODULES) == []


def test_imports_have_no_cycle() -> None:
    graph = {
        name: {target for target, *_ in module.imports} & MODULES.keys() - {name}
        for name, module in MODULES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' → '.join(error.args[1])}")


def test_benchmarks_import_shared_modules_and_never_each_other() -> None:
    modules = load(SOURCE.with_name("benchmarks"))
    assert len(modules) > 20
    for module in modules.values():
        folder = module.name.partition(".")[0]
        used = {part_of(target) for target, *_ in module.imports if is_within(target, "benchmarks")}
        assert folder == "__main__" or used <= {folder, "shared"}, module.name


def test_only_the_command_line_prints_and_exits() -> None:
    for module in MODULES.values():
        called = module.calls & {"print", "exit", "sys.exit"}
        assert layer(module.name) >= layer("lapwing._app") or not called, module.name


def made(folder: Path, path: str, text: str) -> dict[str, Module]:
    """The modules of a small package with this file beside `kernels`."""
    files = {"__init__.py": "", "kernels.py": "import numpy", "spaces/__init__.py": ""}
    for name, content in (files | {path: text}).items():
        (folder / "lapwing" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "lapwing" / name).write_text(content)
    return load(folder)


GUARDED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import polars\n"


@pytest.mark.parametrize(
    ("rule", "path", "text", "seen"),
    [
        (upward, "kernels.py", "from lapwing.spaces import base", 1),
        (upward, "spaces/full.py", "from ..estimators import LapSVC", 1),
        (upward, "spaces/full.py", "def late():\n    import lapwing.solvers.manifold", 1),
        (upward, "solvers/pcg.py", "from lapwing import LapSVC", 1),
        (upward, "_arrays.py", "from lapwing import spaces", 1),
        (upward, "spaces/full.py", "from lapwing import kernels", 0),
        (upward, "spaces/full.py", "from . import base", 0),
        (upward, "estimators/lapsvm.py", "import lapwing.solvers", 0),
        (upward, "__main__.py", "from lapwing import LapSVC", 0),
        (forbidden, "losses/labeled.py", "from lapwing.kernels import rbf", 1),
        (forbidden, "solvers/pcg.py", "import lapwing.graphs.laplacian", 1),
        (forbidden, "estimators/lapsvm.py", "from scipy import linalg", 1),
        (forbidden, "estimators/lapsvm.py", "from scipy.sparse.linalg import cg", 1),
        (optional, "plotting.py", GUARDED, 0),
        (optional, "plotting.py", "def draw():\n    import matplotlib.pyplot as plt", 1),
    ],
)
def test_rules_detect_violations(
    tmp_path: Path, rule: Any, path: str, text: str, seen: int
) -> None:
    assert len(broken(rule, made(tmp_path, path, text))) == seen


def test_a_module_without_a_layer_is_reported(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"lapwing\.misc has no place"):
        broken(upward, made(tmp_path, "misc.py", "import lapwing.kernels"))
