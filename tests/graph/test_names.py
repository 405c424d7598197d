"""Names as people write them, and which symbols they mean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.graph.queries.answers import Meaning
from golore.graph.queries.names.code_places import declarations_at, files_ending
from golore.graph.queries.names.name_resolver import NameResolver
from golore.graph.queries.names.name_suggestions import edit_distance, suggested_files
from golore.graph.queries.names.short_names import ShortNames
from golore.graph.queries.names.written_names import FileLines, assumed_package_name, file_lines, plain_name
from golore.learner.pipeline.graph_step import learn_graph

MODULE = "example.com/etcd/v3"
FILES = {
    "go.mod": f"module {MODULE}\n",
    "client/client.go": """package clientv3

type KV interface {
	Put(key string)
}

type Client struct {
	KV
	Auth
	*deep
}

type Auth struct{ Token string }

type deep struct{ Base }

type Base struct{}

func (Base) Ping() {}
func (Base) Put()  {}

func (c *Client) Close() {}
""",
    "backend/backend.go": """package backend

// BatchTx is a
// transaction.
type BatchTx interface{ Commit() }

type backend struct{ tx BatchTx }

func (b *backend) BatchTx() BatchTx { return b.tx }
""",
    "lease/lessor.go": """package lease

type Lessor interface{ Grant() }

type lessor struct{}

func (le *lessor) Grant() {
	go func() {
		le.revoke()
	}()
}

func (le *lessor) revoke() {}

func Map[K comparable, V any](m map[K][]V) {}

func Less() {}

func Lines() {}
""",
    "lease/lessor_test.go": "package lease\n\nfunc TestLessor() {}\n\nvar lessons int\n",
    "use/use.go": f"""package use

import (
	"sync"

	pb "{MODULE}/lease"
	cli "{MODULE}/client"
)

type Guard struct{{ sync.Mutex }}

