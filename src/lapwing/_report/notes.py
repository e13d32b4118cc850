"""What a reader should look at first: findings in words, the gravest first."""

from __future__ import annotations

from typing import Any

from lapwing._report.text import number, percent, plural
from lapwing._words import listed

# The last says what is so without judging it.
_ORDER = {"problem": 0, "look": 1, "good": 2, "open": 3}
_DECIDED = 0.05
_SETTLED = ("converged", "precision reached", "stopped early")
_VOLUME_FACTOR = 4.0
_SPREAD_FACTOR = 5.0
_LARGE_SHARE = 0.5
_NAMED = 5


def write_notes(report: dict[str, Any]) -> list[dict[str, str]]:
    """Write the findings of a report's figures: 'problem', 'look', 'good', or else 'open'."""
    fitted = report["fitted"]
    advice = fitted["advice"]
    found = [
        *_about_solver(report["convergence"], advice["smoother"]),
        *_about_graph(report["graph"], fitted["taught_by"]),
        *_about_twin(report["twin"]),
        *_about_truth(report["truth"], advice["less"]),
    ]
    if report["kind"] == "classification":
        found += _about_classes(report["volumes"], report["rows"], advice["less"])
        found += [("look", fitted["margin_note"])] if fitted["margin_note"] else []
    else:
        found += _about_spread(report["volumes"], advice["closer"])
    return [
        {"level": level, "text": text}
        for level, text in sorted(found, key=lambda note: _ORDER[note[0]])
    ]


def _about_solver(facts: dict[str, Any], smoother: str) -> list[tuple[str, str]]:
    if facts["status"] in _SETTLED:
        return [("good", f"The solver {_ended(facts)}.")]
    cure = f"Raise max_iter or tol, or use {smoother}." if facts["max_iter"] else ""
    return [
        (
            "problem",
            f"The solver ended as “{facts['status']}” after "
            f"{plural(facts['n_iter'], 'iteration')}: the answers may still change. {cure}".strip(),
        )
    ]


def _ended(facts: dict[str, Any]) -> str:
    verb = {"precision reached": "reached the precision of its arithmetic"}.get(
        facts["status"], facts["status"]
    )
    return f"{verb} after {plural(facts['n_iter'], 'iteration')}"


def _about_graph(graph: dict[str, Any], taught_by: str) -> list[tuple[str, str]]:
    if not graph:
        # That none was asked for is no news where the rows teach by other means.
        return [] if taught_by else [("look", "The unlabelled rows taught the fit nothing.")]
    found = []
    n = graph["n_without"]
    if n:
        parts = f"{plural(n, 'part')} of the graph ({plural(graph['points_without'], 'point')})"
        found.append(
            (
                "look",
                f"{parts} {'holds' if n == 1 else 'hold'} no label: answers there rest on the "
                "kernel alone. Label a row in each, or raise graph.n_neighbors.",
            )
        )
    else:
        found.append(("good", "Every part of the graph holds at least one label."))
    if graph["isolated"]:
        alone = plural(graph["isolated"], "point")
        found.append(("look", f"{alone} without any neighbour in the graph."))
    return found


def _about_twin(twin: dict[str, Any]) -> list[tuple[str, str]]:
    if "n_differ" not in twin:
        return []
    rows = plural(twin["n_unlabeled"], "unlabelled row")
    if not twin["n_differ"]:
        return [
            (
                "look",
                f"The supervised twin gives the same class to all {rows}: the unlabelled rows "
                "made no difference.",
            )
        ]
    return [
        (
            "look" if twin["share"] > _LARGE_SHARE else "open",
            f"From the labels alone {percent(twin['share'])} of {rows} would get another class.",
        )
    ]


def _about_spread(volumes: dict[str, Any], closer: str) -> list[tuple[str, str]]:
    labels, rows = volumes["labels"]["std"], volumes["rows"]["std"]
    if rows * _SPREAD_FACTOR >= labels:
        return []
    return [
        (
            "problem",
            f"The predictions hardly vary: their standard deviation is {number(rows)}, that of "
            f"the labels {number(labels)}. A smaller {closer} lets the function follow the labels.",
        )
    ]


def _about_classes(
    volumes: dict[str, Any], rows: dict[str, Any], less: str
) -> list[tuple[str, str]]:
    listed = [c for c in volumes["classes"] if c["labels"]]
    total = sum(c["unlabeled"] for c in volumes["classes"])
    found = []
    everywhere = [c["name"] for c in listed if total and c["unlabeled"] == total]
    empty = [c for c in listed if total and not c["unlabeled"]]
    nowhere = [c["name"] for c in empty if not c.get("full")]  # that, the user said
    single = [c["name"] for c in listed if c["labels"] == 1]
    if everywhere:
        found.append(
            (
                "problem",
                f"Every unlabelled row was given the class {_names(everywhere)}. Look at the "
                f"scales of the columns and at gamma, or try {less}.",
            )
        )
    elif nowhere:
        which = "class" if len(nowhere) == 1 else "classes"
        found.append(
            (
                "problem",
                f"No unlabelled row was given the {which} {_names(nowhere)}. Label more rows of "
                f"{'it' if len(nowhere) == 1 else 'them'}, or try {less}.",
            )
        )
    for c in listed:
        if 0 < c["row_share"] * _VOLUME_FACTOR < c["label_share"] and c["unlabeled"] and total:
            found.append(
                (
                    "look",
                    f"The class {_names([c['name']])} has {percent(c['label_share'])} of the "
                    f"labels but {percent(c['row_share'])} of the rows.",
                )
            )
    if single:
        which = "The class" if len(single) == 1 else "Each of the classes"
        found.append(("look", f"{which} {_names(single)} was learnt from a single label."))
    if rows["n_denied"]:
        worst = rows["denied"][0]
        n = rows["n_denied"]
        found.append(
            (
                "look",
                f"{plural(n, 'labelled row')} {'gets' if n == 1 else 'get'} another class than the "
                f"label says, most clearly row {worst['id']} (margin {number(worst['margin'])}). "
                "Check these labels.",
            )
        )
    return found


def _names(names: list[str]) -> str:
    shown = [f"“{name}”" for name in names]
    if len(shown) > _NAMED:
        return listed(shown, _NAMED)
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _about_truth(truth: dict[str, Any], less: str) -> list[tuple[str, str]]:
    if not truth.get("n") or truth["p_value"] is None:
        return []
    if "rmse" in truth:
        ours, twins = truth["rmse"], truth["twin"].get("rmse")
        words = f"their root mean square error is {number(twins)} instead of {number(ours)}"
    else:
        ours, twins = truth["error"], truth["twin_error"]
        words = f"{_share(truth, 'twin_')} would be wrong instead of {_share(truth, '')}"
    if truth["p_value"] >= _DECIDED or twins == ours:
        return [
            (
                "open",
                f"From the labels alone {words}: too small a difference to say whether the "
                "unlabelled rows help.",
            )
        ]
    if twins > ours:
        return [("good", f"The unlabelled rows help: from the labels alone {words}.")]
    return [("problem", f"The unlabelled rows mislead: from the labels alone {words}. Try {less}.")]


def _share(truth: dict[str, Any], whose: str) -> str:
    return f"{plural(truth[f'{whose}errors'], 'row')} ({percent(truth[f'{whose}error'])})"
