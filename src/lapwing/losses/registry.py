"""Registry of losses, and the values of ``loss=`` and ``unlabeled_loss=``.

`lapwing.losses` fills it and describes what a class must declare; names, messages, docstrings and
shared tests are derived from it.

Solvers fail silently on a wrong derivative or an undeclared break, so a loss from outside the
library is checked against finite differences on a few hundred scores before any work
(`check_loss`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.losses.base import Kind, Loss, TargetKind, UnlabeledLoss

LOSSES: dict[str, type[Loss]] = {}
UNLABELED_LOSSES: dict[str, type[UnlabeledLoss]] = {}


def register(*losses: type[Loss] | type[UnlabeledLoss]) -> None:
    """Register losses, so that users can write their names."""
    for loss in losses:
        if issubclass(loss, UnlabeledLoss):
            UNLABELED_LOSSES[loss.name] = loss
        else:
            LOSSES[loss.name] = loss


def loss_names(targets: TargetKind) -> tuple[str, ...]:
    """Return the names of the losses for targets of a kind.

    Parameters
    ----------
    targets : TargetKind

    Returns
    -------
    tuple of str
    """
    return tuple(name for name, loss in LOSSES.items() if loss.targets is targets)


def as_loss(loss: Loss | str, targets: TargetKind) -> Loss:
    """Return the loss for a value of ``loss=``.

    Parameters
    ----------
    loss : str or Loss
        A name in `LOSSES`, or an object.
    targets : TargetKind
        Kind of targets of the estimator.

    Returns
    -------
    Loss
        The object itself, or the named loss with its default parameters.

    Raises
    ------
    TypeError
        If it is neither a name nor an object.
    ValueError
        If the name is unknown, the loss is for other targets, or it contradicts its declarations.
    """
    names = loss_names(targets)
    if isinstance(loss, str):
        if loss not in names:
            raise ValueError(f"loss={loss!r} must be {_expected(names, 'Loss')}.")
        return LOSSES[loss]()
    if not isinstance(loss, Loss):
        raise TypeError(f"loss={loss!r} must be {_expected(names, 'Loss')}.{_advice(loss, Loss)}")
    # The reverse is allowed: -1 and +1 are numbers, as in least squares classification.
    if targets is TargetKind.VALUES and loss.targets is TargetKind.SIGNS:
        raise ValueError(
            f"loss={loss!r} is for classes: its targets are -1 and +1. Use "
            f"{_expected(names, 'Loss')} with targets = TargetKind.VALUES."
        )
    # Losses of the library are checked in its tests, not in every fit.
    if type(loss) is not LOSSES.get(loss.name):
        check_loss(loss)
    return loss


def as_unlabeled_loss(loss: Loss | str, parameters: Mapping[str, Any]) -> UnlabeledLoss:
    """Return the loss for a value of ``unlabeled_loss=``.

    Parameters
    ----------
    loss : str or UnlabeledLoss
        A name in `UNLABELED_LOSSES`, or an object.
    parameters : mapping
        Parameters of the estimator; a named loss is created with those that it has.

    Returns
    -------
    UnlabeledLoss
        The object itself, or the named loss with parameters of the estimator.

    Raises
    ------
    TypeError
        If it is neither a name nor an object.
    ValueError
        If the name is unknown, or the loss contradicts its declarations.
    """
    if isinstance(loss, str) and loss in UNLABELED_LOSSES:
        make = UNLABELED_LOSSES[loss]
        # `s` of the estimator is passed only to losses that have it, such as the bump.
        own = make().get_params(deep=False)
        return make(**{name: value for name, value in parameters.items() if name in own})
    if not isinstance(loss, UnlabeledLoss):
        wanted = _expected(("auto", *UNLABELED_LOSSES), "UnlabeledLoss")
        message = f"unlabeled_loss={loss!r} must be {wanted}.{_advice(loss, UnlabeledLoss)}"
        raise ValueError(message) if isinstance(loss, str) else TypeError(message)
    if type(loss) is not UNLABELED_LOSSES.get(loss.name):
        check_unlabeled_loss(loss)
    return loss


def same_loss(a: Loss, b: Loss) -> bool:
    """Return whether two losses are of one class and have equal parameters."""
    return type(a) is type(b) and bool(a.get_params() == b.get_params())


def shown(loss: Loss | UnlabeledLoss) -> str:
    """Format a loss as a user would write it: its name if it has one, otherwise the object."""
    named: type = {**LOSSES, **UNLABELED_LOSSES}.get(loss.name, object)
    return repr(loss.name) if type(loss) is named else repr(loss)


def _expected(names: tuple[str, ...], kind: str) -> str:
    return f"one of {', '.join(map(repr, names))}, or an object of lapwing.losses.{kind}"


def _advice(loss: object, kind: type) -> str:
    """Advise to pass an object if a class was passed."""
    if isinstance(loss, type) and issubclass(loss, kind):
        return f" Did you mean {loss.__name__}(...)?"
    return ""


# Of finite differences: rounding errors are about 1e-12, and the truncation error is 2e-9 times the
# third derivative, so that smooth losses stay far below the tolerance.
_STEP = 1e-4
_TOLERANCE = 1e-3  # of their deviations, relative to the larger value
_HALVINGS = 25  # of the distances between scores, down to about 1e-9
_SPARED = 0.02  # fraction of the scores that may be within a step of a discontinuity
# No round numbers, which are likely to be breaks.
_SCORES = np.array([-31.0, -9.0, *np.linspace(-4, 4, 201), 9.0, 31.0]) + 0.00137
_TARGETS = {TargetKind.SIGNS: (-1.0, 1.0), TargetKind.VALUES: (-2.0, -0.3, 0.0, 1.0)}


def check_loss(loss: Loss) -> None:
    """Raise ValueError for a loss on labelled scores that contradicts its declarations.

    Parameters
    ----------
    loss : Loss

    Raises
    ------
    ValueError
        The message names the wrong method and a score.
    """
    f, smooth = _SCORES, loss.kind is Kind.SMOOTH
    for target in _TARGETS[loss.targets]:
        y = np.full_like(f, target)
        of = f", for the target {target:g}"
        breaks = [] if smooth else _breaks(loss, y)
        away = np.ones(len(f), dtype=bool)
        for at in breaks:
            away &= np.abs(f - at) > 2 * _STEP
        # smooth losses need not declare discontinuities of the curvature
        spared = 0.0, _SPARED if smooth else 0.0
        value, slope, curvature = _derivatives(loss, (y,), away, spared, of)
        _increases(loss, slope, of)
        if (value < 0).any():
            at = f[np.argmin(value)]
            raise ValueError(f"{loss!r} must not be negative, but value is at f = {at:g}{of}.")
        if loss.kind.differentiable:
            _no_kinks(loss, y, of)
        if loss.kind is Kind.PIECEWISE_QUADRATIC:
            _constant_between(loss, breaks, curvature, away, of)


def check_unlabeled_loss(loss: UnlabeledLoss) -> None:
    """Raise ValueError for a loss on unlabelled scores with derivatives that contradict its values.

    Parameters
    ----------
    loss : UnlabeledLoss

    Raises
    ------
    ValueError
        The message names the wrong method and a score.
    """
    # unlabelled losses need not declare kinks or discontinuities of the curvature
    spared = 0.0 if loss.kind is Kind.SMOOTH else _SPARED, _SPARED
    _derivatives(loss, (), np.ones(len(_SCORES), dtype=bool), spared, "")


def _derivatives(
    loss: Any, y: tuple[Array, ...], away: Array, spared: tuple[float, float], target: str
) -> list[Array]:
    """Return values, derivatives and curvatures, checked by finite differences away from breaks.

    Fractions `spared` of the derivatives and of the curvatures may differ from them.
    """
    f, methods = _SCORES, ("value", "derivative", "curvature")
    found = [_finite(loss, method, *y) for method in methods]
    for k, fraction in enumerate(spared, start=1):
        function, given = getattr(loss, methods[k - 1]), found[k]
        slope = (function(*y, f + _STEP) - function(*y, f - _STEP)) / (2 * _STEP)
        off = np.abs(given - slope) - _TOLERANCE * (1 + np.maximum(np.abs(given), np.abs(slope)))
        wrong = away & (off > 0)
        if wrong.mean() > fraction:
            i = int(np.argmax(np.where(wrong, off, -np.inf)))
            hint = "" if loss.kind is Kind.SMOOTH else " and that all breaks are named"
            raise ValueError(
                f"{loss!r}: {methods[k]} gives {given[i]:g} at f = {f[i]:g}{target}, where the "
                f"differences of {methods[k - 1]} give {slope[i]:g}. Check both{hint}."
            )
    return found


def _breaks(loss: Loss, y: Array) -> list[Array]:
    breaks = loss.breaks(y)
    if not isinstance(breaks, tuple):
        raise ValueError(
            f"{loss!r}: breaks(y) must give a tuple of arrays like y, one for each break, not "
            f"{type(breaks).__name__}."
        )
    return [np.broadcast_to(np.asarray(at, dtype=np.float64), y.shape) for at in breaks]


def _finite(loss: Any, method: str, *y: Array) -> Array:
    found = np.asarray(getattr(loss, method)(*y, _SCORES))
    if found.shape != _SCORES.shape:
        raise ValueError(
            f"{loss!r}: {method} must give an array of the shape of the scores, {_SCORES.shape}, "
            f"not {found.shape}."
        )
    if not np.isfinite(found).all():
        at = _SCORES[~np.isfinite(found)][0]
        raise ValueError(f"{loss!r}: {method} is not finite at f = {at:g}.")
    return found


def _increases(loss: Loss, slope: Array, target: str) -> None:
    fall = np.diff(slope)
    if (fall < -_TOLERANCE * _STEP * (1 + np.abs(slope[1:]))).any():
        i = int(np.argmin(fall))
        raise ValueError(
            f"{loss!r} is not convex: its derivative falls between f = {_SCORES[i]:g} and "
            f"{_SCORES[i + 1]:g}{target}. Losses on labelled points must be convex."
        )


def _no_kinks(loss: Loss, y: Array, target: str) -> None:
    """Raise ValueError for a jump of the derivative, found by bisection at its steepest rise."""
    left, right = _SCORES[:-1], _SCORES[1:]
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        low, mid, high = (loss.derivative(y[1:], at) for at in (left, middle, right))
        first = np.abs(mid - low) > np.abs(high - mid)
        left, right = np.where(first, left, middle), np.where(first, middle, right)
    rise = np.abs(loss.derivative(y[1:], right) - loss.derivative(y[1:], left))
    if rise.max() > _TOLERANCE:
        i = int(np.argmax(rise))
        raise ValueError(
            f"{loss!r} is declared {loss.kind}, but its derivative jumps by {rise[i]:g} at "
            f"f = {left[i]:g}{target}. Use kind = Kind.KINKED, and return the score in breaks(y)."
        )


def _constant_between(
    loss: Loss, breaks: list[Array], curvature: Array, away: Array, target: str
) -> None:
    f = _SCORES
    piece = np.sum([np.zeros(len(f), dtype=bool), *(f > at for at in breaks)], axis=0)
    for number in np.unique(piece[away]):
        inside = away & (piece == number)
        if np.ptp(curvature[inside]) > _TOLERANCE * (1 + np.abs(curvature[inside]).max()):
            raise ValueError(
                f"{loss!r} is declared piecewise quadratic, but its curvature changes between "
                f"f = {f[inside].min():g} and {f[inside].max():g}{target}, where breaks(y) has no "
                "break. Add it, or use kind = Kind.SMOOTH."
            )
