"""Data sets for learning from few labels, and functions that hide labels.

`make_two_moons`, `make_clock`, `make_gaussian2c` and `make_gaussian4c` draw the synthetic sets of
the papers that lapwing implements. `load_mnist`, `load_mnist3vs8` and `load_usps` fetch
handwritten digits from OpenML. `mask_labels` hides the labels of a fully labelled set, and
`group_classes` joins or leaves out classes. `open_rows` opens points on disk to fit to.
"""

from lapwing._rows.registry import open_rows
from lapwing.datasets._masking import group_classes, mask_labels
from lapwing.datasets._openml import load_mnist, load_mnist3vs8, load_usps
from lapwing.datasets._synthetic import make_clock, make_gaussian2c, make_gaussian4c, make_two_moons

__all__ = [
    "group_classes",
    "load_mnist",
    "load_mnist3vs8",
    "load_usps",
    "make_clock",
    "make_gaussian2c",
    "make_gaussian4c",
    "make_two_moons",
    "mask_labels",
    "open_rows",
]
