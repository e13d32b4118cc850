"""Registry of the methods of the command line.

Every estimator is a method. Its name follows from that of its class, and the rest from the
parameter that weights its unlabelled rows (`_family`); `_OWN` holds the exceptions. Names, help,
completion, ``lapwing info`` and the texts of the report are derived from `COMMAND_METHODS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from lapwing import estimators
from lapwing._app import forecast
from lapwing._app.forecast import Forecast
from lapwing._report.record import MethodFacts, Remedies
from lapwing._words import guess
from lapwing.estimators.regressor import SemiSupervisedRegressor
from lapwing.graphs import AnchorGraph, KNNGraph
from lapwing.model_selection.few_label import FewLabelClassifier
from lapwing.spaces.recipes import Landmarks

AUTO = "auto"
_GRAPH = "a graph of neighbours"
_OTHER = Remedies("another method", "another method", "another method")
_ALONE = "labelled rows alone, μ = 0"
_NO_SUM = (
    "its answers for new rows go through {}, which the ONNX export does not translate. Leave out "
    "--onnx, or use --method laperls"
)


@dataclass(frozen=True)
class Twin:
    """Supervised twin of a method: the same method without the use of unlabelled rows.

    Attributes
    ----------
    parameters : mapping
        Parameters of the estimator.
    words : str
        Description of the parameters for the reader.
    labeled_only : bool
        Whether it is fitted to the labelled rows only, which gives the same function at lower cost.
    """

    parameters: Mapping[str, Any]
    words: str
    labeled_only: bool = False


@dataclass(frozen=True, kw_only=True)
class CommandMethod:
    """An estimator that the command line knows by name.

    Attributes
    ----------
    name : str
        Name on the command line, its key in `METHODS`.
    estimator : type of estimator
    forecast : callable
        Maps a `FitSize` to the `Forecast` of a fit with default parameters.
    remedies : Remedies
        Remedies that the report names.
    twin : Twin or None
        None if the method cannot be fitted without unlabelled rows.
    unlabeled_use : callable
        Maps the fitted estimator to a description of how unlabelled rows contributed; empty if they
        did not.
    virtual : bool
        Whether the answers for the rows of the fit are its virtual labels, which are more accurate
        there than the function for new rows.
    solver : str
        Name of the solver, for estimators that do not store it.
    graph : type
        Class of the graph whose parameters ``--set graph.NAME`` sets.
    random_parts : tuple of str
        Names of the parts that are random for all values of their parameters.
    margin_note : str
        Why margins are a poor measure of certainty; empty if they are a good one.
    no_onnx : str
        Why it has no ONNX form; empty if it has one.
    onnx_with : mapping of str to object
        Parameters with which it can be exported nevertheless.
    """

    name: str
    estimator: Any
    forecast: Callable[..., Forecast] = forecast.manifold
    remedies: Remedies = _OTHER
    twin: Twin | None = None
    unlabeled_use: Callable[[Any], str] = lambda estimator: _GRAPH
    virtual: bool = False
    solver: str = ""
    graph: type = KNNGraph
    random_parts: tuple[str, ...] = ()
    margin_note: str = ""
    no_onnx: str = ""
    onnx_with: Mapping[str, Any] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """Name of the class of the estimator."""
        return self.estimator.__name__

    @property
    def regression(self) -> bool:
        """Whether it predicts numbers."""
        return issubclass(self.estimator, SemiSupervisedRegressor)

    def parts(self, points: Any = None) -> dict[str, Any]:
        """Return the recipes whose parameters are set as ``graph.NAME`` and the like.

        With points, the graph is the one that the estimator uses by default.
        """
        estimator = self.estimator()
        known = estimator.get_params(deep=False)
        recipes = {"graph": self.graph(), "space": Landmarks()}
        if points is not None and "graph" in known and self.graph is KNNGraph:
            recipes["graph"] = estimator._default_graph(points)
        return {name: recipe for name, recipe in recipes.items() if name in known}

    def facts(self, fitted: Any) -> MethodFacts:
        """Describe a fitted estimator."""
        return MethodFacts(
            self.name,
            self.solver or str(fitted.solver_),
            self.unlabeled_use(fitted),
            self.remedies,
            self.margin_note,
            "" if self.twin is None else self.twin.words,
        )

    def reason_without_onnx(self, parameters: Mapping[str, Any]) -> str:
        """Return why there is no ONNX form with these parameters; empty if there is one."""
        wanted = self.onnx_with
        given = wanted and all(parameters.get(name) == wanted[name] for name in wanted)
        return "" if given else self.no_onnx


def derive_method(estimator: type) -> CommandMethod:
    """Return the method of an estimator; it needs no entry in this module."""
    words = estimator.__name__.replace("Classifier", "")
    name = re.sub("(Regressor|CV$)", r"-\1", words).lower()
    own = _OWN.get(estimator.__name__, {})
    return CommandMethod(**{"name": name, "estimator": estimator, **_family(estimator), **own})


def _family(estimator: Any) -> dict[str, Any]:
    """Return what estimators with the same weight of their unlabelled rows have in common."""
    names = estimator._get_param_names()
    # A supervised twin has no graph for a refinement.
    unrefined = {"refine": None} if "refine" in names else {}
    families: dict[str, dict[str, Any]] = {
        "gamma_Is": {
            "forecast": forecast.manifold_path,
            "remedies": Remedies(
                "smaller gamma_Is, or other graphs", "larger gamma_As", "gamma_As"
            ),
            "twin": Twin({"gamma_Is": (0.0,)}, "γ_I = 0"),
            "unlabeled_use": lambda fitted: _GRAPH if fitted.best_params_["gamma_I"] else "",
        },
        "gamma_I": {
            "remedies": Remedies(
                "a smaller gamma_I, or another graph", "a larger gamma_A", "gamma_A"
            ),
            "twin": Twin({"gamma_I": 0.0, **unrefined}, "γ_I = 0"),
            "unlabeled_use": _graph_use,
        },
        "mus": {
            "forecast": forecast.embedded_path,
            "remedies": Remedies("smaller mus, or other graphs", "smaller Cs", "mus"),
            # With as many eigenvectors as rows, the virtual labels are unrestricted.
            "twin": Twin({"mus": (0.0,), "n_eigenvectors": (10**9,)}, _ALONE, labeled_only=True),
            "virtual": True,
        },
        "mu": {
            "forecast": forecast.embedded_squared,
            "remedies": Remedies("a smaller mu, or another graph", "a smaller C", "mu"),
            # Without the graph, the virtual label of an unlabelled row is free and has no loss.
            "twin": Twin({"mu": 0.0, "n_eigenvectors": None, **unrefined}, _ALONE, True),
            "virtual": True,
        },
    }
    return next((family for name, family in families.items() if name in names), {})


def _graph_use(estimator: Any) -> str:
    return _GRAPH if estimator.gamma_I > 0 else ""


def _density_use(estimator: Any) -> str:
    dense = f"their density (C* = {estimator.C_star_:.3g})"
    return " and ".join(filter(None, [dense if estimator.C_star_ else "", _graph_use(estimator)]))


# By the class of the estimator, in the order of the help; others follow.
_OWN: Mapping[str, dict[str, Any]] = {
    "LapSVC": {},
    "LapRLSClassifier": {},
    "LapSVCCV": {},
    "LapRLSClassifierCV": {},
    "S3VC": {
        "forecast": forecast.low_density,
        "remedies": Remedies("a smaller C_star, or another method", "a smaller C", "C_star"),
        # A balance also constrains the unlabelled rows.
        "twin": Twin(
            {"gamma_I": 0.0, "C_star": 0.0, "balance": None}, "C* = 0, γ_I = 0, no balance"
        ),
        "unlabeled_use": _density_use,
        "solver": "lbfgs",
        "margin_note": "S3VC moves its boundary away from the rows, so that margins are large "
        "where answers are wrong, too.",
    },
    "LapERLSClassifier": {},
    "LapERLSClassifierCV": {},
    "LapESVC": {"forecast": forecast.embedded_tube},
    "BalancedGraphClassifier": {
        "name": "balanced",
        "forecast": forecast.balanced,
        "remedies": Remedies("another graph", "another graph", "n_votes"),
        "virtual": True,
        "solver": "flow",
        "no_onnx": "its answers for new rows go through the nearest rows of the fit, which the "
        "ONNX export does not translate. --set n_votes=0 leaves them out",
        "onnx_with": {"n_votes": 0},
    },
    "AnchorGraphClassifier": {
        "name": "anchors",
        "forecast": forecast.anchors,
        "remedies": Remedies("a smaller gamma_I, or more anchors", "", "gamma_I"),
        "twin": None,
        "unlabeled_use": lambda estimator: f"{estimator.anchors_.points.shape[0]} anchors",
        "solver": "least squares",
        "graph": AnchorGraph,
        "random_parts": ("graph",),
        "no_onnx": _NO_SUM.format("anchors"),
    },
    "EigenfunctionClassifier": {
        "name": "eigenfunctions",
        "forecast": forecast.eigenfunctions,
        "remedies": Remedies("fewer eigenfunctions", "", "n_eigenfunctions"),
        "unlabeled_use": lambda estimator: "their density along principal directions",
        "solver": "least squares",
        "no_onnx": _NO_SUM.format("histograms"),
    },
    "LapSVR": {"forecast": partial(forecast.manifold, kinks=True)},
    "LapRLSRegressor": {},
    "LapRLSRegressorCV": {},
    "LapESVR": {"forecast": forecast.embedded_tube},
}
COMMAND_METHODS: Mapping[str, CommandMethod] = MappingProxyType(
    {
        method.name: method
        for name in dict.fromkeys([*_OWN, *estimators.__all__])
        for method in [derive_method(getattr(estimators, name))]
    }
)

# Values of --method: the methods, and auto.
METHODS: Mapping[str, CommandMethod] = MappingProxyType(
    {
        AUTO: CommandMethod(name=AUTO, estimator=FewLabelClassifier, forecast=forecast.comparison),
        **COMMAND_METHODS,
    }
)


def method_of(estimator: Any) -> CommandMethod | None:
    """Return the method of an estimator, fitted or not; None if it has none."""
    methods = COMMAND_METHODS.values()
    return next((one for one in methods if isinstance(estimator, one.estimator)), None)


def find_method(name: str) -> CommandMethod:
    """Return a method of `METHODS` by its name or the name of its estimator.

    Raises
    ------
    ValueError
        If there is none; the message suggests the most similar name.
    """
    for method in METHODS.values():
        if name.casefold() in (method.name, method.class_name.casefold()):
            return method
    hint = guess(name, METHODS, 2, " Did you mean {}?")
    raise ValueError(f"--method {name!r} must be one of {', '.join(METHODS)}.{hint}")
