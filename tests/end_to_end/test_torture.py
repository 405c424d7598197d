"""Everything at once on one store, with processes killed at random: no wrong answer, no lost note, no harm.

The tree changes one file at a time, by renames, so each answer about a file has to be the truth of one of the states
that the file was in. Readers ask through the command line's own functions, each in a process of its own; a watch, the
learns and the hooks are the real commands. Whoever is killed is started again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from support.note_repository import kept
from support.torture_tree import NOTER, PACKAGES, Tree, learned_part, left_behind
from support.watching import GOLORE, exported, until

READER = """
import contextlib, io, json, random, sys
from golore.mcp_server.cli.main import main
root, packages, count, seed = sys.argv[1], *map(int, sys.argv[2:])
chance = random.Random(seed)
for _ in range(count):
    package = chance.randrange(packages)
    words = chance.choice((
        ["callees", f"p{package}.Root", "--json"],
        ["impact", f"p{package}.Last", "--json"],
        ["query", f"MATCH (f:File)-[:CONTAINS]->(s:Symbol) WHERE f.path = 'p{package}/p.go' RETURN s.name", "--json",
            "--seconds", "600"],
    ))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*words, "--repo", root])
    print(json.dumps([package, words[0], code, out.getvalue(), err.getvalue()]), flush=True)
