"""A page for every public name, written before Sphinx reads: ``docs/api/generated``.

autosummary's own stubs list all that a class inherits. Readers of scikit-learn's classes know
`get_params` and metadata routing; these pages have what lapwing adds, in the order of the source.

Docstrings are written to be read in a terminal too, so that |x| is a norm and n_iter_ an attribute
there: both are escaped for Sphinx. A name in single backquotes becomes a link where it is public.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxRole

import lapwing

FOLDER = Path("api", "generated")
# Inherited from scikit-learn, listed because readers of an estimator's page look for them.
ALSO = ("score", "fit_transform")


def public_modules() -> Iterator[Any]:
    """`lapwing` and the modules beside it that users import."""
    yield lapwing
    for part in PUBLIC_PARTS:
        if find_spec(f"lapwing.{part}") is not None:
            yield importlib.import_module(f"lapwing.{part}")


PUBLIC_PARTS = (
    "dask",
    "datasets",
    "exceptions",
    "graphs",
    "losses",
    "model_selection",
    "models",
    "onnx_export",
    "plotting",
)


@cache
def public_names() -> dict[str, Any]:
    """Every public thing by the one name that its page has."""
    return {page: thing for page, thing in aliases().values() if page != "lapwing.__version__"}


@cache
def aliases() -> dict[str, tuple[str, Any]]:
    """The page and the thing of each name that users can import it by."""
    modules = {module.__name__: module for module in public_modules()}
    found = {}
    for module in modules.values():
        for name in module.__all__:
            thing = getattr(module, name)
            home = getattr(thing, "__module__", "") if callable(thing) else ""
            # Functions are of the file that they are written in.
            home = home if name in getattr(modules.get(home), "__all__", ()) else module.__name__
            found[f"{module.__name__}.{name}"] = (f"{home}.{name}", thing)
    return found


def members(thing: type) -> list[str]:
    """Public methods and properties that lapwing gives a class; of others those in `ALSO`."""
    names: dict[str, None] = {}
    for base in reversed(thing.__mro__):
        ours = base.__module__.partition(".")[0] == "lapwing"
        for name, member in vars(base).items():
            wanted = inspect.isfunction(member) or isinstance(
                member, property | classmethod | staticmethod
            )
            if wanted and not name.startswith("_") and (ours or name in ALSO):
                names[name] = None
    return [name for name in names if inspect.getdoc(getattr(thing, name))]


def stub(full: str, thing: Any) -> str:
    """The page of a name, in reStructuredText."""
    module, _, name = full.rpartition(".")
    lines = [name, "=" * len(name), "", f".. currentmodule:: {module}", ""]
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        lines += [f".. autoexception:: {name}", ""]
    elif inspect.isclass(thing):
        lines += [f".. autoclass:: {name}", ""]
        lines += [f"   {line}" for line in of_class(name, thing)]
        if backreferences(full).exists():
            lines += [f".. include:: backreferences/{full}.examples", ""]
    elif callable(thing):
        lines += [f".. autofunction:: {name}", ""]
    else:
        lines += [f".. data:: {name}", "", *(f"   {line}" for line in of_data(thing)), ""]
    return "\n".join(lines)


def of_class(name: str, thing: type) -> list[str]:
    """Lines below the docstring on the page of a class: members of an enumeration, methods."""
    lines = []
    if issubclass(thing, enum.Enum):
        lines += [f"``{name}.{member.name}``: {member.value}\n" for member in thing]
    for member in members(thing):
        is_property = isinstance(inspect.getattr_static(thing, member), property)
        lines += [f".. auto{'property' if is_property else 'method'}:: {name}.{member}", ""]
    return lines


def of_data(thing: Any) -> list[str]:
    """Registries by their names, other data as they are: their docstrings are those of Python."""
    if isinstance(thing, Mapping):
        return ["What can be written by name:", ""] + [
            f"- ``{key!r}``: `{part.__name__}`" for key, part in thing.items()
        ]
    return ["``" + ", ".join(map(str, thing)) + "``"]


def backreferences(full: str) -> Path:
    return Path(__file__).resolve().parents[1] / FOLDER / "backreferences" / f"{full}.examples"


def write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"{full}.rst": stub(full, thing) for full, thing in public_names().items()}
    for path in folder.glob("*.rst"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        # A page that is as it was keeps its time, and is not read again.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def escape(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let norms and fitted attributes be no marks of reStructuredText, outside of literals."""
    block: int | None = None  # how far the code or formula is indented that a line belongs to
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= block:
            block = None
        if _VERBATIM.match(line):
            block = indent
        if block is None and not _MARKED.match(line):
            lines[i] = "".join(
                part if part.startswith("`") else _ESCAPED.sub(r"\\\g<0>", part)
                for part in _LITERAL.split(line)
            )


