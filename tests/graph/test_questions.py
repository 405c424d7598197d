"""What a store answers about symbols, on a learned module; and which symbols a name means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.graph.queries import impact, questions
from golore.graph.queries.answers import Answer, Link, Meaning
from golore.graph.queries.names.name_resolver import NameResolver
from golore.graph.queries.names.short_names import assumed_short_name as short_name
from golore.graph.queries.names.written_names import plain_name
from golore.graph.queries.store_counts import count_store
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.text.replies import (
    answer_reply,
    details_lines,
    full_name,
    impact_reply,
    people_lines,
    plain_lines,
)
from support.shop import make_shop

SAVE = "example.com/shop/store.Memory.Save"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    learn_graph(root, workers=0)
    with Store.open(root / ".golore", write=False) as opened:
        yield opened


def meaning(store: Store, text: str, kinds: frozenset[str] = frozenset()) -> Meaning:
    found = NameResolver(store).find(text, kinds)
    assert len(found.meanings) == 1, found
    return found.meanings[0]


def names(links: tuple[Link, ...]) -> list[str]:
    return [link.symbol.qualified_name.removeprefix("example.com/shop") for link in links]


def short(answer: Answer) -> tuple[list[str], list[str], int]:
    return names(answer.resolved), names(answer.candidates), answer.unresolved.sites


def test_callers_are_certain_possible_through_interfaces_or_unresolved(store: Store) -> None:
    answer = questions.callers(store, meaning(store, SAVE))
    assert short(answer) == ([".run"], ["/store.Put"], 1)
    assert (answer.resolved[0].file, answer.resolved[0].sites) == ("main.go", (14,))
    assert answer.candidates[0].via == "example.com/shop/store.Saver.Save"
    assert (answer.unresolved.examples[0].file, answer.unresolved.examples[0].line) == ("main.go", 17)


def test_types_that_nothing_puts_into_an_interface_are_counted_and_not_listed(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module m\n")
    (tmp_path / "m.go").write_text("""package m

