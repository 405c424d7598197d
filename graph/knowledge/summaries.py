"""Summaries that a model or a person wrote: how they are kept, which one counts, and what they say on a card.

They live in `knowledge.db`, for nothing could derive them again; the graph gets a copy (see `staleness`). Of each
subject one counts, and it knows which one it has superseded, so that the chain can be walked. A text never takes the
place of one from a better source: a person goes before an agent or a frontier model, and those before a local model.
What a text is written from is `inputs`' affair; summaries that are composed from the graph are `structural`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.files.knowledge_db import Knowledge, Transaction
from golore.graph.knowledge.summary_inputs import CHILD, Inputs, inputs_of, text_digest

LEVELS: Final = ("symbol", "file", "package", "repository")
"""From the bottom up: each may be written from those before it."""
DRAFT: Final = "draft"
REVIEWED: Final = "reviewed"
SOURCES: Final = ("model", "agent", "person")
"""Who wrote a text, each before the next in rank. `agent` is a frontier model, through its agent or an API."""
LONGEST: Final = 1_200
_COLUMNS: Final = (
    "id, subject, level, text, quality, source, model, prompt, inputs, created, supersedes, current, doubt, reason"
)


class SummaryRecord(NamedTuple):
    """A summary as it is kept. `doubt` is empty, `stale`, `suspect` or `gone`, and `reason` says why."""

    id: str
    subject: str
    level: str
    text: str
    quality: str
    source: str
    model: str
    prompt: str
    inputs: str
    created: str
    supersedes: str
    current: bool
    doubt: str
    reason: str

    @property
    def standing(self) -> str:
        """The quality, and what speaks against it: `reviewed`, or `draft, stale: its code has changed since`."""
        return f"{self.quality}, {self.doubt}: {self.reason}" if self.doubt else self.quality


class Text(NamedTuple):
    """A new text, and where it comes from. `prompt` is the version of the prompt, empty where there was none."""

    text: str
    quality: str
    source: str
    model: str = ""
    prompt: str = ""


class Refusal(NamedTuple):
    """A text of a model that was not taken, with the reason: the next run does not ask for it again."""

    level: str
    subject: str
    inputs: str
    model: str
    prompt: str
    reason: str


def current(knowledge: Knowledge, level: str, subject: str) -> SummaryRecord | None:
    """The summary that counts."""
    statement = f"SELECT {_COLUMNS} FROM summaries WHERE level = ? AND subject = ? AND current"
    return next(_records(knowledge.rows(statement, (level, subject))), None)


def all_current(knowledge: Knowledge, level: str = "") -> Iterator[SummaryRecord]:
    """Those that count, in the order of their subjects."""
    chosen = "AND level = ?" if level else ""
    statement = f"SELECT {_COLUMNS} FROM summaries WHERE current {chosen} ORDER BY level, subject"
    return _records(knowledge.rows(statement, (level,) if level else ()))


def every(knowledge: Knowledge) -> Iterator[SummaryRecord]:
    """All there ever were, oldest first."""
    return _records(knowledge.rows(f"SELECT {_COLUMNS} FROM summaries ORDER BY number"))


def history(knowledge: Knowledge, level: str, subject: str) -> list[SummaryRecord]:
    """The one that counts and those it has superseded, newest first."""
    statement = f"SELECT {_COLUMNS} FROM summaries WHERE level = ? AND subject = ? ORDER BY number DESC"
    return list(_records(knowledge.rows(statement, (level, subject))))


def write_summary(
    knowledge: Knowledge,
    store: Store,
    root: Path,
    level: str,
    subject: str,
    text: str,
    *,
    quality: str = REVIEWED,
    source: str = "person",
    model: str = "",
    expected: str = "",
) -> SummaryRecord:
    """Keep a text as the summary of something that the graph has. `expected` is the digest of the inputs that its
    writer has seen: if they have changed since, the text is refused."""
    found = inputs_of(store, root, knowledge, level, subject)
    if found is None:
        raise UsageError(f"{subject} is not in the graph as it is in the files. Run `golore learn` and try again.")
    if expected and expected != found.digest:
        raise UsageError(
            f"{subject} has changed since this text was written: its digest is {found.digest} now, not {expected}. "
            "Look at it again and write from what is there."
        )
    written = store_summary(knowledge, found, Text(" ".join(text.split()), quality, source, model))
    if written is None:
        standing = current(knowledge, level, subject)
        whose = "A person" if standing is not None and standing.source == "person" else "Somebody better placed"
        raise UsageError(f"{whose} has written the summary of {subject}; it stays. A person can change it.")
    return written


def store_summary(knowledge: Knowledge, inputs: Inputs, new: Text) -> SummaryRecord | None:
    """Write it down as the one that counts; None where a better source has spoken, or the same work was done before.

    All in one transaction: killed at any moment, the text is there once or not at all.
    """
    with knowledge.transaction() as run:
        statement = f"SELECT {_COLUMNS} FROM summaries WHERE level = ? AND subject = ? AND current"
        last = next(_records(run.rows(statement, (inputs.level, inputs.subject))), None)
        if last is not None and not _may_follow(last, new, inputs.digest):
            return last if last.text == new.text and last.source == new.source else None
        before = last.id if last is not None else ""
        made = SummaryRecord(
            _identity(inputs, new.text, before),
            inputs.subject,
            inputs.level,
            new.text,
            new.quality,
            new.source,
            new.model,
            new.prompt,
            inputs.digest,
            datetime.now(UTC).isoformat(timespec="seconds"),
            before,
            True,
            "",
            "",
        )
        if last is not None:
            run.run("UPDATE summaries SET current = 0, doubt = '', reason = '' WHERE id = ?", (last.id,))
            run.run("DELETE FROM summary_parts WHERE summary = ?", (last.id,))
        marks = ", ".join("?" * len(made))
        run.run(f"INSERT INTO summaries({_COLUMNS}) VALUES ({marks})", made)
        run.run_many(
            "INSERT OR IGNORE INTO summary_parts(summary, kind, subject, place, digest, now) VALUES (?, ?, ?, ?, ?, ?)",
            ((made.id, *part, part.digest) for part in inputs.parts),
        )
        _tell_parents(run, made)
        count(run, f"kept {new.quality}")
        record_change(run)
        return made


def refuse(knowledge: Knowledge, refusal: Refusal) -> None:
    with knowledge.transaction() as run:
        values = (*refusal, datetime.now(UTC).isoformat(timespec="seconds"))
        run.run("INSERT OR REPLACE INTO summary_refusals VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        count(run, "refused")


def was_refused(knowledge: Knowledge, inputs: Inputs, model: str, prompt: str) -> bool:
    statement = (
        "SELECT 1 FROM summary_refusals WHERE level = ? AND subject = ? AND inputs = ? AND model = ? AND prompt = ?"
    )
    values = (inputs.level, inputs.subject, inputs.digest, model, prompt)
    return any(True for _ in knowledge.rows(statement, values))


def count(run: Transaction, name: str, number: int = 1) -> None:
    """One of the figures that `golore status` shows."""
    run.run(
        "INSERT INTO summary_tally VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET count = count + excluded.count",
        (name, number),
    )


def record_change(run: Transaction) -> None:
    """Note that the summaries are no longer what the graph's copy was made from."""
    run.run("UPDATE summary_state SET number = number + 1")


