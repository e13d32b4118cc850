"""What several verbs say, and how long they say it takes."""

from __future__ import annotations

import json
import re
from typing import Any

from lapwing._app import choosing
from lapwing._app.requests import LearningRequest
from lapwing._tables.tables import Table


def working(request: LearningRequest) -> str:
    """What is done, for who waits."""
    return "Choosing a method" if request.automatic else request.chosen.name


def seconds(table: Table, request: LearningRequest) -> float:
    """Seconds that a fit to the table will take."""
    return request.chosen.forecast(choosing.size_of(table)).seconds


def json_text(value: dict[str, Any]) -> str:
    """A summary as JSON, safe to print in a terminal."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    # JSON leaves these control characters as they are, and terminals act on them.
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
