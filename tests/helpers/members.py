"""Shared suites and the registries whose members they run over."""

from __future__ import annotations

from collections.abc import Collection


def check_examples(
    examples: Collection[str], members: Collection[str], *, registry: str, place: str
) -> None:
    """Fail if a member of a registry has no example in a suite, or an example no member.

    Parameters
    ----------
    examples : collection of str
        Names that the suite has examples of.
    members : collection of str
        Names that the registry holds.
    registry : str
        Name of the registry, with its module.
    place : str
        Where the examples are, as the reader finds them: a name and a file.
    """
    missing = [name for name in members if name not in examples]
    assert not missing, f"{registry} holds {_listed(missing)}: add an example to {place}"
    unknown = [name for name in examples if name not in members]
    assert not unknown, (
        f"{place} has {_listed(unknown)}, which {registry} does not hold: "
        "register it, or take the example out"
    )


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))
