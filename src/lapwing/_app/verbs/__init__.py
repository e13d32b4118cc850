"""The verbs of the ``lapwing`` command, one a file.

Only `lapwing._app.cli` imports them, as they need typer.
"""

from lapwing._app.verbs.app import run

# The help lists the verbs in the order in which they are imported.
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