def describe_data(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """In lists too, data are not described by the docstring of Python's dict or tuple."""
    if what == "data":
        names = ", ".join(f"``{key!r}``" for key in thing) if isinstance(thing, Mapping) else ""
        lines[:] = [f"By name: {names}." if names else "Colours of the classes, in their order."]


_VERBATIM = re.compile(r"\s*\.\. (code|math)")
_MARKED = re.compile(r"\s*(>>>|\.\.\.|\.\. |\||=+( =+)*$)")  # examples, directives, tables
# Links of footnotes, `[1]_`, stay; so does what numpydoc has escaped.
_LITERAL = re.compile(r"(``.*?``|`[^`]*`_?)")
_ESCAPED = re.compile(r"(?<!\\)\||(?<=\w)(?<!\\)_(?=\W|$)")


class NameRole(SphinxRole):
    """A link where the text is a public name or a member of one, else code."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        context = self.env.ref_context
        module, owner = context.get("py:module"), context.get("py:class")
        for prefix in ("", f"{module}.{owner}.", f"{module}.", "lapwing."):
            full = f"{prefix}{self.text.rstrip('()')}"
            page, thing = aliases().get(full, (None, None))
            owner_page, owner_thing = aliases().get(full.rpartition(".")[0], (None, None))
            member = full.rpartition(".")[2]
            if inspect.isclass(owner_thing) and member in members(owner_thing):
                page, thing = f"{owner_page}.{member}", owner_thing
            if thing is not None:
                role = self.env.domains.python_domain.role("obj")
                shown = f"{self.text} <{page}>"
                return role("obj", f"`{shown}`", shown, self.lineno, self.inliner)
        return [nodes.literal(self.rawtext, self.text)], []


# Public names that are plain words too, such as the option of the command line.
PLAIN_WORDS = {"compare", "label", "report"}


def page_of(text: str) -> str | None:
    """The public name that code begins with: that of its page, or None."""
    called = text.partition("(")[0]
    for module in ("", "lapwing.", *(f"lapwing.{part}." for part in PUBLIC_PARTS)):
        page, thing = aliases().get(f"{module}{called}", (None, None))
        if callable(thing) and called not in PLAIN_WORDS:
            return page
    return None


class NamesAreLinks(SphinxTransform):
    """In pages of the guide `LapSVC` leads to its page."""

    default_priority = 210

    def apply(self, **kwargs: Any) -> None:
        if self.env.docname.startswith(("api/", "auto_examples/")):
            return
        for literal in list(self.document.findall(nodes.literal)):
            page = page_of(literal.astext())
            if page is None or isinstance(literal.parent, nodes.reference | addnodes.pending_xref):
                continue
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=page, refexplicit=True,
                refdoc=self.env.docname,
            )  # fmt: skip
            literal.replace_self(link)
            link += literal


def setup(app: Sphinx) -> dict[str, Any]:
    # After the gallery (500), which writes what refers to a name.
    app.connect("builder-inited", write_pages, priority=600)
    app.connect("autodoc-process-docstring", escape, priority=600)  # numpydoc's is 500
    app.connect("autodoc-process-docstring", describe_data, priority=600)
    app.add_role("name", NameRole())
    app.add_transform(NamesAreLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
