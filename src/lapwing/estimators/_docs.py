"""Documentation of parameters that several estimators share, written once.

A class docstring holds a line ``{name}`` where the entry of a shared parameter belongs; `document`
fills it in. Four copies of the same text would drift apart. Entries that name the members of a
registry are made from it (`CHOICES`).
"""

from __future__ import annotations

import textwrap
from collections import ChainMap
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from lapwing.graphs import GRAPHS
from lapwing.kernels import KERNELS
from lapwing.losses.base import TargetKind
from lapwing.losses.registry import LOSSES, UNLABELED_LOSSES, loss_names
from lapwing.solvers.low_density.methods import METHODS
from lapwing.solvers.manifold.registry import SOLVERS

_WIDTH = 92  # of a line of source, less the indents of a class's docstring and of an entry
_SIGNS = {name: LOSSES[name] for name in loss_names(TargetKind.SIGNS)}
_OWN = "Or an object of `{}`; `lapwing.losses` says how to write one."


def _listed(names: Iterable[str]) -> str:
    *most, last = map(repr, names)
    return f"{', '.join(most)} and {last}" if most else last


def _formulas(losses: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"{name!r}, {formula}" for name, formula in losses)


def _entry(head: str, *sentences: str) -> str:
    body = textwrap.fill(" ".join(sentences), _WIDTH, break_on_hyphens=False)
    return f"{head}\n{textwrap.indent(body, '    ')}"


