"""Protocols of losses on labelled and unlabelled scores; see `lapwing.losses` to add one."""

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
    """Kind of the targets of a loss."""

    SIGNS = "signs"  # -1 or +1, for classification
    VALUES = "values"  # any number, for regression


class _Declared(BaseEstimator, ABC):
    """Pointwise function with a kind and a name."""

    kind: ClassVar[Kind]
    name: ClassVar[str]
    formula: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if _Declared in cls.__bases__:  # `Loss` and `UnlabeledLoss` themselves
            return
        if not isinstance(getattr(cls, "kind", None), Kind):
            kinds = ", ".join(f"Kind.{kind.name}" for kind in Kind)
            raise TypeError(f"{cls.__name__} must declare its kind: kind = one of {kinds}.")
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


class Loss(_Declared):
    """Convex loss on labelled scores, see `lapwing.losses`.

    Attributes
    ----------
    kind : Kind
        Must be set by the class.
    name : str
        Name of the loss; by default the class name in lower case with underscores.
    formula : str, default=""
        Formula of the loss in the usual convention, for docstrings.
    targets : TargetKind, default=TargetKind.SIGNS
    objective_scale : float, default=2.0
        Factor between the objective in the half convention and the one that estimators report: 2
        for objectives that are usually written without a factor 1/2.
    """

    targets: ClassVar[TargetKind] = TargetKind.SIGNS
    objective_scale: ClassVar[float] = 2.0

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Compute the loss of each score, in the half convention.

        Parameters
        ----------
        y : array of shape (...)
            Targets: -1 and +1, or values (`targets`).
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Half the loss in the usual convention.
        """

    @abstractmethod
    def derivative(self, y: Array, f: Array) -> Array:
        """Compute the derivative with respect to the score.

        Parameters
        ----------
        y : array of shape (...)
            Targets: -1 and +1, or values (`targets`).
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Derivative of `value`; a subderivative at kinks.
        """

    def value_and_derivative(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Compute both; to be overridden if this is faster than two calls.

        Parameters
        ----------
        y : array of shape (...)
            Targets: -1 and +1, or values (`targets`).
        f : array of shape (...)
            Scores.

        Returns
        -------
        value, derivative : arrays of the shape of f
            As computed by `value` and `derivative`.
        """
        return self.value(y, f), self.derivative(y, f)

    @abstractmethod
    def curvature(self, y: Array, f: Array) -> Array:
        """Compute the second derivative with respect to the score.

        Parameters
        ----------
        y : array of shape (...)
            Targets: -1 and +1, or values (`targets`).
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Second derivative of `value`; at the scores in `breaks` that of either side, or 0.
        """

    def breaks(self, y: Array) -> tuple[Array, ...]:
        """Return the scores at which the derivative or the curvature is discontinuous.

        Parameters
        ----------
        y : array of shape (...)
            Targets.

        Returns
        -------
        tuple of arrays of the shape of y
            One array for each discontinuity; empty for smooth losses.

        Raises
        ------
        NotImplementedError
            If a loss that is not smooth does not implement it.
        """
        if self.kind is Kind.SMOOTH:
            return ()
        raise NotImplementedError(
            f"{type(self).__name__} is {self.kind} and must implement breaks(y): a tuple "
            "of the scores at which its derivative or curvature is discontinuous."
        )

    def smoothed(self, variance: Array | float) -> Loss | None:
        """Return the loss convolved with a Gaussian.

        Parameters
        ----------
        variance : float or array of the shape of the scores
            Variance of the Gaussian at each score.

        Returns
        -------
        Loss or None
            None if there is no formula; `lapwing.losses.smoothed.smooth` then uses quadrature.
        """
        return None

    def stand_in(self) -> Loss | None:
        """Return a differentiable surrogate for a loss with kinks; None to smooth the loss."""
        return None


class UnlabeledLoss(_Declared):
    """Non-convex loss on unlabelled scores, which pushes decision values away from zero.

    Like labelled losses it never sees X and works elementwise, but it has no targets, and `value`
    is the loss itself: there is no half convention.

    Attributes
    ----------
    kind : Kind
        Must be set by the class. A loss with kinks must have `label_loss`, which replaces it in the
        final descent.
    name : str
        Name of the loss; by default the class name in lower case with underscores.
    formula : str, default=""
        For docstrings.
    """

    @abstractmethod
    def value(self, f: Array) -> Array:
        """Compute the loss of each score.

        Parameters
        ----------
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Loss, without the half convention.
        """

    @abstractmethod
    def derivative(self, f: Array) -> Array:
        """Compute the derivative with respect to the score.

        Parameters
        ----------
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Derivative of `value`.
        """

    def value_and_derivative(self, f: Array) -> tuple[Array, Array]:
        """Compute both; to be overridden if this is faster than two calls.

        Parameters
        ----------
        f : array of shape (...)
            Scores.

        Returns
        -------
        value, derivative : arrays of the shape of f
            As computed by `value` and `derivative`.
        """
        return self.value(f), self.derivative(f)

    @abstractmethod
    def curvature(self, f: Array) -> Array:
        """Compute the second derivative with respect to the score.

        Parameters
        ----------
        f : array of shape (...)
            Scores.

        Returns
        -------
        array of the shape of f
            Second derivative of `value`; 0 at kinks.
        """

    @property
    def label_loss(self) -> Loss | None:
        """Return the labelled loss l with 2 l(1, abs(f)), the loss for the nearer label.

        None if there is none.
        """
        return None

    @property
    def steepness(self) -> float:
        """Return s of the bump exp(-s f^2) of similar width, which sets the smallest smoothing."""
        return 3.0

    @property
    def bend(self) -> tuple[float, float] | None:
        """Return (kappa, q): second derivatives of the loss smoothed by v are >= -kappa / v^q.

        None if unknown. The continuation method needs it for its first smoothing (errata C4).
        """
        return None

    def smoothed(self, variance: Array | float) -> UnlabeledLoss | None:
        """Return the loss convolved with a Gaussian.

        Parameters
        ----------
        variance : float or array of the shape of the scores
            Variance of the Gaussian at each score.

        Returns
        -------
        UnlabeledLoss or None
            None if there is no formula; slight smoothing is then done by quadrature.
        """
        return None

    def stand_in(self) -> UnlabeledLoss | None:
        """Return a differentiable surrogate for a loss with kinks; None to smooth the loss."""
        return None
