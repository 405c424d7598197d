"""Summaries written by a model or a person: how they are stored and which one is current.

They are in `knowledge.db` because nothing can derive them again; the graph has a copy (see `summary_staleness`). Each
subject has one current summary, which names the one that it superseded, so that the chain can be walked. A text never
replaces one from a better source: a person ranks above an agent or a frontier model, and those above a local model.
`summary_inputs` collects what a text is written from; `composed_summaries` has the summaries that need no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.files.knowledge_db import Knowledge, Transaction
from golore.graph.knowledge import event_log
from golore.graph.knowledge.ratings import NOT_REJECTED, SUMMARY_ITEM, rate
from golore.graph.knowledge.summary_inputs import CHILD, Inputs, inputs_of, text_digest

LEVELS: Final = ("symbol", "file", "package", "repository")
"""From the bottom up: a summary may be written from those of the levels before it."""
DRAFT: Final = "draft"
REVIEWED: Final = "reviewed"
SOURCES: Final = ("model", "agent", "person")
"""Who wrote a text, lowest rank first. `agent` is a frontier model, through its agent or an API."""
LONGEST: Final = 1_200
_COLUMNS: Final = (
    "id, subject, level, text, quality, source, model, prompt, inputs, created, supersedes, current, doubt, reason"
)


class SummaryRecord(NamedTuple):
    """A stored summary. `doubt` is empty, `stale`, `suspect` or `gone`; `reason` says why."""

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
        """The quality with the doubt, if any: `reviewed`, or `draft, stale: its code has changed since`."""
        return f"{self.quality}, {self.doubt}: {self.reason}" if self.doubt else self.quality


class NewSummary(NamedTuple):
    """A new text and its origin. `prompt` is the version of the prompt, empty if there was none."""

    text: str
    quality: str
    source: str
    model: str = ""
    prompt: str = ""


class Refusal(NamedTuple):
    """A rejected text of a model, with the reason. It is stored so that the next run does not ask for it again."""

    level: str
    subject: str
    inputs: str
    model: str
    prompt: str
    reason: str


def current(knowledge: Knowledge, level: str, subject: str) -> SummaryRecord | None:
    """The current summary of a subject; None if it has none, or if a person rejected it."""
    statement = f"SELECT {_COLUMNS} FROM summaries WHERE level = ? AND subject = ? AND current AND {NOT_REJECTED}"
    return next(_records(knowledge.rows(statement, (level, subject))), None)


def all_current(knowledge: Knowledge, level: str = "") -> Iterator[SummaryRecord]:
    """The current summaries of a level, or of all levels, ordered by level and subject, without rejected ones."""
    condition = f"AND {NOT_REJECTED}{' AND level = ?' if level else ''}"
    statement = f"SELECT {_COLUMNS} FROM summaries WHERE current {condition} ORDER BY level, subject"
    return _records(knowledge.rows(statement, (level,) if level else ()))


def all_summaries(knowledge: Knowledge) -> Iterator[SummaryRecord]:
    """All summaries, also superseded ones, oldest first."""
    return _records(knowledge.rows(f"SELECT {_COLUMNS} FROM summaries ORDER BY number"))


def history(knowledge: Knowledge, level: str, subject: str) -> list[SummaryRecord]:
    """The current summary of a subject and those that it superseded, newest first."""
    statement = f"SELECT {_COLUMNS} FROM summaries WHERE level = ? AND subject = ? ORDER BY number DESC"
    return list(_records(knowledge.rows(statement, (level, subject))))


def count_with_text(knowledge: Knowledge, text: str, level: str, subject: str) -> int:
    """The number of current summaries of other subjects that contain a text, which is in lower case."""
    statement = (
        "SELECT count(*) FROM summaries WHERE current AND NOT (level = ? AND subject = ?) AND instr(lower(text), ?)"
    )
    return next(knowledge.rows(statement, (level, subject, text)))[0]


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
    """Store a text as the current summary of a subject. `expected` is the digest of the inputs that the writer saw.

    Raises `UsageError` if the graph does not have the subject or is behind its files, if the inputs are no longer
    those of `expected`, or if a better source wrote the current summary.
    """
    found = inputs_of(store, root, knowledge, level, subject)
    if found is None:
        raise UsageError(
            f"The graph does not have {subject}, or is behind its files. Run `golore learn` and try again."
        )
    if expected and expected != found.digest:
        raise UsageError(
            f"{subject} has changed since this text was written: its digest is {found.digest} now, not {expected}. "
            "Read it again and write the text from its current state."
        )
    written = store_summary(knowledge, found, NewSummary(" ".join(text.split()), quality, source, model))
    if written is None:
        existing = current(knowledge, level, subject)
        author = "A person" if existing is not None and existing.source == "person" else "A better source"
        raise UsageError(
            f"{author} has written the summary of {subject}; it was not replaced. A person can replace it."
        )
    return written


def store_summary(knowledge: Knowledge, inputs: Inputs, new: NewSummary) -> SummaryRecord | None:
    """Store a text as the current summary, in one transaction: after a kill it is stored once or not at all.

    If the current summary has the same text, source and inputs, it is returned and nothing is written. Returns None if
    a better source wrote the current summary, or if the same model and prompt wrote it from the same inputs.
    """
    with knowledge.transaction() as run:
        statement = f"SELECT {_COLUMNS} FROM summaries WHERE level = ? AND subject = ? AND current"
        last = next(_records(run.rows(statement, (inputs.level, inputs.subject))), None)
        if last is not None and not _may_follow(last, new, inputs.digest):
            return last if last.text == new.text and last.source == new.source else None
        superseded = last.id if last is not None else ""
        record = SummaryRecord(
            _summary_id(inputs, new.text, superseded),
            inputs.subject,
            inputs.level,
            new.text,
            new.quality,
            new.source,
            new.model,
            new.prompt,
            inputs.digest,
            datetime.now(UTC).isoformat(timespec="seconds"),
            superseded,
            True,
            "",
            "",
        )
        if last is not None:
            run.run("UPDATE summaries SET current = 0, doubt = '', reason = '' WHERE id = ?", (last.id,))
            run.run("DELETE FROM summary_parts WHERE summary = ?", (last.id,))
        placeholders = ", ".join("?" * len(record))
        run.run(f"INSERT INTO summaries({_COLUMNS}) VALUES ({placeholders})", record)
        run.run_many(
            "INSERT OR IGNORE INTO summary_parts(summary, kind, subject, place, digest, now) VALUES (?, ?, ?, ?, ?, ?)",
            ((record.id, *part, part.digest) for part in inputs.parts),
        )
        if new.quality == REVIEWED:
            event_log.record(run, *summary_event_parts(record, [tuple(part) for part in inputs.parts]))
        update_parents(run, record)
        add_to_counter(run, f"kept {new.quality}")
        record_change(run)
        return record


def summary_event_parts(
    record: SummaryRecord, parts: Sequence[tuple[str, ...]]
) -> tuple[str, str, str, dict[str, object]]:
    """Kind, subject, time and rest of the event of a reviewed summary: its fields that never change, and the digests of
    its inputs (kind, subject, place, digest)."""
    fields = ("id", "level", "text", "quality", "source", "model", "prompt", "inputs", "supersedes")
    more: dict[str, object] = {name: getattr(record, name) for name in fields}
    return event_log.SUMMARY, record.subject, record.created, more | {"parts": [list(part) for part in parts]}


def refuse(knowledge: Knowledge, refusal: Refusal) -> None:
    with knowledge.transaction() as run:
        values = (*refusal, datetime.now(UTC).isoformat(timespec="seconds"))
        run.run("INSERT OR REPLACE INTO summary_refusals VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        add_to_counter(run, "refused")


def reject(knowledge: Knowledge, record: SummaryRecord, by: str = "") -> None:
    """Reject a model's text: it stays in the history, but is no longer shown, and the model is not asked for it again
    while its inputs are the same. The next text of the subject takes its place."""
    rate(knowledge, f"{SUMMARY_ITEM}{record.id}", useful=False, by=by)
    refuse(knowledge, Refusal(record.level, record.subject, record.inputs, record.model, record.prompt, "rejected"))
    with knowledge.transaction() as run:
        record_change(run)


def rejected_subjects(knowledge: Knowledge) -> set[tuple[str, str]]:
    """Level and subject of the current summaries that were rejected."""
    return set(knowledge.rows(f"SELECT level, subject FROM summaries WHERE current AND NOT {NOT_REJECTED}"))


def was_refused(knowledge: Knowledge, inputs: Inputs, model: str, prompt: str) -> bool:
    statement = (
        "SELECT 1 FROM summary_refusals WHERE level = ? AND subject = ? AND inputs = ? AND model = ? AND prompt = ?"
    )
    values = (inputs.level, inputs.subject, inputs.digest, model, prompt)
    return any(True for _ in knowledge.rows(statement, values))


def add_to_counter(run: Transaction, name: str, number: int = 1) -> None:
    """Add to one of the counters that `golore status` shows."""
    run.run(
        "INSERT INTO summary_tally VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET count = count + excluded.count",
        (name, number),
    )


def record_change(run: Transaction) -> None:
    """Record that the summaries have changed since the graph's copy was made."""
    run.run("UPDATE summary_state SET number = number + 1")


