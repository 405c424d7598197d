"""The MCP server: its tools and resources, asked by the SDK's own client about a repository that was really learned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from golore.graph.cards.card_store import Card, create_card_store
from golore.graph.files import locks
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.server.open_repositories import Repositories
from mcp import Client
from mcp.shared.exceptions import MCPError
from support.mcp_client import GOLORE, inside, over_stdio, refused, text_of, told
from support.shop import make_shop

READING = {f"memory_{name}" for name in ("context", "drafts", "explore", "graph", "search", "query", "status")}
TOOLS = READING | {"memory_learn", "memory_note", "memory_upgrade"}
CALLERS = "\n".join(f"func caller{at:03}() {{ run() }}" for at in range(300))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learned repository that no test changes."""
    root = make_shop(tmp_path_factory.mktemp("repositories") / "shop")
    (root / "many.go").write_text(f"package main\n\n{CALLERS}\n")
    learn_graph(root)
    return root


def learn_elsewhere(root: Path, *options: str) -> None:
    """Learn in another process, as a person or a hook would."""
    learned = subprocess.run([GOLORE, "learn", root, *options], capture_output=True, text=True, check=False)
    assert learned.returncode == 0, learned.stderr


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_old_and_new_clients_are_answered_over_standard_input(shop: Path, mode: str, version: str) -> None:
    async def talk(client: Client) -> tuple[Any, ...]:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        callers = await told(client, "memory_graph", question="callers", symbol="Memory.Save")
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        uris = [*(str(resource.uri) for resource in resources), templates[0].uri_template]
        return client.session.protocol_version, tools, callers, uris, client.session.instructions

    negotiated, tools, callers, uris, instructions = over_stdio(talk, shop, mode=mode)
    assert negotiated == version
    assert tools == TOOLS
    assert "main.go:14  main.run" in callers
    assert uris == ["golore://overview", "golore://schema", "golore://file/{+path}"]
    assert instructions.startswith("golore knows this Go code")
    assert len(instructions) < 2_000


def test_only_learning_noting_and_upgrading_are_said_to_change_anything(shop: Path) -> None:
    async def talk(client: Client) -> list[Any]:
        return (await client.list_tools()).tools

    for tool in inside(talk, shop):
        hints = tool.annotations
        assert tool.title
        assert tool.description
        assert hints.read_only_hint is (tool.name in READING)
        assert hints.open_world_hint is False
        assert tool.name in READING or (hints.destructive_hint, hints.idempotent_hint) == (False, True)
        properties = tool.input_schema["properties"]
        assert all(schema.get("description") for schema in properties.values()), tool.name
        assert "repository" in properties


def test_all_tools_together_cost_an_agent_at_most_2200_tokens(shop: Path) -> None:
    async def talk(client: Client) -> str:
        return json.dumps(
            (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)["tools"]
        )

    assert len(inside(talk, shop)) / 4 <= 2_200


def test_arguments_that_do_not_fit_are_answered_with_what_is_accepted(shop: Path) -> None:
    async def talk(client: Client) -> list[str]:
        return [
            await refused(client, "memory_graph", symbol="Put"),
            await refused(client, "memory_search", query=""),
            await refused(client, "memory_drafts", limit="many", level="method"),
            await told(client, "memory_graph", question="callers", symbol="Put", budget=1),
        ]

    missing, empty, twice, small = inside(talk, shop)
    assert missing == "memory_graph: `question` is missing."
    assert empty == "memory_search: `query` is empty."
    assert twice == (
        "memory_drafts: `limit` must be a whole number. "
        "`level` must be '', 'symbol', 'file', 'package' or 'repository'."
    )
    assert "main.go:15  main.run" in small  # a number outside its limits is taken as the limit


def test_the_schema_is_sent_when_it_is_asked_for_or_a_name_is_wrong(shop: Path) -> None:
    async def talk(client: Client) -> list[str]:
        return [
            await told(client, "memory_query", cypher="schema"),
            await refused(client, "memory_query", cypher="MATCH (s:Function) RETURN s"),
            await refused(client, "memory_query", cypher="MATCH (s:Symbol) RETURN s.title"),
            await refused(client, "memory_query", cypher="MATCH (s:Symbol) DELETE s"),
            await refused(client, "memory_query", cypher="MATCH (s:Symbol RETURN s"),
            (await client.read_resource("golore://schema")).contents[0].model_dump()["text"],
        ]

    schema, label, name, writing, broken, resource = inside(talk, shop)
    assert "(Package {id, path, name" in schema
    assert "[CALLS {sites, evidence" in schema
    assert label.endswith(schema)
    assert name.endswith(schema)
    assert "(Package" not in writing + broken
    assert resource == schema


