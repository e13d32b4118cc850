"""Documentation of parameters and attributes that several estimators share.

A line ``{name}`` in a class docstring is replaced by the shared entry of that name (`document`).
Entries that list the members of a registry are generated from it (`CHOICES`).
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
_OWN = "Or an object of `{}`; `lapwing.losses` describes how to write one."


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
        "chooses by the numbers of points, labels and features and the free memory; `solver_` has "
        "the choice, and ``logging.getLogger('lapwing')`` logs the reason"
    )
    items = _items({name: solver.summary for name, solver in SOLVERS.items()} | {"auto": auto})
    head = f"solver : {{'auto', {', '.join(map(repr, SOLVERS))}}}, default='auto'"
    return f"{head}\n    All solvers find the same optimum.\n\n{textwrap.indent(items, '    ')}"


def _kernels_with(parameter: str) -> str:
    """List the kernels with a parameter."""
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
    "degree": _entry("degree : float, default=3", f"Degree of {_kernels_with('degree')}."),
    "coef0": _entry("coef0 : float, default=1.0", f"Constant term of {_kernels_with('coef0')}."),
    "graph": _entry(
        "graph : graph recipe, sparse matrix, neighbours transformer or None, default=None",
        f"A recipe of `lapwing.graphs`: {', '.join(f'`{name}`' for name in GRAPHS)}. A matrix is "
        "taken as a symmetric affinity between the rows of X.",
        "None chooses by the data (`lapwing.graphs.default_graph`): for classification "
        "``KNNGraph(n_neighbors=5, power=2)``, or ``KNNGraph(n_neighbors=10, power=1)`` up to 3 "
        "features; for regression ``KNNGraph(n_neighbors=5, power=2, normalized=False)``.",
    ),
    "solver": _solvers(),
    "kinked_solver": _entry(
        f"solver : {{'auto', {', '.join(map(repr, _FOR_KINKS))}}}, default='auto'",
        f"As the loss is not differentiable, only {_listed(_FOR_KINKS)} is available. It computes "
        "the labelled columns of the deformed kernel, O(n^3), and solves a support vector "
        "regression on the labelled points.",
    ),
    "loss": _entry(
        f"loss : {{{', '.join(map(repr, _SIGNS))}}} or Loss, default='squared_hinge'",
        f"On labelled points: {_SIGN_FORMULAS}. {_OWN.format('lapwing.losses.Loss')}",
        f"Losses that are not differentiable, such as {_listed(_KINKED)}, require the solver "
        f"{_listed(_FOR_KINKS)}.",
    ),
    "s3vc_loss": _entry(
        f"loss : {{{', '.join(map(repr, _SIGNS))}}} or Loss, default='hinge'",
        f"On labelled points: {_SIGN_FORMULAS}. {_OWN.format('lapwing.losses.Loss')}",
        f"The methods {_listed(_LABELING)} support the hinge only.",
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
    Width of the kernel, 1 / (2 sigma^2) for 'rbf'. 'scale' is 1 / sum_j Var(x_j), so that the
    kernel value of two typical points is exp(-2); it equals scikit-learn's 'scale' for standardised
    features and does not change if a feature is shifted. 'wide' is a tenth of it, and 'auto' is 1 /
    n_features.
""",
    "wide_gamma": """
gamma : float, 'wide', 'scale' or 'auto', default='wide'
    Width of the kernel, 1 / (2 sigma^2) for 'rbf'. 'scale' is 1 / sum_j Var(x_j), as for
    classifiers. 'wide' is a tenth of it, so that the kernel value of two typical points is
    exp(-0.2), as regression functions are often smoother than class boundaries. 'auto' is 1 /
    n_features.
""",
    "gamma_A": """
gamma_A : float, default=1e-4
    Weight > 0 of the ambient norm. Without a graph it corresponds to 1 / (2 C) of an SVM.
""",
    "gamma_I": """
gamma_I : float, default=1.0
    Weight >= 0 of the intrinsic norm; with 0 no graph is built. Only the ratio gamma_I / gamma_A
    determines how far the graph deforms the kernel. Neither weight is divided by the number of
    points.
""",
    "gammas": """
gammas : array-like of float or 'scale', or None, default=None
    Widths of the kernel to try; 'scale' is 1 / sum_j Var(x_j). None tries 'scale' and four times
    it. Ignored for kernels without a width.
""",
    "graphs": """
graphs : list of graphs or None, default=None
    Graphs to try, each as for the parameter `graph` of the plain estimator. None is `KNNGraph` with
    5 and 10 neighbours and powers 1 to 3, and with 2 neighbours and powers 1 and 2. Graphs that
    differ only in the power share the neighbour search.
""",
    "path_max_iter": """
max_iter : int, default=20000
    Maximum number of iterations of the solver.
""",
    "path_tol": """
tol : float, default=1e-8
    Tolerance of libsvm for losses that are not differentiable; its solution is refined afterwards.
""",
    "best_params_": """
best_params_ : dict
    Selected parameters, by their names in the plain estimator.
""",
    "best_score_": """
best_score_ : float
    Negative leave-one-out squared error of `best_params_`; NaN if no label could be left out.
""",
    "cv_results_": """
cv_results_ : dict of str to list or ndarray
    One entry per setting: 'params' and 'param_<name>'; 'left_out_squared_error' (weighted mean over
    labels and columns; NaN if a setting has no solution); for classifiers 'left_out_error'
    (weighted fraction of misclassified labels); and 'fit_time' in seconds, with shared work divided
    among the settings. Empty if no label could be left out.
""",
    "value_graphs": """
graphs : list of graphs or None, default=None
    Graphs to try, each as for the parameter `graph` of the plain estimator. None is `KNNGraph` with
    5 neighbours and powers 1 to 3. Graphs that differ only in the power share the neighbour search.
""",
    "likely_cv_results_": """
cv_results_ : dict of str to list or ndarray
    One entry per setting: 'params' and 'param_<name>'; 'log_likelihood', the selection criterion;
    'left_out_squared_error' (weighted; NaN if a setting has no solution); and 'fit_time' in
    seconds, with shared work divided among the settings. Empty if there is one target only.
""",
    "embedded_C": """
C : float, default=10.0
    Weight > 0 of the loss between f and g, summed over all points: the larger, the closer the
    function is to the virtual labels.
""",
    "updatable": """
updatable : bool, default=False
    Whether to keep the points, the graph and the factorisation after the fit, so that `add_labels`,
    `suggest` and `suspicious_labels` work. With the full kernel these are two matrices of n^2
    numbers.
""",
    "path_updatable": """
updatable : bool, default=False
    Whether to keep the points, the graph and the factorisation of the chosen setting after the fit,
    so that `add_labels`, `suggest` and `suspicious_labels` work. These keep the selected setting;
    call `fit` to select again. With the full kernel these are two matrices of n^2 numbers.
""",
    "lam": """
lam : float, default=1e4
    Weight lambda > 0 of the squared error of g on labelled points, multiplied by the sample
    weights.
""",
    "mu": """
mu : float, default=1e4
    Weight >= 0 of the smoothness of g on the graph. The default is for L^2 of the default graph;
    with p = 1 use smaller values (about 100 on MNIST), and with D - W values in inverse proportion
    to the edge weights.
""",
    "n_eigenvectors": """
n_eigenvectors : int, 'auto' or None, default='auto'
    Number of eigenvectors of L, those of the smallest eigenvalues, in whose span g is sought
    ([1]_, Section III-B); at most n. 'auto' is 50, or two per class if that is more. None does not
    restrict g: the graph kernel is exact. At least one eigenvector for every class and every
    component of the graph is needed, and more for finer structure.
""",
    "embedded_space": """
space : 'auto', space recipe or None, default='auto'
    Space of f: None is the full kernel, `Landmarks` an expansion over a few points, `Linear` linear
    functions. 'auto' is the full kernel up to 10000 points (4000 with the epsilon-insensitive loss)
    and ``Landmarks(1000)`` above.
""",
    "memory": """
memory : str, joblib.Memory or None, default=None
    Cache of the eigenpairs, so that fits on the same graph with other weights need not compute them
    again. For points on disk, completed stages of the neighbour search are cached as well, so that
    an interrupted fit can be resumed.
""",
    "virtual_labels_": """
virtual_labels_ : ndarray of shape (n_samples, n_columns)
    Values of g at all training points, from which `transduction_` is computed, including the
    offsets of a class prior. Rows of weight 0, which are not part of the fit, have the value of f.
""",
    "eigenvalues_": """
eigenvalues_ : ndarray of shape (n_eigenvectors,)
    Eigenvalues of L, ascending; not with ``n_eigenvectors=None``.
""",
    "embedded_alpha_": """
alpha_ : ndarray of shape (n_basis, n_columns)
    Expansion coefficients over `X_fit_`; not with linear functions.
""",
    "embedded_X_fit_": """
X_fit_ : {ndarray, sparse matrix} of shape (n_basis, n_features)
    Points of the expansion: the distinct rows of X with non-zero coefficients, or the landmarks.
    None if precomputed.
""",
    "embedded_basis_": """
basis_ : ndarray
    Row numbers in X of the points of the expansion; with landmarks and linear functions, of all
    points of the problem. Duplicate rows are one point.
""",
    "stopping": """
stopping : {None, 'stability', 'validation', 'mixed'}, default=None
    Early stopping of 'pcg', checked every sqrt(n) / 2 iterations. 'stability': fewer than 1.5 % of
    the unlabelled points changed their prediction. 'validation': the error on validation labels no
    longer decreases. 'mixed': both. None iterates to `tol`, except that 'stability' is used if
    `tol` is None and ``solver='auto'`` chose 'pcg' because of more than 12000 points (see
    `solver_`).
""",
    "validation_fraction": """
validation_fraction : float or None, default=0.2
    Fraction of the labels to hold out for 'validation' and 'mixed' if `fit` is called without
    `validation_data`. At least one label of each class stays in the training set.
""",
    "fit_intercept": """
fit_intercept : bool, default=False
    Whether to add a bias without a penalty of its own. The intrinsic norm includes the bias, so a
    normalised Laplacian, which is not zero on constants, shrinks it.
""",
    "tol": """
tol : float, default=1e-8
    For 'pcg', tolerance on the norm of the gradient in the metric of the function space, relative
    to its value at zero. For losses that are not differentiable, tolerance of libsvm, whose
    solution is refined afterwards.
""",
    "stopping_tol": """
tol : float or None, default=None
    For 'pcg', tolerance on the norm of the gradient in the metric of the function space, relative
    to its value at zero. For losses that are not differentiable, tolerance of libsvm, whose
    solution is refined afterwards. None is 1e-8 and permits early stopping, see `stopping`.
""",
    "max_iter": """
max_iter : int, default=20000
    Maximum number of iterations of the solver.
""",
    "class_weight": """
class_weight : dict, 'balanced' or None, default=None
    Factors of the sample weights by class; 'balanced' is inversely proportional to the number of
    labels of each class.
""",
    "class_prior": """
class_prior : {'labels', 'uniform', 'unknown'}, array-like, dict or None, default=None
    Class proportions in X: those of the labels ('labels'), equal ones ('uniform'), or given up to a
    common factor, in the order of `classes_` or by class in a dict or a pandas Series. After the
    solve, a constant is added to the decision values of each column so that the predictions for X,
    labelled rows included, have these proportions up to one row (duplicate rows get the same
    class), even if they are wrong. 'unknown', or None, adds nothing.
""",
    "refine": """
refine : {'cut', None}, default=None
    'cut' reduces the weight of the edges between classes after the solve: a few steps of the random
    walk on the graph alternate with the optimal assignment of the points at the class volumes of
    `class_prior` (with None, those of the unrefined prediction). Labelled rows keep their labels.
    If the cut does not decrease, the prediction is left unchanged, even where it contradicts labels
    (`refined_`). For `predict`, the function is fitted again by least squares to the refined
    classes of all points. `leave_one_out` and `reproducibility` evaluate the unrefined prediction.
""",
    "refinement_": """
refined_ : bool
    Whether the refinement reduced the cut and `transduction_` is refined; only with
    ``refine='cut'``.
cut_history_ : ndarray
    Weight of the edges between different classes: first for the prediction of ``refine=None``, then
    after each refinement; the last entry belongs to `transduction_`. Only with ``refine='cut'``.
""",
    "unlabeled": """
unlabeled : 'auto', number, str, None or NaN, default='auto'
    Marker of unlabelled points in y. 'auto' is any missing value (None, NaN, NaT, pandas.NA, empty
    strings) and the number -1, except that -1 is a class if -1 and +1 are the only numbers. None,
    NaN and '' mean missing values only; any other value means itself. `fit` warns if no point is
    unlabelled or the marker is ambiguous; `unlabeled_` holds the markers that were found.
""",
    "unlabeled_": """
unlabeled_ : tuple
    Markers of unlabelled points that were found in y: -1, None (missing values), '' (empty strings)
    or the value of `unlabeled`. Empty if every point is labelled.
""",
    "warm_start": """
warm_start : bool, default=False
    Whether to start 'pcg' and 'newton' from the solution of the previous call of `fit`, if it has
    the same number of points.
""",
    "random_state": """
random_state : int, RandomState or None, default=None
    Controls the choice of the labels held out by `validation_fraction`; nothing else is random.
""",
    "probabilities_": """
transduction_proba_ : ndarray of shape (n_samples, n_classes)
    Class probabilities of every training point, labelled ones included; `transduction_` is the
    class of the largest one.
probability_sharpness_ : float
    Factor (inverse temperature) of the decision values in the softmax that gives probabilities, see
    `predict_proba`.
probability_spread_ : float
    Standard deviation of the logarithm of `probability_sharpness_` given the labels.
probability_n_labels_ : int
    Number of labels used to estimate it, each with a fit that leaves this label out; 0 if it was
    estimated from the scores only.
left_out_rows_ : ndarray of int of shape (n_left_out,)
    Rows of these labels, the first of duplicate rows; empty if none was left out.
left_out_proba_ : ndarray of shape (n_left_out, n_classes)
    Class probabilities of these rows, each from the fit without its label.
""",
    "alpha_": """
alpha_ : ndarray of shape (n_basis, n_columns)
    Coefficients of the kernel expansion over `X_fit_`; not with the linear kernel.
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
    Class proportions that were requested; not with ``class_prior=None``.
""",
    "class_offsets_": """
class_offsets_ : ndarray of shape (n_columns,)
    Offsets of the columns to meet `class_prior_`; not with ``class_prior=None``. They are included
    in `intercept_`, but added after the solve: `objective_` and other attributes of the solution
    refer to the function without them.
""",
    "X_fit_": """
X_fit_ : {ndarray, sparse matrix} of shape (n_basis, n_features)
    Points of the expansion: the distinct rows of X. Duplicate rows are one point of the problem and
    one vertex of the graph, unless the affinity or the kernel matrix is given. None if precomputed.
""",
    "basis_": """
basis_ : ndarray of shape (n_basis,)
    Row numbers in X of the points of the expansion.
""",
    "kernel_": """
kernel_ : Kernel
    Kernel with resolved parameters, such as ``kernel_.gamma``; not with the linear kernel.
""",
    "objective_": """
objective_ : ndarray of shape (n_columns,)
    Minimum of the objective of each column.
""",
    "optimality_": """
optimality_ : ndarray of shape (n_columns,)
    Relative norm of the gradient in the metric of the function space at the solution (for losses
    that are not differentiable, the relative duality gap).
""",
    "history_": """
history_ : dict of str to ndarray of shape (n_iter_, n_columns)
    For 'pcg', values of each iteration: 'objective' (half of it where the formula above has no
    factor 1/2) and the norms 'gradient', 'preconditioned' and 'mixed' of the gradient; NaN for
    columns that have converged (they are resumed if the recomputed gradient is too large). Empty
    for other solvers.
""",
    "n_iter_": """
n_iter_ : int
    Number of iterations of the solver.
""",
    "solver_": """
solver_ : str
    Solver that was used; 'pcg (stability)' if early stopping was chosen automatically.
""",
    "status_": """
status_ : str
    Reason for stopping: 'converged', 'precision reached', 'stopped early', 'stopped by a callback'
    or 'not converged'.
""",
    "embedded_affinity_": """
affinity_ : csr_array of shape (n_points, n_points)
    Affinity of the graph between the points of the problem: duplicate rows are one point, unless
    the affinity or the kernel matrix is given, and rows of weight 0 are left out.
""",
    "affinity_": """
affinity_ : csr_array of shape (n_basis, n_basis)
    Affinity matrix of the graph; not with ``gamma_I=0``.
""",
    "labeled_": """
labeled_ : ndarray of bool of shape (n_samples,)
    Mask of the labelled rows.
""",
    "n_features_in_": """
n_features_in_ : int
    Number of features seen during fit.
""",
    "feature_names_in_": """
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of features seen during fit, if all of them are strings.
""",
    "anchor_graph": """
graph : AnchorGraph or None, default=None
    Anchors and the weights of points over them. None is ``AnchorGraph()``: k-means centres, a tenth
    as many as points but between 20 and 1000, with kernel weights over the 3 nearest. Searches over
    its parameters (``graph__n_anchors``) need an explicit ``graph=AnchorGraph()``.
""",
    "anchor_gamma_I": """
gamma_I : float, default=0.1
    Weight >= 0 of the smoothness, not divided by the number of points. The authors of the method
    use 0.01.
""",
    "class_mass_normalization": """
class_mass_normalization : bool, default=True
    Whether to divide the membership in a class, (1 + f) / 2 for its decision values f, by its sum
    over all points connected to labels before the largest is taken. This corrects columns that are
    too small everywhere; use False if the classes differ in size, as it favours equal sizes.
""",
    "anchor_alpha_": """
alpha_ : ndarray of shape (n_anchors, n_columns)
    Values at the anchors, after class mass normalisation if any. The decision value of a point is
    their mean with its weights.
""",
    "anchor_intercept_": """
intercept_ : ndarray of shape (n_columns,)
    Always 0: `alpha_` includes the intercept.
""",
    "anchors_": """
anchors_ : Anchors
    Anchors with a non-zero weight for some training point: ``anchors_.points``, and
    ``anchors_.rows(X)`` for the weights.
""",
    "n_eigenfunctions": """
n_eigenfunctions : int or None, default=None
    Number of eigenfunctions besides the constant. None is 2 per direction, but at most 30: with few
    labels, more of them cause spikes at the labelled points. Functions with equal eigenvalues are
    used together or not at all (at most 4 times the requested number).
""",
    "n_directions": """
n_components : int, default=64
    Number of principal directions; fewer if the data have lower rank, more if variances are tied.
""",
    "n_bins": """
n_bins : int, default=100
    Number of bins of each histogram, from 3 to 2000. Each direction requires a dense eigenproblem
    of this size.
""",
    "bandwidth": """
bandwidth : float or None, default=None
    Standard deviation > 0 of the Gaussian affinity between bins, in the units of X. None is 0.2
    times the standard deviation along the first direction, but at least the width of a bin.
""",
    "clip": """
clip : float, default=0.025
    Fraction, less than 1/2, of the points at either end of each direction that are clipped to the
    range of the bins. New points are clipped to the same range.
""",
    "eigenfunction_lam": """
lam : float, default=100.0
    Weight > 0 of the labels. The functions have unit norm over the n points, so the weight must be
    proportional to n for the same smoothness.
""",
    "eigenfunction_alpha_": """
alpha_ : ndarray of shape (n_eigenfunctions, n_columns)
    Coefficients of the eigenfunctions without the constant.
""",
    "constant_": """
intercept_ : ndarray of shape (n_columns,)
    Coefficient of the constant function.
""",
    "eigenfunctions_": """
eigenfunctions_ : Eigenfunctions
    Eigenfunctions: ``eigenfunctions_.eigenvalues``, ``eigenfunctions_.dimension`` (the direction of
    each), and ``eigenfunctions_.evaluate(X)`` for their values.
""",
    "s3vc_C": """
C : float, default=100.0
    Weight > 0 of the losses on labelled points. With the linear kernel it depends on the scale of
    the features: features that are 1000 times smaller need a million times the weight.
""",
    "C_star": """
C_star : float or None, default=None
    Weight >= 0 of the losses on unlabelled points; 0 gives a supervised SVM. None is C l / u for l
    labelled and u unlabelled points.
""",
    "sharpness": """
s : float, default=3.0
    Parameter > 0 of the loss exp(-s f^2) on unlabelled points.
""",
    "balance": """
balance : 'labels', float, (float, float), dict or None, default='labels'
    Constraint on the mean decision value over the unlabelled points (predicted class proportions
    follow it approximately). 'labels' fixes it to the mean label. A fraction p of ``classes_[1]``
    fixes it to 2 p - 1, and a pair of fractions bounds it (two classes only). A dict or pandas
    Series has the fraction of every class, ``{'a': 0.2, 'b': 0.8}``. Give fractions if labels were
    drawn in equal numbers from classes of different size; they are always enforced. 'labels' is
    replaced by an estimate, with a warning, if the unlabelled points contradict it, which takes
    about ten labels per class to detect (for two classes with four or more labels each there is
    only a warning); it is not enforced if there are fewer unlabelled points than labels. None
    imposes no constraint.
""",
    "balance_intercept": """
fit_intercept : bool, default=True
    Whether to fit a bias with ``balance=None``; otherwise the balance determines it.
""",
    "s3vc_tol": """
tol : float, default=1e-4
    Tolerance on the norm of the gradient divided by sqrt(2 objective), and on the violation of
    margins.
""",
    "s3vc_max_iter": """
max_iter : int, default=20000
    Maximum number of iterations of L-BFGS in each stage of a method and in the final descent.
""",
    "s3vc_objective_": """
objective_ : ndarray of shape (n_columns,)
    Objective at the solution, without smoothing.
""",
    "regression_lam": """
lam : float, default=100.0
    Weight lambda > 0 of the squared error of g on labelled points, multiplied by the sample
    weights.
""",
    "regression_mu": """
mu : float, default=1.0
    Weight >= 0 of the smoothness of g on the graph. The default is for the default graph, whose
    Laplacian D - W does not penalise constants. It is smaller than for classifiers, as targets are
    to be approximated and not only their sign.
""",
    "embedded_bias": """
fit_intercept : bool, default=False
    Whether f has an unregularised bias. The authors of the method use none for classification.
""",
    "embedded_regression_bias": """
fit_intercept : bool, default=True
    Whether f has an unregularised bias.
""",
    "embedded_tol": """
tol : float, default=1e-8
    Tolerance of the conjugate gradient method on the residual relative to the right-hand side. It
    is used for many points with ``n_eigenvectors=None`` and landmarks or linear functions.
""",
    "embedded_max_iter": """
max_iter : int, default=20000
    Maximum number of iterations of the conjugate gradient method.
""",
    "embedded_optimality_": """
optimality_ : ndarray of shape (n_columns,)
    Relative residual of the linear system of each column.
""",
    "embedded_n_iter_": """
n_iter_ : int
    Number of iterations of the solver; 1 for direct solvers.
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
    Class of every training point according to g, labelled points included.
""",
    "tube_tol": """
tol : float, default=1e-6
    Tolerance on the duality gap, relative to the objective.
""",
    "tube_max_iter": """
max_iter : int, default=200
    Maximum number of steps of the interior point method for each column.
""",
    "tube_optimality_": """
optimality_ : ndarray of shape (n_columns,)
    Duality gap of each column, relative to the objective.
""",
    "tube_n_iter_": """
n_iter_ : int
    Number of iterations of the solver; the largest over the columns.
""",
    "tube_solver_": """
solver_ : str
    'interior point'.
""",
    "regression_n_eigenvectors": """
n_eigenvectors : int or None, default=100
    Number of eigenvectors of L, those of the smallest eigenvalues, in whose span g is sought
    ([1]_, Section III-B); at most n. None does not restrict g: the graph kernel is exact, which
    approximates targets better but takes more time and memory.
""",
    "left_out_residuals_": """
left_out_residuals_ : ndarray of shape (n_targets,)
    Leave-one-out residuals of the targets, used by `predict_interval`; NaN if nothing could be left
    out.
left_out_coef_ : ndarray of shape (n_basis, n_targets) or (n_features, n_targets)
    Coefficients of the leave-one-out fits, in the order of the targets; not set if there are more
    than two million.
left_out_intercept_ : ndarray of shape (n_targets,)
    Intercepts of these fits.
""",
    "embedded_transduced_values_": """
transduction_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
    Value of g at every training point, labelled points included.
estimators_ : list of estimator
    Fitted estimators of the columns of y, with all other attributes; only if y has several columns.
    Labels added to one of them change its attributes and `predict` of this model.
""",
    "transduced_values_": """
transduction_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
    Predicted value of every training point, labelled ones included.
estimators_ : list of estimator
    Fitted estimators of the columns of y, with all other attributes; only if y has several columns.
    Labels added to one of them change its attributes and `predict` of this model.
""",
}


def document(cls: T, own: Mapping[str, str] = MappingProxyType({})) -> T:
    """Fill the shared entries into the docstring of a class.

    Parameters
    ----------
    cls : type
    own : mapping of str to str, default={}
        Further entries, for the module of the class.
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
