"""The sets, and the problems that the papers make of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lapwing.datasets._records import DatasetRecord, DerivedRecord, OpenMLRecord

__all__ = ["DATASETS", "DERIVED"]

_LAPSVM = "LapSVM paper"
_QN = "QN-S3VM paper"
_CONTINUATION = "continuation paper"
_EMBEDDED = "embedded-regression paper"
_LDS = "O. Chapelle and A. Zien, Semi-supervised classification by low density separation, 2005"
_LDS_HOME = "http://olivier.chapelle.cc/lds/"
_DIGITS = tuple(range(10))


def _ssl(
    name: str, archive: str, title: str, *, labels: tuple[int, int] = (-1, 1), sparse: bool = False
) -> DatasetRecord:
    """Record of a set of the benchmark of the book; all have one format."""
    return DatasetRecord(
        name=f"ssl_{name}",
        title=f"{title} (benchmark of the book Semi-Supervised Learning)",
        n_samples=1500,
        n_features=11960 if sparse else 241,
        labels=labels,
        features="words, sparse" if sparse else "real numbers",
        home="http://olivier.chapelle.cc/ssl-book/benchmarks.html",
        reference="O. Chapelle, B. Schölkopf and A. Zien, Semi-Supervised Learning, 2006, ch. 21",
        used_by=f"{_EMBEDDED}, Table II",
        archive=archive,
        sparse=sparse,
        splits=((10, "idxLabs10"), (100, "idxLabs100")),
    )


_RECORDS = (
    DatasetRecord(
        name="g50c",
        title="G50C: two Gaussian classes in 50 dimensions, with a Bayes error of 5 %",
        n_samples=550,
        n_features=50,
        labels=(-1, 1),
        features="real numbers",
        home=f"{_LDS_HOME} or http://people.cs.uchicago.edu/~vikass/manifoldregularization.html",
        reference=_LDS,
        used_by=f"{_LAPSVM}, Tables 3 to 11",
        archive="g50c.npz",
        splits=((50, "idxLabs"),),
    ),
    DatasetRecord(
        name="uspst",
        title="USPST: 2007 handwritten digits, the test split of a USPS set",
        n_samples=2007,
        n_features=256,
        labels=_DIGITS,
        features="grey values in [-1, 1] of 16 x 16 pixels",
        home=_LDS_HOME,
        reference=_LDS,
        used_by=f"{_LAPSVM} (also as USPST(B)); {_CONTINUATION}, Tables 1 to 4",
        archive="uspst.npz",
        image_shape=(16, 16),
        value_range=(-1, 1),
        splits=((50, "idxLabs"),),
    ),
    DatasetRecord(
        name="pcmac",
        title="PCMAC: posts of two of the 20 newsgroups, on Windows and on Macintosh systems",
        n_samples=1946,
        n_features=7511,
        labels=(-1, 1),
        features="words, sparse; every row has unit length",
        home=_LDS_HOME,
        reference=_LDS,
        used_by=f"{_LAPSVM} (PCMAC); {_CONTINUATION} (Text); {_QN} (TEXT)",
        archive="pcmac_text1.npz",
        sparse=True,
        splits=((50, "idxLabs"),),
    ),
    DatasetRecord(
        name="coil20",
        title="COIL20: 20 objects on a turntable, each in 72 views",
        n_samples=1440,
        n_features=1024,
        labels=tuple(range(20)),
        features="grey values in [0, 1] of 32 x 32 pixels",
        home="https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php",
        reference="S. A. Nene, S. K. Nayar and H. Murase, Columbia Object Image Library, 1996",
        used_by=f"{_LAPSVM} (also as COIL20(B)); {_CONTINUATION} and {_QN}, preprocessed otherwise",
        archive="coil20.npz",
        image_shape=(32, 32),
        value_range=(0, 1),
        terms="Available for research purposes, says its technical report.",
    ),
    DatasetRecord(
        name="usps",
        title="USPS: handwritten digits from envelopes, training and test part",
        n_samples=9298,
        n_features=256,
        labels=_DIGITS,
        features="grey values in [-1, 1] of 16 x 16 pixels",
        home="https://hastie.su.domains/ElemStatLearn/data.html (ZIP code)",
        reference="T. Hastie, R. Tibshirani and J. Friedman, The Elements of Statistical Learning",
        used_by=f"{_QN}; {_EMBEDDED} (extended USPS is made of it)",
        archive="usps_full.npz",
        image_shape=(16, 16),
        value_range=(-1, 1),
        test_key="n_train",
        openml=OpenMLRecord(
            # LIBSVM's version: digit d is called d + 1.
            41082,
            1,
            (1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644),
        ),
    ),
    DatasetRecord(
        name="mnist",
        title="MNIST: handwritten digits, training and test part",
        n_samples=70000,
        n_features=784,
        labels=_DIGITS,
        features="grey values from 0 to 255 of 28 x 28 pixels",
        home="http://yann.lecun.com/exdb/mnist/",
        reference="Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, Gradient-based learning applied "
        "to document recognition, 1998",
        used_by=f"{_LAPSVM} (MNIST3VS8); {_QN} (pairs); {_EMBEDDED} (first 60000: MNIST1, MNIST2)",
        archive="mnist.npz",
        image_shape=(28, 28),
        value_range=(0, 255),
        test_key="n_train",
        dtype="float32",
        openml=OpenMLRecord(554, 0, (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)),
    ),
    DatasetRecord(
        name="cbcl_face",
        title="CBCL faces (FACEMIT): faces (+1) and non-faces (-1), training and test part",
        n_samples=31021,  # one test non-face fewer than the papers' 31022
        n_features=361,
        labels=(-1, 1),
        features="grey values from 0 to 255 of 19 x 19 pixels",
        home="http://cbcl.mit.edu/software-datasets/FaceData2.html",
        reference="CBCL Face Database #1, MIT Center For Biological and Computation Learning",
        used_by=f"{_LAPSVM}, which trains on the test part and tests on the training part, and "
        f"{_EMBEDDED}, which joins them (both as FACEMIT, with one test non-face more)",
        archive="cbcl_face.npz",
        image_shape=(19, 19),
        value_range=(0, 255),
        test_key="is_test",
        dtype="float32",
        terms='Cite "CBCL Face Database #1, MIT Center For Biological and Computation Learning".',
    ),
    _ssl(
        "digit1", "ssl1_digit1.npz", "Digit1: artificial writings of the digit 1, classes by tilt"
    ),
    _ssl("usps", "ssl2_usps.npz", "USPS: digits 2 and 5 (+1) against the others"),
    _ssl("coil2", "ssl3_coil2.npz", "COIL2: views of six objects, in two groups", labels=(0, 1)),
    _ssl("g241c", "ssl5_g241c.npz", "g241c: two Gaussian classes"),
    _ssl("g241n", "ssl7_g241n.npz", "g241n (g241d in the book): four Gaussians, misleading"),
    _ssl("text", "ssl9_text.npz", "Text: newsgroups on computers", sparse=True),
)

DATASETS: Mapping[str, DatasetRecord] = MappingProxyType({r.name: r for r in _RECORDS})

# LapSVM paper, Section 6.1: binary problems "to discard the effects of the multiclass strategy".
DERIVED: Mapping[str, DerivedRecord] = MappingProxyType(
    {
        "uspst_b": DerivedRecord(
            "uspst", "USPST(B): digits 0 to 4 against 5 to 9", (_DIGITS[:5], _DIGITS[5:])
        ),
        "coil20_b": DerivedRecord(
            "coil20",
            "COIL20(B): the first ten objects against the last ten",
            (tuple(range(10)), tuple(range(10, 20))),
        ),
        "mnist3vs8": DerivedRecord("mnist", "MNIST3VS8: digit 3 against digit 8", ((3,), (8,))),
    }
)