def test_every_question_about_the_graph_is_answered(shop: Path) -> None:
    async def talk(client: Client) -> dict[str, str]:
        asked = {
            "callers": {"symbol": "Memory.Save"},
            "callees": {"symbol": "shop.run"},
            "implementers": {"symbol": "Saver"},
            "users": {"symbol": "Memory"},
            "tests": {"symbol": "Put"},
            "impact": {"symbol": "Memory.Save", "depth": 2},
            "path": {"symbol": "main", "to": "Memory.Save"},
        }
        return {name: await told(client, "memory_graph", question=name, **given) for name, given in asked.items()}

    answers = inside(talk, shop)
    assert answers["callers"].splitlines() == [
        "Callers of example.com/shop/store.Memory.Save (method, store/store.go:18)",
        "resolved (1):",
        "  main.go:14  main.run",
        "candidates, through interfaces (1):",
        "  store/store.go:32  store.Put  via store.Saver.Save",
        "1 unresolved use has the name Save:",
        "  main.go:17  main.run  package github.com/absent/dep is not at hand",
    ]
    assert "store/store.go:29  store.New  at 13" in answers["callees"]
    assert "Unresolved in it:\n  main.go:17  " in answers["callees"]
    assert "store/store.go:13  store.Memory  by pointer" in answers["implementers"]
    assert "store/store.go:24  store.Logged  embeds" in answers["users"]
    assert "store/store_test.go:6  store.TestPut" in answers["tests"]
    assert "  1  main.go:12  main.run  calls store.Memory.Save" in answers["impact"]
    assert "This may not be all: the search stopped" in answers["impact"]
    assert "  calls  store.Memory.Save  main.go:14" in answers["path"]


def test_wrong_names_are_answered_with_what_may_be_meant(shop: Path) -> None:
    async def talk(client: Client) -> list[str]:
        return [
            await refused(client, "memory_graph", question="callers", symbol="Memori.Save"),
            await refused(client, "memory_graph", question="callers", symbol="Save"),
            await refused(client, "memory_graph", question="path", symbol="main"),
            await refused(client, "memory_graph", question="implementers", symbol="Memory.Save"),
            await refused(client, "memory_graph", question="calers", symbol="Put"),
            await refused(client, "memory_search", query="Put", kind="function"),
        ]

    misspelled, ambiguous, endless, method, question, kind = inside(talk, shop)
    assert "Nothing is named 'Memori.Save'. Similar names:\n  method  example.com/shop/store.Memory.Save" in misspelled
    assert "'Save' is ambiguous: it may mean 2 symbols." in ambiguous
    assert "imethod  example.com/shop/store.Saver.Save  store/store.go:9" in ambiguous
    assert "A path needs two functions. Give the one at its end as `to`." in endless
    assert "is a method. Ask for the implementers of a type or interface." in method
    assert question.startswith("memory_graph: `question` must be 'callers', 'callees', 'implementers'")
    assert "http" not in question
    assert "There is no kind 'function'. Use one of func, method" in kind


def test_paths_outside_the_repository_are_refused(shop: Path) -> None:
    outside = ("/etc/passwd", "/etc", "../..", "../../.bashrc", "store/../../../x.go")

    async def talk(client: Client) -> list[str]:
        learned = [await refused(client, "memory_learn", repository=path) for path in outside]
        shown = [await refused(client, "memory_context", target=path) for path in outside]
        noted = [await refused(client, "memory_note", target=path, text="Mine.") for path in outside]
        return [*learned, *shown, *noted]

    before = sorted(path.name for path in shop.parent.iterdir())
    assert all(inside(talk, shop))
    assert sorted(path.name for path in shop.parent.iterdir()) == before
    assert not Path("/etc/.golore").exists()


def test_an_answer_keeps_to_its_budget_and_says_what_it_left_out(shop: Path) -> None:
    async def talk(client: Client) -> list[str]:
        asked = {"question": "callers", "symbol": "shop.run"}
        return [await told(client, "memory_graph", **asked, budget=budget) for budget in (200, 2_000, 20_000)]

    small, usual, large = inside(talk, shop)
    assert len(small) <= 600 < len(usual) <= 6_000 < len(large)
    assert "resolved (301):" in small
    shown = small.count("  main.caller") + small.count("  main.main")
    assert f"  … {301 - shown} more" in small
    assert f"Left out: {301 - shown} rows; raise `budget` (now 200) to see more." in small
    assert "Left out" not in large