type Saver interface{ Save() }
type Closer interface { Saver; Close() }
type Disk struct{}
func (Disk) Save() {}
func (Disk) Close() {}
type Memory struct{}
func (Memory) Save() {}
type List[T any] struct{}
func (List[T]) Save() {}
func run(s Saver) { s.Save() }
func Start() { var c Closer = Disk{}; run(c); run(List[int]{}) }
""")
    learn_graph(tmp_path, workers=0)
    with Store.open(tmp_path / ".golore", write=False) as store:
        answer = questions.callees(store, meaning(store, "run"))
        assert (names(answer.candidates), answer.by_shape) == (["m.Disk.Save", "m.List.Save"], 1)
        for name, caller, by_shape in (("Disk.Save", "m.run", 0), ("List.Save", "m.run", 0), ("Memory.Save", "", 1)):
            answer = questions.callers(store, meaning(store, name))
            assert (" ".join(names(answer.candidates)), answer.by_shape) == (caller, by_shape)
        text = "\n".join(plain_lines(answer_reply(answer, full_name), 10))
        assert "nothing here puts it into. Not listed: 1 call through those." in text


def test_a_method_is_possibly_called_through_interfaces_of_types_that_promote_it(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module m\n")
    (tmp_path / "m.go").write_text(
        "package m\n\ntype Both interface{ A(); B() }\ntype Half struct{}\nfunc (Half) A() {}\n"
        "type Whole struct{ Half }\nfunc (Whole) B() {}\nfunc Use(b Both) { b.A() }\nfunc Start() { Use(Whole{}) }\n"
    )
    learn_graph(tmp_path, workers=0)
    with Store.open(tmp_path / ".golore", write=False) as store:
        answer = questions.callers(store, meaning(store, "Half.A"))
        assert (names(answer.resolved), names(answer.candidates)) == ([], ["m.Use"])
        back = questions.callees(store, meaning(store, "Use"))
        assert (names(back.resolved), names(back.candidates)) == (["m.Both.A"], ["m.Half.A"])


def test_no_callers_tells_of_interfaces_outside_that_may_be_the_way_to_it(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module m\n")
    (tmp_path / "m.go").write_text(
        'package m\n\nimport "sort"\n\ntype Names []string\n\nfunc (n Names) Len() int { return len(n) }\n'
        "func (n Names) Less(i, j int) bool { return n[i] < n[j] }\n"
        "func (n Names) Swap(i, j int) { n[i], n[j] = n[j], n[i] }\n"
        "func (n Names) inner() {}\n\ntype Plain struct{}\n\nfunc (Plain) Other() {}\n\n"
        "func Sort(n Names) { sort.Sort(n) }\n"
    )
    learn_graph(tmp_path, workers=0)
    with Store.open(tmp_path / ".golore", write=False) as store:
        answer = questions.callers(store, meaning(store, "Names.Less"))
        assert short(answer) == ([], [], 0)
        assert answer.unresolved.outside == ("sort.Interface",)
        assert impact.impact(store, meaning(store, "Names.Less")).unresolved.outside == ("sort.Interface",)
        assert "also satisfies sort.Interface, declared outside" in "\n".join(
            people_lines(answer_reply(answer, full_name), 10)
        )
        for other in ("Names.inner", "Plain.Other", "Sort"):
            assert questions.callers(store, meaning(store, other)).unresolved.outside == ()


def test_callees_through_an_interface_list_its_implementations_as_candidates(store: Store) -> None:
    answer = questions.callees(store, meaning(store, "Put"))
    assert short(answer)[:2] == (["/store.Saver.Save"], ["/store.Memory.Save"])


def test_callees_outside_the_repository_are_listed(store: Store) -> None:
    answer = questions.callees(store, meaning(store, "run"))
    assert "fmt.Println" in names(answer.resolved)


def test_implementers_of_an_interface_are_types_by_value_or_pointer(store: Store) -> None:
    answer = questions.implementers(store, meaning(store, "Saver"))
    assert {(name, link.pointer) for name, link in zip(names(answer.resolved), answer.resolved, strict=True)} == {
        ("/store.Memory", True),
        ("/store.Logged", False),
    }


def test_implementers_of_another_type_are_the_interfaces_it_satisfies(store: Store) -> None:
    answer = questions.implementers(store, meaning(store, "Memory", questions.TYPES))
    assert (answer.question, names(answer.resolved)) == ("implements", ["/store.Saver"])


def test_implementers_of_an_interface_method_are_methods(store: Store) -> None:
    answer = questions.implementers(store, meaning(store, "Saver.Save"))
    assert names(answer.resolved) == ["/store.Memory.Save"]


def test_users_refer_call_and_embed(store: Store) -> None:
    answer = questions.users(store, meaning(store, "store.Memory", questions.TYPES))
    assert {(link.symbol.name, link.how) for link in answer.resolved} >= {
        ("Logged", "embeds"),
        ("New", "references"),
    }


def test_twins_are_one_meaning_and_answered_together(store: Store) -> None:
    twins = meaning(store, "Sync")
    assert [symbol.file for symbol in twins.symbols] == ["store/sync_linux.go", "store/sync_windows.go"]
    assert short(questions.callers(store, twins)) == (["/store.Flush"], [], 0)


def test_one_twin_is_meant_by_its_id(store: Store) -> None:
    assert len(meaning(store, "example.com/shop/store.Sync@sync_linux.go").symbols) == 1


def test_impact_follows_users_and_lists_tests_apart(store: Store) -> None:
    found = impact.impact(store, meaning(store, SAVE))
    assert [(one.symbol.name, one.depth) for one in found.resolved] == [("run", 1), ("main", 2)]
    assert [(one.symbol.name, one.depth) for one in found.candidates] == [("Put", 1)]
    assert [one.symbol.name for one in found.tests] == ["TestPut"]
    assert found.complete


def test_impact_stops_at_the_depth_and_says_so(store: Store) -> None:
    found = impact.impact(store, meaning(store, SAVE), depth=1)
    assert [one.symbol.name for one in found.resolved] == ["run"]
    assert not found.complete


def test_impact_of_an_interface_reaches_the_types_that_satisfy_it(store: Store) -> None:
    found = impact.impact(store, meaning(store, "Saver"), depth=1)
    assert {one.symbol.name for one in found.resolved} >= {"Memory", "Logged", "Put"}


HANDED_OVER = """package m

