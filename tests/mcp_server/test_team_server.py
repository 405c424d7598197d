"""`golore serve --lake`: one server for a team, whose members see only the repositories of their tokens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from golore.graph.errors import GoloreError, UsageError
from golore.mcp_server.cli.main import main
from golore.mcp_server.team.request_limits import RequestLimits
from golore.mcp_server.team.token_file import Grant, TokenFile, add_token, digest_of, read_grants
from mcp import Client
from support.fleet import change, make_repositories, publish
from support.git_repository import git
from support.mcp_client import refused, told
from support.team import (
    ANNA,
    APPLICATION,
    BOB,
    EVERYBODY,
    LIBRARY,
    TOOL,
    Team,
    asked,
    asking,
    call,
    inside,
    repositories_of,
    requested,
    serving,
)
from support.watching import until

OPEN = "example.com/lib/store.Open"
FORBIDDEN = ("team/lib", "team/app", "example.com/app", "app.run", "store.Store", "SaveAll")
"""What must never reach Bob: names of the other repositories, and of what they alone declare or contain."""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three repositories and the lake that they are published to. Tests must not change it."""
    folder = tmp_path_factory.mktemp("team")
    (folder / "lake").mkdir()
    for root in make_repositories(folder).values():
        publish(root, folder / "lake")
    return folder


