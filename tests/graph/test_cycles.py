"""Import cycles, directory cycles, and the fewest imports to remove."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from random import Random

from golore.graph.analysis.components import cyclic_components, shortest_cycle
from golore.graph.analysis.cycles import Cycles, find_cycles
from golore.graph.analysis.feedback_arcs import EXACT, Arc, fewest_cuts
from golore.graph.database.store import Store
from golore.graph.queries.names.short_names import assumed_short_name
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.text.cycle_text import cycles_reply
from golore.mcp_server.text.replies import plain_lines


def cycles_of(root: Path, files: dict[str, str], below: str = "", *, tests: bool = False) -> Cycles:
    for name, text in {"go.mod": "module m\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    learn_graph(root, workers=0)
    with Store.open(root / ".golore", write=False) as store:
        return find_cycles(store, below, tests=tests)


def importing(package: str, *paths: str) -> str:
    return f"package {package}\n\n" + "".join(f'import _ "{path}"\n' for path in paths)


def test_packages_that_import_each_other_are_reported_with_a_shortest_cycle(tmp_path: Path) -> None:
    found = cycles_of(
        tmp_path,
        {
            "a/a.go": importing("a", "m/b", "m/c"),
            "b/b.go": importing("b", "m/c"),
            "c/c.go": importing("c", "m/d", "m/a"),
            "d/d.go": importing("d"),
        },
    )
    (cycle,) = found.imports
    assert cycle.packages == ("m/a", "m/b", "m/c")
    assert [(one.source, one.target, one.file, one.line) for one in cycle.steps] == [
        ("m/a", "m/c", "a/a.go", 4),
        ("m/c", "m/a", "c/c.go", 4),
    ]
    assert not cycle.in_test


def test_a_test_inside_a_package_closes_a_cycle_and_an_external_test_does_not(tmp_path: Path) -> None:
    files = {"a/a.go": importing("a"), "b/b.go": importing("b", "m/a")}
    outside = cycles_of(tmp_path / "outside", {**files, "a/a_test.go": importing("a_test", "m/b", "m/a")})
    assert outside.imports == ()
    inside = cycles_of(tmp_path / "inside", {**files, "a/a_test.go": importing("a", "m/b")})
    (cycle,) = inside.imports
    assert (cycle.packages, cycle.in_test) == (("m/a", "m/b"), True)
    assert [one.file for one in cycle.steps] == ["a/a_test.go", "b/b.go"]


def test_a_package_that_imports_itself_is_a_cycle(tmp_path: Path) -> None:
    (cycle,) = cycles_of(tmp_path, {"a/a.go": importing("a", "m/a")}).imports
    assert [(one.source, one.target) for one in cycle.steps] == [("m/a", "m/a")]


SHOP = {
    "store/disk/disk.go": 'package disk\n\nimport "m/web/log"\n\nfunc Save() { log.Print(); log.Print() }\n',
    "store/key/key.go": "package key\n\ntype Key string\n",
    "web/log/log.go": "package log\n\nfunc Print() {}\n",
    "web/page/page.go": (
        'package page\n\nimport (\n\t"m/store/disk"\n\t"m/store/key"\n)\n\nfunc Show(key.Key) { disk.Save() }\n'
    ),
    "web/page/more.go": 'package page\n\nimport "m/store/disk"\n\nvar Hook = disk.Save\n',
    "web/page/page_test.go": 'package page\n\nimport "m/web/log"\n\nvar _ = log.Print\n',
}


def test_directories_that_depend_on_each_other_have_the_fewest_imports_to_remove_and_the_uses(tmp_path: Path) -> None:
    found = cycles_of(tmp_path, SHOP)
    assert found.imports == ()
    (cycle,) = found.directories
    assert (cycle.parent, cycle.directories, cycle.imports, cycle.exact) == ("", ("store", "web"), 4, True)
    (cut,) = cycle.cuts
    assert (cut.source, cut.target, cut.imports) == ("store", "web", 1)
    (reason,) = cut.reasons
    assert (reason.file, reason.line, reason.package) == ("store/disk/disk.go", 3, "m/web/log")
    assert [(use.user, use.symbol, use.how, use.sites) for use in reason.uses] == [
        ("m/store/disk.Save", "m/web/log.Print", "calls", (5,))
    ]
    text = plain_lines(cycles_reply(found, assumed_short_name), 10)
    assert text == [
        "No import cycle and 1 directory cycle in 4 packages.",
        "directories below the root depend on each other by 4 imports: store/, web/; without these 1, they do not",
        "  store/ → web/  store/disk/disk.go:3  m/web/log  for log.Print (1)",
    ]


def test_only_packages_below_a_directory_count(tmp_path: Path) -> None:
    found = cycles_of(tmp_path, {f"in/{name}": text.replace("m/", "m/in/") for name, text in SHOP.items()}, "in/web")
    assert (found.directories, found.packages) == ((), 2)


def test_a_directory_and_one_below_it_may_depend_on_each_other(tmp_path: Path) -> None:
    files = {
        "a/a.go": importing("a", "m/a/x"),
        "a/x/x.go": importing("x"),
        "a/y/y.go": importing("y", "m/a"),
        "a/x/z/z.go": importing("z", "m/a"),
    }
    (cycle,) = cycles_of(tmp_path, files).directories
    assert (cycle.parent, cycle.directories) == ("a", (".", "x"))


def test_imports_of_test_files_count_on_request(tmp_path: Path) -> None:
    files = {
        "a/a.go": importing("a", "m/b"),
        "b/b.go": importing("b"),
        "b/b_test.go": importing("b_test", "m/a"),
    }
    assert cycles_of(tmp_path / "code", files).directories == ()
    (cycle,) = cycles_of(tmp_path / "tests", files, tests=True).directories
    assert cycle.directories == ("a", "b")


def weight(arcs: tuple[Arc, ...], weights: dict[Arc, int]) -> int:
    return sum(weights[arc] for arc in arcs)


def successors(weights: dict[Arc, int], without: tuple[Arc, ...] = ()) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for source, target in weights.keys() - set(without):
        found.setdefault(source, set()).add(target)
    return found


def random_weights(chance: Random, nodes: list[str], share: float) -> dict[Arc, int]:
    pairs = permutations(nodes, 2)
    return {pair: chance.randrange(1, 9) for pair in pairs if chance.random() < share}


def test_the_cuts_of_small_graphs_are_as_cheap_as_the_best_of_all_orders() -> None:
    for seed in range(40):
        chance = Random(seed)
        nodes = list("abcdef")[: chance.randrange(2, 7)]
        weights = random_weights(chance, nodes, 0.6)
        cut = fewest_cuts(nodes, weights)
        best = min(
            sum(w for (a, b), w in weights.items() if order.index(a) > order.index(b)) for order in permutations(nodes)
        )
        assert cut.exact
        assert weight(cut.arcs, weights) == best
        assert cyclic_components(successors(weights, cut.arcs)) == []


def test_the_cuts_of_large_graphs_leave_no_cycle_and_cannot_be_reduced_by_one() -> None:
    for seed in range(10):
        chance = Random(seed)
        nodes = [f"n{number}" for number in range(EXACT + 20)]
        weights = random_weights(chance, nodes, 0.1)
        cut = fewest_cuts(nodes, weights)
        assert not cut.exact
        assert cyclic_components(successors(weights, cut.arcs)) == []
        for arc in cut.arcs:
            kept = tuple(other for other in cut.arcs if other != arc)
            assert cyclic_components(successors(weights, kept)) != []


def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    chain = {str(number): [str(number + 1)] for number in range(20_000)}
    chain["20000"] = ["0"]
    (component,) = cyclic_components(chain)
    assert len(component) == 20_001
    assert shortest_cycle({"a": ["b"], "b": ["c", "a"], "c": ["a"]}, "abc") == ["a", "b"]