def tally(knowledge: Knowledge) -> dict[str, int]:
    """What became of the texts of models so far: how many were asked for, complained of, kept, refused."""
    return dict(knowledge.rows("SELECT name, count FROM summary_tally ORDER BY name"))


def standings(knowledge: Knowledge) -> dict[str, int]:
    """How many summaries count, by level and quality, and how many of them are in doubt."""
    found: dict[str, int] = {}
    statement = "SELECT level, quality, doubt, count(*) FROM summaries WHERE current GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    for level, quality, doubt, number in knowledge.rows(statement):
        name = f"{level} {quality}"
        found[name] = found.get(name, 0) + number
        if doubt:
            found[doubt] = found.get(doubt, 0) + number
    return found


def _may_follow(last: SummaryRecord, new: Text, inputs: str) -> bool:
    if SOURCES.index(new.source) < SOURCES.index(last.source):
        return False
    is_same = (last.text, last.source, last.inputs) == (new.text, new.source, inputs)
    is_done = new.source == "model" and (last.inputs, last.model, last.prompt) == (inputs, new.model, new.prompt)
    return not is_same and not is_done


def _tell_parents(run: Transaction, made: SummaryRecord) -> None:
    """Those that were written from the text before this one have an input that is another now."""
    digest = text_digest(made.text)
    kind = f"{made.level} {CHILD}"
    run.run("UPDATE summary_parts SET now = ? WHERE kind = ? AND subject = ?", (digest, kind, made.subject))
    statement = "SELECT DISTINCT summary FROM summary_parts WHERE kind = ? AND subject = ?"
    update_doubts(run, [row[0] for row in list(run.rows(statement, (kind, made.subject)))])