@pytest.fixture(scope="module")
def team(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[Team]:
    """A running server. Its log has no name of a repository and no text of one, whatever the tests ask."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copytree(published / "lake", folder / "lake")
    with serving(folder) as team:
        yield team
    lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    assert not [line for line in lines if "team/" in str(line) or "example.com" in str(line) or "Save" in str(line)]


@pytest.fixture
def lake(published: Path, tmp_path: Path) -> Path:
    """A copy of the lake that the test may change."""
    return shutil.copytree(published / "lake", tmp_path / "lake")


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_old_and_new_clients_are_answered(team: Team, mode: str, version: str) -> None:
    async def talk(client: Client) -> tuple[Any, ...]:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        answer = await told(client, "memory_graph", question="callers", symbol=OPEN, repository="app")
        unlearned = await refused(client, "memory_learn")
        return client.session.protocol_version, tools, answer, unlearned

    negotiated, tools, answer, unlearned = asking(team, team.anna, talk, mode)
    assert negotiated == version
    assert tools == {f"memory_{name}" for name in ("context", "graph", "search", "query", "note", "status")}
    assert "main.go:12" in answer
    assert f"{APPLICATION} at " in answer
    assert "published just now" in answer
    assert "learns nothing" in unlearned


def test_all_tools_answer_from_the_published_store(team: Team) -> None:
    assert "func Open" in asked(team, team.anna, "memory_context", repository="lib", target="store.Open")
    assert "is satisfied by Store" in asked(
        team, team.anna, "memory_context", repository="lib", target="store/store.go"
    )
    assert "store/store.go" in asked(team, team.anna, "memory_search", repository="lib", query="flush")
    cypher = "MATCH (s:Symbol) WHERE s.name = 'SaveAll' RETURN s.id"
    assert "SaveAll" in asked(team, team.anna, "memory_query", repository="lib", cypher=cypher)
    assert "Store.Save" in asked(team, team.anna, "memory_graph", repository="lib", question="impact", symbol="flush")
    assert "no working tree" in asked(team, team.anna, "memory_graph", repository="lib", question="affected")
    assert "2 repositories that you may read, and write notes" in asked(team, team.anna, "memory_status")
    unknown = asked(team, team.anna, "memory_graph", repository="lib", question="callers", symbol="Nowhere")
    assert "Try memory_search." in unknown


def test_nobody_gets_in_without_a_token_of_the_file(team: Team) -> None:
    body = call("memory_status", {})
    for token in ("", "wrong", f"{team.anna}x", team.anna[:-1], digest_of(team.anna)):
        status, text, headers = requested(team, "POST", "/mcp", token, body)
        assert (status, headers["www-authenticate"][:6]) == (401, "Bearer")
        assert "Send a token" in text
    for method, path, expected in (("POST", "/", 404), ("GET", "/mcp", 405), ("DELETE", "/mcp", 405)):
        assert requested(team, method, path, team.anna)[0] == expected
        assert requested(team, method, path)[0] == 401
    assert requested(team, "POST", "/mcp", team.anna, body, Origin="http://evil.example")[0] == 403
    assert requested(team, "POST", "/mcp", team.anna, b"x" * (300 << 10))[0] == 413


def test_a_change_of_the_token_file_takes_effect_at_once_and_others_must_not_read_it(team: Team) -> None:
    body = call("memory_status", {})
    carol = add_token(team.tokens, "carol", (TOOL,), may_write=False)
    assert requested(team, "POST", "/mcp", carol, body)[0] == 200
    team.tokens.chmod(0o640)
    try:
        status, text, _ = requested(team, "POST", "/mcp", team.anna, body)
        assert (status, "cannot be used" in text) == (503, True)
        assert requested(team, "GET", "/readyz")[0] == 503
    finally:
        team.tokens.chmod(0o600)
    text = team.tokens.read_text()
    team.tokens.write_text(text[: text.index("[carol]")])
    assert requested(team, "POST", "/mcp", carol, body)[0] == 401
    assert requested(team, "POST", "/mcp", team.anna, body)[0] == 200
    assert "Others can read" in (team.folder / "log").read_text()


def questions(repository: str) -> list[tuple[str, dict[str, Any]]]:
    """Questions that would show something of other repositories to a caller who may see it."""
    fleet = {"scope": "fleet", "repository": repository}
    return [
        ("memory_status", {}),
        ("memory_graph", {"question": "callers", "symbol": OPEN, **fleet}),
        ("memory_graph", {"question": "users", "symbol": OPEN, **fleet}),
        ("memory_graph", {"question": "impact", "symbol": OPEN, "depth": 3, **fleet}),
        ("memory_graph", {"question": "implementers", "symbol": "example.com/lib/store.Saver", **fleet}),
        ("memory_graph", {"question": "callers", "symbol": "Nothing", **fleet}),
        ("memory_search", {"query": "store", **fleet}),
        ("memory_search", {"query": "main", **fleet}),
        ("memory_search", {"query": "SaveAl", "repository": repository}),
        ("memory_status", {"repository": "team"}),
    ]


@pytest.mark.parametrize("form", ["segments", "index", "damaged"])
def test_nobody_sees_a_name_of_a_repository_that_they_may_not_read(form: str, lake: Path, tmp_path: Path) -> None:
    if form != "segments":
        assert main(["fleet", "compact", str(lake)]) == 0
    if form == "damaged":
        shutil.rmtree(lake / "index")
        for name in ("app", "lib"):
            head = next((lake / "heads/example.org/team" / name).iterdir())
            head.write_bytes(head.read_bytes()[:40])
    with repositories_of(lake, tmp_path / "cache") as repositories:
        for tool, arguments in questions("tool"):
            reply = inside(repositories, BOB, tool, **arguments)
            asked_for = str(arguments.get("symbol", "")) + str(arguments.get("query", ""))
            assert not [word for word in FORBIDDEN if word in reply and word not in asked_for], reply
            assert "2 repositories" not in reply
            assert "Not covered" not in reply
        # The same questions do show it to somebody who may read everything.
        replies = "".join(inside(repositories, EVERYBODY, tool, **arguments) for tool, arguments in questions("tool"))
        replies += inside(repositories, EVERYBODY, "memory_graph", question="callers", symbol=OPEN, scope="fleet")
        seen = ("team/lib", "team/app") if form == "damaged" else FORBIDDEN
        assert [word for word in seen if word not in replies] == []


def test_a_repository_that_is_forbidden_looks_like_one_that_does_not_exist(lake: Path, tmp_path: Path) -> None:
    with repositories_of(lake, tmp_path / "cache") as repositories:
        for tool, more in (
            ("memory_status", {}),
            ("memory_context", {"target": "store.Open"}),
            ("memory_note", {"target": "store.Open", "text": "x"}),
            ("memory_query", {"cypher": "MATCH (s:Symbol) RETURN s.id"}),
        ):
            forbidden = inside(repositories, BOB, tool, repository=LIBRARY, **more)
            unknown = inside(repositories, BOB, tool, repository="example.org/team/xyz", **more)
            assert "There is no repository" in forbidden
            assert forbidden.replace(LIBRARY, "") == unknown.replace("example.org/team/xyz", "")
        assert not (tmp_path / "cache").exists()


def test_notes_are_events_of_the_lake_and_need_the_right(lake: Path, tmp_path: Path) -> None:
    note = {"target": "store.Open", "text": "Callers close it.", "kind": "invariant", "repository": "lib"}
    with repositories_of(lake, tmp_path / "cache") as repositories:
        reader = Grant("carol", "3" * 64, (LIBRARY,))
        assert "may read, but not write notes" in inside(repositories, reader, "memory_note", **note)
        assert not (lake / "notes").exists()
        assert "Noted: invariant" in inside(repositories, ANNA, "memory_note", **note)
        (event,) = (lake / "notes" / LIBRARY).iterdir()
        body = json.loads(event.read_text())
        assert (body["author"], body["text"], body["kind"]) == ("anna", "Callers close it.", "note")
        for target in ("store.Open", "store/store.go"):
            assert "Callers close it." in inside(
                repositories, reader, "memory_context", repository="lib", target=target
            )


def test_a_note_is_kept_while_the_lake_is_lost_and_sent_when_it_is_back(
    published: Path, lake: Path, tmp_path: Path
) -> None:
    ask = {"target": "store.Open", "repository": "lib"}
    with repositories_of(lake, tmp_path / "cache") as repositories:
        before = inside(repositories, ANNA, "memory_context", **ask)
        lake.rename(tmp_path / "gone")
        assert inside(repositories, ANNA, "memory_context", **ask) == before
        assert "kept on the server" in inside(repositories, ANNA, "memory_note", text="Slow on NFS.", **ask)
        repositories.list_again()
        assert repositories.failure
        assert "cannot be reached" in inside(repositories, ANNA, "memory_status")
        assert "is not in the lake" in inside(repositories, ANNA, "memory_context", repository="app")
    # Another process, with the lake back and a newer publication: the note has moved to it, and is sent.
    (tmp_path / "gone").rename(lake)
    root = shutil.copytree(published / "lib", tmp_path / "lib", symlinks=True)
    assert main(["adopt", "--yes", "--repo", str(root)]) == 0
    change(root, {"store/more.go": "package store\n\nfunc More() {}\n"})
    publish(root, lake)
    with repositories_of(lake, tmp_path / "cache") as repositories:
        after = inside(repositories, ANNA, "memory_context", **ask)
        assert "Slow on NFS." in after
        assert git(root, "rev-parse", "--short=12", "HEAD") in after
        assert "func More" in inside(repositories, ANNA, "memory_context", repository="lib", target="store.More")
        inside(repositories, ANNA, "memory_note", text="Second.", **ask)
        assert len(list((lake / "notes" / LIBRARY).iterdir())) == 2


def test_a_new_publication_replaces_the_store_and_notes_of_others_arrive(
    published: Path, lake: Path, tmp_path: Path
) -> None:
    root = shutil.copytree(published / "lib", tmp_path / "lib", symlinks=True)
    assert main(["adopt", "--yes", "--repo", str(root)]) == 0
    ask = {"target": "store.Open", "repository": "lib"}
    with repositories_of(lake, tmp_path / "cache") as repositories:
        inside(repositories, ANNA, "memory_context", **ask)
        change(root, {"store/more.go": "package store\n\nfunc More() { Open() }\n"})
        publish(root, lake)
        repositories.list_again()
        callers = {"question": "callers", "symbol": "store.Open", "repository": "lib"}
        assert "store.More" in inside(repositories, ANNA, "memory_graph", **callers)
        (folder,) = (tmp_path / "cache").iterdir()
        assert len([one for one in folder.iterdir() if one.is_dir()]) == 1
        assert main(["note", "store.Open", "From a checkout.", "--repo", str(root)]) == 0
        assert main(["notes", "sync", "--lake", str(lake), "--repo", str(root)]) == 0
        repositories.list_again()
        assert "From a checkout." in inside(repositories, ANNA, "memory_context", **ask)


@pytest.mark.parametrize("defect", ["half written", "newer", "no store"])
def test_a_publication_that_cannot_be_used_is_said_in_one_sentence(defect: str, lake: Path, tmp_path: Path) -> None:
    head = next((lake / "heads" / TOOL).iterdir())
    document = json.loads(head.read_text())
    expected = {"half written": "half written", "newer": "newer golore", "no store": "cannot be used: it has notes"}
    if defect == "half written":
        broken = head.read_text()[:100]
    else:
        more = {"format": 2} if defect == "newer" else {"store": None, "why_no_store": "it has notes"}
        broken = json.dumps(document | more)
    with repositories_of(lake, tmp_path / "cache") as repositories:
        ask = {"repository": "tool", "question": "callees", "symbol": "main"}
        assert "A newer publication" not in inside(repositories, BOB, "memory_graph", **ask)
        # A newer publication that cannot be used: the one before it answers.
        stamp, _, rest = head.name.partition("-")
        newer = head.with_name(f"{int(stamp[:8]) + 10_000}{stamp[8:]}-{rest[:-16]}{'0' * 16}")
        newer.write_text(broken)
        repositories.list_again()
        reply = inside(repositories, BOB, "memory_graph", **ask)
        assert expected[defect] in reply
        assert "A newer publication is not used" in reply
        assert "Open" in reply
    shutil.rmtree(tmp_path / "cache")
    head.unlink()
    with repositories_of(lake, tmp_path / "cache") as repositories:
        reply = inside(repositories, BOB, "memory_graph", **ask)
        assert f"No publication of {TOOL} can be used." in reply
        assert expected[defect] in reply


def test_too_many_requests_of_one_token_are_refused_and_others_are_not(team: Team) -> None:
    greedy = add_token(team.tokens, "greedy", (TOOL,), may_write=False)
    team.tokens.write_text(team.tokens.read_text() + "per_second = 0.5\n")
    body = call("memory_status", {})
    assert requested(team, "POST", "/mcp", greedy, body)[0] == 200
    status, text, headers = requested(team, "POST", "/mcp", greedy, body)
    assert (status, headers["retry-after"]) == (429, "1")
    assert "Too many requests" in text
    assert requested(team, "POST", "/mcp", team.bob, body)[0] == 200


def test_limits_count_what_runs_and_recover_with_time() -> None:
    now = 0.0
    limits = RequestLimits(lambda: now)
    grant = Grant("a", "0", ("*",), per_second=2.0, at_once=2)
    assert [limits.enter(grant) for _ in range(3)] == [0.0, 0.0, 1.0]
    limits.leave(grant)
    assert limits.enter(grant) == 0.0
    for _ in range(2):
        limits.leave(grant)
    for _ in range(3):
        assert limits.enter(grant) == 0.0
        limits.leave(grant)
    assert limits.enter(grant) == 0.5
    now = 0.5
    assert limits.enter(grant) == 0.0


def test_health_and_metrics_tell_nothing_about_repositories(team: Team) -> None:
    asked(team, team.anna, "memory_search", repository="lib", query="flush")
    assert requested(team, "GET", "/healthz")[:2] == (200, "ok\n")
    assert requested(team, "GET", "/readyz")[:2] == (200, "ok\n")
    status, text, _ = requested(team, "GET", "/metrics")
    assert status == 200
    assert 'golore_requests_total{tool="memory_search",status="ok"}' in text
    assert 'golore_request_duration_seconds_bucket{tool="memory_search",le="+Inf"}' in text
    numbers = {
        name: float(value) for name, _, value in (line.partition(" ") for line in text.splitlines()) if name[0] != "#"
    }
    assert numbers["golore_open_stores"] >= 1
    assert numbers["golore_cache_bytes"] > 100_000
    assert numbers["golore_requests_running"] == 0
    assert not any(word in text for word in ("team/", "example", "anna", "bob"))
    assert requested(team, "GET", "/metrics", Via="1.1 proxy")[0] == 401
    assert requested(team, "GET", "/metrics", team.bob, Via="1.1 proxy")[0] == 200


def test_each_request_is_a_line_of_the_log(team: Team) -> None:
    asked(team, team.bob, "memory_context", repository=LIBRARY, target="store.Open")
    requested(team, "POST", "/mcp", "wrong")
    expected = [("bob", "memory_context", "refused", 200), ("", "none", "unauthorized", 401)]
    assert until(lambda: _last_requests(team, 2) == expected), _last_requests(team, 2)


def _last_requests(team: Team, count: int) -> list[tuple[str, str, str, int]]:
    """Token, tool, status and HTTP status of the last requests in the log, which is written after the reply."""
    lines = [
        json.loads(line) for line in (team.folder / "log").read_text().splitlines(keepends=True) if line[-1] == "\n"
    ]
    last = [line for line in lines if line.get("event") == "request"][-count:]
    return [(line["token"], line["tool"], line["status"], line["http"]) for line in last]


@pytest.mark.slow
def test_two_processes_share_the_port_and_finish_what_runs_before_they_end(published: Path, tmp_path: Path) -> None:
    shutil.copytree(published / "lake", tmp_path / "lake")
    with serving(tmp_path, "--processes", "2") as team:
        cypher = "MATCH (a:Symbol), (b:Symbol), (c:Symbol), (d:Symbol), (e:Symbol) RETURN count(*)"
        ask = {"repository": "lib", "cypher": cypher, "seconds": 2}
        replies: list[str] = []
        slow = threading.Thread(target=lambda: replies.append(asked(team, team.anna, "memory_query", **ask)))
        for child in Path(f"/proc/{team.process.pid}/task/{team.process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)  # another one takes its place
        asked(team, team.anna, "memory_query", repository="lib", cypher="MATCH (s:Symbol) RETURN count(*)")
        slow.start()
        while "golore_requests_running 1\n" not in (text := requested(team, "GET", "/metrics")[1]):
            pass
        assert "golore_processes 2\n" in text
        team.process.send_signal(signal.SIGTERM)
        slow.join()
        assert team.process.wait(30) == 0
    assert len(replies) == 1


@pytest.mark.parametrize("flaw", ["missing", "mode", "link", "text", "key", "right", "digest", "pattern"])
def test_a_token_file_with_a_flaw_is_refused_in_one_sentence(flaw: str, tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    add_token(path, "anna", ("github.com/acme/*",), may_write=True)
    text = path.read_text()
    if flaw == "missing":
        path.unlink()
    elif flaw == "mode":
        path.chmod(0o644)
    elif flaw == "link":
        path.rename(tmp_path / "real")
        path.symlink_to(tmp_path / "real")
    else:
        wrong = {"text": "[", "key": f"{text}more = 1\n", "right": text.replace("write notes", "write")}
        wrong |= {"digest": text.replace("digest = ", "digest = 'x' #"), "pattern": text.replace("/acme", "/a b")}
        path.write_text(wrong[flaw])
    says = {"missing": "There is no file", "mode": "chmod 600", "link": "is a link", "text": "is not a file of tokens"}
    says |= {
        "key": "anna.more is unknown",
        "right": "rights must be",
        "digest": "SHA-256",
        "pattern": "list of patterns",
    }
    with pytest.raises(GoloreError, match=says[flaw]):
        TokenFile(path).grants()


def test_a_token_is_printed_once_and_stored_as_a_digest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tokens.toml"
    command = ["serve", "--tokens", str(path), "--repositories", "github.com/acme/*", "gitlab.com/x/y"]
    assert main([*command, "--new-token", "anna"]) == 0
    token = capsys.readouterr().out.strip()
    assert main([*command, "--new-token", "bob", "--write-notes"]) == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert token not in path.read_text()
    anna, bob = read_grants(path)
    assert (anna.name, anna.may_write, bob.may_write) == ("anna", False, True)
    assert TokenFile(path).grant_of(token) == anna
    permitted = ("github.com/acme/shop", "github.com/acme/a/b", "gitlab.com/x/y")
    assert all(map(anna.permits, permitted))
    assert not any(map(anna.permits, ("github.com/acme2/shop", "gitlab.com/x/yy", "x/github.com/acme/shop")))
    assert main([*command, "--new-token", "anna"]) == 2
    with pytest.raises(UsageError, match="Say which repositories"):
        add_token(path, "carol", (), may_write=False)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--lake", "LAKE"], "Say who may ask: --tokens FILE"),
        (["--lake", "LAKE", "--tokens", "FILE", "--listen", "example.com:80"], "is no address to listen on"),
        (["--lake", "nowhere", "--tokens", "FILE"], "There is no directory"),
        (["--lake", "LAKE", "--tokens", "FILE", "--tls-cert", "x"], "TLS needs a certificate and its key"),
        (["--lake", "LAKE", "--tokens", "FILE", "--tls-cert", "FILE", "--tls-key", "FILE"], "are no certificate"),
        (["--lake", "LAKE", "--tokens", "FILE", "--port", "1"], "the port as --listen"),
        (["--tokens", "FILE"], "Name the lake to serve"),
    ],
)
def test_a_wrong_option_is_one_sentence(
    options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lake").mkdir()
    add_token(tmp_path / "tokens", "anna", ("*",), may_write=False)
    known = {"LAKE": str(tmp_path / "lake"), "FILE": str(tmp_path / "tokens")}
    assert main(["serve", *(known.get(one, one) for one in options)]) in (1, 2)
    assert says in capsys.readouterr().err
