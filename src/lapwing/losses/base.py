"""Protocols of losses on labelled and unlabelled scores; `lapwing.losses` says how to add one."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from enum import StrEnum
from typing import ClassVar

from sklearn.base import BaseEstimator

from lapwing._arrays import Array


class Kind(StrEnum):
    """Smoothness class of a loss."""

    PIECEWISE_QUADRATIC = "piecewise quadratic"
    SMOOTH = "smooth"
    KINKED = "kinked"

    @property
    def differentiable(self) -> bool:
        """Whether the derivative is continuous."""
        return self is not Kind.KINKED


class TargetKind(StrEnum):
    """Kind of target that a loss compares scores with."""

    SIGNS = "signs"  # -1 or +1: for classes
    VALUES = "values"  # any number: for regressions


class _Declared(BaseEstimator, ABC):
    """Pointwise function with a kind and a name."""

    kind: ClassVar[Kind]
    name: ClassVar[str]
    formula: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if _Declared in cls.__bases__:  # the two kinds of functions themselves
            return
        if not isinstance(getattr(cls, "kind", None), Kind):
            kinds = ", ".join(f"Kind.{kind.name}" for kind in Kind)
            raise TypeError(f"{cls.__name__} must say of what kind it is: kind = one of {kinds}.")
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


class Loss(_Declared):
    """Convex loss on labelled scores; see the module.

    Attributes
    ----------
    kind : Kind
        Must be set by the class.
    name : str
        The name of the class in lower case, words joined by underscores, unless set.
    formula : str, default=""
        Of the loss as one would print it, for docstrings.
    targets : TargetKind, default=TargetKind.SIGNS
    objective_scale : float, default=2.0
        Times the objective in the half convention is what estimators report: 2 for objectives
        that are printed without a factor 1/2.
    """

    targets: ClassVar[TargetKind] = TargetKind.SIGNS
    objective_scale: ClassVar[float] = 2.0

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Loss of each score, in the half convention.

        Parameters
        ----------
        y : array of shape (...)
            Targets: -1 and +1, or values (`targets`).
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Half the loss that one would print.
        """

    @abstractmethod
    def derivative(self, y: Array, f: Array) -> Array:
        """Derivative with respect to the score.

        Parameters
        ----------
        y : array of shape (...)
            Targets: -1 and +1, or values (`targets`).
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Of `value`; a subderivative at kinks.
        """

    def value_and_derivative(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Both of them; a loss whose two share work says so here.

        Parameters
        ----------
        y : array of shape (...)
            Targets: -1 and +1, or values (`targets`).
        f : array of shape (...)
            Scores.

        Returns
        -------
        value, derivative : arrays of the shape of f
            As the two methods have them.
        """
        return self.value(y, f), self.derivative(y, f)

    @abstractmethod
    def curvature(self, y: Array, f: Array) -> Array:
        """Second derivative with respect to the score.

        Parameters
        ----------
        y : array of shape (...)
            Targets: -1 and +1, or values (`targets`).
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Of `value`; at the scores in `breaks` that of either side, or 0.
        """

    def breaks(self, y: Array) -> tuple[Array, ...]:
        """Scores at which the derivative or the curvature jumps.

        Parameters
        ----------
        y : array of shape (...)
            Targets.

        Returns
        -------
        tuple of arrays of the shape of y
            One for each jump; smooth losses have none.

        Raises
        ------
        NotImplementedError
            If a loss that is not smooth does not say where.
        """
        if self.kind is Kind.SMOOTH:
            return ()
        raise NotImplementedError(
            f"{type(self).__name__} is {self.kind} and must say where: add breaks(y), a tuple "
            "of the scores at which its derivative or curvature jumps."
        )

    def smoothed(self, variance: Array | float) -> Loss | None:
        """The loss convolved with a Gaussian.

        Parameters
        ----------
        variance : float or array of the shape of the scores
            Of the Gaussian at each score.

        Returns
        -------
        Loss or None
            None where there is no formula; `lapwing.losses.smoothed.smooth` averages then.
        """
        return None

    def stand_in(self) -> Loss | None:
        """A differentiable loss to use in place of one with kinks; None for a smoothed one."""
        return None


class UnlabeledLoss(_Declared):
    """Loss on unlabelled scores, which is not convex and pushes decision values away from zero.

    As labelled losses it never sees X and works elementwise, but on the scores alone, and `value`
    is the loss itself: there is no half convention.

    Attributes
    ----------
    kind : Kind
        Must be set by the class. A loss with kinks must have `label_loss`, by which the last
        descent replaces it.
    name : str
        The name of the class in lower case, words joined by underscores, unless set.
    formula : str, default=""
        For docstrings.
    """

    @abstractmethod
    def value(self, f: Array) -> Array:
        """Loss of each score.

        Parameters
        ----------
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            The loss itself: there is no half convention.
        """

    @abstractmethod
    def derivative(self, f: Array) -> Array:
        """Derivative with respect to the score.

        Parameters
        ----------
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Of `value`.
        """

    def value_and_derivative(self, f: Array) -> tuple[Array, Array]:
        """Both of them; a loss whose two share work says so here.

        Parameters
        ----------
        f : array of shape (...)
            Scores.

        Returns
        -------
        value, derivative : arrays of the shape of f
            As the two methods have them.
        """
        return self.value(f), self.derivative(f)

    @abstractmethod
    def curvature(self, f: Array) -> Array:
        """Second derivative with respect to the score.

        Parameters
        ----------
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Of `value`; 0 at kinks.
        """

    @property
    def label_loss(self) -> Loss | None:
        """The loss on labels that this one is for the nearer label: 2 l(1, abs(f)).

        None if it is no such loss.
        """
        return None

    @property
    def steepness(self) -> float:
        """S of the bump exp(-s f^2) that is about as wide; sets the least smoothing."""
        return 3.0

    @property
    def bend(self) -> tuple[float, float] | None:
        """(kappa, q): the loss smoothed by v has second derivatives >= -kappa / v^q.

        None if that is not known; then there is no continuation, which takes its first smoothing
        from it (errata C4).
        """
        return None

    def smoothed(self, variance: Array | float) -> UnlabeledLoss | None:
        """The loss convolved with a Gaussian.

        Parameters
        ----------
        variance : float or array of the shape of the scores
            Of the Gaussian at each score.

        Returns
        -------
        UnlabeledLoss or None
            None where there is no formula; a little smoothing is done by averages then.
        """
        return None

    def stand_in(self) -> UnlabeledLoss | None:
        """A differentiable loss to use in place of one with kinks; None for a smoothed one."""
        return None
