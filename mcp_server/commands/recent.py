"""`golore recent`: prints the newest commits, the branch and uncommitted changes; for a file or symbol, its authors.

Commits are read from the cache, which is updated when HEAD has moved. Uncommitted changes are read from git each time.
Line numbers are those of the current file; those of a symbol are from the last learn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.errors import UsageError
from golore.graph.history.recent_commits import RecentCommit, RecentCommits, date_of
from golore.graph.phrases import counted, listed
from golore.learner.checkout.git_activity import (
    GitHead,
    Uncommitted,
    blame_of,
    current_commits,
    git_head_of,
    uncommitted,
)
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.services.targets import find_file, find_go_file, only_meaning
from golore.mcp_server.text.ages import age
from golore.mcp_server.text.output import columns, print_answer, print_json

_SHOWN: Final = 20
_AUTHORS: Final = 5


class BlameLine(NamedTuple):
    """A commit, and the number of current lines that are from it."""

    change: RecentCommit
    lines: int


class RecentAnswer(NamedTuple):
    """The history of the repository, a file or a symbol. `lines`: the commits that its current lines are from."""

    subject: str
    checkout: GitHead
    pending: tuple[Uncommitted, ...]
    commits: tuple[RecentCommit, ...]
    lines: tuple[BlameLine, ...]
    is_shallow: bool


def run_recent(target: str, start: Path, *, as_json: bool, limit: int) -> int:
    repository = find_repository(start)
    root = repository.root.resolve()
    checkout = git_head_of(root)
    with current_commits(root, repository.store) as recent:
        path = find_file(root, target, (Path.cwd(), start.resolve())) if target else ""
        if target.endswith(".go") and not path:
            with open_repository(start) as opened:
                path = find_go_file(opened, target)
        if target and not path:
            answers = _symbol_answers(repository, recent, checkout, target, start, limit)
        else:
            answers = [_answer(root, recent, checkout, path, limit)]
    if as_json:
        documents = [_document(answer) for answer in answers]
        print_json(documents[0] if len(documents) == 1 else {"declarations": documents})
    else:
        print_answer(line for answer in answers for line in _lines(answer, int(time.time())))
    return 0


def _answer(root: Path, recent: RecentCommits, checkout: GitHead, path: str, limit: int) -> RecentAnswer:
    """The answer for a file, or for the repository if `path` is empty."""
    pending = uncommitted(root, path or ".") if checkout.is_repository else ()
    if not path:
        return RecentAnswer("", checkout, pending, tuple(recent.commits(limit)), (), bool(recent.roots))
    commits = recent.commits_of(path, limit)
    blame = blame_of(root, recent, path) if checkout.head else None
    lines = tuple(BlameLine(*item) for item in blame.changes()) if blame is not None else ()
    return RecentAnswer(path, checkout, pending, tuple(commits), lines, bool(recent.roots))


def _symbol_answers(
    repository: LearnedRepository, recent: RecentCommits, checkout: GitHead, target: str, start: Path, limit: int
) -> list[RecentAnswer]:
    root = repository.root.resolve()
    with open_repository(start) as opened:
        store = opened.store
        warn_if_stale(repository.root, store)
        symbols = [symbol for symbol in only_meaning(opened, target).symbols if not symbol.external]
        statement = "MATCH (s:Symbol {id: $id}) RETURN s.end_line"
        ends = {one.id: next(store.rows(statement, {"id": one.id}))[0] for one in symbols}
    if not symbols:
        raise UsageError(
            f"{target} is declared outside the repository, so git has no history of it. Name a symbol declared here."
        )
    answers: list[RecentAnswer] = []
    for symbol in symbols:
        blame = blame_of(root, recent, symbol.file) if checkout.head else None
        changes = blame.changes(symbol.line, ends[symbol.id]) if blame is not None else []
        commits = tuple(change for change, _ in changes if change.id)[:limit]
        subject = f"{symbol.qualified_name} ({symbol.file}:{symbol.line})"
        own = uncommitted(root, symbol.file) if checkout.is_repository else ()
        lines = tuple(BlameLine(*item) for item in changes)
        answers.append(RecentAnswer(subject, checkout, own, commits, lines, bool(recent.roots)))
    return answers


def _document(answer: RecentAnswer) -> dict[str, Any]:
    checkout = answer.checkout
    return {
        "subject": answer.subject,
        "repository": checkout.is_repository,
        "branch": checkout.branch,
        "head": checkout.head,
        "shallow": answer.is_shallow,
        "uncommitted": [{"status": one.status.strip(), "path": one.path} for one in answer.pending],
        "commits": [_commit(change, checkout) for change in answer.commits],
        "lines": [{**_commit(line.change, checkout), "lines": line.lines} for line in answer.lines],
    }


def _commit(change: RecentCommit, checkout: GitHead) -> dict[str, Any]:
    when = datetime.fromtimestamp(change.time, UTC).isoformat().replace("+00:00", "Z")
    fields = {"commit": change.id, "time": when, "author": change.author, "subject": change.subject}
    return {**fields, "or_before": True} if change.id in checkout.roots else fields


def _lines(answer: RecentAnswer, now: int) -> Iterator[str]:
    checkout = answer.checkout
    if not checkout.is_repository:
        yield "This is not a git repository, so there is no history."
        return
    branch = f"On branch {checkout.branch}" if checkout.branch else "HEAD is detached"
    if not checkout.head:
        yield f"{branch}: there are no commits yet."
        return
    if answer.subject:
        yield answer.subject
    yield f"{branch}, at {checkout.head[:10]}."
    if answer.is_shallow:
        yield "The clone is shallow: changes attributed to its oldest commits may be older."
    yield from _pending(answer)
    if answer.commits:
        yield "Commits, newest first:"
        yield from columns([_row(change, checkout, now) for change in answer.commits])
    elif not answer.pending:
        yield "No commits of it are known." if answer.subject else "No commit has changed Go files."
    if answer.lines:
        yield from _authors(answer.lines)


def _pending(answer: RecentAnswer) -> Iterator[str]:
    if answer.subject:
        if answer.pending:
            yield "It has uncommitted changes."
    elif answer.pending:
        yield f"{counted(len(answer.pending), 'file')} with uncommitted changes:"
        yield from (f"  {one.status} {one.path}" for one in answer.pending[:_SHOWN])
        if len(answer.pending) > _SHOWN:
            yield f"  and {len(answer.pending) - _SHOWN:,} more"
    else:
        yield "Everything is committed."


def _row(change: RecentCommit, checkout: GitHead, now: int) -> Sequence[str]:
    before = "in or before " if change.id in checkout.roots else ""
    return (before + date_of(change.time), age(now - change.time), change.id[:10], change.author, change.subject)


def _authors(lines: Sequence[BlameLine]) -> Iterator[str]:
    """The authors of the current lines, most lines first."""
    counts: dict[str, int] = {}
    for line in lines:
        name = line.change.author if line.change.id else "not committed"
        counts[name] = counts.get(name, 0) + line.lines
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    authors = listed([f"{name} {number:,}" for name, number in ordered], _AUTHORS)
    yield f"Current lines by author: {authors}"