def _items(summaries: Mapping[str, str]) -> str:
    return "\n".join(
        textwrap.fill(f"- {name!r} {text}.", _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for name, text in summaries.items()
    )


def _methods() -> str:
    items = _items({name: method.summary for name, method in METHODS.items()})
    return "method : str or Method, default='gradient'\n" + textwrap.indent(items, "    ")


def _solvers() -> str:
    auto = (
        "picks from the numbers of points, labels and features and the free memory; `solver_` and "
        "the log of ``logging.getLogger('lapwing')`` say what and why"
    )
    items = _items({name: solver.summary for name, solver in SOLVERS.items()} | {"auto": auto})
    head = f"solver : {{'auto', {', '.join(map(repr, SOLVERS))}}}, default='auto'"
    return f"{head}\n    All reach the same optimum.\n\n{textwrap.indent(items, '    ')}"


def _kernels_with(parameter: str) -> str:
    """The kernels whose formula has a parameter."""
    return _listed(name for name, formula in KERNELS.items() if parameter in formula.text)


_SIGN_FORMULAS = _formulas((name, loss.formula) for name, loss in _SIGNS.items())
_KINKED = [name for name, loss in _SIGNS.items() if not loss.kind.differentiable]
_FOR_KINKS = [name for name, solver in SOLVERS.items() if solver.kinks]
_LABELING = [name for name, method in METHODS.items() if method.labels_by is not None]
_AUTO: dict[str, list[str]] = {}
for _name, _method in METHODS.items():
    _AUTO.setdefault(_method.unlabeled_loss, []).append(_name)

_KERNEL = (
    _formulas((name, formula.text) for name, formula in KERNELS.items()) + ".",
    "'precomputed': X is the kernel matrix, dense or sparse, and the graph must be given as an "
    "affinity. Or a function (X, Z) -> matrix of kernel values.",
)

CHOICES = {
    "kernel": _entry(
        "kernel : str or callable, default='rbf'",
        *_KERNEL,
        "With 'linear' the kernel matrix is never formed.",
    ),
    "embedded_kernel": _entry("kernel : str or callable, default='rbf'", *_KERNEL),
    "degree": _entry("degree : float, default=3", f"Of {_kernels_with('degree')}."),
    "coef0": _entry("coef0 : float, default=1.0", f"Of {_kernels_with('coef0')}."),
    "graph": _entry(
        "graph : graph recipe, sparse matrix, neighbours transformer or None, default=None",
        f"A recipe of `lapwing.graphs`: {', '.join(f'`{name}`' for name in GRAPHS)}. A matrix is "
        "taken as a symmetric affinity between the rows of X.",
        "None chooses by the points (`lapwing.graphs.default_graph`): for classes "
        "``KNNGraph(n_neighbors=5, power=2)``, or ``KNNGraph(n_neighbors=10, power=1)`` up to 3 "
        "features; for regressions ``KNNGraph(n_neighbors=5, power=2, normalized=False)``. "
        "`normalized` of a graph of your own says which Laplacian is made of it.",
    ),
    "solver": _solvers(),
    "kinked_solver": _entry(
        f"solver : {{'auto', {', '.join(map(repr, _FOR_KINKS))}}}, default='auto'",
        f"The loss has kinks: of the solvers only {_listed(_FOR_KINKS)} will do. 'dual' solves for "
        "the labelled columns of the deformed kernel, O(n^3), then a support vector regression of "
        "the size of the labels.",
    ),
    "loss": _entry(
        f"loss : {{{', '.join(map(repr, _SIGNS))}}} or Loss, default='squared_hinge'",
        f"On labelled points: {_SIGN_FORMULAS}. {_OWN.format('lapwing.losses.Loss')}",
        f"Losses with kinks, as {_listed(_KINKED)}, are solved by {_listed(_FOR_KINKS)} only.",
    ),
    "s3vc_loss": _entry(
        f"loss : {{{', '.join(map(repr, _SIGNS))}}} or Loss, default='hinge'",
        f"On labelled points: {_SIGN_FORMULAS}. {_OWN.format('lapwing.losses.Loss')}",
        f"The methods {_listed(_LABELING)} know the hinge only.",
    ),
    "unlabeled_loss": _entry(
        f"unlabeled_loss : {{'auto', {', '.join(map(repr, UNLABELED_LOSSES))}}} or UnlabeledLoss, "
        "default='auto'",
        "On unlabelled points:",
        _formulas((name, loss.formula) for name, loss in UNLABELED_LOSSES.items()) + ".",
        "'auto' is " + ", ".join(f"{loss!r} for {_listed(of)}" for loss, of in _AUTO.items()) + ".",
        _OWN.format("lapwing.losses.UnlabeledLoss"),
    ),
    "method": _methods(),
}


T = TypeVar("T", bound=type)

_ENTRIES = CHOICES | {
    "gamma": """
gamma : float, 'scale', 'wide' or 'auto', default='scale'
    Width of the kernel, 1 / (2 sigma^2) for 'rbf'. 'scale' is one over the total variance of X,
    sum_j Var(x_j), so that two typical points have the kernel value exp(-2); it equals
    scikit-learn's for standardised features, and does not change when a feature is shifted.
    'wide' is a tenth of it, and 'auto' 1 / n_features.
""",
    "wide_gamma": """
gamma : float, 'wide', 'scale' or 'auto', default='wide'
    Width of the kernel, 1 / (2 sigma^2) for 'rbf'. 'scale' is one over the total variance of X,
    sum_j Var(x_j), as for classifiers. 'wide' is a tenth of it: two typical points have the kernel
    value exp(-0.2), for values are often smoother than classes. 'auto' is 1 / n_features.
""",
    "gamma_A": """
gamma_A : float, default=1e-4
    Weight > 0 of the ambient norm. Without a graph it is an SVM's 1 / (2 C).
""",
    "gamma_I": """
gamma_I : float, default=1.0
    Weight >= 0 of the intrinsic norm; 0 leaves the graph out. Only gamma_I / gamma_A decides how
    far the graph deforms the kernel. Neither weight is divided by numbers of points.
""",
    "gammas": """
gammas : array-like of float or 'scale', or None, default=None
    Widths of the kernel to try; 'scale' is one over the total variance of X. None is 'scale' and
    four times it. Kernels without a width have one setting.
""",
    "graphs": """
graphs : list of graphs or None, default=None
    Graphs to try, each as ``graph`` of the plain estimator. None is `KNNGraph` with 5 and 10
    neighbours and the powers 1 to 3, and with 2 neighbours and 1 and 2. Graphs that differ in the
    power alone are one search.
""",
    "path_max_iter": """
max_iter : int, default=20000
    Most iterations of a solver.
""",
    "path_tol": """
tol : float, default=1e-8
    Of losses with kinks: libsvm's tolerance before its solution is polished.
""",
    "best_params_": """
best_params_ : dict
    Parameters that were chosen, by their names in the plain estimator.
""",
    "best_score_": """
best_score_ : float
    Minus the leave-one-out squared error of `best_params_`: the larger the better. NaN where
    nothing could be held out.
""",
    "cv_results_": """
cv_results_ : dict of str to list or ndarray, an entry a setting
    'params' and 'param_<name>'; 'left_out_squared_error' (mean over columns and, by weight, over
    labels; NaN where a setting has no solution), 'left_out_error' (of classifiers: the part of
    the weights of labels that are missed) and 'fit_time' in seconds, work that several settings
    share divided among them. Empty where nothing could be held out.
""",
    "value_graphs": """
graphs : list of graphs or None, default=None
    Graphs to try, each as ``graph`` of the plain estimator. None is `KNNGraph` with 5 neighbours
    and the powers 1 to 3. Graphs that differ in the power alone are one search.
""",
    "likely_cv_results_": """
cv_results_ : dict of str to list or ndarray, an entry a setting
    'params' and 'param_<name>'; 'log_likelihood', by which the setting is chosen;
    'left_out_squared_error' (by weight; NaN where a setting has no solution), and 'fit_time' in
    seconds, work that several settings share divided among them. Empty where there is one target.
""",
    "embedded_C": """
C : float, default=10.0
    Weight > 0 of the loss between f and g at every point: how closely the function follows the
    virtual labels.
""",
    "updatable": """
updatable : bool, default=False
    Whether to keep the points, the graph and the factorisation after the fit, so that `add_labels`,
    `suggest` and `suspicious_labels` work. With the full kernel these are two matrices of n^2
    numbers.
""",
    "path_updatable": """
updatable : bool, default=False
    Whether to keep the points, the graph and the factorisation of the chosen setting after the
    fit, so that `add_labels`, `suggest` and `suspicious_labels` work. The setting stays: fit again
    to choose again. With the full kernel these are two matrices of n^2 numbers.
""",
    "lam": """
lam : float, default=1e4
    Weight lambda > 0 of the labels in g; times the sample weights.
""",
    "mu": """
mu : float, default=1e4
    Weight >= 0 of the smoothness of g on the graph. The default suits L^2 of the default graph; L
    itself is larger on smooth values (MNIST with p = 1 wants some 100), and D - W grows with the
    weights of the edges.
""",
    "n_eigenvectors": """
n_eigenvectors : int, 'auto' or None, default='auto'
    g is sought in the span of so many eigenvectors of L, those of the smallest eigenvalues
    ([1]_, Section III-B), at most n. 'auto' is 50, or two a class if that is more. None seeks it
    everywhere: then the graph kernel is the exact one. A finer structure needs more eigenvectors:
    at least one for every class and every component of the graph.
""",
    "embedded_space": """
space : 'auto', space recipe or None, default='auto'
    The functions: None is the full kernel, `Landmarks` expansions over a few points, `Linear`
    linear functions. 'auto' is the full kernel for few points (up to 10000 with the squared and
    4000 with the epsilon-insensitive loss) and ``Landmarks(1000)`` beyond.
""",
    "memory": """
memory : str, joblib.Memory or None, default=None
    Where to cache the eigenpairs, so that fits to the same graph with other weights need not
    compute them again. Of points on disk the stages of the search for neighbours are kept too: a
    fit that was interrupted goes on where it was.
""",
    "virtual_labels_": """
virtual_labels_ : ndarray of shape (n_samples, n_columns)
    g of every training point, from which `transduction_` comes; rows left out of the fit (of
    weight 0) have their value of f. The offsets of a class prior are in it.
""",
    "eigenvalues_": """
eigenvalues_ : ndarray of shape (n_eigenvectors,)
    Of L, ascending; not with ``n_eigenvectors=None``.
""",
    "embedded_alpha_": """
alpha_ : ndarray of shape (n_basis, n_columns)
    Expansion coefficients over `X_fit_`; not with linear functions.
""",
    "embedded_X_fit_": """
X_fit_ : {ndarray, sparse matrix} of shape (n_basis, n_features)
    Points of the expansion: the distinct rows of X with a coefficient that is not 0, or the
    landmarks. None if precomputed.
""",
    "embedded_basis_": """
basis_ : ndarray
    Rows of X that the points of the expansion are; with landmarks and linear functions those that
    the points of the problem are. Equal rows are one point.
""",
    "stopping": """
stopping : {None, 'stability', 'validation', 'mixed'}, default=None
    Early stopping of 'pcg', looked at every sqrt(n) / 2 iterations: when less than 1.5 % of the
    unlabelled points change their prediction, when the error on validation labels no longer
    falls, or when both hold. None runs to `tol`; but where no `tol` is given and ``solver='auto'``
    takes 'pcg' because of more than 12000 points, it is 'stability', which `solver_` then says.
""",
    "validation_fraction": """
validation_fraction : float or None, default=0.2
    Fraction of the labels to hold out for 'validation' and 'mixed' where `fit` is given no
    `validation_data`; at least one label of each class is kept.
""",
    "fit_intercept": """
fit_intercept : bool, default=False
    Whether to add an unregularised bias. The intrinsic norm sees the bias, so a normalised
    Laplacian, which is not zero on constants, shrinks it.
""",
    "tol": """
tol : float, default=1e-8
    Of 'pcg': the norm of the gradient in the metric of the function space, relative to its value
    at zero. Of losses with kinks: libsvm's tolerance before its solution is polished.
""",
    "stopping_tol": """
tol : float or None, default=None
    Of 'pcg': the norm of the gradient in the metric of the function space, relative to its value
    at zero. Of losses with kinks: libsvm's tolerance before its solution is polished. None is 1e-8,
    and lets `stopping` say when predictions are good enough.
""",
    "max_iter": """
max_iter : int, default=20000
    Most iterations of the solver.
""",
    "class_weight": """
class_weight : dict, 'balanced' or None, default=None
    Factors of the sample weights by class; 'balanced' is inverse to the numbers of labels.
""",
    "class_prior": """
class_prior : {'labels', 'uniform', 'unknown'}, array-like, dict or None, default=None
    Parts of the classes in X. After the solve every column is shifted by a constant, so that each
    class is predicted for as many rows of X, labelled ones included, as its part says, to one row
    (equal rows move together). 'labels' takes the frequencies of the labels, 'uniform' equal
    parts; numbers are in proportion, in the order of `classes_` or in a dict or a pandas Series by
    class. A wrong prior is met as well. 'unknown', or None, shifts nothing.
""",
    "refine": """
refine : {'cut', None}, default=None
    'cut' improves the answer on the graph after the solve: a few steps of the random walk and the
    exact assignment of the points to the volumes of `class_prior` take turns, so that fewer edges
    join different classes. With ``class_prior=None`` the volumes are those of the answer before.
    Labelled rows keep their labels. Where the cut does not fall below that of the answer before,
    the answer stays as it was (`refined_`), also if it contradicts labels. `predict` follows: the
    function is fitted again, by least squares, to the refined answer at all points.
    `leave_one_out` and `reproducibility` judge the answer before it.
""",
    "refinement_": """
refined_ : bool
    Whether `transduction_` is the refined answer; only with ``refine='cut'``, as `cut_history_`.
cut_history_ : ndarray
    Weight of the edges between different classes: of the answer before, as ``refine=None`` gives
    it, and of each refined answer, the last one of `transduction_`.
""",
    "unlabeled": """
unlabeled : 'auto', number, str, None or NaN, default='auto'
    What marks unlabelled points in y. 'auto' is missing values of any kind (None, NaN, NaT,
    pandas.NA, empty texts) and the number -1; but where -1 and +1 are the only numbers, both are
    classes. None, NaN and '' mean missing values alone, anything else that one value. A fit warns
    where no point is unlabelled or the marker is in doubt; `unlabeled_` holds what was found.
""",
    "unlabeled_": """
unlabeled_ : tuple
    What marked unlabelled points in y: -1, None (missing values), '' (empty texts) or the marker
    that was asked for. Empty if every point is labelled.
""",
    "warm_start": """
warm_start : bool, default=False
    Start 'pcg' and 'newton' from the last fit, if it was on as many points.
""",
    "random_state": """
random_state : int, RandomState or None, default=None
    Draws the labels that `validation_fraction` holds out; nothing else is random.
""",
    "probabilities_": """
transduction_proba_ : ndarray of shape (n_samples, n_classes)
    Probabilities of the classes for every training point, labelled ones included; those that
    `transduction_` is the largest of.
probability_sharpness_ : float
    What decision values are multiplied with before they become probabilities; `predict_proba` says
    where it comes from.
probability_spread_ : float
    Standard deviation of its logarithm: what the labels leave open.
probability_n_labels_ : int
    Labels that it was learnt from, each by a fit without it; 0 where the scores alone decided.
left_out_rows_ : ndarray of int of shape (n_left_out,)
    Rows of these labels, of equal rows the first; empty where none was left out.
left_out_proba_ : ndarray of shape (n_left_out, n_classes)
    Probabilities of the classes for these rows, each by the fit without its label.
""",
    "alpha_": """
alpha_ : ndarray of shape (n_basis, n_columns)
    Expansion coefficients over `X_fit_`; not with the linear kernel.
""",
    "coef_": """
coef_ : ndarray of shape (n_columns, n_features)
    Weights, with the linear kernel only.
""",
    "intercept_": """
intercept_ : ndarray of shape (n_columns,)
    Bias of each column.
""",
    "class_prior_": """
class_prior_ : ndarray of shape (n_classes,)
    Parts of the classes that were asked for; not with ``class_prior=None``.
""",
    "class_offsets_": """
class_offsets_ : ndarray of shape (n_columns,)
    Offsets of the columns to meet `class_prior_`; not with ``class_prior=None``. They are added to
    `intercept_` after the solve: other attributes of the solution, such as `objective_`, are of the
    function without them.
""",
    "X_fit_": """
X_fit_ : {ndarray, sparse matrix} of shape (n_basis, n_features)
    Points of the expansion: the distinct rows of X. Equal rows are one point of the problem and
    one vertex of the graph (with a given affinity or kernel matrix all rows are). None if
    precomputed.
""",
    "basis_": """
basis_ : ndarray of shape (n_basis,)
    Rows of X that the points of the expansion are.
""",
    "kernel_": """
kernel_ : Kernel
    The kernel with its parameters resolved, such as ``kernel_.gamma``; not with the linear kernel.
""",
    "objective_": """
objective_ : ndarray of shape (n_columns,)
    Minimum of the objective, a column.
""",
    "optimality_": """
optimality_ : ndarray of shape (n_columns,)
    How far from optimal: the relative norm of the gradient in the metric of the function space
    (of losses with kinks the relative duality gap).
""",
    "history_": """
history_ : dict of str to ndarray of shape (n_iter_, n_columns)
    For 'pcg', values of each iteration: 'objective' (without the factor 2 of objectives that are
    printed without 1/2) and the norms 'gradient', 'preconditioned' and 'mixed' of the gradient; NaN
    for columns that had converged, which continue if their recomputed gradient is too large. Empty
    for other solvers.
""",
    "n_iter_": """
n_iter_ : int
    Iterations of the solver.
""",
    "solver_": """
solver_ : str
    The solver that was used; 'pcg (stability)' if it was stopped so without being asked.
""",
    "status_": """
status_ : str
    Why it stopped: 'converged', 'precision reached', 'stopped early', 'stopped by a callback' or
    'not converged'.
""",
    "embedded_affinity_": """
affinity_ : csr_array of shape (n_points, n_points)
    Affinity of the graph between the points of the problem: equal rows are one point (with a given
    affinity or kernel matrix all rows are), and rows of weight 0 are none.
""",
    "affinity_": """
affinity_ : csr_array of shape (n_basis, n_basis)
    Affinity of the graph; not with gamma_I = 0.
""",
    "labeled_": """
labeled_ : ndarray of bool of shape (n_samples,)
    Which rows were labelled.
""",
    "n_features_in_": """
n_features_in_ : int
    Number of features seen during fit.
""",
    "feature_names_in_": """
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if X had any that are strings.
""",
    "anchor_graph": """
graph : AnchorGraph or None, default=None
    The anchors, and how points are weighed over them. None is ``AnchorGraph()``: centres of
    k-means, a tenth of the points but 20 to 1000, kernel weights over the 3 nearest. A search
    over its parameters (``graph__n_anchors``) needs ``graph=AnchorGraph()`` to set them on.
""",
    "anchor_gamma_I": """
gamma_I : float, default=0.1
    Weight >= 0 of the smoothness, not divided by numbers of points. The authors of the method use
    0.01.
""",
    "class_mass_normalization": """
class_mass_normalization : bool, default=True
    Whether the membership of a class, (1 + f) / 2 of its decision values f, is divided by its sum
    over all points that labels reach before the largest one is taken. It makes up for columns that
    are too small everywhere, and prefers no class where classes are of about one size; where they
    are not, leave it out.
""",
    "anchor_alpha_": """
alpha_ : ndarray of shape (n_anchors, n_columns)
    Values at the anchors, normalised if asked for: the decision value of a point is their
    mean by its weights.
""",
    "anchor_intercept_": """
intercept_ : ndarray of shape (n_columns,)
    Added to decision values; 0 here, as the values at the anchors hold it.
""",
    "anchors_": """
anchors_ : Anchors
    The anchors that have points: ``anchors_.points``, and ``anchors_.rows(X)`` for the weights.
""",
    "n_eigenfunctions": """
n_eigenfunctions : int or None, default=None
    Eigenfunctions beside the constant; None is 2 a direction, but at most 30: with few labels, more
    of them make spikes at the labelled points. Of functions that are equally smooth all are taken
    or none (at most 4 times as many as asked for).
""",
    "n_directions": """
n_components : int, default=64
    Principal directions; fewer where the points vary in fewer, more where they vary equally
    along several.
""",
    "n_bins": """
n_bins : int, default=100
    Bins of each histogram, from 3 to 2000: each direction takes a dense eigenproblem of that
    size.
""",
    "bandwidth": """
bandwidth : float or None, default=None
    Standard deviation > 0 of the Gaussian affinity between bins, in the units of X. None is
    0.2 of the standard deviation along the first direction (at least a bin's width).
""",
    "clip": """
clip : float, default=0.025
    Share, less than 1/2, of the points on either end of a direction that is moved to the ends
    of the bins. New points beyond are moved there too.
""",
    "eigenfunction_lam": """
lam : float, default=100.0
    Weight > 0 of the labels. The functions have unit norm over the n points, so that the same
    smoothness asks for a weight in proportion to n.
""",
    "eigenfunction_alpha_": """
alpha_ : ndarray of shape (n_eigenfunctions, n_columns)
    Coefficients of the functions, the constant left out.
""",
    "constant_": """
intercept_ : ndarray of shape (n_columns,)
    Value of the constant.
""",
    "eigenfunctions_": """
eigenfunctions_ : Eigenfunctions
    The functions: ``eigenfunctions_.eigenvalues``, ``eigenfunctions_.dimension`` (the direction
    of each), and ``eigenfunctions_.evaluate(X)`` for their values.
""",
    "s3vc_C": """
C : float, default=100.0
    Weight > 0 of the labelled losses. Its size goes with that of the features where the kernel
    depends on it (linear): in units of 1/1000 it takes a million times as much.
""",
    "C_star": """
C_star : float or None, default=None
    Weight >= 0 of the losses on unlabelled points; 0 is a supervised SVM. None is C l / u for l
    labelled and u unlabelled points.
""",
    "sharpness": """
s : float, default=3.0
    Of exp(-s f^2), > 0.
""",
    "balance": """
balance : 'labels', float, (float, float), dict or None, default='labels'
    Mean decision value on the unlabelled points, held exactly (predicted shares follow it
    loosely): the mean label; for two classes 2 p - 1 of a fraction p of ``classes_[1]``, or
    between those of two; for any that of fractions ``{'a': 0.2, 'b': 0.8}``, or a pandas
    Series. Give them if labels were drawn in equal numbers and classes are not equal. 'labels'
    gives way, with a warning, to an estimate where the unlabelled points contradict it, which
    takes about ten labels a class to see (of two classes with four or more labels each there
    is a warning alone), and is not held where they are fewer than the labels. Fractions are
    always held. None leaves the value free.
""",
    "balance_intercept": """
fit_intercept : bool, default=True
    Whether there is a bias where ``balance=None``; a balance is one.
""",
    "s3vc_tol": """
tol : float, default=1e-4
    Norm of the gradient over sqrt(2 objective), and distance of margins from their places.
""",
    "s3vc_max_iter": """
max_iter : int, default=20000
    Most iterations of L-BFGS in every stage of a method, and in its last descent.
""",
    "s3vc_objective_": """
objective_ : ndarray of shape (n_columns,)
    The objective at the solution, without smoothing.
""",
    "regression_lam": """
lam : float, default=100.0
    Weight lambda > 0 of the targets in g; times the sample weights.
""",
    "regression_mu": """
mu : float, default=1.0
    Weight >= 0 of the smoothness of g on the graph. The default suits the default graph, whose
    Laplacian D - W leaves constants alone. It smooths by less than the classifiers': values
    are to be followed, where classes only need a sign.
""",
    "embedded_bias": """
fit_intercept : bool, default=False
    Whether f has an unregularised bias. The authors of the method have none for classes.
""",
    "embedded_regression_bias": """
fit_intercept : bool, default=True
    Whether f has an unregularised bias.
""",
    "embedded_tol": """
tol : float, default=1e-8
    Of conjugate gradient, used with ``n_eigenvectors=None`` and features for many points: the
    residual relative to the right-hand side.
""",
    "embedded_max_iter": """
max_iter : int, default=20000
    Most iterations of it.
""",
    "embedded_optimality_": """
optimality_ : ndarray of shape (n_columns,)
    Relative residual of the linear equations, a column.
""",
    "embedded_n_iter_": """
n_iter_ : int
    Iterations of the solver; 1 for direct ones.
""",
    "embedded_solver_": """
solver_ : str
    'cholesky' (kernel matrix), 'normal equations' (features) or 'conjugate gradient'.
""",
    "classes_": """
classes_ : ndarray of shape (n_classes,)
    Class labels, sorted.
""",
    "transduction_": """
transduction_ : ndarray of shape (n_samples,)
    Predicted class of every training point, labelled ones included.
""",
    "embedded_transduction_": """
transduction_ : ndarray of shape (n_samples,)
    Predicted class of every training point, labelled ones included, by g.
""",
    "tube_tol": """
tol : float, default=1e-6
    Of the duality gap, relative to the objective.
""",
    "tube_max_iter": """
max_iter : int, default=200
    Most steps of the interior point method, a column.
""",
    "tube_optimality_": """
optimality_ : ndarray of shape (n_columns,)
    Duality gap relative to the objective, a column.
""",
    "tube_n_iter_": """
n_iter_ : int
    Iterations of the solver, the most of a column.
""",
    "tube_solver_": """
solver_ : str
    'interior point'.
""",
    "regression_n_eigenvectors": """
n_eigenvectors : int or None, default=100
    g is sought in the span of so many eigenvectors of L, those of the smallest eigenvalues
    ([1]_, Section III-B), at most n. None seeks it everywhere: then the graph kernel is the
    exact one, which follows values better where it can be afforded.
""",
    "left_out_residuals_": """
left_out_residuals_ : ndarray of shape (n_targets,)
    Targets less the values of fits without them; NaN where nothing could be left out. For
    `predict_interval`.
left_out_coef_ : ndarray of shape (n_basis, n_targets) or (n_features, n_targets)
    Coefficients of these fits, in the order of the targets; missing where there are more than two
    million.
left_out_intercept_ : ndarray of shape (n_targets,)
    Their intercepts.
""",
    "embedded_transduced_values_": """
transduction_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
    Predicted value of every training point, labelled ones included, by g.
estimators_ : list of estimator
    A fitted estimator for each column of y, with all other attributes; only where y has several.
    Labels that are added to one of them show in its attributes and in `predict` of this model.
""",
    "transduced_values_": """
transduction_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
    Predicted value of every training point, labelled ones included.
estimators_ : list of estimator
    A fitted estimator for each column of y, with all other attributes; only where y has several.
    Labels that are added to one of them show in its attributes and in `predict` of this model.
""",
}


def document(cls: T, own: Mapping[str, str] = MappingProxyType({})) -> T:
    """Fill the shared entries into the docstring of a class.

    Parameters
    ----------
    cls : type
    own : mapping of str to str, default={}
        Further entries, of the part of the house that the class belongs to.
    """
    entries = ChainMap(dict(own), _ENTRIES)
    lines = []
    for line in (cls.__doc__ or "").splitlines():
        name = line.strip()[1:-1]
        if line.strip() == "{" + name + "}":
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(textwrap.indent(entries[name].strip("\n"), indent))
        else:
            lines.append(line)
    cls.__doc__ = "\n".join(lines)
    return cls
