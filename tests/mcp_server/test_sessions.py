"""Corrections are found in transcripts, proposed once, noted when accepted, and never proposed again when rejected."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from golore.mcp_server.cli.main import main
from golore.mcp_server.sessions.claude_code import read_lines
from golore.mcp_server.sessions.correction_features import MEASURES, WEIGHTS
from golore.mcp_server.sessions.correction_rules import correction_in
from golore.mcp_server.sessions.proposals import AUDIT_NAME, LEDGER_NAME, parse_since
from golore.mcp_server.sessions.transcripts import transcripts_of
from golore.mcp_server.sessions.user_message import UserMessage, files_below
from support.learned_tree import copy_repository
from support.shop import make_shop

SAID = "Memory.Save may be called from several goroutines."
OTHER = "We never import from internal/legacy in new code. Please undo that import."
CORRECTION = "No, that's wrong: Memory isn't safe for concurrent use. Callers lock it themselves."


def benchmark() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "corrections.py"
    spec = importlib.util.spec_from_file_location("corrections_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_corrections_of_the_labelled_sets_are_found_with_precision_and_recall() -> None:
    judge = benchmark()
    sets = [judge.excerpts(judge.FIXTURES / f"{name}.txt") for name in judge.SETS]
    assert [(len(one), sum(excerpt.is_correction for excerpt in one)) for one in sets] == [
        (60, 30),
        (24, 12),
        (20, 10),
        (100, 50),
        (220, 110),
        (230, 115),
    ]
    for chosen in sets:
        score = judge.score(chosen)
        assert score.precision >= judge.PRECISION
        assert score.recall >= judge.RECALL
    right, wanted = judge.files_named(sets[0])
    assert right == wanted > 20


def test_every_feature_has_a_weight() -> None:
    assert list(WEIGHTS) == list(MEASURES)


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("Shall I lock the map?", "No, Memory isn't shared, callers lock it themselves."),
        ("I lock the map. Which mutex? There are two.", "The mutex in store.go guards the map, the other one the log."),
        (SAID, "Never mind, Memory isn't shared: callers lock it themselves, I was on the wrong branch."),
        (SAID, 'Somebody wrote in the review: "Memory isn\'t safe for concurrent use. Callers lock it themselves."'),
    ],
)
def test_answers_concessions_and_quotations_are_no_corrections(said: str, typed: str) -> None:
    assert correction_in(UserMessage(typed, said, ("store/store.go",), "", "", "")) is None


def test_a_refusal_of_a_command_may_be_a_correction() -> None:
    typed = "tags are set by the release bot when the version PR is merged, a manual tag confuses it"
    assert correction_in(UserMessage(typed, "", (), "", "", "", is_refusal=True)) is not None
    assert correction_in(UserMessage(typed, "", (), "", "", "")) is None


def entry(kind: str, content: object, **other: object) -> dict[str, Any]:
    return {
        "type": kind,
        "message": {"role": kind, "content": content},
        "sessionId": "s1",
        "timestamp": "2026-11-10T09:00:00.000Z",
        "isSidechain": False,
        **other,
    }


def tool(name: str, path: str) -> dict[str, Any]:
    return entry("assistant", [{"type": "tool_use", "id": "t1", "name": name, "input": {"file_path": path}}])


def encoded(*entries: dict[str, Any]) -> list[bytes]:
    return [json.dumps(one).encode() + b"\n" for one in entries]


def test_unknown_and_broken_lines_are_passed_over() -> None:
    lines = [
        b"not json\n",
        b"[1, 2]\n",
        b'"text"\n',
        b"\xff\xfe\n",
        *encoded({"type": "marble", "message": 3}, entry("user", None), entry("assistant", [7, {"type": "new"}])),
        *encoded({"type": "user"}, {"type": "user", "message": {"content": [{"type": "image"}]}}),
        *encoded(entry("assistant", SAID), entry("user", [{"type": "text", "text": CORRECTION}])),
    ]
    reading = read_lines(lines)
    assert [words.text for words in reading.words] == [CORRECTION]
    assert reading.words[0].said == SAID
    assert (reading.lines, reading.unknown) == (11, 4)


def test_files_in_play_are_those_just_before_edited_ones_first() -> None:
    lines = encoded(
        tool("Edit", "/r/old.go"),
        entry("user", "go on"),
        tool("Read", "/r/a.go"),
        tool("Edit", "/r/b.go"),
        tool("Read", "/elsewhere/c.go"),
        entry("user", CORRECTION, cwd="/r"),
        entry("assistant", "I see."),
        entry("user", CORRECTION, cwd="/r"),
    )
    first, second, third = read_lines(lines).words
    assert files_below(Path("/r"), first) == ("old.go",)
    assert files_below(Path("/r"), second) == ("b.go", "a.go")
    assert files_below(Path("/r"), third) == ("b.go", "a.go")


def test_the_premise_is_what_the_agent_said_of_the_same() -> None:
    said = f"I looked at the store. {SAID} The tests pass."
    found = correction_in(UserMessage(CORRECTION, said, (), "", "", ""))
    assert found is not None
    assert found.premise == SAID
    assert found.text == CORRECTION


def test_words_of_thanks_and_questions_are_left_out_of_the_text() -> None:
    typed = f"Thanks a lot. {CORRECTION} Could you change that?"
    found = correction_in(UserMessage(typed, SAID, (), "", "", ""))
    assert found is not None
    assert found.text == CORRECTION


def test_what_a_terminal_would_obey_is_not_passed_on() -> None:
    found = correction_in(UserMessage(f"\x1b[2J{CORRECTION}\x07", f"\x1b]0;x\x07{SAID}", (), "", "", ""))
    assert found is not None
    assert (found.text + found.premise).isprintable()


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("learned") / "shop")
    assert main(["learn", str(root)]) == 0
    return root


@pytest.fixture
def shop(learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learned repository, and a home of Claude Code with one session in it."""
    root = copy_repository(learned, tmp_path / "shop")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.chdir(root)
    write_session(
        root,
        "one",
        tool("Edit", f"{root}/store/store.go"),
        entry("assistant", [{"type": "text", "text": SAID}]),
        entry("user", CORRECTION, cwd=str(root)),
        entry("assistant", "I will change it."),
        entry("user", "Thanks!", cwd=str(root)),
    )
    return root


