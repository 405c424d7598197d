"""The history of a symbol, which unfolds on its page: the commits that its current lines are from, as git blames them.

As `golore recent SYMBOL` prints it. The store must not stay open for that: git may take seconds for a long history.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from golore.graph.errors import UsageError
from golore.graph.history.recent_commits import RecentCommits, date_of
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.checkout.content_digest import digest as digest_of
from golore.learner.checkout.git_activity import blame_of, current_commits
from golore.mcp_server.view.learned_lines import LearnedLines, learned_lines
from golore.mcp_server.view.rendering import Page
from golore.mcp_server.view.visit import Visit

_COMMITS: Final = 20


class Span(NamedTuple):
    """The lines of a declaration, in the file with this digest."""

    file: str
    digest: str
    first: int
    last: int


class LineCommit(NamedTuple):
    """A commit that lines are from. `is_oldest`: the clone is shallow, and they may be older."""

    date: str
    author: str
    subject: str
    lines: int
    is_oldest: bool


def spans_of(visit: Visit, text: str) -> list[Span]:
    """The declarations of a symbol in the repository."""
    matches = visit.opened.names.find(text)
    if len(matches.meanings) != 1:
        raise UsageError(f"{text} names no symbol, or several.")
    ids = [symbol.id for symbol in matches.meanings[0].symbols if not symbol.external]
    rows = visit.store.rows("MATCH (s:Symbol) WHERE s.id IN $ids RETURN s.file, s.line, s.end_line", {"ids": ids})
    lines = sorted(rows)
    given = {"paths": sorted({file for file, *_ in lines})}
    digests = dict(visit.store.rows("MATCH (f:File) WHERE f.id IN $paths RETURN f.id, f.digest", given))
    return [Span(file, digests[file], first, last) for file, first, last in lines if file in digests]


def history_part(visit: Visit, spans: Sequence[Span]) -> Page:
    """The commits of each declaration. Does not need the open store."""
    repository = visit.opened.repository
    with current_commits(repository.root, repository.store) as recent:
        found = [(f"{span.file}:{span.first}", _commits(visit, recent, span)) for span in spans]
    return Page("history.html", "", {"declarations": found, "most": _COMMITS})


def _commits(visit: Visit, recent: RecentCommits, span: Span) -> list[LineCommit] | None:
    """None if it is not known which lines of the file are those of the declaration, or which commits they are from."""
    root = visit.opened.repository.root
    try:
        data = read_regular(root / span.file, SOURCE_LIMIT, follow=True)
    except OSError:
        return None
    is_current = digest_of(data) == span.digest
    text = data.decode("utf-8", "replace")
    places = LearnedLines() if is_current else learned_lines(root, span.file, span.digest, text)
    blame = blame_of(root, recent, span.file) if places is not None else None
    lines = [now for line in range(span.first, span.last + 1) if (now := places.current(line))] if places else []
    if blame is None or not lines:
        return None
    return [
        LineCommit(date_of(one.time) if one.id else "", one.author, one.subject, count, one.id in recent.roots)
        for one, count in blame.changes(lines[0], lines[-1])
    ]
