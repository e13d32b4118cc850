"""Registry of the methods of the command line.

Names, help, completion, ``lapwing info`` and the texts of the report are derived from
`COMMAND_METHODS`. A new estimator needs one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from lapwing import estimators
from lapwing._app import forecast
from lapwing._app.forecast import FitSize, Forecast
from lapwing._report.record import MethodFacts, Remedies
from lapwing._words import guess
from lapwing.estimators.regressor import SemiSupervisedRegressor
from lapwing.graphs import AnchorGraph, KNNGraph
from lapwing.model_selection.few_label import FewLabelClassifier
from lapwing.spaces.recipes import Landmarks

AUTO = "auto"


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


@dataclass(frozen=True)
class CommandMethod:
    """An estimator that the command line knows by name.

    Attributes
    ----------
    estimator : type
        Its class.
    learns_by : str
        How it learns from unlabelled rows.
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
    graph : callable
        Constructor of the graph whose parameters ``--set graph.NAME`` sets.
    drawn : tuple of str
        Names of the parts that are random for all values of their parameters.
    margin_note : str
        Why margins are a poor measure of certainty; empty if they are a good one.
    no_onnx : str
        Why it has no ONNX form; empty if it has one.
    onnx_with : mapping of str to object
        Parameters with which it can be exported nevertheless.
    name : str
        Name on the command line, its key in `METHODS`.
    """

    estimator: type
    learns_by: str
    forecast: Callable[[FitSize], Forecast]
    remedies: Remedies
    twin: Twin | None = None
    unlabeled_use: Callable[[Any], str] = field(default=lambda estimator: "a graph of neighbours")
    virtual: bool = False
    solver: str = ""
    graph: Callable[[], Any] = KNNGraph
    drawn: tuple[str, ...] = ()
    margin_note: str = ""
    no_onnx: str = ""
    onnx_with: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    @property
    def class_name(self) -> str:
        """Name of the class of the estimator."""
        return self.estimator.__name__

    @property
    def regression(self) -> bool:
        """Whether it predicts numbers."""
        return issubclass(self.estimator, SemiSupervisedRegressor)

    @property
    def parts(self) -> dict[str, Callable[[], Any]]:
        """Constructors of the recipes whose parameters are set as ``graph.NAME`` and the like."""
        known = self.estimator().get_params(deep=False)
        makers = {"graph": self.graph, "space": Landmarks}
        return {name: make for name, make in makers.items() if name in known}

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


def _unrefined(estimator: Any) -> dict[str, Any]:
    """Return parameters that a supervised twin must reset, as it has no graph for refinement."""
    return {"refine": None} if "refine" in estimator._get_param_names() else {}


def _graph_use(estimator: Any) -> str:
    return "a graph of neighbours" if estimator.gamma_I > 0 else ""


def _density_use(estimator: Any) -> str:
    dense = f"their density (C* = {estimator.C_star_:.3g})"
    return " and ".join(filter(None, [dense if estimator.C_star_ else "", _graph_use(estimator)]))


def _manifold(estimator: type, learns_by: str, **others: Any) -> CommandMethod:
    return CommandMethod(
        estimator,
        learns_by,
        remedies=Remedies("a smaller gamma_I, or another graph", "a larger gamma_A", "gamma_A"),
        twin=Twin({"gamma_I": 0.0, **_unrefined(estimator)}, "γ_I = 0"),
        unlabeled_use=_graph_use,
        **{"forecast": forecast.manifold, **others},
    )


def _manifold_path(estimator: type, learns_by: str, **others: Any) -> CommandMethod:
    return CommandMethod(
        estimator,
        learns_by,
        forecast=forecast.manifold_path,
        remedies=Remedies("smaller gamma_Is, or other graphs", "larger gamma_As", "gamma_As"),
        twin=Twin({"gamma_Is": (0.0,)}, "γ_I = 0"),
        unlabeled_use=lambda fitted: (
            "a graph of neighbours" if fitted.best_params_["gamma_I"] else ""
        ),
        **others,
    )


def _embedded(estimator: type, learns_by: str, forecast: Callable[..., Forecast]) -> CommandMethod:
    # Without the graph, the virtual label of an unlabelled row is free and has no loss.
    unattached = {"mu": 0.0, "n_eigenvectors": None, **_unrefined(estimator)}
    return CommandMethod(
        estimator,
        learns_by,
        forecast=forecast,
        remedies=Remedies("a smaller mu, or another graph", "a smaller C", "mu"),
        twin=Twin(unattached, "labelled rows alone, μ = 0", labeled_only=True),
        virtual=True,
    )


_NO_SUM = (
    "its answers for new rows go through {}, which the ONNX export does not translate. Leave out "
    "--onnx, or use --method laperls"
)

_BY_NAME = {
    "lapsvc": _manifold(estimators.LapSVC, "a graph of neighbours"),
    "laprls": _manifold(estimators.LapRLSClassifier, "a graph of neighbours, least squares"),
    "lapsvc-cv": _manifold_path(
        estimators.LapSVCCV, "a graph of neighbours; chooses its parameters by leave-one-out"
    ),
    "laprls-cv": _manifold_path(
        estimators.LapRLSClassifierCV,
        "a graph of neighbours, least squares; chooses its parameters by leave-one-out",
    ),
    "s3vc": CommandMethod(
        estimators.S3VC,
        "keeping the boundary out of dense regions",
        forecast=forecast.low_density,
        remedies=Remedies("a smaller C_star, or another method", "a smaller C", "C_star"),
        # A balance also constrains the unlabelled rows.
        twin=Twin({"gamma_I": 0.0, "C_star": 0.0, "balance": None}, "C* = 0, γ_I = 0, no balance"),
        unlabeled_use=_density_use,
        solver="lbfgs",
        margin_note="S3VC moves its boundary away from the rows, so that margins are large "
        "where answers are wrong, too.",
    ),
    "laperls": _embedded(
        estimators.LapERLSClassifier,
        "virtual labels on a graph, for many rows",
        forecast.embedded_squared,
    ),
    "laperls-cv": CommandMethod(
        estimators.LapERLSClassifierCV,
        "virtual labels on a graph; chooses its parameters by leave-one-out",
        forecast=forecast.embedded_path,
        remedies=Remedies("smaller mus, or other graphs", "smaller Cs", "mus"),
        twin=Twin(
            # With as many eigenvectors as rows, the virtual labels are unrestricted.
            {"mus": (0.0,), "n_eigenvectors": (10**9,)},
            "labelled rows alone, μ = 0",
            labeled_only=True,
        ),
        virtual=True,
    ),
    "lapesvc": _embedded(
        estimators.LapESVC,
        "virtual labels on a graph; bounded influence of each row",
        forecast.embedded_tube,
    ),
    "balanced": CommandMethod(
        estimators.BalancedGraphClassifier,
        "a graph of neighbours and the class sizes, for very few labels",
        forecast=forecast.balanced,
        remedies=Remedies("another graph", "another graph", "n_votes"),
        virtual=True,
        solver="flow",
        graph=partial(KNNGraph, 10, weights="steep", power=1),
        no_onnx="its answers for new rows go through the nearest rows of the fit, which the "
        "ONNX export does not translate. --set n_votes=0 leaves them out",
        onnx_with={"n_votes": 0},
    ),
    "anchors": CommandMethod(
        estimators.AnchorGraphClassifier,
        "a graph over anchors that represent the rows; fast",
        forecast=forecast.anchors,
        remedies=Remedies("a smaller gamma_I, or more anchors", "", "gamma_I"),
        unlabeled_use=lambda estimator: f"{estimator.anchors_.points.shape[0]} anchors",
        solver="least squares",
        graph=AnchorGraph,
        drawn=("graph",),
        no_onnx=_NO_SUM.format("anchors"),
    ),
    "eigenfunctions": CommandMethod(
        estimators.EigenfunctionClassifier,
        "their density along principal directions; fast",
        forecast=forecast.eigenfunctions,
        remedies=Remedies("fewer eigenfunctions", "", "n_eigenfunctions"),
        unlabeled_use=lambda estimator: "their density along principal directions",
        solver="least squares",
        no_onnx=_NO_SUM.format("histograms"),
    ),
    "lapsvr": _manifold(
        estimators.LapSVR,
        "a graph of neighbours; for numbers",
        forecast=partial(forecast.manifold, kinks=True),
    ),
    "laprls-regressor": _manifold(
        estimators.LapRLSRegressor, "a graph of neighbours, least squares; for numbers"
    ),
    "laprls-regressor-cv": _manifold_path(
        estimators.LapRLSRegressorCV,
        "a graph of neighbours, least squares; for numbers; chooses its parameters by the "
        "marginal likelihood",
    ),
    "lapesvr": _embedded(
        estimators.LapESVR,
        "virtual labels on a graph; for numbers",
        forecast.embedded_tube,
    ),
    "laperls-regressor": _embedded(
        estimators.LapERLSRegressor,
        "virtual labels on a graph, for many rows; for numbers",
        forecast.embedded_squared,
    ),
}
COMMAND_METHODS: Mapping[str, CommandMethod] = MappingProxyType(
    {name: replace(method, name=name) for name, method in _BY_NAME.items()}
)

# Values of --method: the methods, and auto.
METHODS: Mapping[str, CommandMethod] = MappingProxyType(
    {
        AUTO: CommandMethod(
            FewLabelClassifier,
            "tries the families of methods and takes the best",
            forecast=forecast.comparison,
            remedies=Remedies("another method", "another method", "another method"),
            name=AUTO,
        ),
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
