"""Lets queries sort by nearness although most nodes have no vector.

The engines sort missing values first where the largest come first, so a query for the nearest nodes would find those
without a vector. A missing similarity therefore counts as -1, the least there is.
"""

from __future__ import annotations

from typing import Final

from golore.graph.database.read_only import statement_tokens

_FUNCTION: Final = "array_cosine_similarity"


def with_least_similarity(statement: str) -> str:
    """The statement with `coalesce(…, -1.0)` around every `array_cosine_similarity(…)`."""
    tokens = statement_tokens(statement)
    insertions: list[tuple[int, str]] = []
    for position, token in enumerate(tokens[:-1]):
        if token.group().lower() != _FUNCTION or tokens[position + 1].group() != "(":
            continue
        depth = 0
        for other in tokens[position + 1 :]:
            depth += {"(": 1, ")": -1}.get(other.group(), 0)
            if depth == 0:
                insertions += [(token.start(), "coalesce("), (other.end(), ", -1.0)")]
                break
    for at, text in sorted(insertions, reverse=True):
        statement = statement[:at] + text + statement[at:]
    return statement
