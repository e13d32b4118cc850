"""Data sets of the papers, with their published splits, and the synthetic ones.

The real sets are not part of lapwing. `load_dataset` and the functions named after the sets look
for an archive in the folder `data_home`, or in the one that the environment variable
``LAPWING_DATA_HOME`` names. MNIST and USPS are fetched from OpenML when there is no archive. For
any other set the error names the archive and the address of the set.

An archive is what ``numpy.savez_compressed`` writes, of plain arrays without pickles:

=========================================== =====================================================
``X``                                       points, one a row; times ``x_scale`` where that exists
``X_data, X_indices, X_indptr, X_shape``    the parts of a CSR matrix, in the place of ``X``
``y``                                       labels as in the original file
``idxLabs``, ``idxLabs10``, ``idxLabs100``  published splits: 0-based rows of the labelled points,
                                            one split a row; all other points are unlabelled
``n_train`` or ``is_test``                  the official parts: the number of training points,
                                            which come first, or a mask of the test points
=========================================== =====================================================

`DATASETS` says what each archive holds. The synthetic sets (`make_two_moons`, `make_clock`,
`make_gaussian2c`, `make_gaussian4c`) are drawn, and need no file.
"""

from lapwing.datasets._catalogue import DATASETS
from lapwing.datasets._grouping import group_classes
from lapwing.datasets._loading import load_dataset, load_mnist_label_sets
from lapwing.datasets._masking import mask_labels
from lapwing.datasets._named import (
    load_cbcl_face,
    load_coil20,
    load_coil20_b,
    load_g50c,
    load_mnist,
    load_mnist3vs8,
    load_pcmac,
    load_ssl_benchmark,
    load_usps,
    load_uspst,
    load_uspst_b,
)
from lapwing.datasets._records import DatasetRecord
from lapwing.datasets._synthetic import (
    make_clock,
    make_gaussian2c,
    make_gaussian4c,
    make_two_moons,
)

__all__ = [
    "DATASETS",
    "DatasetRecord",
    "group_classes",
    "load_cbcl_face",
    "load_coil20",
    "load_coil20_b",
    "load_dataset",
    "load_g50c",
    "load_mnist",
    "load_mnist3vs8",
    "load_mnist_label_sets",
    "load_pcmac",
    "load_ssl_benchmark",
    "load_usps",
    "load_uspst",
    "load_uspst_b",
    "make_clock",
    "make_gaussian2c",
    "make_gaussian4c",
    "make_two_moons",
    "mask_labels",
]
