"""What golore resolves: one archive for each rule of the language and each known mistake of other tools.

The compiler judges the same archives.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.learner.audit.comparison import compare, render_table
from golore.learner.audit.go_judge import judge_edges
from golore.learner.checkout.discovery import is_skipped_by_go
from golore.learner.pipeline.graph_step import learn_graph
from support import markers
from support.claims import check_claims

ARCHIVES = sorted((Path(__file__).parents[2] / "fixtures" / "resolve").glob("*.txtar"))


class Learned:
    """An archive, its files on disk and the graph that was made of them."""

    def __init__(self, archive: markers.Archive, directory: Path) -> None:
        self.archive = archive
        self.markers = markers.read_markers(archive)
        self.root = archive.write_to(directory / "repository")
        self.store = directory / "store"
        learn_graph(self.root, store_directory=self.store, workers=0)
        with Store.open(self.store, write=False) as store:
            self.graph = markers.read_graph(store, self.markers)

    @property
    def compiles(self) -> bool:
        """Not what expects something to stay unresolved, broken on purpose, nor what needs a C compiler."""
        if any('import "C"' in text for text in self.archive.files.values()):
            return False
        return not any(marker.kind == "unresolved" and not marker.negated for marker in self.markers)


Learn = Callable[[Path], Learned]


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Learn:
    """Learns each archive once for all tests."""

    @cache
    def read(path: Path) -> Learned:
        archive = markers.read_archive(path.read_text(encoding="utf-8"))
        return Learned(archive, tmp_path_factory.mktemp(path.stem))

    return read


@pytest.fixture(scope="session")
def judge_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("judge")


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_the_graph_holds_what_the_markers_say(path: Path, learned: Learn) -> None:
    archive = learned(path)
    assert markers.failures(archive.graph, archive.markers) == []


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_calls_uses_implements_and_what_is_denied_are_those_of_the_compiler(
    path: Path, learned: Learn, judge_cache: Path
) -> None:
    archive = learned(path)
    truth = judge_edges(archive.root, cache=judge_cache)
    errors = [f"{file.path}: {file.error}" for file in truth.files if file.errors]
    assert not (archive.compiles and errors)
    result = compare(truth, markers.our_edges(archive.graph))
    scores = (result.calls, result.sites, result.implements, *result.uses.values(), *result.field_uses.values())
    assert all(score.wrong == score.missed == 0 for score in scores), render_table(result)
    assert result.pointer_differs == 0
    with Store.open(archive.store, write=False) as store:
        assert check_claims(store, truth).false == []


def test_names_of_a_missing_package_decide_what_its_source_would_decide(learned: Learn, judge_cache: Path) -> None:
    archive = learned(next(path for path in ARCHIVES if path.stem == "lang-missing-generic-types"))
    truth = judge_edges(archive.root, gopath=[archive.root / "_gopath"], cache=judge_cache)
    assert [f"{file.path}: {file.error}" for file in truth.files if file.errors] == []
    result = compare(truth, markers.our_edges(archive.graph))
    missed = {example for p in result.patterns if p.about == "implements missed" for example in p.examples}
    assert (result.implements.wrong, result.pointer_differs) == (0, 0), render_table(result)
    # Only the source of the package says what the embedded type promotes, and that this hides nothing.
    assert missed == {
        "impl/impl.go:50 example.com/m/impl.deeper -> example.com/m/api.More",
        "impl/impl.go:50 example.com/m/impl.deeper -> example.com/m/api.Server",
    }
    assert result.implements.right >= 8


def test_mistakes_of_other_tools_have_expectations_of_both_signs() -> None:
    mistakes = [path for path in ARCHIVES if path.stem.startswith("mistake-")]
    assert mistakes
    for path in mistakes:
        found = markers.read_markers(markers.read_archive(path.read_text(encoding="utf-8")))
        assert {marker.negated for marker in found} == {False, True}, path.stem


def mutated(text: str, chance: random.Random) -> str:
    """Go as it is in the middle of an edit: words lost, doubled and swapped."""
    words = WORDS.findall(text)
    for _ in range(chance.randint(1, 6)):
        here, there = chance.randrange(len(words)), chance.randrange(len(words))
        what = chance.randrange(4)
        if what == 0:
            words.insert(here, words[there])
        elif what == 1:
            words[here], words[there] = words[there], words[here]
        else:
            del words[here : here + (1 if what == 2 else chance.randint(1, 30))]
        words = words or ["package"]
    return "".join(words)


WORDS = re.compile(r"\w+|\s+|[^\w\s]")
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 100))]


@pytest.mark.parametrize("seed", SEEDS)
def test_code_in_the_middle_of_an_edit_never_stops_a_learn(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    files = {"go.mod": "module example.com/m\n\ngo 1.27\n"}
    for path in ARCHIVES:
        archive = markers.read_archive(path.read_text(encoding="utf-8"))
        sources = {name: text for name, text in archive.files.items() if name.endswith(".go")}
        files |= {f"{path.stem}/{name}": mutated(text, chance) for name, text in sources.items()}
    root = markers.Archive("", files).write_to(tmp_path / "repository")
    report = learn_graph(root, store_directory=tmp_path / "store", workers=0)
    # Vendored files are outside the repository, and nothing here imports what Go leaves out.
    taken = [name for name in files if "/vendor/" not in name and not is_skipped_by_go(name.rpartition("/")[0])]
    assert report.files == sum(1 for name in taken if name.endswith(".go"))


ARCHIVE = """About it.

-- go.mod --
module example.com/m

go 1.22
-- m.go --
package m

func F() {
	G() //@ MARKER
}

func G() {}
"""


def failures(marker: str, tmp_path: Path) -> list[str]:
    archive = Learned(markers.read_archive(ARCHIVE.replace("MARKER", marker)), tmp_path)
    return markers.failures(archive.graph, archive.markers)


@pytest.mark.parametrize(
    ("wrong", "instead"),
    [
        ('calls("m.H")', "example.com/m.F -> example.com/m.G"),
        ('!calls("m.G")', "example.com/m.F -> example.com/m.G"),
        ('calls("m.G", "m.G")', "example.com/m.F -> example.com/m.G"),
        ('unresolved("G")', "nothing"),
        ('refs("m.G")', "nothing"),
        ('declares("func", "m.G")', "nothing"),
        ('evidence("interface")', "static"),
    ],
)
def test_a_wrong_expectation_fails_and_says_what_is_there(wrong: str, instead: str, tmp_path: Path) -> None:
    assert failures(wrong, tmp_path) == [f"m.go:4: {wrong}  but there is {instead}"]


def test_all_failures_of_an_archive_are_told_at_once(tmp_path: Path) -> None:
    assert len(failures('calls("m.H"), calls("m.G"), !calls("m.G"), unresolved("G")', tmp_path)) == 3


@pytest.mark.parametrize(
    "marker", ["nonsense", 'call("m.G")', "calls()", 'calls("m.G") and more', 'calls("a", "b", "c")', ""]
)
def test_what_cannot_be_read_as_a_marker_is_an_error(marker: str) -> None:
    with pytest.raises(markers.MarkerError, match=r"m\.go:4"):
        markers.read_markers(markers.read_archive(ARCHIVE.replace("MARKER", marker)))


def test_an_archive_without_markers_is_an_error() -> None:
    with pytest.raises(markers.MarkerError, match="no markers"):
        markers.read_markers(markers.read_archive(ARCHIVE.replace("//@ MARKER", "")))