def answer_counts(knowledge: Knowledge) -> dict[str, int]:
    """The counters: `answers` of models, `complaints` by kind, texts `kept` by quality, texts `refused`."""
    return dict(knowledge.rows("SELECT name, count FROM summary_tally ORDER BY name"))


def summary_counts(knowledge: Knowledge) -> dict[str, int]:
    """The number of current summaries by level and quality (`file draft`), and by doubt (`stale`)."""
    found: dict[str, int] = {}
    statement = "SELECT level, quality, doubt, count(*) FROM summaries WHERE current GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    for level, quality, doubt, number in knowledge.rows(statement):
        name = f"{level} {quality}"
        found[name] = found.get(name, 0) + number
        if doubt:
            found[doubt] = found.get(doubt, 0) + number
    return found


def _may_follow(last: SummaryRecord, new: NewSummary, inputs: str) -> bool:
    if SOURCES.index(new.source) < SOURCES.index(last.source):
        return False
    is_same = (last.text, last.source, last.inputs) == (new.text, new.source, inputs)
    is_done = new.source == "model" and (last.inputs, last.model, last.prompt) == (inputs, new.model, new.prompt)
    return not is_same and not is_done


def update_parents(run: Transaction, record: SummaryRecord) -> None:
    """Update the doubts of the summaries that were written from the previous text of this subject."""
    digest = text_digest(record.text)
    kind = f"{record.level} {CHILD}"
    run.run("UPDATE summary_parts SET now = ? WHERE kind = ? AND subject = ?", (digest, kind, record.subject))
    statement = "SELECT DISTINCT summary FROM summary_parts WHERE kind = ? AND subject = ?"
    update_doubts(run, [row[0] for row in list(run.rows(statement, (kind, record.subject)))])


