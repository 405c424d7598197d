"""What golore says before and after the first learn of a repository."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from golore.graph.phrases import duration
from golore.graph.progress import NoProgress
from golore.graph.safety.state_directory import state_directory
from golore.learner.learn import learn
from golore.mcp_server.cli.first_steps import print_overview
from golore.mcp_server.cli.main import main
from golore.mcp_server.services.learn_speed import SPEED_NAME, estimated_seconds, record_speed
from golore.mcp_server.text import progress as progress_module
from golore.mcp_server.text.progress import PlainLines
from support.shop import make_shop

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home.is_dir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = make_shop(tmp_path.resolve() / "shop")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def overview(start: Path, capsys: Capture) -> str:
    capsys.readouterr()
    print_overview(start)
    return capsys.readouterr().out


def test_without_a_command_golore_says_what_it_would_do(
    shop: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    assert main([]) == 0
    said = capsys.readouterr().out
    assert f"{shop} is a Go repository that golore has not learned yet: 5 Go files, 2 kB." in said
    assert "`golore learn` will read them" in said
    assert "about 2 s" in said
    assert f"`golore learn {shop}` will" in overview(shop / "store", capsys)
    assert not (shop / ".golore").exists()


@pytest.mark.parametrize("place", ["outside", "home", "without Go"])
def test_elsewhere_it_says_how_to_start(tmp_path: Path, home: Path, place: str, capsys: Capture) -> None:
    start = home if place == "home" else tmp_path.resolve() / "there"
    start.mkdir(exist_ok=True)
    if place == "home":
        make_shop(start)
    if place != "outside":
        subprocess.run(["git", "init", "-q"], cwd=start, check=True)
    assert f"{start} is not in a Go repository." in overview(start, capsys)


def test_the_first_learn_ends_with_suggestions_that_are_true(
    shop: Path, home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".claude").mkdir()
    (shop / ".cursor").mkdir()
    assert main(["learn", str(shop)]) == 0
    first = capsys.readouterr()
    assert first.err.startswith("Learning 5 Go files (2 kB): about 2 s\nReading 5\n")
    before, _, said = first.out.partition("Next:\n")
    assert "is not available" in before
    question, agent, missing = (line.strip() for line in said.splitlines())
    assert agent.startswith("golore install claude --scope user ")
    assert agent.endswith("; cursor as well")
    assert missing.startswith("go mod download ")
    assert "1 imported package" in missing

    monkeypatch.chdir(shop)
    assert question.startswith("golore callers store.New ")
    command = question.partition("  ")[0].split()
    assert main([*command[1:], "--json"]) == 0
    callers = json.loads(capsys.readouterr().out)["resolved"]
    assert f"lists its {len(callers)} caller" in question

    assert main(["learn", str(shop)]) == 0
    again = capsys.readouterr()
    assert "Next:" not in again.out
    assert "Learning" not in again.err
    assert "nothing has changed since" in overview(shop, capsys)
    (shop / "main.go").write_text((shop / "main.go").read_text() + "\nfunc more() {}\n")
    assert "1 file changed since: `golore learn` updates" in overview(shop, capsys)


def test_an_agent_that_is_installed_is_not_suggested_again(shop: Path, home: Path, capsys: Capture) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text('{"hooks": {"x": "golore hook claude"}}')
    assert main(["learn", str(shop)]) == 0
    assert "golore install" not in capsys.readouterr().out


def test_without_agents_all_are_named_and_json_has_no_suggestions(shop: Path, capsys: Capture) -> None:
    assert main(["learn", "--json", str(shop)]) == 0
    assert "files_parsed" in json.loads(capsys.readouterr().out)
    other = make_shop(shop.parent / "other")
    assert main(["learn", str(other)]) == 0
    assert "golore install AGENT" in capsys.readouterr().out


def test_the_estimate_follows_the_speed_of_this_machine() -> None:
    size = 10_000_000
    record_speed(size, 101.0)
    assert estimated_seconds(size) == pytest.approx(101.0)
    record_speed(1_000, 50.0)  # too little code to say anything
    assert estimated_seconds(size) == pytest.approx(101.0)
    for text in ("", "no number", "-1", "nan", "1e99"):
        Path(state_directory(), SPEED_NAME).write_text(text)
        assert 1 < estimated_seconds(size) < 60
    assert [duration(seconds) for seconds in (0.2, 11.2, 89, 200)] == [
        "about 1 s",
        "about 12 s",
        "about 89 s",
        "about 3 min",
    ]


def test_the_time_that_is_left_is_known_from_the_start(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    now = [100.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    lines = PlainLines(lambda size: size / 1e6)
    lines.begin(1_000, 60_000_000)
    lines.stage("Reading", 1_000)
    now[0] += 20
    lines.tick(500)
    lines.stage("Cards", 100)
    now[0] += 60
    lines.tick(60)
    assert capsys.readouterr().err.splitlines() == [
        "Learning 1,000 Go files (60.0 MB): about 60 s",
        "Reading 1,000",
        "Reading 500 of 1,000, 25/s, about 40 s left",
        "Cards 100",
        "Cards 60 of 100, 1/s, about 40 s left",
    ]


def test_the_time_of_a_learn_includes_all_its_steps(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(NoProgress):
        def stage(self, name: str, total: int) -> None:
            super().stage(name, total)
            if name == "Finishing":  # the last step, long after the graph
                now[0] += 1_000.0

    now = [0.0]
    monkeypatch.setattr("golore.learner.learn.time.monotonic", lambda: now[0])
    assert learn(shop, shop / ".golore", workers=0, progress=Slow()).seconds == 1_000.0