"""
POLITE = (" is using it. Wait until it is done", " is being written by another process. ")
"""What a refusal says."""


class Torture:
    """The processes, and what was wrong with what they said."""

    def __init__(self, tree: Tree, room: Path, questions: int, seed: int) -> None:
        self.tree = tree
        self.chance = random.Random(seed)
        self.wrong: list[str] = []
        self.seen: Counter[str] = Counter()
        self.noted: dict[str, str] = {}
        """the texts of notes that were said to be kept, by id"""
        self.left = Counter[str]()
        self.is_killing = True
        self._room = room
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._questions = questions
        self._read: dict[str, int] = {}
        self._started = 0

    def start(self, name: str) -> None:
        """Begin what a name stands for: `watch`, `learn 2`, `reader 0`, `noter 1` or `hook 7`."""
        kind = name.split()[0]
        self._started += 1
        command: list[str | Path] = [GOLORE, "learn", self.tree.root]
        if kind == "watch":
            command = [GOLORE, "watch", "--json", self.tree.root]
        elif kind == "hook":
            command = [GOLORE, "hook", "claude"]
        elif kind == "reader":
            numbers = (PACKAGES, self.left[name], self._started)
            command = [sys.executable, self._room / "reader.py", self.tree.root, *map(str, numbers)]
        elif kind == "noter":
            numbers = (PACKAGES, self._started, 20)
            command = [sys.executable, self._room / "noter.py", self.tree.root, *map(str, numbers)]
        elif self.chance.random() < 0.2:
            command.append("--full")
        out, err = self._room / f"{name}.out", self._room / f"{name}.err"
        with out.open("w") as to_out, err.open("w") as to_err:
            self._running[name] = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=to_out,
                stderr=to_err,
                text=True,
                start_new_session=True,
            )
        process = self._running[name]
        assert process.stdin is not None
        if kind == "hook":
            process.stdin.write(self._opened_file())
        process.stdin.close()
        self._read[name] = 0

    def _opened_file(self) -> str:
        path = self.tree.root / f"p{self.chance.randrange(PACKAGES)}/p.go"
        event = {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": str(path)}}
        return json.dumps({**event, "session_id": f"s{self._started}", "cwd": str(self.tree.root)})

    def kill_one(self) -> None:
        name = self.chance.choice(sorted(self._running))
        process = self._running[name]
        if process.poll() is None:
            if self.chance.random() < 0.5:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            self.seen["kills"] += 1

    def look_after(self) -> None:
        """Take down what was said, and start again what has ended as long as it is wanted."""
        for name, process in list(self._running.items()):
            code = process.poll()
            self._listen(name)
            if code is not None:
                del self._running[name]
                self._judge_end(name, code)
                if self.is_wanted(name):
                    self.start(name)

    def is_wanted(self, name: str) -> bool:
        """The watch and the readers go on until all is asked, the others as long as there are kills."""
        kind = name.split()[0]
        return self.left[name] > 0 if kind == "reader" else kind == "watch" or self.is_killing

    def _listen(self, name: str) -> None:
        if not name.startswith(("reader", "noter")):
            return
        text = (self._room / f"{name}.out").read_text()[self._read[name] :]
        text = text[: text.rfind("\n") + 1]
        self._read[name] += len(text)
        for line in text.splitlines():
            if name.startswith("noter"):
                self._hear_note(*json.loads(line))
                continue
            package, question, code, out, err = json.loads(line)
            self.left[name] -= 1
            self.seen["answers"] += 1
            if code == 0 and not self.tree.is_true(package, question, out):
                self.wrong.append(f"{question} p{package}: {out}")
            elif code and not self._is_polite(err):
                self.wrong.append(f"{question} p{package}: exit {code}: {err}")

    def _hear_note(self, code: int, out: str, err: str) -> None:
        if code == 0:
            note = json.loads(out)["note"]
            self.noted[note["id"]] = note["text"]
            self.seen["notes"] += 1
        elif not self._is_polite(err):
            self.wrong.append(f"note: exit {code}: {err}")

    def _is_polite(self, said: str) -> bool:
        """A refusal may only be ours, and say who is in the way."""
        expected = ("Learning", "Reading", "Resolving", "Storing")
        lines = [line for line in said.splitlines() if not line.startswith(expected) and "since the last" not in line]
        if len(lines) == 1 and any(phrase in lines[0] for phrase in POLITE):
            self.seen["refusals"] += 1
            return True
        return False

    def _judge_end(self, name: str, code: int) -> None:
        kind = name.split()[0]
        said = (self._room / f"{name}.err").read_text()
        self.seen[f"{kind} ends"] += 1
        if code == -signal.SIGKILL:
            return
        if kind == "watch":
            # Where another one still holds the place of one that was killed, the new one must say so.
            if not self._is_polite(said):
                self.wrong.append(f"{name}: exit {code}: {said}")
        elif kind == "hook":
            out = (self._room / f"{name}.out").read_text()
            if code or said or (out and not isinstance(json.loads(out), dict)):
                self.wrong.append(f"{name}: exit {code}: {out} {said}")
        elif code and not self._is_polite(said):
            self.wrong.append(f"{name}: exit {code}: {said}")

    def end(self) -> None:
        for name, process in self._running.items():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._listen(name)


def run_torture(
    room: Path, *, readers: int, questions: int, learners: int, noters: int, hooks: int, seconds: float
) -> Torture:
    tree = Tree(room / "m")
    learn_graph(tree.root, workers=0)
    (room / "reader.py").write_text(READER)
    (room / "noter.py").write_text(NOTER)
    torture = Torture(tree, room, questions, seed=1)
    names = [
        "watch",
        *(f"learn {number}" for number in range(learners)),
        *(f"hook {number}" for number in range(hooks)),
        *(f"noter {number}" for number in range(noters)),
    ]
    for number in range(readers):
        torture.left[f"reader {number}"] = questions
        names.append(f"reader {number}")
    for name in names:
        torture.start(name)
    began = killed = time.monotonic()
    version = 0
    try:
        while not torture.wrong and (torture.is_killing or any(count > 0 for count in torture.left.values())):
            # On a busy machine the first note may take longer than that.
            torture.is_killing = time.monotonic() - began < seconds or not (torture.noted or torture.wrong)
            version += 1
            tree.write(torture.chance.randrange(PACKAGES), version)
            if torture.is_killing and time.monotonic() - killed > 1:
                killed = time.monotonic()
                torture.kill_one()
            torture.look_after()
            time.sleep(0.05)  # the pace of the edits; nothing waits for anything here
    finally:
        torture.end()
    return torture


def check(room: Path, torture: Torture) -> None:
    print(sorted(torture.seen.items()))  # how much it was, for a run with -s
    assert torture.wrong == []
    assert torture.seen["kills"] > 0
    store = torture.tree.root / ".golore"
    report = learn_graph(torture.tree.root, workers=0)
    learn_graph(torture.tree.root, store_directory=room / "fresh", workers=0)
    assert learned_part(exported(store)) == learned_part(exported(room / "fresh")), report
    learn_graph(torture.tree.root, workers=0)
    finish(torture.tree.root, store)
    assert torture.noted
    assert torture.noted.items() <= {note.id: note.text for note in kept(store)}.items(), "a note was lost"
    with Store.open(store, write=False) as opened:
        rows = opened.rows("MATCH (n:Note)-[:DESCRIBES]->(b) RETURN n.id, n.text")
        assert torture.noted.items() <= {row[0]: row[1] for row in rows}.items()
    assert not list(store.glob("*.tmp"))
    assert until(lambda: not left_behind(torture.tree.root))


def has_hooks() -> bool:
    return "hook" in subprocess.run([GOLORE, "--help"], capture_output=True, text=True, check=True).stdout


def test_a_few_seconds_of_everything_at_once_with_kills_do_no_harm(tmp_path: Path) -> None:
    hooks = 1 if has_hooks() else 0
    torture = run_torture(tmp_path, readers=2, questions=15, learners=1, noters=1, hooks=hooks, seconds=4)
    check(tmp_path, torture)


@pytest.mark.slow
def test_a_minute_of_everything_at_once_with_kills_does_no_harm(tmp_path: Path) -> None:
    hooks = 2 if has_hooks() else 0
    torture = run_torture(tmp_path, readers=4, questions=1000, learners=3, noters=2, hooks=hooks, seconds=60)
    check(tmp_path, torture)
    assert torture.seen["answers"] >= 4000
    assert torture.seen["kills"] >= 30
    assert not has_hooks() or torture.seen["hook ends"] >= 200
