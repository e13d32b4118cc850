"""Which method: follow the questions from the top to the first yes."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from lapwing.plotting import PALETTE

QUESTIONS = (
    ("Hundreds of labels per class,\nor few rows without one?", "A supervised model"),
    ("Numbers to predict?", "FewLabelRegressor;\nmany rows: LapERLSRegressor"),
    ("No idea what your\nclasses look like?", "FewLabelClassifier"),
    ("Sparse text, or clusters with\nfew points between them?", "S3VC"),
    ("One to five labels per class,\nand you know their sizes?", "BalancedGraphClassifier"),
    ("More than 12,000 rows?", "LapERLSClassifier;\nlittle time: AnchorGraphClassifier"),
    ("Three labels per class,\nand up to 5,000 rows?", "LapSVCCV"),
)
LAST = "LapSVC"
STEP, WIDTH, RIGHT = 1.5, 3.5, 4.45


def draw(ink: str) -> Figure:
    height = STEP * len(QUESTIONS) + 0.9
    figure = Figure(figsize=(6.6, 0.8 * height), layout="constrained")
    axes = figure.add_subplot(xlim=(-0.05, 8.0), ylim=(-height + 0.1, 0.75))
    axes.set_axis_off()
    for i, (question, answer) in enumerate(QUESTIONS):
        y = -STEP * i
        box(axes, 0.0, y, WIDTH, question, ink, PALETTE[0])
        box(axes, RIGHT, y, WIDTH, answer, ink, PALETTE[1], is_answer=True)
        arrow(axes, (WIDTH + 0.05, y), (RIGHT - 0.05, y), "yes", ink)
        arrow(axes, (WIDTH / 2, y - 0.5), (WIDTH / 2, y - STEP + 0.5), "no", ink)
    box(axes, 0.0, -STEP * len(QUESTIONS), WIDTH, LAST, ink, PALETTE[1], is_answer=True)
    return figure


def box(axes, left, middle, width, text, ink, edge, *, is_answer=False):
    patch = FancyBboxPatch(
        (left + 0.08, middle - 0.4), width - 0.16, 0.8, boxstyle="round,pad=0.08,rounding_size=0.2",
        facecolor=edge + "22", edgecolor=edge, linewidth=1.4,
    )  # fmt: skip
    axes.add_patch(patch)
    axes.text(left + width / 2, middle, text, ha="center", va="center", color=ink,
              fontsize=10.5, fontweight="bold" if is_answer else "normal")  # fmt: skip


def arrow(axes, start, end, word, ink):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": ink, "linewidth": 1.2})
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    shift = (0, 0.14) if start[1] == end[1] else (0.28, 0)
    axes.text(x + shift[0], y + shift[1], word, ha="center", va="center", color=ink, fontsize=10)