def test_search_lists_names_first_with_their_places(shop: Path) -> None:
    async def talk(client: Client) -> list[str]:
        asked = [{"query": "memory", "limit": 3}, {"query": "saves things"}, {"query": "zebra quagga"}]
        return [await told(client, "memory_search", **arguments) for arguments in asked]

    found, comment, nothing = inside(talk, shop)
    assert found.splitlines()[1].startswith(
        "  struct example.com/shop/store.Memory  store/store.go:13  type Memory struct — Memory keeps things in memory."
    )
    assert "file  store/store.go:7  type Saver interface — Saver saves things." in comment
    assert "Try a part of the name, or other words." in nothing


def test_what_is_not_learned_yet_is_learned_with_progress(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")

    async def talk(client: Client) -> tuple[str, str, list[tuple[float, float | None, str | None]], str]:
        status = await told(client, "memory_status")
        before = await refused(client, "memory_graph", question="callers", symbol="Put")
        assert "has not been learned yet. Call memory_learn" in status
        reports: list[tuple[float, float | None, str | None]] = []

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            reports.append((progress, total, message))

        learned = await client.call_tool("memory_learn", {}, progress_callback=heard)
        after = await told(client, "memory_graph", question="callers", symbol="Put")
        return before, text_of(learned.content), reports, after

    before, learned, reports, after = over_stdio(talk, root)
    assert f"{root} has not been learned yet. Call memory_learn, or run `golore learn {root}`." in before
    assert learned.startswith("Learned 2 packages, 5 files, 18 symbols")
    assert [message for _, _, message in reports if message and message.startswith("Reading")]
    assert [progress for progress, _, _ in reports] == sorted({progress for progress, _, _ in reports})
    assert all(total is not None and progress <= total for progress, total, _ in reports)
    assert "main.go:15  main.run" in after


def test_questions_are_answered_while_a_learn_goes_on(own_shop: Path) -> None:
    async def talk(client: Client) -> tuple[str, str, str]:
        held = locks.acquire(own_shop / ".golore" / "writer.lock", exclusive=True, timeout=1, purpose="written")
        answer = status = ""
        learned: list[str] = []

        async def learn_it() -> None:
            learned.append(await told(client, "memory_learn"))

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(learn_it)
                answer = await told(client, "memory_graph", question="callers", symbol="Put")
                status = await told(client, "memory_status")
                assert not learned
                held.release()
        finally:
            held.release()
        return answer, status, learned[0]

    answer, status, learned = inside(talk, own_shop)
    assert "main.go:15  main.run" in answer
    assert "Up to date with the files." in status
    assert "nothing has changed since the last learn" in learned


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_a_learn_that_the_client_gives_up_is_ended(own_shop: Path) -> None:
    def running() -> list[int]:
        found: list[int] = []
        for pid in (pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()):
            with suppress(FileNotFoundError):  # it may end while this looks at it
                if b"learn_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
        return found

    async def talk(client: Client) -> None:
        async def learn_it() -> None:
            await client.call_tool("memory_learn")

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(learn_it)
                while not running():
                    await anyio.sleep(0.01)
                # Stopped, so that it cannot come to its end by itself.
                os.kill(running()[0], signal.SIGSTOP)
                tasks.cancel_scope.cancel()
            while running():
                await anyio.sleep(0.01)

    held = locks.acquire(own_shop / ".golore" / "writer.lock", exclusive=True, timeout=1, purpose="written")
    try:
        inside(talk, own_shop)
    finally:
        held.release()


@pytest.mark.parametrize("options", [[], ["--full"]], ids=["changed in place", "made anew"])
def test_the_server_never_serves_the_graph_from_before_a_learn(own_shop: Path, options: list[str]) -> None:
    async def talk(client: Client) -> tuple[str, str, str]:
        first = await told(client, "memory_graph", question="callers", symbol="Put")
        (own_shop / "more.go").write_text('package main\n\nimport "example.com/shop/store"\n\nvar p = store.Put\n')
        (own_shop / "again.go").write_text(
            'package main\n\nimport "example.com/shop/store"\n\nfunc again() { _ = store.Put(nil, "") }\n'
        )
        behind = await told(client, "memory_graph", question="callers", symbol="Put")
        # The store stays open in the server between questions, and the writer gets in all the same.
        await anyio.to_thread.run_sync(learn_elsewhere, own_shop, *options)
        return first, behind, await told(client, "memory_graph", question="callers", symbol="Put")

    first, behind, last = inside(talk, own_shop)
    assert "main.again" not in first
    assert "Behind the files" not in first
    assert "Behind the files: 2 files changed since the last learn (again.go, more.go). Call memory_learn" in behind
    assert "again.go:5  main.again" in last
    assert "Behind the files" not in last


def test_an_open_store_is_closed_for_a_writer(own_shop: Path) -> None:
    with Repositories([own_shop]) as repositories:
        (repository,) = repositories.all
        with repository.opened() as asked:
            store = asked.repository.store
            list(asked.store.rows("MATCH (p:Package) RETURN p.id"))
            with pytest.raises(Exception, match="cannot be changed"):
                locks.acquire(store / "lock", exclusive=True, timeout=0, purpose="changed")
        assert repository.look()
        writer = locks.acquire(store / "writer.lock", exclusive=True, timeout=1, purpose="written")
        try:
            assert not repository.look()
            locks.acquire(store / "lock", exclusive=True, timeout=0, purpose="changed").release()
            with repository.opened() as asked:
                assert asked.is_being_learned
                assert asked.names.find("Put").meanings
            locks.acquire(store / "lock", exclusive=True, timeout=0, purpose="changed").release()
        finally:
            writer.release()


def test_every_change_of_a_file_is_noticed_by_the_next_question(own_shop: Path) -> None:
    with Repositories([own_shop]) as repositories:

        def behind() -> tuple[str, ...]:
            with repositories.opened() as asked:
                assert asked.changes is not None
                return asked.changes.paths

        assert behind() == ()
        assert behind() == ()
        text = (own_shop / "main.go").read_text()
        (own_shop / "main.go").write_text(text + "\nfunc added() {}\n")
        assert behind() == ("main.go",)
        learn_graph(own_shop)
        assert behind() == ()
        (own_shop / "store" / "new.go").write_text("package store\n")
        assert behind() == ("store/new.go",)


def test_several_repositories_are_told_apart(shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "go.mod").write_text("module example.com/other\n")
    (other / "o.go").write_text("package other\n\nfunc Only() { Only() }\n")
    learn_graph(other)

    async def talk(client: Client) -> list[str]:
        return [
            await refused(client, "memory_graph", question="callers", symbol="Only"),
            await refused(client, "memory_graph", question="callers", symbol="Only", repository="third"),
            await told(client, "memory_graph", question="callers", symbol="Only", repository="other"),
            await told(client, "memory_graph", question="callers", symbol="Put", repository=str(shop)),
            await told(client, "memory_status"),
            client.session.instructions or "",
        ]

    unclear, unknown, only, put, status, instructions = inside(talk, shop, other)
    assert "Give one of these as `repository`, or the absolute path of a learned one: shop, other." in unclear
    assert "This server has no repository 'third'." in unknown
    assert "o.go:3  other.Only" in only
    assert "main.go:15  main.run" in put
    assert f"shop ({shop})\n2 packages" in status
    assert f"other ({other})\n1 package," in status
    assert instructions.endswith("Repositories here: shop, other.")


def test_symbols_packages_and_files_have_a_context(own_shop: Path) -> None:
    with create_card_store(own_shop / ".golore") as card_store:
        cards = [
            Card("", "", "A shop."),
            Card("store/", "", "Package store keeps things."),
            Card("store/store.go", "d", "Used by main.go.", (("main.go", "calls New"),)),
        ]
        card_store.replace_all(cards, [])

    async def talk(client: Client) -> list[str]:
        targets = ["", "store/", "example.com/shop/store", "store/store.go", str(own_shop / "store/store.go"), "Memory"]
        resources = [await client.read_resource(uri) for uri in ("golore://overview", "golore://file/store/store.go")]
        with pytest.raises(MCPError, match=r"stor.go is not in the graph") as unknown:
            await client.read_resource("golore://file/store/stor.go")
        with pytest.raises(MCPError):
            await client.read_resource("golore://file/../../etc/passwd")
        return [
            *[await told(client, "memory_context", target=target) for target in targets],
            *[resource.contents[0].model_dump()["text"] for resource in resources],
            await refused(client, "memory_context", target="stroe.go"),
            str(unknown.value),
        ]

    whole, package, by_path, file, absolute, symbol, overview, resource, misplaced, _ = inside(talk, own_shop)
    assert whole == overview == "A shop."
    assert package == by_path == "Package store keeps things."
    assert file == absolute == resource == "Used by main.go.\nRelated files:\n  main.go: calls New"
    assert symbol.splitlines()[:3] == [
        "example.com/shop/store.Memory (struct, store/store.go:13)",
        "  type Memory struct",
        "  // Memory keeps things in memory.",
    ]
    assert "implements, resolved (1):\n  store/store.go:7  store.Saver  by pointer" in symbol
    assert "members (2):" in symbol
    assert "stroe.go is not in the graph. Did you mean store/store.go?" in misplaced


def test_status_counts_what_is_known(shop: Path) -> None:
    async def talk(client: Client) -> str:
        return await told(client, "memory_status")

    status = inside(talk, shop)
    assert status.startswith(f"shop ({shop})\n2 packages, 6 files, ")
    assert "symbols: func 310, " in status
    assert status.endswith("Up to date with the files.")
