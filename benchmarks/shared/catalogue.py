"""Data sets of the papers: their properties, and the public files with their contents.

`python -m benchmarks convert` converts the public files to archives. File names are as published;
case and the endings ``.gz`` and ``.bz2`` are ignored. The properties of a set are checked when an
archive is written and when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Download:
    """Public files from which an archive can be created.

    Attributes
    ----------
    files : tuple of str
        Names, with a folder if needed; a name with ``*`` is a pattern.
    page : str
        Page with the files.
    format : str
        Name of the builder in `benchmarks.convert.builders`.
    """

    files: tuple[str, ...]
    page: str
    format: str


@dataclass(frozen=True, kw_only=True)
class Archive:
    """Archive and its sources.

    Attributes
    ----------
    file : str
        Name of the file in the data folder.
    title : str
        Description in one line.
    reference : str
        Publication that describes it.
    downloads : tuple of Download
        Alternative sources.
    terms : str
        Terms of use, if there are any.
    """

    file: str
    title: str
    reference: str
    downloads: tuple[Download, ...]
    terms: str = ""


@dataclass(frozen=True, kw_only=True)
class SetRecord(Archive):
    """Archive of a data set, and the properties of the set.

    Attributes
    ----------
    name : str
    n_samples : tuple of int
        Numbers of points of known copies of the set.
    n_features : int
    labels : tuple of int
        Labels in the archive, sorted; the code of a class is its index.
    value_range : tuple of float or None
        Bounds of all values, if they are fixed.
    sparse : bool
        Whether the archive has the parts of a CSR matrix.
    splits : tuple of (int, str)
        Number of labelled points and key in the archive of each kind of published split.
    test_key : str or None
        Array of the archive that defines the official test part: ``'n_train'`` or ``'is_test'``.
    dtype : {'float64', 'float32'}
        Type of the data. Large sets have float32, which represents their grey values exactly.
    """

    name: str
    n_samples: tuple[int, ...]
    n_features: int
    labels: tuple[int, ...]
    value_range: tuple[float, float] | None = None
    sparse: bool = False
    splits: tuple[tuple[int, str], ...] = ()
    test_key: str | None = None
    dtype: str = "float64"

    @property
    def keys(self) -> tuple[str, ...]:
        """Arrays that the archive must have."""
        points = ("X_data", "X_indices", "X_indptr", "X_shape") if self.sparse else ("X",)
        splits = tuple(key for _, key in self.splits)
        return (*points, "y", *splits, *([self.test_key] if self.test_key else []))


_BOOK = "O. Chapelle, B. Schölkopf and A. Zien, Semi-Supervised Learning, 2006, ch. 21"
_BOOK_PAGE = "http://olivier.chapelle.cc/ssl-book/benchmarks.html"
_LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html"
_DIGITS = tuple(range(10))
_FACES = ("train/face/*.pgm", "train/non-face/*.pgm", "test/face/*.pgm", "test/non-face/*.pgm")


def _lds(file: str) -> dict[str, Any]:
    """Return the source of a set of the paper on low density separation."""
    return {
        "reference": "O. Chapelle and A. Zien, Semi-supervised classification by low density "
        "separation, 2005",
        "downloads": (Download((file,), "http://olivier.chapelle.cc/lds/", "matlab"),),
    }


def _libsvm(name: str) -> Download:
    return Download((name, f"{name}.t"), _LIBSVM_PAGE, "libsvm")


def _book(
    number: int,
    name: str,
    title: str,
    *,
    labels: tuple[int, int] = (-1, 1),
    sparse: bool = False,
) -> SetRecord:
    """Return the record of a set of the book, all of which have the same format."""
    # "digit1" is set 1 of the book, in ssl1_digit1.npz.
    parts = ("data", "splits,labeled=10", "splits,labeled=100")
    files = tuple(f"SSL,set={number},{part}.mat" for part in parts)
    return SetRecord(
        name=f"ssl_{name}",
        file=f"ssl{number}_{name}.npz",
        title=title,
        reference=_BOOK,
        downloads=(Download(files, _BOOK_PAGE, "matlab"),),
        n_samples=(1500,),
        n_features=11960 if sparse else 241,
        labels=labels,
        sparse=sparse,
        splits=((10, "idxLabs10"), (100, "idxLabs100")),
    )


_RECORDS = (
    SetRecord(
        name="g50c",
        file="g50c.npz",
        title="G50C: two Gaussian classes in 50 dimensions",
        **_lds("g50c.mat"),
        n_samples=(550,),
        n_features=50,
        labels=(-1, 1),
        splits=((50, "idxLabs"),),
    ),
    SetRecord(
        name="uspst",
        file="uspst.npz",
        title="USPST: 2007 handwritten digits of 16 x 16 pixels",
        **_lds("uspst.mat"),
        n_samples=(2007,),
        n_features=256,
        labels=_DIGITS,
        value_range=(-1, 1),
        splits=((50, "idxLabs"),),
    ),
    SetRecord(
        name="pcmac",
        file="pcmac_text1.npz",
        title="PCMAC (also called Text): posts of two newsgroups, words, rows of unit length",
        **_lds("text1.mat"),
        n_samples=(1946,),
        n_features=7511,
        labels=(-1, 1),
        sparse=True,
        splits=((50, "idxLabs"),),
    ),
    SetRecord(
        name="coil20",
        file="coil20.npz",
        title="COIL-20: 20 objects on a turntable, each in 72 views of 32 x 32 pixels",
        reference="S. A. Nene, S. K. Nayar and H. Murase, Columbia Object Image Library, 1996",
        downloads=(
            Download(
                ("coil-20-proc/obj*__*.png",),
                "https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php",
                "object images",
            ),
        ),
        terms="Available for research purposes, says its technical report.",
        n_samples=(1440,),
        n_features=1024,
        labels=tuple(range(20)),
        value_range=(0, 1),
    ),
    SetRecord(
        name="usps",
        file="usps_full.npz",
        title="USPS: handwritten digits from envelopes, training and test part",
        reference="T. Hastie, R. Tibshirani and J. Friedman, The Elements of Statistical "
        "Learning, 2009",
        downloads=(
            Download(
                ("zip.train", "zip.test"),
                "https://hastie.su.domains/ElemStatLearn/data.html (ZIP code)",
                "zip code",
            ),
            _libsvm("usps"),
        ),
        n_samples=(9298,),
        n_features=256,
        labels=_DIGITS,
        value_range=(-1, 1),
        test_key="n_train",
    ),
    SetRecord(
        name="mnist",
        file="mnist.npz",
        title="MNIST: handwritten digits of 28 x 28 pixels, training and test part",
        reference="Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, Gradient-based learning "
        "applied to document recognition, 1998",
        downloads=(
            Download(
                (
                    *("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
                    *("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
                ),
                "http://yann.lecun.com/exdb/mnist/",
                "idx",
            ),
            _libsvm("mnist"),
        ),
        n_samples=(70000,),
        n_features=784,
        labels=_DIGITS,
        value_range=(0, 255),
        test_key="n_train",
        dtype="float32",
    ),
    SetRecord(
        name="cbcl_face",
        file="cbcl_face.npz",
        title="CBCL faces (FACEMIT): faces and non-faces of 19 x 19 pixels, two parts",
        reference="CBCL Face Database #1, MIT Center For Biological and Computation Learning",
        downloads=(
            Download(
                _FACES,
                "http://cbcl.mit.edu/software-datasets/FaceData2.html",
                "face images",
            ),
        ),
        terms='Cite "CBCL Face Database #1, MIT Center For Biological and Computation Learning".',
        # A public copy has one test non-face fewer than the papers.
        n_samples=(31022, 31021),
        n_features=361,
        labels=(-1, 1),
        value_range=(0, 255),
        test_key="is_test",
        dtype="float32",
    ),
    _book(1, "digit1", "Digit1: artificial writings of the digit 1, classes by tilt"),
    _book(2, "usps", "USPS: digits 2 and 5 against the others"),
    _book(3, "coil2", "COIL2: views of six objects, in two groups", labels=(0, 1)),
    _book(5, "g241c", "g241c: two Gaussian classes"),
    # g241d in the book is published as g241n.
    _book(7, "g241n", "g241n (g241d in the book): four Gaussians, misleading"),
    _book(9, "text", "Text: newsgroups on computers", sparse=True),
)

RECORDS: Mapping[str, SetRecord] = MappingProxyType({record.name: record for record in _RECORDS})

LABEL_SETS = Archive(
    file="labelperm_MNIST.npz",
    title="Label sets of MNIST: 100 sets each of 1 to 5 labels per class",
    reference="J. Calder, B. Cook, M. Thorpe and D. Slepčev, Poisson learning: graph based "
    "semi-supervised learning at very low label rates, 2020",
    downloads=(
        Download(
            ("MNIST_permutations.npz",),
            "https://github.com/jwcalder/GraphLearning (LabelPermutations)",
            "label sets",
        ),
    ),
)

ARCHIVES: tuple[Archive, ...] = (*RECORDS.values(), LABEL_SETS)
