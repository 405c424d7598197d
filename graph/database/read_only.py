"""Checks that a Cypher statement only reads.

Queries run on a database that is opened read-only, which prevents changes of the graph. This check also rejects what a
read-only database still allows: reading and writing other files, loading extensions, changing settings. It checks
words, not grammar: a statement that passes may still be invalid, and the engine reports that.
"""

from __future__ import annotations

import re
from typing import Final

from golore.graph.errors import UsageError

_TOKEN: Final = re.compile(
    r"""
    (?P<skip> //[^\n]* | /\*.*?(?:\*/|\Z) | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | `[^`]*` | \s+ )
  | (?P<word> [^\W\d]\w* )
  | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENERS: Final = frozenset({"MATCH", "OPTIONAL", "RETURN", "WITH", "UNWIND", "CALL", "EXPLAIN", "PROFILE"})
_WRITERS: Final = frozenset(
    "ALTER ANALYZE ATTACH BEGIN CHECKPOINT COMMENT COMMIT COPY CREATE DELETE DETACH DROP EXPORT FORCE IMPORT INSTALL"
    " LOAD MERGE REMOVE ROLLBACK SET UNINSTALL UPDATE USE".split()
)


def require_read_only(statement: str) -> None:
    """Raise `UsageError` unless the text is one statement that reads the graph and does nothing else."""
    tokens = [match for match in _TOKEN.finditer(statement) if match.lastgroup != "skip"]
    while tokens and tokens[-1].group() == ";":
        tokens.pop()
    if not tokens:
        raise UsageError("The query is empty. Write for example: MATCH (s:Symbol) RETURN s.qualified_name LIMIT 10")
    first = tokens[0].group().upper()
    if first not in _OPENERS:
        raise UsageError(
            f"The query begins with {first}. Only reading queries are allowed: begin with MATCH or RETURN."
        )
    if any(token.group() == ";" for token in tokens):
        raise UsageError("The query has more than one statement. Send them one by one.")
    before = ""
    for position, token in enumerate(tokens):
        word = token.group().upper()
        # `n.set`, `:Load` and `$use` are names, not clauses.
        if token.lastgroup == "word" and word in _WRITERS and before not in {".", ":", "$", "|"}:
            raise UsageError(f"The query contains {word}. Only reading queries are allowed here.")
        if word == "CALL" and not _calls_function(tokens[position + 1 : position + 3]):
            raise UsageError("The query changes a setting with CALL. Only reading queries are allowed here.")
        before = token.group()


def _calls_function(following: list[re.Match[str]]) -> bool:
    return len(following) == 2 and following[0].lastgroup == "word" and following[1].group() == "("