def update_doubts(run: Transaction, summaries: Iterable[str]) -> list[tuple[str, str]]:
    """Say of each of these whether its inputs are what they were; level and subject of those of which that is new."""
    changed: list[tuple[str, str]] = []
    for id in summaries:
        statement = "SELECT kind, subject, now FROM summary_parts WHERE summary = ? AND now <> digest ORDER BY 1, 2"
        others = [(kind, subject, bool(now)) for kind, subject, now in run.rows(statement, (id,))]
        statement = "SELECT level, subject, doubt, reason FROM summaries WHERE id = ?"
        level, subject, *before = next(run.rows(statement, (id,)))
        doubt = _doubt(subject, others)
        if list(doubt) != before:
            run.run("UPDATE summaries SET doubt = ?, reason = ? WHERE id = ?", (*doubt, id))
            changed.append((level, subject))
    return changed


def _doubt(subject: str, others: Sequence[tuple[str, str, bool]]) -> tuple[str, str]:
    """From the inputs that are others than they were: kind, whose it is, and whether that is still there."""
    if not others:
        return "", ""
    own = [kind for kind, whose, _ in others if whose == subject]
    if any(whose == subject and not there for _, whose, there in others):
        return "gone", "what it is about is no more"
    if own:
        reason = _OWN[own[0]]
    else:
        kind, whose, there = others[0]
        name = whose.rpartition("/")[2]
        reason = _OTHERS[kind.rpartition(" ")[2]].format(name) if there else f"{name} is no more"
    more = len(others) - 1
    reason += f" (and {more:,} more)" if more else ""
    is_suspect = all(kind == "signature" and there for kind, _, there in others)
    return "suspect" if is_suspect else "stale", reason


_OWN: Final = {
    "doc": "its documentation has changed since",
    "files": "files were added or removed since",
    "shape": "its declarations have changed since",
    "signature": "its signature has changed since",
    "source": "its code has changed since",
}
_OTHERS: Final = {
    "doc": "the documentation of {} has changed since",
    "shape": "the declarations in {} have changed since",
    "signature": "the signature of {} has changed since",
    "source": "the code of {} has changed since",
    CHILD: "the summary of {} was written anew since",
}


def _identity(inputs: Inputs, text: str, before: str) -> str:
    return text_digest("\0".join((inputs.level, inputs.subject, inputs.digest, text, before)))[:20]


def _records(rows: Iterable[tuple[Any, ...]]) -> Iterator[SummaryRecord]:
    for row in rows:
        found = SummaryRecord(*row)
        yield found._replace(current=bool(found.current))
