"""Verbs of the ``lapwing`` command, one per file.

Only `lapwing._app.cli` imports them, because they need typer.
"""

from lapwing._app.verbs.app import run

# The help lists the verbs in the order of these imports.
# isort: off
from lapwing._app.verbs import fit
from lapwing._app.verbs import tune
from lapwing._app.verbs import compare
from lapwing._app.verbs import suggest
from lapwing._app.verbs import label
from lapwing._app.verbs import predict
from lapwing._app.verbs import report
from lapwing._app.verbs import info
from lapwing._app.verbs import demo
# isort: on

__all__ = ["compare", "demo", "fit", "info", "label", "predict", "report", "run", "suggest", "tune"]