def update_doubts(run: Transaction, summaries: Iterable[str]) -> list[tuple[str, str]]:
    """Set doubt and reason of these summaries from their inputs. Returns level and subject of those that changed."""
    changed: list[tuple[str, str]] = []
    for id in summaries:
        statement = "SELECT kind, subject, now FROM summary_parts WHERE summary = ? AND now <> digest ORDER BY 1, 2"
        changed_inputs = [(kind, subject, bool(now)) for kind, subject, now in run.rows(statement, (id,))]
        statement = "SELECT level, subject, doubt, reason FROM summaries WHERE id = ?"
        level, subject, *before = next(run.rows(statement, (id,)))
        doubt = _doubt(subject, changed_inputs)
        if list(doubt) != before:
            run.run("UPDATE summaries SET doubt = ?, reason = ? WHERE id = ?", (*doubt, id))
            changed.append((level, subject))
    return changed


def _doubt(subject: str, changed: Sequence[tuple[str, str, bool]]) -> tuple[str, str]:
    """Doubt and reason, from the changed inputs: the kind and subject of each, and whether it still exists."""
    if not changed:
        return "", ""
    own = [kind for kind, input_subject, _ in changed if input_subject == subject]
    if any(input_subject == subject and not exists for _, input_subject, exists in changed):
        return "gone", "what it is about is no more"
    if own:
        reason = _OWN_REASONS[own[0]]
    else:
        kind, input_subject, exists = changed[0]
        name = input_subject.rpartition("/")[2]
        reason = _OTHER_REASONS[kind.rpartition(" ")[2]].format(name) if exists else f"{name} is no more"
    more = len(changed) - 1
    reason += f" (and {more:,} more)" if more else ""
    is_suspect = all(kind == "signature" and exists for kind, _, exists in changed)
    return "suspect" if is_suspect else "stale", reason


_OWN_REASONS: Final = {
    "doc": "its documentation has changed since",
    "files": "files were added or removed since",
    "shape": "its declarations have changed since",
    "signature": "its signature has changed since",
    "source": "its code has changed since",
}
_OTHER_REASONS: Final = {
    "doc": "the documentation of {} has changed since",
    "shape": "the declarations in {} have changed since",
    "signature": "the signature of {} has changed since",
    "source": "the code of {} has changed since",
    CHILD: "the summary of {} was written anew since",
}


def _summary_id(inputs: Inputs, text: str, superseded: str) -> str:
    return text_digest("\0".join((inputs.level, inputs.subject, inputs.digest, text, superseded)))[:20]


def _records(rows: Iterable[tuple[Any, ...]]) -> Iterator[SummaryRecord]:
    for row in rows:
        found = SummaryRecord(*row)
        yield found._replace(current=bool(found.current))