def write_session(root: Path, name: str, *entries: dict[str, Any]) -> Path:
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(root.resolve()))
    path = root.parent / "claude" / "projects" / slug / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(encoded(*entries)))
    return path


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    capsys.readouterr()
    assert main(["learn-sessions", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("shop")
def test_an_accepted_correction_is_a_note_on_the_file_in_play(capsys: pytest.CaptureFixture[str]) -> None:
    (proposal,) = asked(capsys)["proposals"]
    assert proposal["text"] == CORRECTION
    assert proposal["premise"] == SAID
    assert proposal["files"] == ["store/store.go"]
    told = asked(capsys, "--accept", proposal["id"])
    assert list(told["accepted"]) == [proposal["id"]]
    assert told["proposals"] == []
    assert asked(capsys)["proposals"] == []
    assert main(["note", "--list", "store/store.go", "--json"]) == 0
    listed = capsys.readouterr().out
    assert "isn't safe for concurrent use" in listed
    assert '"correction"' in listed
    assert main(["context", "store/store.go"]) == 0
    assert "isn't safe for concurrent use" in capsys.readouterr().out


def test_what_was_rejected_is_not_proposed_again_not_even_from_another_session(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (proposal,) = asked(capsys)["proposals"]
    assert asked(capsys, "--reject", proposal["id"][:6])["rejected"] == [proposal["id"]]
    write_session(
        shop, "two", entry("assistant", SAID), entry("user", CORRECTION.replace("Callers", " callers"), cwd=str(shop))
    )
    told = asked(capsys)
    assert told["proposals"] == []
    assert [read["corrections"] for read in told["read"]] == [1, 1]


def test_a_rejection_outlives_the_graph_the_cache_and_the_knowledge(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(capsys)
    asked(capsys, "--reject", "all")
    for name in ("cache.db", "knowledge.db"):
        (shop / ".golore" / name).unlink(missing_ok=True)
    assert main(["learn", str(shop), "--full"]) == 0
    assert asked(capsys)["proposals"] == []


def test_the_log_tells_what_was_read_and_nothing_is_read_unasked(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = shop / ".golore" / AUDIT_NAME
    assert main(["learn", str(shop)]) == 0
    assert not log.exists()
    asked(capsys, "--since", "2026-11-01")
    (line,) = [json.loads(line) for line in log.read_text().splitlines()]
    assert line["path"].endswith("/one.jsonl")
    assert (line["lines"], line["unknown"], line["corrections"]) == (5, 0, 1)
    assert line["since"].startswith("2026-11-01")
    assert (log.stat().st_mode & 0o777, (shop / ".golore" / LEDGER_NAME).stat().st_mode & 0o777) == (0o600, 0o600)


@pytest.mark.usefixtures("shop")
def test_proposals_and_decisions_are_not_exported(capsys: pytest.CaptureFixture[str]) -> None:
    asked(capsys)
    assert main(["export"]) == 0
    assert "concurrent use" not in capsys.readouterr().out


def test_other_repositories_and_older_words_do_not_count(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "--since", "2026-11-11")["proposals"] == []
    write_session(shop, "one", entry("assistant", SAID), entry("user", CORRECTION, cwd=f"{shop}-other"))
    assert asked(capsys)["proposals"] == []
    assert len(transcripts_of(shop.resolve())) == 1


@pytest.mark.usefixtures("shop")
def test_a_transcript_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(b"".join(encoded(entry("assistant", SAID), entry("user", CORRECTION))))
    told = asked(capsys, path)
    assert ([read["path"] for read in told["read"]], len(told["proposals"])) == ([str(path)], 1)
    assert main(["learn-sessions", str(tmp_path / "none.jsonl")]) == 2
    assert "There is no transcript" in capsys.readouterr().err


@pytest.mark.usefixtures("shop")
def test_text_for_people_lists_what_to_decide(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn-sessions"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Read 1 transcript: 1 correction found.\n")
    assert f"the agent said: “{SAID}”" in out
    assert "--accept ID" in out
    assert main(["learn-sessions", "--accept", "zzz"]) == 2
    assert "There is no pending proposal 'zzz'" in capsys.readouterr().err
    assert main(["learn-sessions", "--reject", "all"]) == 0
    capsys.readouterr()
    assert main(["learn-sessions", "--accept", "all"]) == 0
    assert capsys.readouterr().out == "No proposals are waiting for a decision.\n"


def test_on_a_terminal_each_proposal_is_asked_about(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said_of_it = "report/daily.go imports internal/legacy/dates for the parsing."
    path = write_session(shop, "two", entry("assistant", said_of_it), entry("user", OTHER, cwd=str(shop)))
    ours, theirs = pty.openpty()
    command = [Path(sys.executable).with_name("golore"), "learn-sessions"]
    with subprocess.Popen(command, cwd=shop, stdin=theirs, stdout=theirs, stderr=theirs) as asking:
        os.write(ours, b"a\nr\n")
        os.close(theirs)
        said = b""
        with suppress(OSError):  # how the end of a terminal is told
            while more := os.read(ours, 4_096):
                said += more
    os.close(ours)
    assert asking.returncode == 0, said
    assert b"1 of 2" in said
    assert b"Accepted as note " in said
    told = asked(capsys, path)
    assert told["proposals"] == []
    assert main(["note", "--list", "--json"]) == 0
    listed = capsys.readouterr().out
    assert "isn't safe for concurrent use" in listed
    assert OTHER not in listed


def test_a_hook_keeps_proposals_and_says_nothing_whatever_it_is_given(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_session(shop, "one", entry("assistant", SAID), entry("user", CORRECTION, cwd=str(shop)))
    payloads: tuple[object, ...] = (
        {"cwd": str(shop), "transcript_path": str(path)},
        {"cwd": str(shop)},
        {"cwd": "/nowhere"},
        [],
        None,
    )
    capsys.readouterr()
    for payload in payloads:
        stdin = io.TextIOWrapper(io.BytesIO(b"{" if payload is None else json.dumps(payload).encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main(["learn-sessions", "--hook"]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")
    assert len(asked(capsys)["proposals"]) == 1


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("when", ["soon", "7", "2026-13-40"])
def test_a_time_that_is_none_is_told(when: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn-sessions", "--since", when]) == 2
    assert "is not a time" in capsys.readouterr().err
    assert parse_since("") == ""
