"""Commands that are killed at random moments, with all their processes, do no harm.

After each kill the store opens, has every note that was acknowledged, and no file outside the store has changed; of an
agent's settings there is the old content or the new. After every few kills each command runs to its end: then no
temporary file is left, and the graph equals that of a fresh learn.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.notes import all_notes
from golore.learner.pipeline.graph_step import learn_graph
from support.fake_ollama import FakeOllama, fake_ollama
from support.forking import Forks
from support.torture_tree import NOTER, Tree, learned_part, left_behind, source
from support.watching import exported, until

SETTINGS = {
    ".claude/settings.json": '{\n  // mine\n  "permissions": {"allow": ["Bash(go test:*)"]}\n}\n',
    ".claude.json": '{"numStartups": 7, "history": ["' + "long " * 20_000 + '"]}\n',
}
COMMANDS: tuple[str, ...] = ("learn", "watch", "note", "summarize", "import", "restore", "install")
AGENT_FILES = tuple(f"home/{name}" for name in SETTINGS)
PACE = 0.05
"""Seconds between two edits of a file while a command runs."""
LONGEST = 3.0
"""Seconds after which a command is killed at the latest."""
EVERY = 35
"""The number of killed commands after which each command runs to its end."""


PACKAGES = 4
NOTES = 4
"""The number of notes that one process writes."""


class Known(NamedTuple):
    """What must not be lost: the texts of notes by id, and the ids of summaries."""

    notes: dict[str, str]
    summaries: frozenset[str]

    def is_in(self, other: Known) -> bool:
        return self.notes.items() <= other.notes.items() and self.summaries <= other.summaries


class Room:
    """A repository, the home directory of its user, and the commands."""

    def __init__(self, directory: Path, server: FakeOllama, forks: Forks, seed: int) -> None:
        self.directory = directory
        self.chance = random.Random(seed)
        self.tree = Tree(directory / "m", PACKAGES)
        self.root = self.tree.root
        self.store = self.root / ".golore"
        self.home = directory / "home"
        self.killed: Counter[str] = Counter()
        self.version = 0
        self._server = server
        self._forks = forks
        self._out = directory / "out"
        self._err = directory / "err"
        self._times = dict.fromkeys(COMMANDS, 1.0)
        """how long a command is expected to run, in seconds"""
        self._noter = directory / "noter.py"
        self._noter.write_text(NOTER)
        for name, text in {**SETTINGS, ".bashrc": "alias l=ls\n", "thesis.tmp": "mine"}.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._golore("learn", self.root)
        self._golore(*self._words("note")[0])
        self._golore("snapshot", "early", "--repo", self.root)
        self._golore("export", "--repo", self.root, "--output", directory / "early.jsonl")
        self._golore("export", "--repo", self.root, "--output", directory / "early", "--format", "parquet")
        self._bystanders = self._outside()
        self.early = self.known()
        self._settings = {name: {text} for name, text in SETTINGS.items()}
        for words in (("install", "claude"), ("uninstall", "claude")):
            self._golore(*words, "--scope", "user", "--yes", "--repo", self.root)
            for name, texts in self._settings.items():
                texts.add((self.home / name).read_text())
        assert all(len(texts) == 2 for texts in self._settings.values())

    def kill_one(self, command: str) -> None:
        """Run a command, kill it at a random moment, and check what it left."""
        before = self.known()
        words, replaced = self._words(command)
        began = time.monotonic()
        deadline = began + self.chance.uniform(0.05, 1.0) * self._times[command]
        process = self._start(words)
        while time.monotonic() < deadline and is_running(process):
            self._edit(command)
            time.sleep(min(PACE, max(0.0, deadline - time.monotonic())))  # until the moment of the kill
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        code = self._forks.wait()
        if code == -signal.SIGKILL:
            self.killed[command] += 1
            self._times[command] = min(self._times[command] * 1.1, LONGEST)
        else:
            self._times[command] = time.monotonic() - began
            assert code == 0, f"{command}: exit {code}: {self._err.read_text()}"
        assert until(lambda: not left_behind(self.root)), left_behind(self.root)
        self._check(command, before, replaced)

    def run_all(self) -> None:
        """Run each command to its end. Nothing may be left of those that were killed."""
        for command in self.chance.sample(COMMANDS, len(COMMANDS)):
            self._run_to_end(command)
        found = {path.relative_to(self.directory).as_posix() for path in self.directory.rglob("*.tmp*")}
        assert found == {"home/thesis.tmp"}
        learn_graph(self.root, workers=0)
        fresh = self.directory / "fresh"
        learn_graph(self.root, store_directory=fresh, workers=0)
        assert learned_part(exported(self.store)) == learned_part(exported(fresh))
        shutil.rmtree(fresh)

    def known(self) -> Known:
        with Knowledge.open(self.store) as knowledge:
            notes = {note.id: note.text for note in all_notes(knowledge)}
            return Known(notes, frozenset(id for (id,) in knowledge.rows("SELECT id FROM summaries")))

    def _words(self, command: str) -> tuple[list[str | Path], tuple[Known, ...]]:
        """The command line, and what the store may know after it instead of what it knew."""
        repo: list[str | Path] = ["--repo", self.root]
        is_other = self.chance.random() < 0.5
        match command:
            case "learn":
                return ["learn", self.root, *(["--full"] if is_other else [])], ()
            case "watch":
                return ["watch", "--json", self.root], ()
            case "note":
                seed = self.chance.randrange(1 << 30)
                return [self._noter, self.root, *map(str, (PACKAGES, seed, NOTES))], ()
            case "summarize":
                if is_other:
                    learn_graph(self.root, workers=0)
                return ["summarize", "--host", self._server.host, "--model", "tiny", *repo], ()
            case "import":
                export = self.directory / self.chance.choice(("early", "early.jsonl"))
                words = ["import", export, *repo]
                return ([*words, "--replace"], (self.early,)) if is_other else (words, ())
            case "restore":
                return ["restore", "early", *repo], (self.early,)
            case _:
                action = "uninstall" if is_other else "install"
                return [action, "claude", "--scope", "user", "--yes", *repo], ()

    def _start(self, words: list[str | Path]) -> int:
        return self._forks.start([str(word) for word in words], self._out, self._err)

    def _golore(self, *words: str | Path) -> None:
        self._start(list(words))
        code = self._forks.wait()
        assert code == 0, f"{words}: exit {code}: {self._err.read_text()}"

    def _run_to_end(self, command: str) -> None:
        """Run a command that is not killed, and check what it left."""
        before = self.known()
        words, replaced = self._words(command)
        self._edit(command)
        process = self._start(words)
        if command == "watch":
            assert until(lambda: '"watching"' in self._out.read_text() or not is_running(process))
            os.kill(process, signal.SIGINT)
        code = self._forks.wait()
        assert code == 0, f"{command}: exit {code}: {self._err.read_text()}"
        self._check(command, before, replaced)

    def _edit(self, command: str) -> None:
        """Change a file, as a user does while golore runs."""
        if command in ("learn", "watch", "summarize"):
            self.version += 1
            self.tree.write(self.chance.randrange(PACKAGES), self.version)

    def _check(self, command: str, before: Known, replaced: tuple[Known, ...]) -> None:
        with Store.open(self.store, write=False) as store:
            assert next(store.rows("MATCH (f:File) RETURN count(f)"))[0] == PACKAGES
        now = self.known()
        assert before.is_in(now) or now in replaced, (
            f"{command} lost {sorted(before.notes.items() - now.notes.items())}"
        )
        if command == "note":
            out = self._out.read_text()
            acknowledged = [json.loads(line) for line in out[: out.rfind("\n") + 1].splitlines()]
            assert not [line for line in acknowledged if line[0]]
            notes = [json.loads(said)["note"] for _, said, _ in acknowledged]
            assert {note["id"]: note["text"] for note in notes}.items() <= now.notes.items()
        for name, texts in self._settings.items():
            assert (self.home / name).read_text() in texts
            with suppress(FileNotFoundError):
                assert (self.home / f"{name}.golore-backup").read_text() == SETTINGS[name]
        assert self._outside() == self._bystanders

    def _outside(self) -> dict[str, bytes]:
        """The files outside the store, by name, but for those that change on purpose."""
        mine = {"out", "err"}
        found: dict[str, bytes] = {}
        for path in sorted(self.directory.rglob("*")):
            name = path.relative_to(self.directory).as_posix()
            if self.store in path.parents or name in mine or name.startswith(AGENT_FILES) or not path.is_file():
                continue
            is_edited = path.name == "p.go" and path.read_text() == source(
                int(path.parent.name[1:]), self.tree.versions[int(path.parent.name[1:])]
            )
            found[name] = b"" if is_edited else path.read_bytes()
        return found


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], Counter[str]]:
    """Makes a room and kills commands in it: so many, in an order of so many's seed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(kills: int, seed: int) -> Counter[str]:
        (tmp_path / "room").mkdir()
        with fake_ollama() as server, Forks(HOME=str(tmp_path / "room" / "home")) as forks:
            room = Room(tmp_path / "room", server, forks, seed)
            unchecked = 0
            while room.killed.total() < kills:
                order = room.chance.sample(COMMANDS, len(COMMANDS))
                for command in order:
                    room.kill_one(command)
                unchecked += len(order)
                (tmp_path / "counts.json").write_text(json.dumps(room.killed))  # for those who wait
                if unchecked >= EVERY:
                    room.run_all()
                    unchecked = 0
            if unchecked:
                room.run_all()
        print(f"seed {seed}: {room.killed.total()} kills, {sorted(room.killed.items())}")  # for a run with -s
        return room.killed

    return run


def test_ten_random_kills_do_no_harm(kill: Callable[[int, int], Counter[str]]) -> None:
    assert kill(10, 0).total() >= 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_a_quarter_of_a_thousand_random_kills_does_no_harm(kill: Callable[[int, int], Counter[str]], seed: int) -> None:
    assert set(kill(250, seed)) == set(COMMANDS)
