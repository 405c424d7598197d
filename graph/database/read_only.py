"""Checks that a Cypher statement only reads.

Queries run on a database that is opened read-only, which prevents changes of the graph. This check also rejects what a
read-only database still allows: reading and writing other files, loading extensions, changing settings. It checks
words, not grammar: a statement that passes may still be invalid, and the engine reports that.

Functions inside expressions are not checked: none of the engine's scalar functions and aggregates reads a file or has
an effect. They can use much time and memory, and `services.query_process` limits that.
"""

from __future__ import annotations

import re
from typing import Final

from golore.graph.errors import UsageError

_TOKEN: Final = re.compile(
    r"""
    (?P<skip> //[^\n\r]* | /\*.*?\*/ | \s+ )
  | (?P<quoted> '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | `[^`]*` )
  | (?P<unclosed> /\* | ['"`] )
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
_CALLABLE: Final = ("show_tables", "table_info", "show_connection", "stats_info", "show_functions", "db_version")
"""The table functions that describe the graph. Others read files, and crash if these are invalid, or have effects."""
_MAX_LENGTH: Final = 100_000


def require_read_only(statement: str) -> None:
    """Raise `UsageError` unless the text is one statement that reads the graph and does nothing else."""
    tokens = statement_tokens(statement)
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
        word = token.group().upper() if token.lastgroup == "word" else ""
        # `n.set`, `:Load` and `$use` are names, not clauses.
        if before not in {".", ":", "$", "|"}:
            if word in _WRITERS:
                raise UsageError(f"The query contains {word}. Only reading queries are allowed here.")
            if word == "CALL":
                _require_callable(tokens[position + 1 : position + 3])
        before = token.group()


def statement_tokens(statement: str) -> list[re.Match[str]]:
    """The words, signs, strings and quoted names, without comments and white space."""
    if len(statement) > _MAX_LENGTH:
        raise UsageError(f"The query has more than {_MAX_LENGTH:,} characters. Ask in several queries.")
    tokens: list[re.Match[str]] = []
    for match in _TOKEN.finditer(statement):
        if match.lastgroup == "unclosed":
            raise UsageError(f"The query has {match.group()} without its end. Close the string, name or comment.")
        if match.lastgroup != "skip":
            tokens.append(match)
    return tokens


def _require_callable(following: list[re.Match[str]]) -> None:
    if len(following) < 2 or following[0].lastgroup != "word" or following[1].group() != "(":
        raise UsageError("The query changes a setting with CALL. Only reading queries are allowed here.")
    name = following[0].group()
    if name.lower() not in _CALLABLE:
        raise UsageError(f"The query calls {name}. Only reading queries are allowed: CALL {', '.join(_CALLABLE)}.")