func Use(l pb.Lessor, c *cli.Client, g *Guard) {{
	l.Grant()
	pb.Less()
	c.Close()
	g.Lock()
}}
""",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    root = tmp_path_factory.mktemp("names")
    for path, text in FILES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    learn_graph(root, workers=0)
    with Store.open(root / ".golore", write=False) as opened:
        yield opened


def meaning(store: Store, text: str) -> Meaning:
    found = NameResolver(store).find(text)
    assert len(found.meanings) == 1, found
    return found.meanings[0]


@pytest.mark.parametrize(
    "text",
    [
        "(*lessor).Grant",
        "(lessor).Grant",
        "lease.(*lessor).Grant",
        "(*lease.lessor).Grant",
        "(*example.com/etcd/v3/lease.lessor).Grant",
        "lessor.Grant()",
        "`lessor.Grant`",
        "func (le *lessor) Grant() {",
        "example.com/etcd/v3/lease.(*lessor).Grant(0xc000012345, {0x1, 0x2})",
        "example.com/etcd/v3/lease.(*lessor).Grant(...)",
        "created by example.com/etcd/v3/lease.(*lessor).Grant in goroutine 7",
        "pb.lessor.Grant",
    ],
)
def test_every_way_to_write_a_method_finds_it(store: Store, text: str) -> None:
    assert meaning(store, text).name == f"{MODULE}/lease.lessor.Grant"


@pytest.mark.parametrize(
    "text", ["lease.Map[...]", "lease.Map[string, []int]", "func Map[K comparable, V any](m", "Map"]
)
def test_type_arguments_are_no_part_of_a_name(store: Store, text: str) -> None:
    assert meaning(store, text).name == f"{MODULE}/lease.Map"


@pytest.mark.parametrize(
    "text", ["lease.(*lessor).Grant.func1()", "lease.(*lessor).Grant.func1.2(...)", "lease.(*lessor).Grant.gowrap1"]
)
def test_a_function_literal_is_found_by_the_function_around_it(store: Store, text: str) -> None:
    found = meaning(store, text)
    assert found.name == f"{MODULE}/lease.lessor.Grant"
    assert found.explanation.endswith(f"is a function literal in {found.name}.")


def test_a_package_is_named_by_its_clause_its_directory_or_an_import(store: Store) -> None:
    for text in ("clientv3.Client.Close", "client.Client.Close", "cli.Client.Close", "v3/client.Client.Close"):
        found = meaning(store, text)
        assert (found.name, found.explanation) == (f"{MODULE}/client.Client.Close", "")


def test_the_name_of_an_import_means_only_what_that_package_declares(store: Store) -> None:
    assert not NameResolver(store).find("pb.Client").meanings


def test_a_name_that_begins_with_a_package_comes_before_one_that_begins_with_a_type(store: Store) -> None:
    assert meaning(store, "backend.BatchTx").first.kind == "interface"
    assert meaning(store, "backend.backend.BatchTx").first.kind == "method"


def test_a_promoted_method_is_that_of_the_shallowest_embedded_type(store: Store) -> None:
    found = meaning(store, "clientv3.Client.Put")
    assert (found.name, found.first.kind) == (f"{MODULE}/client.KV.Put", "imethod")
    assert found.explanation == f"clientv3.Client.Put is promoted from {MODULE}/client.KV."
    assert meaning(store, "(*Client).Ping").name == f"{MODULE}/client.Base.Ping"
    assert meaning(store, "cli.Client.Token").first.kind == "field"
    assert meaning(store, "use.Guard.Lock").name == "sync.Mutex.Lock"


def test_a_member_that_no_embedded_type_has_is_not_found(store: Store) -> None:
    assert not NameResolver(store).find("Client.Get").meanings


def test_suggestions_have_the_fewest_typos_and_most_uses_first(store: Store) -> None:
    names = [symbol.qualified_name.rpartition("/")[2] for symbol in NameResolver(store).find("Lesor").suggestions]
    assert names[:2] == ["lease.Lessor", "lease.lessor"]  # both one typo away; the first is used more
    assert "lease.Lines" not in names


def test_suggestions_for_a_wrong_owner_have_the_name(store: Store) -> None:
    first, *_ = NameResolver(store).find("Lesor.Grant").suggestions
    assert first.qualified_name == f"{MODULE}/lease.Lessor.Grant"


def test_part_of_a_name_suggests_the_names_that_contain_it(store: Store) -> None:
    assert [symbol.name for symbol in NameResolver(store).find("atchT").suggestions] == ["BatchTx", "BatchTx"]


def test_a_misspelt_file_suggests_the_file(store: Store) -> None:
    assert suggested_files(store, "lesor.go") == ["lease/lessor.go"]
    assert suggested_files(store, "wrong/lessor.go") == ["lease/lessor.go"]
    assert suggested_files(store, "quite-different.go") == []


def test_a_transposition_is_one_typo() -> None:
    assert edit_distance("grant", "gratn") == edit_distance("lesor", "lessor") == 1
    assert edit_distance("ab", "xyz", most=1) == 2


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("lease/lessor.go", FileLines("lease/lessor.go")),
        ("lessor.go:281", FileLines("lessor.go", 281, 281)),
        ("lessor.go:10-40", FileLines("lessor.go", 10, 40)),
        ("lessor.go:12:5: undefined: x", FileLines("lessor.go", 12, 12)),
        ("\t/home/ci/lease/lessor.go:281 +0x1d", FileLines("/home/ci/lease/lessor.go", 281, 281)),
        ("C:\\src\\lessor.go:3", FileLines("C:/src/lessor.go", 3, 3)),
        ("lessor.go#L10-L40", FileLines("lessor.go", 10, 40)),
        ("lessor.Grant", None),
        ("a.go.b", None),
    ],
)
def test_files_and_lines_are_recognized(text: str, lines: FileLines | None) -> None:
    assert file_lines(text) == lines


@pytest.mark.parametrize(
    ("first", "last", "names"),
    [
        (7, 7, ["Grant"]),
        (9, 9, ["Grant"]),
        (3, 3, ["Lessor"]),
        (1, 4, ["Lessor", "Grant"]),
        (7, 13, ["Grant", "revoke"]),
        (14, 14, []),
    ],
)
def test_lines_mean_the_declarations_that_have_them(store: Store, first: int, last: int, names: list[str]) -> None:
    found = declarations_at(store, FileLines("lease/lessor.go", first, last))
    assert [symbol.name for symbol in found] == names


def test_a_line_of_a_struct_means_the_field_there_and_one_of_a_doc_comment_its_declaration(store: Store) -> None:
    assert [one.name for one in declarations_at(store, FileLines("client/client.go", 8, 8))] == ["KV"]
    assert [one.name for one in declarations_at(store, FileLines("backend/backend.go", 4, 4))] == ["BatchTx"]


def test_a_path_of_another_machine_is_known_by_its_end(store: Store) -> None:
    assert files_ending(store, "lessor.go", partly=False) == ["lease/lessor.go"]
    assert files_ending(store, "/build/etcd/lease/lessor.go", partly=True) == ["lease/lessor.go"]
    assert files_ending(store, "/build/etcd/lease/lessor.go", partly=False) == []
    assert files_ending(store, "/build/other/lessor.go", partly=True) == []


def test_package_names_follow_from_import_paths_with_versions() -> None:
    paths = ("github.com/go-chi/chi/v5", "gopkg.in/yaml.v3", "example.com/m/store")
    assert [assumed_package_name(path) for path in paths] == ["chi", "yaml", "store"]


def test_a_sentence_is_not_read_as_a_declaration() -> None:
    assert plain_name("type parameters of functions") == "type parameters of functions"
    assert plain_name("type Store struct {") == "Store"


def test_short_names_have_the_name_of_the_package_clause(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module example.com/client/v3\n\ngo 1.24\n")
    (tmp_path / "client.go").write_text("package clientv3\n\ntype Client struct{}\n\nfunc (Client) Put() {}\n")
    learn_graph(tmp_path, workers=0)
    with Store.open(tmp_path / ".golore", write=False) as store:
        names = ShortNames(store)
        assert names("example.com/client/v3.Client.Put") == "clientv3.Client.Put"
        assert names("github.com/go-chi/chi/v5.Mux") == "chi.Mux"
        assert names("gopkg.in/yaml.v3.Node") == "yaml.Node"
        assert names("fmt.Stringer") == "fmt.Stringer"
        assert [names(other) for other in ("client.go", "example.com/client/v3", "error")] == [
            "client.go",
            "example.com/client/v3",
            "error",
        ]
