"""A team exchanges notes through files of the repository or a lake: nothing is lost, nothing conflicts, and what a
stranger wrote is neither believed nor read unasked."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.event_directory import DIRECTORY_NAME, EventDirectory
from golore.graph.knowledge.event_log import Event, all_events, event_id, make_event
from golore.graph.knowledge.event_reading import BadEvent, read_event
from golore.graph.knowledge.event_replay import add_received
from golore.graph.knowledge.notes import (
    Anchor,
    NewNote,
    PinnedNote,
    all_notes,
    chain_of,
    confirm,
    forget,
    note_of,
    set_done,
    supersede,
    write_notes,
)
from golore.graph.knowledge.ratings import rate, rated_items, remove_ratings
from golore.graph.lake.bucket import open_lake
from golore.graph.lake.lake_events import LakeEvents
from golore.mcp_server.cli.main import main
from golore.mcp_server.services.knowledge.team_notes import Exchange, sync_events
from support.git_repository import commit, git
from support.learned_tree import copy_repository
from support.note_repository import Bank, card, make_bank

PEOPLE = 20
SAVE = "example.com/bank/ledger.Post"
ANCHOR = Anchor("symbol", SAVE, SAVE, "ledger/ledger.go", "symbol", SAVE, SAVE, "ledger/ledger.go", "d1", "d1")
STATE = ("notes", "note_successions", "note_holds", "ratings", "forgotten_notes", "events")


class Person:
    """A store of its own, which exchanges events with the checkout."""

    def __init__(self, directory: Path, root: Path) -> None:
        self.store = directory
        directory.mkdir(parents=True)
        self.root = root

    def note(self, text: str, kind: str = "decision", supersedes: str = "") -> str:
        with Knowledge.open(self.store) as knowledge:
            return write_notes(knowledge, [NewNote(kind, text, "ann", ANCHOR, supersedes=supersedes)])[0]

    def notes(self) -> dict[str, PinnedNote]:
        with Knowledge.open(self.store) as knowledge:
            return {note.text: note for note in all_notes(knowledge)}

    def events(self) -> list[Event]:
        with Knowledge.open(self.store) as knowledge:
            return list(all_events(knowledge))

    def sync(self) -> Exchange:
        return sync_events(self.store, EventDirectory(self.root))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "bank"
    root.mkdir()
    git(root, "init", "-q")
    commit(root, {"go.mod": "module example.com/bank\n"})
    return root


def person(tmp_path: Path, root: Path, name: str) -> Person:
    return Person(tmp_path / "stores" / name, root)


def test_twenty_branches_of_notes_merge_without_a_conflict_and_none_is_missing(tmp_path: Path, root: Path) -> None:
    asked = person(tmp_path, root, "asked")
    task = asked.note("Measure it.", "task")
    asked.sync()
    commit(root, {})
    for number in range(PEOPLE):
        git(root, "checkout", "-q", "-b", f"b{number}", "main")
        one = person(tmp_path, root, f"p{number}")
        one.sync()
        one.note(f"Decision {number}.")
        with Knowledge.open(one.store) as knowledge:
            set_done(knowledge, task)
            confirm(knowledge, task, ANCHOR._replace(written=f"d{number}"), now=f"2126-11-18T10:00:{number:02}Z")
        assert one.sync().sent["note"] == 1
        commit(root, {})
    git(root, "checkout", "-q", "main")
    for number in range(PEOPLE):
        git(root, "merge", "-q", "--no-edit", f"b{number}")  # raises if there is a conflict
    asked.sync()
    notes = asked.notes()
    assert notes.keys() == {"Measure it.", *(f"Decision {number}." for number in range(PEOPLE))}
    assert notes["Measure it."].status == "done"
    assert notes["Measure it."].confirmed == f"2126-11-18T10:00:{PEOPLE - 1:02}Z"
    assert asked.sync() == Exchange({}, {}, 0, ())


def test_two_people_may_supersede_one_note(tmp_path: Path, root: Path) -> None:
    ann, bob = person(tmp_path, root, "ann"), person(tmp_path, root, "bob")
    old = ann.note("Old.")
    ann.sync()
    bob.sync()
    ids = {ann.note("Ann's.", supersedes=old), bob.note("Bob's.", supersedes=old)}
    for one in (ann, bob, ann):
        one.sync()
    for one in (ann, bob):
        assert set(one.notes()["Old."].newer.split(", ")) == ids
        with Knowledge.open(one.store) as knowledge:
            chain = [note.text for note in chain_of(knowledge, note_of(knowledge, old))]
        assert (chain[-1], set(chain)) == ("Old.", {"Old.", "Ann's.", "Bob's."})


def test_notes_that_supersede_each_other_are_still_listed(tmp_path: Path, root: Path) -> None:
    ann, bob = person(tmp_path, root, "ann"), person(tmp_path, root, "bob")
    one, other = ann.note("One."), ann.note("Other.")
    ann.sync()
    bob.sync()
    for who, newer, older in ((ann, one, other), (bob, other, one)):
        with Knowledge.open(who.store) as knowledge:
            supersede(knowledge, newer, older)
    for who in (ann, bob, ann):
        who.sync()
    with Knowledge.open(ann.store) as knowledge:
        assert {note.text for note in chain_of(knowledge, note_of(knowledge, one))} == {"One.", "Other."}


def test_a_forgotten_note_is_gone_everywhere_and_does_not_come_back(tmp_path: Path, root: Path) -> None:
    ann, bob = person(tmp_path, root, "ann"), person(tmp_path, root, "bob")
    secret = ann.note("The door code is on the fridge.")
    ann.sync()
    bob.sync()
    with Knowledge.open(bob.store) as knowledge:
        confirm(knowledge, secret, ANCHOR)
    with Knowledge.open(ann.store) as knowledge:
        forget(knowledge, secret)
    for one in (bob, ann, bob, ann):
        one.sync()
    assert ann.notes() == bob.notes() == {}
    texts = "".join(path.read_text() for path in (root / DIRECTORY_NAME).iterdir())
    assert "fridge" not in texts
    assert [event.kind for event in bob.events()] == ["forgotten"]


def test_ratings_are_exchanged_and_can_be_taken_back(tmp_path: Path, root: Path) -> None:
    ann, bob = person(tmp_path, root, "ann"), person(tmp_path, root, "bob")
    with Knowledge.open(ann.store) as knowledge:
        rate(knowledge, "ledger/ledger.go", useful=True, by="ann")
    ann.sync()
    bob.sync()
    with Knowledge.open(bob.store) as knowledge:
        assert [one.item for one in rated_items(knowledge)] == ["ledger/ledger.go"]
        remove_ratings(knowledge, "ledger/ledger.go")
    bob.sync()
    ann.sync()
    with Knowledge.open(ann.store) as knowledge:
        assert rated_items(knowledge) == []


def test_the_order_in_which_events_arrive_does_not_matter(tmp_path: Path, root: Path) -> None:
    ann, bob = person(tmp_path, root, "ann"), person(tmp_path, root, "bob")
    first, second, third = ann.note("First."), ann.note("Second.", "task"), ann.note("Third.")
    ann.note("Fourth.", supersedes=third)
    with Knowledge.open(ann.store) as knowledge:
        set_done(knowledge, second)
        rate(knowledge, SAVE, useful=False, by="ann")
    ann.sync()
    bob.sync()
    with Knowledge.open(bob.store) as knowledge:
        confirm(knowledge, first, ANCHOR._replace(home="moved", file="ledger/moved.go", written="d2"), now=LATER)
        forget(knowledge, third)
        rate(knowledge, SAVE, useful=True, by="bob")
        remove_ratings(knowledge)
    events = [*ann.events(), *bob.events()]
    states: set[str] = set()
    for seed in range(12):
        order = list(events)
        random.Random(seed).shuffle(order)
        cut = random.Random(seed).randrange(len(order))
        other = person(tmp_path, root, f"order{seed}")
        with Knowledge.open(other.store) as knowledge:
            add_received(knowledge, order[:cut])
            add_received(knowledge, order[cut:])
            add_received(knowledge, order)
            states.add(state(knowledge))
    assert len(states) == 1


LATER = "2027-01-01T00:00:00Z"


def state(knowledge: Knowledge) -> str:
    """Everything but the counters of changes."""
    found: dict[str, list[Any]] = {}
    for table in STATE:
        columns = [
            row[1] for row in knowledge.rows(f"PRAGMA table_info({table})") if row[1] not in ("revision", "number")
        ]
        found[table] = sorted(knowledge.rows(f"SELECT {', '.join(columns)} FROM {table}"))
    return json.dumps(found)


def test_what_a_stranger_wrote_is_checked_and_left_out_with_a_sentence(tmp_path: Path, root: Path) -> None:
    ann = person(tmp_path, root, "ann")
    ann.note("True.")
    ann.sync()
    (event,) = ann.events()
    folder = root / DIRECTORY_NAME
    first, second, third, fourth = (folder / f"{number:032x}.json" for number in range(4))  # before any real id
    (folder / f"{event.id}.json").rename(first)  # its text is not what its name says
    second.write_bytes(b"\xff{")
    third.symlink_to("/etc/passwd")
    fourth.mkdir()
    outside = event.body | {"anchor": event.body["anchor"] | {"file": "../../.ssh/id_rsa"}}
    newer = event.body | {"golore": 9}
    for body in (outside, newer):
        made = make_event("note", event.subject, event.at, body)
        (folder / f"{made.id}.json").write_text(made.text)
    bob = person(tmp_path, root, "bob")
    exchange = bob.sync()
    assert exchange.received == {}
    assert bob.notes() == {}
    assert sum("was changed after it was written" in message for message in exchange.messages) == 1
    assert sum("is not an event" in message for message in exchange.messages) == 1
    assert sum("cannot be read" in message for message in exchange.messages) == 2
    assert sum("newer golore" in message or "no golore writes" in message for message in exchange.messages) == 1
    assert any("1 more event" in message for message in exchange.messages)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"anchor": {"card_path": "/etc/passwd"}}, "fields"),
        ({"anchor": {"level": "planet"}}, "fields"),
        ({"anchor": {"size": -1}}, "fields"),
        ({"text": ""}, "no text"),
        ({"text": "x" * 5_000}, "too long"),
        ({"author": "ann\n\x1b[2J"}, "fields"),
        ({"note": "order"}, "fields"),
        ({"tags": "none"}, "is not an event"),
        ({"at": "yesterday"}, "fields"),
    ],
)
def test_fields_that_no_golore_writes_are_refused(
    tmp_path: Path, root: Path, changed: dict[str, Any], reason: str
) -> None:
    ann = person(tmp_path, root, "ann")
    ann.note("True.")
    body = ann.events()[0].body
    body |= {name: body[name] | value if isinstance(value, dict) else value for name, value in changed.items()}
    made = make_event("note", body["subject"], body["at"], body)
    with pytest.raises(BadEvent, match=reason):
        read_event(made.id, made.text.encode())


@pytest.mark.parametrize(
    "odd", ["[" * 2_000 + "]" * 2_000, "[" * 30 + "1" + "]" * 30, "1" * 5_000, "1e999", "NaN", '"\\ud800"', '"\\u0061"']
)
def test_an_event_that_golore_would_have_written_otherwise_is_left_out(tmp_path: Path, root: Path, odd: str) -> None:
    text = make_event("done", "0" * 16, "2026-11-18T10:00:00+00:00", {"odd": "X"}).text.replace('"X"', odd)
    ann = person(tmp_path, root, "ann")
    EventDirectory(root).write(event_id(text), text.encode())
    for _ in range(2):
        found = ann.sync()
        assert (found.received, found.sent) == ({}, {})
        assert "so it was left out" in found.messages[0]


def test_a_rating_of_a_newer_golore_is_not_sent_again(tmp_path: Path, root: Path) -> None:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    event = make_event("rated", "note:1", at, {"useful": True, "by": "ann", "more": 1})
    EventDirectory(root).write(event.id, event.text.encode())
    bob = person(tmp_path, root, "bob")
    assert bob.sync() == Exchange({"rated": 1}, {}, 0, ())
    assert bob.sync() == Exchange({}, {}, 0, ())


def test_a_note_with_a_secret_stays_here(tmp_path: Path, root: Path) -> None:
    ann = person(tmp_path, root, "ann")
    ann.note("Use the key AKIAIOSFODNN7QWERTYU for the bucket.")
    ann.note("Fine.")
    exchange = ann.sync()
    assert exchange.sent == {"note": 1}
    assert "secret" in exchange.messages[0]


def test_notes_from_before_events_are_sent(tmp_path: Path, root: Path) -> None:
    ann, bob = person(tmp_path, root, "ann"), person(tmp_path, root, "bob")
    old = ann.note("Old.")
    ann.note("New.", supersedes=old)
    with sqlite3.connect(ann.store / "knowledge.db") as connection:
        connection.execute("DELETE FROM events")  # as in a store that an earlier golore wrote
    assert ann.sync().sent == {"note": 2, "superseded": 1}
    bob.sync()
    assert bob.notes()["Old."].status == "superseded"


def test_a_lake_carries_the_same_events(tmp_path: Path, root: Path) -> None:
    (tmp_path / "lake").mkdir()
    ann, bob = person(tmp_path, root, "ann"), person(tmp_path, root, "bob")
    ann.note("Through the lake.")
    place = LakeEvents(open_lake(str(tmp_path / "lake")), "example.com/team/bank")
    assert sync_events(ann.store, place).sent == {"note": 1}
    assert sync_events(bob.store, place).received == {"note": 1}
    assert bob.notes().keys() == {"Through the lake."}
    assert not (root / DIRECTORY_NAME).exists()


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_bank(tmp_path_factory.mktemp("team") / "bank")
    assert main(["learn", str(root), "--workers", "0"]) == 0
    return root


def test_received_notes_are_on_cards_after_the_command_and_not_before(
    learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ann, bob = (Bank(copy_repository(learned, tmp_path / name), capsys) for name in ("ann", "bob"))
    ann.run("note", "Post", "--kind", "decision", "Postings are final.")
    assert ann.run("notes", "sync")["sent"] == {"note": 1}
    shutil.copytree(ann.root / DIRECTORY_NAME, bob.root / DIRECTORY_NAME)
    bob.run("learn")
    assert "Postings are final." not in card(bob.root / ".golore", "ledger/ledger.go")
    assert bob.run("notes", "sync")["received"] == {"note": 1}
    assert "Postings are final." in card(bob.root / ".golore", "ledger/ledger.go")