type door struct{}

func (door) Close() error { return nil }

func handle() {}

func register(f func()) { f() }

func setup() {
	register(handle)
}

func leave(v any) { v.(interface{ Close() error }).Close() }

func open() { leave(door{}) }
"""
HANDING_TEST = """package m

import "testing"

func TestHandle(t *testing.T) {
	register(handle)
}

func TestLeave(t *testing.T) {
	open()
}
"""


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    root = tmp_path_factory.mktemp("values")
    (root / "go.mod").write_text("module example.com/m\n\ngo 1.22\n")
    (root / "m.go").write_text(HANDED_OVER)
    (root / "m_test.go").write_text(HANDING_TEST)
    learn_graph(root, workers=0)
    with Store.open(root / ".golore", write=False) as opened:
        yield opened


def test_who_hands_a_function_over_is_possibly_affected_at_that_line(values: Store) -> None:
    found = impact.impact(values, meaning(values, "m.handle"))
    assert found.resolved == ()
    assert [(one.symbol.name, one.how, one.sites) for one in found.candidates] == [("setup", "hands over", (12,))]
    assert [(one.symbol.name, one.how, one.sites) for one in found.tests] == [("TestHandle", "hands over", (6,))]
    assert "  1  m.go:11  m.setup  hands over m.handle at 12" in plain_lines(impact_reply(found, short_name), 9)


def test_tests_that_hand_a_function_over_are_candidates_with_that_line(values: Store) -> None:
    answer = questions.tests(values, meaning(values, "m.handle"))
    assert "  m_test.go:6  m.TestHandle  hands over m.handle" in plain_lines(answer_reply(answer, short_name), 9)


def test_calls_through_an_unnamed_interface_are_followed_as_candidates(values: Store) -> None:
    close = meaning(values, "door.Close")
    assert names(questions.callers(values, close).candidates) == ["example.com/m.leave"]
    assert names(questions.callees(values, meaning(values, "m.leave")).candidates) == ["example.com/m.door.Close"]
    assert [one.symbol.name for one in impact.impact(values, close).candidates] == ["leave", "open"]
    route = impact.path(values, meaning(values, "TestLeave"), close)
    assert [(step.symbol.name, step.how) for step in route.steps] == [
        ("TestLeave", ""),
        ("open", "calls"),
        ("leave", "calls"),
        ("Close", "calls"),
        ("Close", "may run"),
    ]
    assert not route.certain


def test_show_names_candidate_callers_and_interfaces_from_outside(values: Store) -> None:
    (details,) = questions.show(values, meaning(values, "door.Close")).declarations
    assert (details.callers, details.candidate_callers, details.outside) == (0, 1, ("io.Closer",))
    lines = details_lines(details)
    assert "  through interfaces  1 more may call it" in lines
    assert "  from outside        may be called through io.Closer" in lines


def test_a_path_of_calls_is_certain(store: Store) -> None:
    route = impact.path(store, meaning(store, "main"), meaning(store, SAVE))
    assert [step.symbol.name for step in route.steps] == ["main", "run", "Save"]
    assert route.certain


def test_a_path_through_an_interface_is_only_possible(store: Store) -> None:
    route = impact.path(store, meaning(store, "TestPut"), meaning(store, SAVE))
    assert [step.symbol.qualified_name.rpartition("/")[2] for step in route.steps] == [
        "store.TestPut",
        "store.Put",
        "store.Saver.Save",
        "store.Memory.Save",
    ]
    assert not route.certain


def test_where_no_path_is_known_the_unresolved_sites_are_counted(store: Store) -> None:
    route = impact.path(store, meaning(store, "lonely"), meaning(store, SAVE))
    assert (route.steps, route.complete, route.unresolved.sites) == ((), True, 1)


def test_show_tells_signature_doc_owner_members_and_relations(store: Store) -> None:
    (shown,) = questions.show(store, meaning(store, "store.Memory", questions.TYPES)).declarations
    assert shown.doc == "Memory keeps things in memory."
    assert [member.name for member in shown.members] == ["items", "Save"]
    assert names(shown.implements) == ["/store.Saver"]
    (method,) = questions.show(store, meaning(store, SAVE)).declarations
    assert method.signature == "func (m *Memory) Save(key string) error"
    assert (method.owner, method.callers, method.callees) == ("example.com/shop/store.Memory", 1, 0)
    (twin, _) = questions.show(store, meaning(store, "Sync")).declarations
    assert twin.constraint == "linux"


def test_census_counts_what_is_there(store: Store) -> None:
    counts = count_store(store)
    assert (counts.packages, counts.files) == (2, 5)
    assert counts.symbols["method"] == 1
    assert counts.edges["IMPLEMENTS"] == 2
    assert counts.unresolved_sites >= 1


@pytest.mark.parametrize(
    "text",
    [
        SAVE,
        "shop/store.Memory.Save",
        "store.Memory.Save",
        "Memory.Save",
        "(*Memory).Save",
        "store.(*Memory).Save",
        "Memory.Save()",
        "memory.save",
    ],
)
def test_every_spelling_finds_the_method(store: Store, text: str) -> None:
    assert meaning(store, text).ids == (SAVE,)


def test_the_list_of_names_finds_what_scans_find(store: Store) -> None:
    listed = NameResolver(store)
    listed.load()
    for text in ("Save", "memory.save", "Sync", "New", "Println", "nothing", "Memory", SAVE):
        assert listed.find(text) == NameResolver(store).find(text)


def test_a_name_of_several_symbols_gives_all_its_meanings(store: Store) -> None:
    found = NameResolver(store).find("New")
    assert [one.name for one in found.meanings] == ["example.com/shop.New", "example.com/shop/store.New"]


def test_kinds_that_fit_the_question_are_preferred(store: Store) -> None:
    assert meaning(store, "Memory", questions.TYPES).first.kind == "struct"


def test_what_lies_outside_is_found_by_its_name(store: Store) -> None:
    assert meaning(store, "fmt.Println").first.external
    assert meaning(store, "Println").first.id == "fmt.Println"
    assert names(questions.callers(store, meaning(store, "fmt.Println")).resolved) == [".run"]


def test_a_name_of_nothing_gets_names_that_are_close(store: Store) -> None:
    found = NameResolver(store).find("Memry.Save")
    assert not found.meanings
    assert SAVE in [symbol.id for symbol in found.suggestions]
    assert "lonely" in [symbol.name for symbol in NameResolver(store).find("lonley").suggestions]


def test_a_package_named_unlike_its_directory_is_found_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module example.com/go-yaml\n")
    (tmp_path / "y.go").write_text("package yaml\n\nfunc Marshal() {}\n")
    learn_graph(tmp_path, workers=0)
    with Store.open(tmp_path / ".golore", write=False) as store:
        assert meaning(store, "yaml.Marshal").name == "example.com/go-yaml.Marshal"


def test_plain_names_have_no_receivers_type_arguments_or_calls() -> None:
    assert plain_name("m/pkg.(*List[T]).Push()") == "m/pkg.List.Push"


def test_nothing_can_use_a_declaration_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module m\n")
    (tmp_path / "m.go").write_text("package m\n\nvar _ = 1\n\nfunc f() { _ = g }\n")
    learn_graph(tmp_path, workers=0)
    with Store.open(tmp_path / ".golore", write=False) as store:
        assert short(questions.users(store, meaning(store, "m._"))) == ([], [], 0)
