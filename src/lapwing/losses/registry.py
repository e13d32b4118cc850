"""Registry of losses, and the values of ``loss=`` and ``unlabeled_loss=``.

A new loss is one class and one line here; names, messages, docstrings and shared tests follow.
`lapwing.losses` says what the class is to declare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lapwing.losses.base import Loss, TargetKind, UnlabeledLoss
from lapwing.losses.checks import check_loss, check_unlabeled_loss
from lapwing.losses.labeled import EpsilonInsensitive, Hinge, Squared, SquaredHinge
from lapwing.losses.unlabeled import GaussianBump, SymmetricHinge

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (SquaredHinge, Hinge, Squared, EpsilonInsensitive)
}
UNLABELED_LOSSES: dict[str, type[UnlabeledLoss]] = {
    loss.name: loss for loss in (GaussianBump, SymmetricHinge)
}


def loss_names(targets: TargetKind) -> tuple[str, ...]:
    """Names of the losses for targets of a kind.

    Parameters
    ----------
    targets : TargetKind

    Returns
    -------
    tuple of str
    """
    return tuple(name for name, loss in LOSSES.items() if loss.targets is targets)


def as_loss(loss: Loss | str, targets: TargetKind) -> Loss:
    """Turn what a user gives for ``loss=`` into a loss.

    Parameters
    ----------
    loss : str or Loss
        A name in `LOSSES`, or an object.
    targets : TargetKind
        What the estimator compares scores with.

    Returns
    -------
    Loss
        The object itself, or that of the name with its default parameters.

    Raises
    ------
    TypeError
        If it is neither a name nor an object.
    ValueError
        If there is no such name, the loss is for other targets, or it is not what it declares.
    """
    names = loss_names(targets)
    if isinstance(loss, str):
        if loss not in names:
            raise ValueError(f"loss={loss!r} must be {_wanted(names, 'Loss')}.")
        return LOSSES[loss]()
    if not isinstance(loss, Loss):
        raise TypeError(f"loss={loss!r} must be {_wanted(names, 'Loss')}.{_called(loss, Loss)}")
    # The reverse is fine: -1 and +1 are numbers, as in least squares for classes.
    if targets is TargetKind.VALUES and loss.targets is TargetKind.SIGNS:
        raise ValueError(
            f"loss={loss!r} is for classes: its targets are -1 and +1. Use "
            f"{_wanted(names, 'Loss')} with targets = TargetKind.VALUES."
        )
    # The library's own are compared with their differences in its tests, not in every fit.
    if type(loss) is not LOSSES.get(loss.name):
        check_loss(loss)
    return loss


def as_unlabeled_loss(loss: Loss | str, parameters: Mapping[str, Any]) -> UnlabeledLoss:
    """Turn what a user gives for ``unlabeled_loss=`` into a loss.

    Parameters
    ----------
    loss : str or UnlabeledLoss
        A name in `UNLABELED_LOSSES`, or an object.
    parameters : mapping
        The estimator's, by name; one made by name takes those that it has.

    Returns
    -------
    UnlabeledLoss
        The object itself, or that of the name with the estimator's parameters.

    Raises
    ------
    TypeError
        If it is neither a name nor an object.
    ValueError
        If there is no such name, or the loss is not what it declares.
    """
    if isinstance(loss, str) and loss in UNLABELED_LOSSES:
        make = UNLABELED_LOSSES[loss]
        # `s` of the estimator reaches the bump; a loss that has no `s` is not given one.
        own = make().get_params(deep=False)
        return make(**{name: value for name, value in parameters.items() if name in own})
    if not isinstance(loss, UnlabeledLoss):
        wanted = _wanted(("auto", *UNLABELED_LOSSES), "UnlabeledLoss")
        message = f"unlabeled_loss={loss!r} must be {wanted}.{_called(loss, UnlabeledLoss)}"
        raise ValueError(message) if isinstance(loss, str) else TypeError(message)
    if type(loss) is not UNLABELED_LOSSES.get(loss.name):
        check_unlabeled_loss(loss)
    return loss


def same_loss(a: Loss, b: Loss) -> bool:
    """Whether two losses are of one class and have equal parameters."""
    return type(a) is type(b) and bool(a.get_params() == b.get_params())


def shown(loss: Loss | UnlabeledLoss) -> str:
    """A loss as a user would write it: its name if it has one, else the object."""
    named: type = {**LOSSES, **UNLABELED_LOSSES}.get(loss.name, object)
    return repr(loss.name) if type(loss) is named else repr(loss)


def _wanted(names: tuple[str, ...], kind: str) -> str:
    return f"one of {', '.join(map(repr, names))}, or an object of lapwing.losses.{kind}"


def _called(loss: Any, kind: type) -> str:
    """Say how to pass a class that should have been an object."""
    of_kind = isinstance(loss, type) and issubclass(loss, kind)
    return f" Did you mean {loss.__name__}(...)?" if of_kind else ""
