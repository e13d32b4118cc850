"""Records of the sets: what they hold, where they come from, and their terms."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DatasetRecord", "DerivedRecord", "OpenMLRecord"]

_NO_TERMS = "None known; see the home of the set."


@dataclass(frozen=True)
class OpenMLRecord:
    """Where OpenML has a set, and how its version differs from the archive.

    Parameters
    ----------
    data_id : int
        Number of the set on OpenML; unlike a name it means one version for ever.
    first_label : int
        What the first class is called there.
    train_counts : tuple of int
        Points of every class in the official training part. OpenML does not mark that part, so
        the first rows count as it only if they show these numbers.
    """

    data_id: int
    first_label: int
    train_counts: tuple[int, ...]


@dataclass(frozen=True)
class DatasetRecord:
    """What is known of a data set.

    Parameters
    ----------
    name : str
        Name for `load_dataset`.
    title : str
        What the set is, in a sentence.
    n_samples, n_features : int
        Shape of the data.
    labels : tuple of int
        Labels as in the original file, sorted; a class's code in `target` is its place here.
    features : str
        What the columns are.
    home : str
        Address that the papers, or the archive's source, give for the set.
    reference : str
        The publication that describes it.
    used_by : str
        The papers implemented here that measure on it.
    archive : str
        Name of the archive's file.
    image_shape : tuple of int or None, default=None
        Rows and columns, where a point is an image stored row by row.
    value_range : tuple of float or None, default=None
        Bounds of all values, where the set has fixed ones.
    sparse : bool, default=False
        Whether the archive holds the parts of a CSR matrix.
    splits : tuple of (int, str), default=()
        Number of labelled points and key in the archive of every kind of published split.
    test_key : str or None, default=None
        The archive's array that tells the official test part: ``'n_train'`` or ``'is_test'``.
    dtype : {'float64', 'float32'}, default='float64'
        Type of the data unless another is asked for. The large sets have float32, which holds
        their grey values exactly at half the memory.
    terms : str
        Terms of use.
    openml : OpenMLRecord or None, default=None
        Where OpenML has the set.
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    labels: tuple[int, ...]
    features: str
    home: str
    reference: str
    used_by: str
    archive: str
    image_shape: tuple[int, int] | None = None
    value_range: tuple[float, float] | None = None
    sparse: bool = False
    splits: tuple[tuple[int, str], ...] = ()
    test_key: str | None = None
    dtype: str = "float64"
    terms: str = _NO_TERMS
    openml: OpenMLRecord | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Arrays that the archive must hold."""
        points = ("X_data", "X_indices", "X_indptr", "X_shape") if self.sparse else ("X",)
        splits = tuple(key for _, key in self.splits)
        return (*points, "y", *splits, *([self.test_key] if self.test_key else []))

    def describe(self) -> str:
        """Describe the set in the text that goes with the data as `DESCR`.

        Returns
        -------
        str
            A title, and a line for each field that a reader asks for.
        """
        published = ", ".join(str(count) for count, _ in self.splits)
        lines = [
            self.title,
            "",
            f"Points: {self.n_samples}",
            f"Features: {self.n_features}; {self.features}",
            f"Classes: {len(self.labels)}, labelled {', '.join(map(str, self.labels))}",
            f"Published splits: {f'{published} labelled points' if published else 'none'}",
            f"Official test part: {'yes' if self.test_key else 'no'}",
            f"Used by: {self.used_by}",
            f"Reference: {self.reference}",
            f"Home: {self.home}",
            f"Terms: {self.terms}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class DerivedRecord:
    """A problem that a paper makes of another set by joining or leaving out classes.

    Parameters
    ----------
    base : str
        Name of the set.
    title : str
        What the problem is, in a sentence.
    groups : tuple of tuple of int
        Classes of the set that form each class of the problem; any other class is left out.
    """

    base: str
    title: str
    groups: tuple[tuple[int, ...], ...]
