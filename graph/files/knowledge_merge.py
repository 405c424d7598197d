"""Resolves conflicts when the knowledge of another store is added to the current one.

The statements run in the transaction that adds the rows, on the current knowledge (`main`) and a copy of the other
(`incoming`), and may run again after a kill. Of two summaries of one subject, the one from the better source is
current, or the newer one if the sources are equal; the other is kept as history. A note that was forgotten in the
current store is not added again.
"""

from __future__ import annotations

from typing import Final

from golore.graph.files.knowledge_db import Transaction

SOURCE_ORDER: Final = "CASE {0}.source WHEN 'person' THEN 2 WHEN 'agent' THEN 1 ELSE 0 END"
"""In the order of `knowledge.summaries.SOURCES`."""
_SAME_SUBJECT: Final = "i.level = l.level AND i.subject = l.subject AND i.id <> l.id"
_BEFORE: Final = (
    f"""
    UPDATE main.summaries AS l SET current = 0, doubt = '', reason = '' WHERE current AND EXISTS (
        SELECT 1 FROM incoming.summaries i WHERE i.current AND {_SAME_SUBJECT}
        AND ({SOURCE_ORDER.format("i")}, i.created) > ({SOURCE_ORDER.format("l")}, l.created)
        AND i.id NOT IN (SELECT id FROM main.summaries))
    """,
    f"""
    UPDATE incoming.summaries AS i SET current = 0, doubt = '', reason = '' WHERE current AND EXISTS (
        SELECT 1 FROM main.summaries l WHERE l.current AND {_SAME_SUBJECT})
    """,
    # A summary has one successor: if both sides have continued a chain, the current store's successor is used.
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


def resolve_conflicts(write: Transaction) -> None:
    """Decide which summaries stay current, and drop incoming notes that were forgotten here."""
    for statement in _BEFORE:
        write.run(statement)


def remove_orphans(write: Transaction) -> None:
    """Delete the parts of summaries that are not current, and the rows in `forgotten_notes` whose notes exist."""
    for statement in _AFTER:
        write.run(statement)
