"""An export makes the same store elsewhere, from which a learn goes on; one that is damaged changes nothing."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from golore.graph.files.graph_digests import file_digest
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.knowledge_rows import insert_rows, rows_of
from golore.graph.knowledge.notes import forget
from golore.graph.knowledge.ratings import rate, ratings
from golore.graph.transfer.parquet_export import HEADER_NAME
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from support.learned_tree import copy_repository
from support.shop import make_shop
from support.stores import exported, put_note, truncate_graph

SUMMARY = {
    "number": 7,
    "id": "s7",
    "subject": "store/store.go",
    "level": "file",
    "text": "Keeps keys, “counted” ✓.",
    "quality": "reviewed",
    "source": "person",
    "model": "",
    "prompt": "",
    "inputs": "d1",
    "created": "2026-11-16T09:00:00Z",
    "supersedes": "",
    "current": 1,
    "doubt": "",
    "reason": "",
}

KILLED = """
import os, shutil, signal, sys
from pathlib import Path
store, clean, source = map(Path, sys.argv[1:4])

def run(last):
    from golore.graph.transfer.importer import import_store
    seen = 0
    def count(event, arguments):
        nonlocal seen
        if event == "os.rename":
            seen += 1
            if seen == last:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)
    import_store(source, store, replace=True)
    os._exit(0)

def state():
    from golore.graph.files.knowledge_rows import rows_of
    from golore.graph.files.knowledge_db import Knowledge
    from golore.graph.database.store import Store
    with Knowledge.open(store) as knowledge, Store.open(store, write=False) as opened:
        symbols = [row for row in opened.rows("MATCH (s:Symbol) RETURN s.id ORDER BY s.id")]
        print(symbols, [row for row in rows_of(knowledge, "notes", ("id",))], flush=True)
    os._exit(0)

for last in range(1, 100):
    shutil.rmtree(store)
    shutil.copytree(clean, store)
    child = os.fork()
    if not child:
        run(last)
    status = os.waitpid(child, 0)[1]
    child = os.fork()  # the engine's threads do not come along when this process forks again
    if not child:
        state()
    assert os.waitpid(child, 0)[1] == 0
    if not os.WIFSIGNALED(status):
        break
"""


def put_summary(store: Path, **other: object) -> None:
    with Knowledge.open(store) as knowledge, knowledge.transaction() as write:
        insert_rows(write, "summaries", [SUMMARY | other])


def put_part(store: Path, summary: str) -> None:
    row = {"summary": summary, "kind": "body", "subject": "s", "place": "store/store.go", "digest": "d", "now": "d"}
    with Knowledge.open(store) as knowledge, knowledge.transaction() as write:
        insert_rows(write, "summary_parts", [row])


def run(*words: str | Path) -> None:
    assert main([str(word) for word in words]) == 0


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    capsys.readouterr()
    run(*words)
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A room with a learned repository, its note and its summary, and both exports of it."""
    room = tmp_path_factory.mktemp("origin")
    root = make_shop(room / "shop")
    run("learn", root)
    put_note(root / ".golore", "n1")
    put_summary(root / ".golore")
    put_part(root / ".golore", "s7")
    run("export", "--repo", root, "--output", room / "shop.jsonl")
    run("export", "--repo", root, "--format", "parquet", "--output", room / "shop.parquet")
    return room


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "another" / "path")


