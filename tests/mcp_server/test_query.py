"""Cypher from outside, by `golore query` and `memory_query`: it reads, is bounded, and cannot change anything."""

from __future__ import annotations

import json
from pathlib import Path

import golore
import pytest
from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from mcp import Client
from support.local_model import make_model
from support.mcp_client import inside, refused, told
from support.shop import make_shop

ENDLESS = (
    "MATCH (a:Symbol), (b:Symbol), (c:Symbol), (d:Symbol), (e:Symbol), (f:Symbol), (g:Symbol), (h:Symbol) "
    "WHERE a.line + b.line + c.line + d.line + e.line + f.line + g.line + h.line = 1 RETURN a.id"
)
"""Eleven thousand million combinations."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("query") / "shop")
    learn_graph(root)
    return root


def test_rows_come_with_the_names_of_their_columns(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cypher = "MATCH (s:Symbol {kind: 'interface'}) RETURN s.name AS name, s.line AS line"
    assert main(["query", cypher, "--json", "--repo", str(shop)]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": [{"name": "Saver", "line": 7}]}

    async def talk(client: Client) -> str:
        return await told(client, "memory_query", cypher=cypher)

    assert inside(talk, shop) == '1 row of ["name", "line"]:\n  ["Saver", 7]'


def test_only_the_process_of_the_query_opens_the_database(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the database was opened")

    monkeypatch.setattr("golore.graph.database.store.Session", refuse)
    assert main(["query", "MATCH (f:File) RETURN f.path", "--repo", str(shop)]) == 0


def test_a_question_by_nearness_is_the_same_everywhere(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_shop(tmp_path_factory.mktemp("near") / "shop")
    golore.learn(root)
    cypher = (
        "MATCH (s:Symbol)<-[:CALLS]-(t:Symbol) RETURN s.name AS name, t.name AS caller "
        "ORDER BY array_cosine_similarity(s.vector, $near) DESC, name, caller LIMIT 3"
    )
    asked = ["query", cypher, "--near", "create an empty store", "--json", "--repo", str(root)]
    assert main(asked) == 2
    assert "This repository has no vectors. Run `golore embed` to make them." in capsys.readouterr().err
    model = make_model(tmp_path_factory.mktemp("models") / "small")
    assert main(["embed", "--model", str(model), "--repo", str(root)]) == 0
    capsys.readouterr()
    assert main(asked) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["name"] == "New"

    async def talk(client: Client) -> str:
        return await told(client, "memory_query", cypher=cypher, near="create an empty store")

    assert [json.loads(line) for line in inside(talk, root).splitlines()[1:]] == [list(row.values()) for row in rows]
    with golore.open(root) as shop:
        assert shop.cypher(cypher, near="create an empty store") == rows


def test_more_rows_than_the_limit_are_not_shown_but_told_of(shop: Path) -> None:
    async def talk(client: Client) -> tuple[str, str]:
        cypher = "MATCH (s:Symbol) RETURN s.id ORDER BY s.id"
        return (
            await told(client, "memory_query", cypher=cypher, limit=2),
            await told(client, "memory_query", cypher="MATCH (s:Symbol {name: 'none'}) RETURN s"),
        )

    few, none = inside(talk, shop)
    assert few.count("\n  [") == 2
    assert few.endswith("There are more than 2 rows; raise `limit` or narrow the query.")
    assert none == "No rows."


def test_nodes_are_shown_without_the_marks_of_the_engine(shop: Path) -> None:
    async def talk(client: Client) -> str:
        return await told(client, "memory_query", cypher="MATCH (a)-[e:IMPLEMENTS]->(b:Symbol) RETURN a, e LIMIT 1")

    text = inside(talk, shop)
    assert "_ID" not in text
    assert '"qualified_name": "example.com/shop/store.' in text
    assert '"evidence": ' in text


@pytest.mark.parametrize(
    "cypher",
    [
        "MATCH (s:Symbol) SET s.name = 'x'",
        "MATCH (s:Symbol) DETACH DELETE s",
        "CREATE (:Meta {id: 'x', value: 'y'})",
        "MATCH (s:Symbol) RETURN s.id; MATCH (s:Symbol) DELETE s",
        "LOAD FROM '/etc/passwd' RETURN *",
        "COPY (MATCH (s:Symbol) RETURN s.id) TO '/tmp/stolen.csv'",
        "CALL threads=1",
        "INSTALL httpfs",
    ],
)
def test_what_does_more_than_read_is_refused(shop: Path, cypher: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", cypher, "--repo", str(shop)]) == 2
    assert "Only reading queries are allowed" in (told := capsys.readouterr().err) or "more than one" in told


def test_the_engine_itself_refuses_to_write(shop: Path) -> None:
    with Store.open(shop / ".golore", write=False) as store:
        list(store.rows("MATCH (p:Package) RETURN p.id"))
        with pytest.raises(Exception, match=r"(?i)read-only"):
            list(store.rows("MATCH (s:Symbol) SET s.name = 'x'"))


def test_a_query_that_takes_too_long_is_stopped_and_the_next_one_is_answered(shop: Path) -> None:
    with Store.open(shop / ".golore", write=False) as store:
        with pytest.raises(UsageError, match=r"The query was stopped after 0\.05 s\. Begin at fewer nodes"):
            store.query(ENDLESS, seconds=0.05)
        assert store.query("RETURN 1 AS one") == [{"one": 1}]


def test_a_mistake_is_answered_with_what_the_graph_has(shop: Path) -> None:
    async def talk(client: Client) -> tuple[str, str, str]:
        return (
            await refused(client, "memory_query", cypher="MATCH (s:Symbl) RETURN s"),
            await refused(client, "memory_query", cypher="MATCH (s:Symbol) SET s.name = 'x'"),
            await refused(client, "memory_query", cypher=ENDLESS, seconds=0.05),
        )

    label, writing, long = inside(talk, shop)
    assert "Table Symbl does not exist" in label
    assert "(Symbol {id, kind, name, qualified_name, " in label
    assert "[CALLS {sites, evidence}] Symbol->Symbol, Symbol->External" in label
    assert "The query contains SET. Only reading queries are allowed here." in writing
    assert "The query was stopped after 0.05 s." in long
