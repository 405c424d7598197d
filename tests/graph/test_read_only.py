"""The check of Cypher statements: what reads passes, and nothing else, however it is written."""

from __future__ import annotations

import pytest
from golore.graph.database.read_only import require_read_only
from golore.graph.errors import UsageError

ALLOWED = ("show_tables", "table_info", "show_connection", "stats_info", "show_functions", "db_version")


@pytest.mark.parametrize(
    "function",
    [
        "read_csv_serial",
        "read_csv_parallel",
        "read_parquet",
        "read_npy",
        "read_pandas",
        "READ_NPY",
        "project_graph",
        "project_graph_cypher",
        "drop_projected_graph",
        "clear_warnings",
        "current_setting",
        "file_info",
        "show_tables2",
        "ſhow_tables",
    ],
)
def test_other_functions_than_those_that_describe_the_graph_cannot_be_called(function: str) -> None:
    for form in ("CALL {}('/etc/passwd') RETURN *", "MATCH (n) CALL {}('x') RETURN *", "call\u2028{} ('x') return *"):
        with pytest.raises(UsageError, match=rf"The query calls {function}\. Only reading queries are allowed: CALL "):
            require_read_only(form.format(function))


@pytest.mark.parametrize("function", [*ALLOWED, "SHOW_TABLES"])
def test_functions_that_describe_the_graph_can_be_called(function: str) -> None:
    require_read_only(f"CALL {function}('Symbol') RETURN *")


@pytest.mark.parametrize(
    "statement",
    [
        "CALL `read_npy`('/etc/passwd') RETURN *",
        "CALL/**/read_npy/**/('/etc/passwd') RETURN *",
        "CALL //\nread_npy('/etc/passwd') RETURN *",
        "CALL show_tables() RETURN * UNION ALL CALL read_npy('/etc/passwd') RETURN *",
        "CALL threads=1",
        "CALL show_tables",
        "RETURN 1 //\rLOAD FROM '/etc/passwd' RETURN *",
        "RETURN 1 //\u2028\nLOAD FROM '/etc/passwd' RETURN *",
        "MATCH (n:Symbol) WHERE n.`exported` LOAD FROM '/etc/passwd' RETURN *",
        "MATCH (n:Symbol) WHERE n.line = 1 | '1' LOAD FROM '/etc/passwd' RETURN *",
        "MATCH (n)\u2028LOAD\u2028FROM '/etc/passwd' RETURN *",
        "MATCH (n)\u180eLOAD\u180eFROM '/etc/passwd' RETURN *",
        "MATCH (n)\u0085SET n.name = 'x'",
        "MATCH (n) ſET n.name = 'x'",
        "MATCH (n) WHERE n.name = 'a\\\\' SET n.name = 'x'",
        'MATCH (n) WHERE n.name = "a\'" SET n.name = "b\'"',
        "RETURN 1;\nDROP TABLE Symbol",
        "RETURN 1 /* open",
        "RETURN 'open",
        'RETURN "open',
        "RETURN `open",
        "RETURN 'open\\'",
    ],
)
def test_what_does_more_than_read_is_found_in_every_disguise(statement: str) -> None:
    with pytest.raises(UsageError):
        require_read_only(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (n:Symbol) WHERE n.doc = 'CALL read_npy(1)' RETURN n",
        "MATCH (n:Symbol) RETURN n.name // CALL read_npy(1)",
        "MATCH (n:Symbol) /* ; SET 'x */ RETURN n.name;",
        "MATCH (n:`Load`) RETURN n.`set` AS `call read_npy(`",
        "MATCH (n) RETURN n.call, n.load",
        "MATCH (n) WHERE n.name = 'it\\'s; SET' RETURN n",
    ],
)
def test_words_in_strings_names_and_comments_are_no_clauses(statement: str) -> None:
    require_read_only(statement)


def test_a_very_long_statement_is_refused_before_it_is_scanned() -> None:
    with pytest.raises(UsageError, match="more than 100,000 characters"):
        require_read_only("RETURN " + "/*" * 100_000)