@pytest.fixture(scope="module")
def imported(origin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another repository with that store and a note of its own, for what changes nothing."""
    root = make_shop(tmp_path_factory.mktemp("imported") / "shop")
    run("import", origin / "shop.jsonl", "--repo", root)
    put_note(root / ".golore", "mine")
    return root


@pytest.mark.parametrize("name", ["shop.jsonl", "shop.parquet"])
def test_export_import_export_is_the_same_byte_for_byte(name: str, origin: Path, elsewhere: Path) -> None:
    run("import", origin / name, "--repo", elsewhere)
    for again, format in (("shop.jsonl", "jsonl"), ("shop.parquet", "parquet")):
        if again == name or format == "jsonl":
            run("export", "--repo", elsewhere, "--format", format, "--output", elsewhere.parent / again)
    assert (elsewhere.parent / "shop.jsonl").read_bytes() == (origin / "shop.jsonl").read_bytes()
    if name == "shop.parquet":
        assert content(elsewhere.parent / name) == content(origin / name)


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_an_export_ends_with_a_line_that_tells_what_it_is(origin: Path) -> None:
    lines = [json.loads(line) for line in (origin / "shop.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[-1]["label"] == "Export"
    assert lines[-1]["lines"] == len(lines) - 1
    assert SUMMARY["text"] in [line["row"].get("text") for line in lines if line["label"] == "Held"]
    types = [line["label"] if line["label"] in ("Mark", "Held", "Export") else line["type"] for line in lines]
    assert types == sorted(types, key=["node", "edge", "Mark", "Held", "Export"].index)
    assert all("id" in line for line in lines if line["type"] == "node")
    assert {line["type"] for line in lines} == {"node", "edge"}


def test_a_learn_after_an_import_reads_and_parses_only_what_differs(
    origin: Path, elsewhere: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = elsewhere / "store" / "store.go"
    path.write_text(path.read_text().replace("m.items[key]++", "m.items[key] += 2"))
    told = asked(capsys, "import", origin / "shop.parquet", "--repo", elsewhere, "--json")
    assert told["differing"] == {"added": [], "edited": ["store/store.go"], "deleted": []}
    assert told["facts"] == 4  # two files are the same
    report = learn_graph(elsewhere, workers=0)
    assert (report.files_parsed, report.packages_resolved, report.files_resolved) == (1, 1, 1)
    put_note(make_shop(tmp_path / "fresh") / ".golore", "n1")
    shutil.copyfile(path, tmp_path / "fresh" / "store" / "store.go")
    learn_graph(tmp_path / "fresh", workers=0)
    assert graph_lines(elsewhere) == graph_lines(tmp_path / "fresh")


def graph_lines(root: Path) -> list[str]:
    beside = tuple(f'{{"type":"node","label":"{label}"' for label in ("Mark", "Held", "Export"))
    return [line for line in exported(root / ".golore").splitlines() if not line.startswith(beside)]


def test_lines_of_json_have_no_facts_so_a_learn_parses_all_and_writes_only_what_differs(
    origin: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "extra.go").write_text("package main\n\nfunc extra() { lonely() }\n")
    told = asked(capsys, "import", origin / "shop.jsonl", "--repo", elsewhere, "--json")
    assert told["differing"]["added"] == ["extra.go"]
    report = learn_graph(elsewhere, workers=0)
    assert (report.files_parsed, report.packages_resolved) == (6, 1)


def test_answers_are_there_right_after_an_import(
    origin: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("import", origin / "shop.parquet", "--repo", elsewhere)
    callers = asked(capsys, "callers", "Put", "--repo", elsewhere, "--json")
    assert "main.go" in json.dumps(callers)
    card = asked(capsys, "context", elsewhere / "store" / "store.go", "--json")
    assert card["stale"] is False
    assert card["text"]


def known(root: Path) -> tuple[list[str], list[str]]:
    with Knowledge.open(root / ".golore") as knowledge:
        return tuple([id for (id,) in rows_of(knowledge, table, ("id",))] for table in ("notes", "summaries"))  # type: ignore[return-value]


def test_what_is_known_here_stays_and_what_is_known_there_comes(origin: Path, elsewhere: Path) -> None:
    put_note(elsewhere / ".golore", "mine")
    put_note(elsewhere / ".golore", "n1", "As it is told here.")
    put_summary(elsewhere / ".golore", id="s-mine", subject="main.go")
    run("import", origin / "shop.parquet", "--repo", elsewhere)
    assert known(elsewhere) == (["mine", "n1"], ["s-mine", "s7"])
    with Knowledge.open(elsewhere / ".golore") as knowledge:
        assert ("n1", "As it is told here.") in list(rows_of(knowledge, "notes", ("id", "text")))
    run("import", origin / "shop.jsonl", "--repo", elsewhere, "--replace")
    assert known(elsewhere) == (["n1"], ["s7"])
    assert exported(elsewhere / ".golore") == (origin / "shop.jsonl").read_text(encoding="utf-8")


def summaries(root: Path) -> dict[str, int]:
    """Whether each counts."""
    with Knowledge.open(root / ".golore") as knowledge:
        return dict(rows_of(knowledge, "summaries", ("id", "current")))


def parts_of(root: Path) -> set[str]:
    with Knowledge.open(root / ".golore") as knowledge:
        return {summary for (summary,) in rows_of(knowledge, "summary_parts", ("summary",))}


@pytest.mark.parametrize(
    ("source", "created", "counts"),
    [("model", "2027-01-01", "s7"), ("person", "2026-01-01", "s7"), ("person", "2027-01-01", "mine")],
)
def test_of_two_summaries_of_one_subject_the_better_or_newer_counts_and_the_other_is_history(
    source: str, created: str, counts: str, origin: Path, elsewhere: Path
) -> None:
    put_summary(elsewhere / ".golore", id="mine", source=source, created=created)
    put_part(elsewhere / ".golore", "mine")
    run("import", origin / "shop.parquet", "--repo", elsewhere)
    assert summaries(elsewhere) == {id: int(id == counts) for id in ("mine", "s7")}
    assert parts_of(elsewhere) == {counts}
    (elsewhere / "store" / "store_test.go").unlink()
    run("learn", elsewhere)


def test_a_note_that_was_forgotten_here_does_not_come_back(origin: Path, elsewhere: Path) -> None:
    run("import", origin / "shop.jsonl", "--repo", elsewhere)
    with Knowledge.open(elsewhere / ".golore") as knowledge:
        forget(knowledge, "n1")
    put_note(elsewhere / ".golore", "mine")
    run("import", origin / "shop.jsonl", "--repo", elsewhere)
    assert known(elsewhere)[0] == ["mine"]


def test_an_import_replaces_a_damaged_graph(origin: Path, elsewhere: Path) -> None:
    run("import", origin / "shop.jsonl", "--repo", elsewhere)
    truncate_graph(elsewhere / ".golore")
    run("import", origin / "shop.parquet", "--repo", elsewhere)
    assert exported(elsewhere / ".golore") == (origin / "shop.jsonl").read_text(encoding="utf-8")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def lose_the_last_line(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def lose_a_line(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3] + lines[4:]))


def change_a_line(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"Saver saves things", b"Saver loses things"))


def break_a_line(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"label":"Symbol","id"', b'"label":"Symbol""id"', 1))


def claim_a_newer(**other: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:-1]) + json.dumps(json.loads(lines[-1]) | other) + "\n", encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (cut, "is not a golore export, or is incomplete"),
        (lose_the_last_line, "is not a golore export, or is incomplete"),
        (lose_a_line, "was changed or damaged since it was exported"),
        (change_a_line, "was changed or damaged since it was exported"),
        (break_a_line, "line 15 cannot be read"),
        (claim_a_newer(format=2), "was made by a newer golore"),
        (claim_a_newer(schema=99), "was made by a newer golore"),
        (claim_a_newer(schema=1), "was made by an older golore"),
        (claim_a_newer(edition="999.0"), "was learned by a newer golore"),
        (claim_a_newer(knowledge=99), "was made by a newer golore"),
    ],
)
def test_lines_that_are_not_whole_or_not_for_this_golore_change_nothing(
    change: Callable[[Path], None], sentence: str, origin: Path, imported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = exported(imported / ".golore")
    bad = Path(shutil.copyfile(origin / "shop.jsonl", imported.parent / "bad.jsonl"))
    change(bad)
    assert main(["import", str(bad), "--repo", str(imported)]) == 2
    assert sentence in capsys.readouterr().err
    assert exported(imported / ".golore") == before
    assert not list((imported / ".golore").glob("*.tmp"))


def test_a_damaged_table_changes_nothing(origin: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = shutil.copytree(origin / "shop.parquet", elsewhere.parent / "bad")
    data = bytearray((bad / "Symbol.parquet").read_bytes())
    data[100] ^= 1
    (bad / "Symbol.parquet").write_bytes(data)
    assert main(["import", str(bad), "--repo", str(elsewhere)]) == 2
    assert "Symbol.parquet is missing or damaged" in capsys.readouterr().err
    assert not (elsewhere / ".golore" / "store.json").exists()
    (bad / HEADER_NAME).unlink()
    assert main(["import", str(bad), "--repo", str(elsewhere)]) == 2
    assert "is not a golore export" in capsys.readouterr().err


def test_a_kill_at_any_rename_of_an_import_leaves_the_old_or_the_new(
    origin: Path, elsewhere: Path, tmp_path: Path
) -> None:
    (elsewhere / "extra.go").write_text("package main\n\nfunc extra() { lonely() }\n")
    learn_graph(elsewhere, workers=0)
    put_note(elsewhere / ".golore", "mine")
    shutil.copytree(elsewhere / ".golore", tmp_path / "clean")
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    words = [sys.executable, script, elsewhere / ".golore", tmp_path / "clean", origin / "shop.jsonl"]
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    states = told.stdout.splitlines()
    assert set(states) == {states[0], states[-1]}
    assert "extra" in states[0]
    assert "('mine',)" in states[0]
    assert "extra" not in states[-1]
    assert "('mine',)" not in states[-1]


def test_an_export_does_not_replace_what_is_no_export(
    origin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    words = ["export", "--repo", str(origin / "shop"), "--format", "parquet"]
    assert main([*words, "--output", str(tmp_path / "mine")]) == 2
    assert "exists and is not an export" in capsys.readouterr().err
    assert main(words) == 2
    assert "Name it with --output" in capsys.readouterr().err


def make_vendoring(root: Path) -> Path:
    make_shop(root)
    (root / "go.mod").write_text("module example.com/shop\n\ngo 1.24\n\nrequire github.com/absent/dep v1.0.0\n")
    dep = root / "vendor" / "github.com" / "absent" / "dep"
    dep.mkdir(parents=True)
    (dep / "dep.go").write_text(
        "package dep\n\ntype C struct{}\n\nfunc (C) Save(string) {}\n\nfunc Client() C { return C{} }\n"
    )
    listed = "# github.com/absent/dep v1.0.0\n## explicit; go 1.24\ngithub.com/absent/dep\n"
    (root / "vendor" / "modules.txt").write_text(listed)
    return root


def test_where_the_code_outside_lies_does_not_matter_to_a_learn_after_an_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = make_vendoring(tmp_path / "here"), make_vendoring(tmp_path / "there" / "deeper")
    run("learn", here)
    run("export", "--repo", here, "--format", "parquet", "--output", tmp_path / "x")
    run("import", tmp_path / "x", "--repo", there)
    assert '"github.com/absent/dep.C.Save"' in exported(there / ".golore")
    report = asked(capsys, "learn", there, "--json")
    assert (report["files_parsed"], report["outside_parsed"]) == (0, 0)
    assert (report["packages_resolved"], report["rows_written"]) == (0, 0)


pa: Any = importlib.import_module("pyarrow")
parquet: Any = importlib.import_module("pyarrow.parquet")


def _claim(directory: Path, name: str) -> None:
    """List a table in the header as it is now."""
    header = json.loads((directory / HEADER_NAME).read_text())
    path = directory / f"{name}.parquet"
    header["tables"][name] = {"rows": parquet.read_metadata(path).num_rows, "digest": file_digest(path)}
    (directory / HEADER_NAME).write_text(json.dumps(header))


def add_a_table(directory: Path) -> None:
    shutil.copyfile(directory / "Symbol.parquet", directory / "Note.parquet")


def list_an_unknown_table(directory: Path) -> None:
    shutil.copyfile(directory / "Symbol.parquet", directory / "other.parquet")
    _claim(directory, "other")


def expand_by_a_dictionary(directory: Path) -> None:
    rows = 100_000
    table = pa.table({"id": ["x" * 30_000] * rows, "value": ["y"] * rows})
    parquet.write_table(table, directory / "marks.parquet", use_dictionary=True, compression="zstd")
    assert (directory / "marks.parquet").stat().st_size < 20_000
    _claim(directory, "marks")


def expand_by_compression(directory: Path) -> None:
    table = pa.table({"id": ["x" * 1_000] * 100_000, "value": ["y"] * 100_000})
    parquet.write_table(table, directory / "marks.parquet", use_dictionary=False, compression="zstd")
    assert (directory / "marks.parquet").stat().st_size < 400_000
    _claim(directory, "marks")


def _varint(number: int) -> bytes:
    """An integer as the footer of a Parquet file has it."""
    number, digits = number * 2, bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes((*digits, number))


def claim_a_smaller_size(directory: Path) -> None:
    """The file that `expand_by_compression` writes, whose metadata lie about the sizes before compression."""
    expand_by_compression(directory)
    path = directory / "marks.parquet"
    found = parquet.read_metadata(path)
    data = path.read_bytes()
    pages, footer = data[: -found.serialized_size - 8], data[-found.serialized_size - 8 :]
    sizes = {found.row_group(at).column(0).total_uncompressed_size for at in range(found.num_row_groups)}
    sizes |= {found.row_group(at).total_byte_size for at in range(found.num_row_groups)}
    for size in sizes:
        smaller = next(_varint(1 << bits) for bits in range(40) if len(_varint(1 << bits)) == len(_varint(size)))
        footer = footer.replace(_varint(size), smaller)
    path.write_bytes(pages + footer)
    assert parquet.read_metadata(path).row_group(0).column(0).total_uncompressed_size < 10 << 20
    _claim(directory, "marks")


def damage_the_pages_of_facts(directory: Path) -> None:
    path = directory / "facts.parquet"
    data = bytearray(path.read_bytes())
    data[4:60] = bytes(56)
    path.write_bytes(data)
    _claim(directory, "facts")


def damage_the_pages_of_symbols(directory: Path) -> None:
    path = directory / "Symbol.parquet"
    data = bytearray(path.read_bytes())
    data[4:60] = bytes(56)
    path.write_bytes(data)
    _claim(directory, "Symbol")


def put_bytes_that_are_not_text(directory: Path) -> None:
    table = parquet.read_table(directory / "Symbol.parquet")
    at = table.schema.get_field_index("name")
    broken = pa.array([b"\xff\xfe"] * table.num_rows, pa.binary()).view(pa.string())
    parquet.write_table(
        table.set_column(at, "name", broken), directory / "Symbol.parquet", use_dictionary=False, compression="zstd"
    )
    _claim(directory, "Symbol")


def expand_by_nulls(directory: Path) -> None:
    rows = 20_000_000
    table = pa.table({"id": pa.nulls(rows, pa.string()), "value": pa.nulls(rows, pa.string())})
    parquet.write_table(table, directory / "marks.parquet", use_dictionary=False, compression="zstd")
    _claim(directory, "marks")


def leave_out_a_column(directory: Path) -> None:
    table = parquet.read_table(directory / "facts.parquet").drop_columns(["body"])
    parquet.write_table(table, directory / "facts.parquet", use_dictionary=False)
    _claim(directory, "facts")


def list_a_table_elsewhere(directory: Path) -> None:
    shutil.copyfile(directory / "Symbol.parquet", directory.parent / "elsewhere.parquet")
    _claim(directory, "../elsewhere")


def link_a_table(directory: Path) -> None:
    shutil.move(directory / "Symbol.parquet", directory.parent / "linked.parquet")
    (directory / "Symbol.parquet").symlink_to("../linked.parquet")


def put_sql_into_a_column(directory: Path) -> None:
    row = json.dumps({"id": "x", 'text") SELECT 1; DROP TABLE notes; --': "y"})
    parquet.write_table(
        pa.table({"label": ["notes"], "row": [row]}), directory / "knowledge.parquet", use_dictionary=False
    )
    _claim(directory, "knowledge")


def nest_a_row_deeply(directory: Path) -> None:
    table = pa.table({"label": ["notes"], "row": ["[" * 100_000]})
    parquet.write_table(table, directory / "knowledge.parquet", use_dictionary=False)
    _claim(directory, "knowledge")


def nest_the_header_deeply(directory: Path) -> None:
    (directory / HEADER_NAME).write_text("[" * 100_000)


def list_no_tables(directory: Path) -> None:
    header = json.loads((directory / HEADER_NAME).read_text())
    (directory / HEADER_NAME).write_text(json.dumps(header | {"tables": ["Symbol"]}))


def claim_other_types(directory: Path) -> None:
    header = json.loads((directory / HEADER_NAME).read_text())
    (directory / HEADER_NAME).write_text(json.dumps(header | {"format": "1", "knowledge": None}))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (add_a_table, "Note.parquet is not listed in export.json"),
        (list_an_unknown_table, "has an unknown table 'other'"),
        (expand_by_a_dictionary, "marks.parquet is not a table that golore exported"),
        (expand_by_compression, "marks.parquet is not a table that golore exported"),
        (claim_a_smaller_size, "marks.parquet expands to more than its size explains"),
        (damage_the_pages_of_facts, "cannot be read"),
        (damage_the_pages_of_symbols, "cannot be read"),
        (put_bytes_that_are_not_text, "Invalid UTF8"),
        (expand_by_nulls, "marks.parquet is not a table that golore exported"),
        (leave_out_a_column, "facts.parquet is not a table that golore exported"),
        (list_a_table_elsewhere, "has an unknown table"),
        (link_a_table, "Symbol.parquet is missing or damaged"),
        (put_sql_into_a_column, "knowledge that this one cannot store"),
        (nest_a_row_deeply, "cannot be read"),
        (nest_the_header_deeply, "is not a golore export"),
        (list_no_tables, "has no list of tables"),
        (claim_other_types, "is not a golore export"),
    ],
)
def test_tables_that_golore_did_not_export_change_nothing(
    change: Callable[[Path], None], sentence: str, origin: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = shutil.copytree(origin / "shop.parquet", elsewhere.parent / "bad")
    change(bad)
    assert main(["import", str(bad), "--repo", str(elsewhere)]) == 2
    assert sentence in capsys.readouterr().err
    assert not (elsewhere / ".golore" / "store.json").exists()


@pytest.mark.parametrize("other", [{"format": "1"}, {"schema": None}, {"digest": 5}, {"lines": "many"}])
def test_lines_with_a_header_of_other_types_are_refused(
    other: dict[str, object], origin: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Path(shutil.copyfile(origin / "shop.jsonl", elsewhere.parent / "bad.jsonl"))
    claim_a_newer(**other)(bad)
    assert main(["import", str(bad), "--repo", str(elsewhere)]) == 2
    assert "xport" in capsys.readouterr().err


def test_ratings_of_both_stores_are_kept_and_none_comes_twice(origin: Path, elsewhere: Path, tmp_path: Path) -> None:
    there = copy_repository(origin / "shop", tmp_path / "there")
    for root, item in ((there, "main.go"), (there, "main.go"), (elsewhere, "store/store.go")):
        with Knowledge.open(root / ".golore") as knowledge:
            rate(knowledge, item, useful=True, now=datetime(2026, 11, 16, tzinfo=UTC))
    run("export", "--repo", there, "--output", tmp_path / "there.jsonl")
    for _ in range(2):
        run("import", tmp_path / "there.jsonl", "--repo", elsewhere)
    with Knowledge.open(elsewhere / ".golore") as knowledge:
        assert sorted(one.item for one in ratings(knowledge)) == ["main.go", "main.go", "store/store.go"]


@pytest.mark.parametrize(
    ("old", "new"), [('"name":"Save"', '"name":5'), ('"line":', '"line":99999999999999999999,"x":')]
)
def test_lines_with_values_of_other_types_change_nothing(
    old: str, new: str, origin: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *lines, last = (origin / "shop.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    assert old in "".join(lines)
    changed = "".join(lines).replace(old, new, 1).encode()
    closing = json.loads(last) | {"digest": blake2b(changed, digest_size=16).hexdigest()}
    bad = elsewhere.parent / "bad.jsonl"
    bad.write_bytes(changed + json.dumps(closing).encode() + b"\n")
    assert main(["import", str(bad), "--repo", str(elsewhere)]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert not (elsewhere / ".golore" / "store.json").exists()
