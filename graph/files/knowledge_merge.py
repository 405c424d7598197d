"""Two stores that know of the same things: what counts when the knowledge of one is added to that of the other.

Runs in the transaction that adds the rows, on the knowledge here (`main`) and a copy of the other (`incoming`), and
may run again after a kill. Of two summaries of one subject the one from the better source counts, or else the newer
one, and the other is kept as history. A note that was forgotten here does not come back.
"""

from __future__ import annotations

from typing import Final

from golore.graph.files.knowledge_db import Transaction

_RANK: Final = "CASE {0}.source WHEN 'person' THEN 2 WHEN 'agent' THEN 1 ELSE 0 END"
"""In the order of `summaries.SOURCES`."""
_SAME: Final = "i.level = l.level AND i.subject = l.subject AND i.id <> l.id"
_BEFORE: Final = (
    f"""
    UPDATE main.summaries AS l SET current = 0, doubt = '', reason = '' WHERE current AND EXISTS (
        SELECT 1 FROM incoming.summaries i WHERE i.current AND {_SAME}
        AND ({_RANK.format("i")}, i.created) > ({_RANK.format("l")}, l.created)
        AND i.id NOT IN (SELECT id FROM main.summaries))
    """,
    f"""
    UPDATE incoming.summaries AS i SET current = 0, doubt = '', reason = '' WHERE current AND EXISTS (
        SELECT 1 FROM main.summaries l WHERE l.current AND {_SAME})
    """,
    # One text has one successor: a chain that was continued on both sides goes on with ours.
    """
    UPDATE incoming.summaries AS i SET supersedes = '' WHERE supersedes <> '' AND EXISTS (
        SELECT 1 FROM main.summaries l WHERE l.supersedes = i.supersedes AND l.id <> i.id)
    """,
    "DELETE FROM incoming.notes WHERE id IN (SELECT id FROM main.forgotten_notes)",
)
_AFTER: Final = (
    "DELETE FROM main.summary_parts WHERE summary NOT IN (SELECT id FROM main.summaries WHERE current)",
    "DELETE FROM main.forgotten_notes WHERE id IN (SELECT id FROM main.notes)",
)


def before_adding(write: Transaction) -> None:
    for statement in _BEFORE:
        write.run(statement)


def after_adding(write: Transaction) -> None:
    """What was said of rows that did not come is dropped."""
    for statement in _AFTER:
        write.run(statement)
