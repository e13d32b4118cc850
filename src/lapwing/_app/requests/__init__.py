"""What a verb is asked to do: its options, checked, as one frozen value; one file a verb.

An option is named twice: where `lapwing._app.verbs` declares it, and as a field here. All else
takes the request. A new option is a parameter there, a field here, and its use.
"""

from lapwing._app.requests.base import FilledRequest, LabeledRequest, TableRequest
from lapwing._app.requests.compare import CompareRequest
from lapwing._app.requests.fit import DEFAULT_METHOD, FitRequest, fit_command
from lapwing._app.requests.info import InfoRequest
from lapwing._app.requests.label import LabelRequest
from lapwing._app.requests.learning import LearningRequest
from lapwing._app.requests.outputs import Outputs
from lapwing._app.requests.predict import PredictRequest
from lapwing._app.requests.suggest import SuggestRequest
from lapwing._app.requests.tune import TuneRequest

__all__ = [
    "DEFAULT_METHOD",
    "CompareRequest",
    "FilledRequest",
    "FitRequest",
    "InfoRequest",
    "LabelRequest",
    "LabeledRequest",
    "LearningRequest",
    "Outputs",
    "PredictRequest",
    "SuggestRequest",
    "TableRequest",
    "TuneRequest",
    "fit_command",
]
