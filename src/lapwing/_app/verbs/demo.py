"""``lapwing demo``: a comparison on the digits of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing._app import console
from lapwing._app.console import StageDisplay, say
from lapwing._app.demo import draw_demo, run_demo
from lapwing._app.verbs.app import Command, app
from lapwing._host.files import atomic_write, check_writable
from lapwing._host.modules import require


@app.command(cls=Command)
def demo(
    output: Annotated[Path, typer.Option(help="The picture to write (.png, .pdf or .svg).")] = Path(
        "lapwing-demo.png"
    ),
    labels_per_class: Annotated[
        int, typer.Option(min=1, max=100, help="How many labels each of the ten digits gets.")
    ] = 3,
    draws: Annotated[
        int, typer.Option(min=1, help="How many times the labels are drawn; errors are averaged.")
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed for the draws.")] = 0,
) -> None:
    """Compare LapSVC with a supervised SVM and LabelSpreading on handwritten digits."""
    if output.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"cannot write {output}: the extension must be .png, .pdf or .svg.")
    check_writable(output)
    shown = StageDisplay(quiet=False)
    with shown.stage("Fitting three methods"):
        result = run_demo(labels_per_class, draws, seed)
    typer.echo(console.describe_demo(result), nl=False)
    try:
        require("matplotlib", extra="plot", purpose="The picture")
    except ImportError as missing:
        # The comparison has been printed; the picture is optional.
        say(f"No picture: {missing}")
        return
    with shown.stage("Drawing the picture"):
        figure = draw_demo(result)
        with atomic_write(output) as temporary:
            figure.savefig(temporary, format=output.suffix[1:].lower(), dpi=150)
    say(f"Picture: {output.resolve()}")
