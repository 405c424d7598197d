"""The pages of `golore view`: what they say is what the commands say, and the repository's text stays text."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Generator
from pathlib import Path
from urllib.parse import unquote

import pytest
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summaries import current, history
from golore.graph.phrases import counted
from golore.learner.learn import learn
from golore.mcp_server.cli.main import main
from golore.mcp_server.view.drawing.treemap import Leaf, treemap_picture
from golore.mcp_server.view.overview import read_overview
from golore.mcp_server.view.readme import readme_of
from golore.mcp_server.view.rendering import DATA
from markupsafe import escape
from support.git_repository import git
from support.hostile_shop import HOSTILE_DIRECTORY, HOSTILE_FILE, MARKUP, draft_summary, make_hostile_shop
from support.mcp_client import GOLORE
from support.shop import make_shop
from support.viewed import Elements, Viewed, viewing

SHOP = "example.com/shop/store"
PAGES = [
    "",
    f"symbol/{SHOP}.Hostile",
    f"symbol/{SHOP}.Twice",
    f"symbol/{SHOP}.Memory.Save",
    f"symbol/{SHOP}.Saver",
    f"file/{HOSTILE_FILE}",
    "file/README.md",
    "search?q=hacked",
    "map/",
    "map/store",
    "map/?show=treemap",
    f"map/{HOSTILE_DIRECTORY}",
    f"map/{HOSTILE_DIRECTORY}?show=treemap",
    "change",
    "knowledge",
    "review",
    "material/file/store/store.go",
    "file/store/store.go",
    "query?q=MATCH (s:Symbol) RETURN s.doc, s LIMIT 50",
    f"part/callers/{SHOP}.Twice",
    f"history/{SHOP}.Hostile",
]
OURS = {"link", "script", "meta", "input"}


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Viewed]:
    root = make_hostile_shop(tmp_path_factory.mktemp("hostile").resolve() / "shop")
    with viewing(root, "--port=0") as running:
        yield running


def answer(viewed: Viewed, question: str, name: str) -> dict[str, list[object]]:
    done = subprocess.run(
        [GOLORE, question, name, "--json", "--repo", viewed.root], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("name", "title", "question"),
    [
        ("Memory.Save", "Callers", "callers"),
        ("Put", "Callees", "callees"),
        ("New", "Callers", "callers"),
        ("Memory", "Users", "users"),
        ("Saver", "Implementers", "implementers"),
        ("New", "Tests", "tests"),
    ],
)
def test_numbers_are_those_of_the_command(viewed: Viewed, name: str, title: str, question: str) -> None:
    page = viewed.get(f"symbol/{SHOP}.{name}")
    heading = re.search(rf"<h2>{title} (.*?)</h2>", page)
    assert heading is not None
    numbers = {word: int(number) for number, word in re.findall(r">(\d+) (resolved|candidate|unresolved)", heading[1])}
    expected = answer(viewed, question, f"{SHOP}.{name}")
    assert numbers["resolved"] == len(expected["resolved"])
    assert numbers.get("candidate", 0) == len(expected["candidates"])
    if question != "callees":  # of these, the page counts the unresolved uses in the body
        assert numbers.get("unresolved", 0) == expected["unresolved"]["sites"]  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_pages_say_that_the_data_are_incomplete_and_what_to_do(viewed: Viewed) -> None:
    done = subprocess.run([GOLORE, "learn", "--json", viewed.root], capture_output=True, text=True, check=True)
    learned = json.loads(done.stdout)
    uses = counted(learned["unresolved_sites"], "use")
    packages = counted(len(learned["missing_imports"]), "imported package")
    for page in ("", "map/", "map/?show=treemap"):
        text = viewed.get(page)
        assert f"Incomplete: {uses} could not be resolved, and the source of {packages} is missing." in text
        assert "<code>go mod download</code>" in text


def test_a_package_that_only_the_standard_library_can_import_is_missing_everywhere(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    (root / "store" / "norm.go").write_text(
        'package store\n\nimport "golang.org/x/text/unicode/norm"\n\nvar Form = norm.NFC\n'
    )
    missing = learn(root, root / ".golore", workers=0).missing_imports
    assert "golang.org/x/text/unicode/norm" in missing
    with Store.open(root / ".golore", write=False) as store:
        assert read_overview(store).missing == len(missing)


def test_callees_say_how_many_uses_in_the_body_are_unresolved(viewed: Viewed) -> None:
    statement = "MATCH (u:Unresolved) WHERE u.source = 'example.com/shop.run' RETURN u.name, u.sites"
    rows = json.loads(
        subprocess.run(
            [GOLORE, "query", "--json", "--repo", viewed.root, statement],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )["rows"]
    sites = sum(len(row["u.sites"].split()) for row in rows)
    assert sites
    page = viewed.get("symbol/example.com/shop.run")
    assert re.search(rf"<h2>Callees .*>{sites} unresolved<", page)
    assert f"{counted(sites, 'use')} in its body could not be resolved" in page
    assert "in its body" not in viewed.get(f"symbol/{SHOP}.New")


def test_a_risky_file_has_the_same_reasons_on_the_start_page_and_on_its_own(viewed: Viewed) -> None:
    found = re.search(
        r'/file/store/store\.go">store/store\.go</a><p class="snippet">([^<]*) · \d+ lines<', viewed.get("")
    )
    assert found is not None
    assert re.fullmatch(
        r"used from \d+ other files in 2 packages · 1 commit · no test known to reach \d of \d functions", found[1]
    )
    assert f" lines · {found[1]}</p>" in viewed.get("file/store/store.go")


def test_a_card_is_shown_as_headings_and_lists_with_links(viewed: Viewed) -> None:
    page = viewed.get("file/store/store.go")
    found = re.search(r'<section class="card"><h2>What golore tells agents about this file</h2>(.*?)</section>', page)
    assert found is not None
    assert re.search(r"<h3>Used from [^<]*</h3>.*?<ul><li>", found[1])
    assert re.search(r'<a href="[^"]*/file/main\.go#L\d+">main\.go:\d+</a>', found[1])  # a path without a slash
    assert not re.search(r"(?:>|\n)- ", found[1])


def test_helpers_of_tests_are_no_starting_points_and_external_tests_are_counted_apart(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    users = "\n".join(f"func use{n}() {{ New(); Checked(nil); ForTests(); Fake() }}" for n in range(9))
    (root / "storetest").mkdir()
    (root / "storetest" / "fake.go").write_text("package storetest\n\nfunc Fake() {}\n")
    (root / "store" / "users.go").write_text(
        f"""package store

import (
	"testing"

	. "example.com/shop/storetest"
)

func Checked(t testing.TB) {{}}
func CheckedToo(t *testing.T) {{}}
func Table(t *testing.Table) {{}}
{users.replace("ForTests(); ", "CheckedToo(nil); Table(nil); ")}
"""
    )
    (root / "store" / "more_test.go").write_text(
        f"package store\n\nfunc ForTests() {{}}\n\n{users.replace('use', 'more')}\n"
    )
    (root / "store" / "outside_test.go").write_text("package store_test\n")
    assert main(["learn", str(root), "--workers=0"]) == 0
    with viewing(root, "--port=0") as running:
        page = running.get("")
    listed = re.search(r"<h3>Most called exported functions, tests left out</h3>(.*?)</ul>", page)
    assert listed is not None
    names = dict(re.findall(r'>([\w.]+)</a> <span class="place">(\d+) caller', listed[1]))
    assert names["store.New"] == "10"  # without those in tests
    assert names["store.Table"] == "9"
    assert names.keys().isdisjoint({"storetest.Fake", "store.Checked", "store.CheckedToo", "store.ForTests"})
    assert "3 packages and 1 external test package" in page
    assert re.search(
        r'starts in <a href="[^"]*/symbol/example\.com/shop\.main">main\(\)</a> at <a [^>]*>main\.go:10<', page
    )


@pytest.mark.parametrize(
    "text",
    [
        "<h3>Every shop</h3>\n<p align=center>{}</p>\n<p>Other</p>",
        "# Every shop\n{}\n\nOther",
        "Every shop\n==========\n{}\n\nOther",
        "<div><h1>Every shop is one that says what it is in many words</h1>\n{}</div>",
    ],
)
def test_the_heading_of_a_readme_is_no_part_of_its_first_sentence(tmp_path: Path, text: str) -> None:
    sentence = "Shop is a program that sells things to people who want them."
    (tmp_path / "README.md").write_text(text.format(sentence))
    assert readme_of(tmp_path) == ("README.md", sentence)


def test_a_treemap_names_files_with_room_and_the_block_of_its_own_files() -> None:
    leaves = [
        Leaf("main.go", 900, 4),
        Leaf("store/a_file_with_a_very_long_name_that_has_no_room_in_a_narrow_tile.go", 300, 0),
    ]
    leaves += [Leaf(f"store/small{number}.go", 1, 0) for number in range(20)]
    picture = treemap_picture(leaves, "", lambda path: (path, f"/{path}"), "files")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    assert {"main.go", "(files here)", "store"} <= set(texts)
    assert any(text.startswith("a_file_with") and text.endswith("…") for text in texts)
    assert not any(text.startswith("small") for text in texts)


@pytest.mark.parametrize("page", PAGES)
def test_text_of_the_repository_never_becomes_markup(viewed: Viewed, page: str) -> None:
    text = viewed.get(page)
    for tag, attributes in Elements(text).found:
        assert not [name for name in attributes if name.startswith("on")]
        assert tag != "img"
        if tag == "script":
            assert attributes == {"type": "module", "src": f"/{viewed.secret}/assets/view.js"}
        for name in ("href", "src", "action"):
            value = attributes.get(name, "#")
            assert value.startswith((f"/{viewed.secret}/", "#")), (tag, value)
    assert "<style" not in text
    assert " style=" not in text


def test_the_hostile_text_is_on_the_pages(viewed: Viewed) -> None:
    shown = MARKUP.replace("<", "&lt;").replace(">", "&gt;")
    assert shown.partition("&#34;")[0].split('"')[0] in viewed.get(f"symbol/{SHOP}.Hostile")
    assert "Decided &lt;script&gt;" in viewed.get(f"symbol/{SHOP}.Hostile")
    assert "begin &lt;script&gt;" in viewed.get("")
    assert "Proposed &lt;script&gt;" in viewed.get("review")
    assert "begin &lt;script&gt;" in viewed.get(f"history/{SHOP}.Hostile")


def test_hidden_characters_are_shown_as_escapes(viewed: Viewed) -> None:
    assert "\\u202e" in viewed.get("search?q=%E2%80%AEevil")
    assert "\u202e" not in viewed.get("search?q=%E2%80%AEevil")


def test_names_in_the_source_lead_to_what_they_mean(viewed: Viewed) -> None:
    page = viewed.get(f"file/{HOSTILE_FILE}")
    for name in ("Hostile", "Twice", "New", "Memory.Save", "Put"):
        short = name.rpartition(".")[2]
        assert re.search(rf'<code>[^\n]*<a href="[^"]*/symbol/{SHOP}\.{re.escape(name)}"[^>]*>{short}</a>', page), name
    assert ">text</a>" not in page  # a parameter


def test_the_gutter_counts_callers_and_tests(viewed: Viewed) -> None:
    page = viewed.get("file/store/store.go")
    assert 'aria-label="New: ' in page
    assert re.search(r'class="mark callers"[^>]*>◂\d', page)
    assert re.search(r'class="mark tests"[^>]*>✓\d', page)
    assert re.search(r'class="mark implementers"[^>]*>◇\d', page)


def test_a_name_with_several_meanings_is_a_choice_and_an_unknown_one_has_suggestions(viewed: Viewed) -> None:
    assert "has 2 meanings" in viewed.get("symbol/Save")
    status, _, text = viewed.ask(f"/{viewed.secret}/symbol/Hostil")
    assert status == 404
    assert "store.Hostile" in text


def test_the_start_page_answers_what_where_and_which_is_risky(viewed: Viewed) -> None:
    page = viewed.get("")
    assert "What is it?" in page
    assert re.search(r'href="[^"]*/map/">\.</a>', page)  # the program at the root
    assert re.search(r"What is risky to change.*?<li><a href=[^>]*/file/store/", page, re.S)


def test_a_draft_is_rejected_or_rewritten_in_the_review(tmp_path: Path) -> None:
    root = make_hostile_shop(tmp_path.resolve() / "shop")
    draft_summary(root, "main.go", "Starts the shop.")
    with viewing(root, "--port=0") as running:
        page = running.get("review")
        found = {
            attributes["data-subject"]: attributes
            for _, attributes in Elements(page).found
            if "data-subject" in attributes
        }
        assert {"main.go", "store/store.go"} <= found.keys()
        text = "Starts the shop and saves a key."
        decision = {"level": "file", "subject": "main.go", "digest": found["main.go"]["data-digest"], "text": text}
        assert running.post("review", {**decision, "action": "rewrite", "digest": "other"})[0] == 409
        assert running.post("review", {**decision, "action": "burn"})[0] == 409
        assert running.post("review", {"action": "accept", "sort": 1})[0] == 400
        assert running.post("review", {**decision, "action": "rewrite"}) == (200, "Saved as reviewed.")
        assert "Starts the shop and saves a key." in running.get("file/main.go")
        rejected = {"action": "reject", "level": "file", "subject": "store/store.go"}
        assert "Keeps things in memory" in running.get("file/store/store.go")
        assert running.post("review", rejected)[0] == 200
        assert "Keeps things in memory" not in running.get("file/store/store.go")
        assert running.post("review", rejected)[0] == 409
        assert 'data-subject="store/store.go"' not in running.get("review")
        assert running.post("review", {"action": "reject", "proposal": "p1"})[0] == 200
        assert "Proposed" not in running.get("review")
    with Knowledge.open(root / ".golore") as knowledge:
        kept = current(knowledge, "file", "main.go")
        assert kept is not None
        assert (kept.text, kept.quality, kept.source) == (text, "reviewed", "person")
        assert current(knowledge, "file", "store/store.go") is None
        assert history(knowledge, "file", "store/store.go") != []


def test_a_large_file_is_shown_in_windows(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    lines = [f"func F{number}() {{}}" for number in range(4_000)]
    (root / "store" / "large.go").write_text(
        "\n".join(["package store", "/* a comment", *lines[:1_600], "*/", *lines[1_600:]])
    )
    assert main(["learn", str(root), "--workers=0"]) == 0
    with viewing(root, "--port=0") as large:
        first = large.get("file/store/large.go")
        second = large.get("file/store/large.go?from=1001")
    assert first.count("<tr id=") == second.count("<tr id=") == 1_000
    assert '<tr id="L1001">' in second
    assert '<i class="c">func F1590() {}</i>' in second  # the comment began in the window before
    assert re.search(r'<tr id="L1604">.*?/symbol/[^"]*F1600"', second)


def test_a_changed_file_has_no_marks_and_says_so(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    assert main(["learn", str(root), "--workers=0"]) == 0
    file = root / "store" / "store.go"
    with viewing(root, "--port=0") as changed:
        before = changed.get("file/store/store.go")
        file.write_text(f"// Another line.\n{file.read_text()}")
        after = changed.get("file/store/store.go")
        assert 'class="mark' in before
        assert 'class="mark' not in after
        assert "has changed since the last learn" in after
        assert "1 file changed since the last learn" in after
        assert main(["learn", str(root), "--workers=0"]) == 0  # an open page does not block it
        assert 'class="mark' in changed.get("file/store/store.go")


def test_unchanged_lines_of_a_changed_file_keep_their_marks(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    assert main(["learn", str(root), "--workers=0"]) == 0
    file = root / "store" / "store.go"
    before = file.read_text().splitlines()
    declared = before.index("func New() *Memory { return &Memory{items: map[string]int{}} }") + 1
    with viewing(root, "--port=0") as running:
        marked = running.get("file/store/store.go")
        file.write_text("\n".join(["// One.", "// Two.", *before[:-1], "// Last."]) + "\n")
        page = running.get("file/store/store.go")
        history = running.get(f"history/{SHOP}.New")
    assert "3 lines are marked with ±" in page
    changed = re.findall(r'<tr id="L(\d+)"><td class="gutter"><span class="mark changed"', page)
    assert changed == ["1", "2", str(len(before) + 2)]
    pattern = r'<tr id="L{}"><td class="gutter"><a class="mark callers".*?</tr>'
    old, new = re.search(pattern.format(declared), marked), re.search(pattern.format(declared + 2), page)
    assert old is not None
    assert new is not None
    assert old[0].replace(str(declared), str(declared + 2)) == new[0]  # also its links
    assert "begin" in history


def test_the_history_of_a_symbol_is_that_of_the_command(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    file = root / "store" / "store.go"
    file.write_text(file.read_text().replace("m.items[key]++", "m.items[key]++\n\t_ = 1"))
    git(root, "commit", "-q", "-a", "-m", "one more line")
    assert main(["learn", str(root), "--workers=0"]) == 0
    done = subprocess.run(
        [GOLORE, "recent", f"{SHOP}.Memory.Save", "--json", "--repo", root], capture_output=True, text=True, check=True
    )
    expected = [(one["subject"], counted(one["lines"], "line")) for one in json.loads(done.stdout)["lines"]]
    with viewing(root, "--port=0") as running:
        page = running.get(f"history/{SHOP}.Memory.Save")
        assert f"/history/{SHOP}.Memory.Save" in running.get(f"symbol/{SHOP}.Memory.Save")
        assert running.ask(f"/{running.secret}/history/Nothing")[0] == 404
    assert re.findall(r"</time> (.*?) <span class=\"place\">[^<]*?, (\d+ lines?)</span>", page) == expected
    assert len(expected) == 2


def test_a_change_of_very_many_files_is_only_counted(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    assert main(["learn", str(root), "--workers=0"]) == 0
    for number in range(1_001):
        (root / "store" / f"more{number}.go").write_text("package store\n")
    with viewing(root, "--port=0") as running:
        page = running.get("change")
    assert "1,001 Go files differ" in page
    assert re.search(r'/map/store">store</a> <span class="place">1,001 files</span>', page)


def test_the_rows_of_a_query_are_drawn_as_a_graph(viewed: Viewed) -> None:
    page = viewed.get("query?q=MATCH (a:Symbol)-[e:CALLS]->(b:Symbol) RETURN a, e, b LIMIT 30")
    drawn = {
        attributes["data-node"] for tag, attributes in Elements(page).found if tag == "g" and "data-node" in attributes
    }
    ends = [
        (attributes["data-from"], attributes["data-to"]) for tag, attributes in Elements(page).found if tag == "path"
    ]
    assert ends
    assert {end for pair in ends for end in pair} <= drawn
    assert "CALLS" in page
    by_name = viewed.get("query?q=MATCH (a:Symbol)-[:CALLS]->(b:Symbol) RETURN a.id, b.id LIMIT 30")
    symbols = f"/{viewed.secret}/symbol/{SHOP}"
    assert f'data-from="{symbols}.Hostile" data-to="{symbols}.Twice"' in by_name
    assert "<svg" not in viewed.get("query?q=MATCH (s:Symbol) RETURN count(*)")


def test_the_change_page_says_what_changed_and_which_tests_to_run(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    file = root / "store" / "store.go"
    file.write_text(file.read_text().replace("func New() *Memory {", "func New() *Memory {\n\t_ = 1\n"))
    assert main(["learn", str(root), "--workers=0"]) == 0
    expected = json.loads(
        subprocess.run(
            [GOLORE, "affected", "--json", "--repo", root], capture_output=True, text=True, check=True
        ).stdout
    )
    with viewing(root, "--port=0") as changed:
        page = changed.get("change")
        branch = changed.get("change?base=main")
        unknown = changed.ask(f"/{changed.secret}/change?base=<script>hacked</script>")
    assert re.search(r">store\.New</a> <span class=\"how\">body changed</span>", page)
    assert re.search(r'>store/store\.go</a> <span class="how">edited</span>', page)
    assert f'Tests to run <span class="counts">{len(expected["tests"])}</span>' in page
    assert all(str(escape(command)) in page for command in expected["commands"])
    assert "store.New" in branch
    assert unknown[0] in (404, 500)
    assert "<script>hacked" not in unknown[2]


def test_a_long_list_goes_on_in_place(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    calls = "\n".join(f"func Call{number}() {{ New() }}" for number in range(450))
    (root / "store" / "calls.go").write_text(f"package store\n\n{calls}\n")
    assert main(["learn", str(root), "--workers=0"]) == 0
    with viewing(root, "--port=0") as long:
        page = long.get(f"symbol/{SHOP}.New")
        (more,) = [attributes for _, attributes in Elements(page).found if "data-more" in attributes]
        names = re.findall(r">store\.(Call\d+)</a>", page)
        while more:
            page = long.get(f"part/{more['data-more']}/{more['data-name']}?from={more['data-from']}")
            names += re.findall(r">store\.(Call\d+)</a>", page)
            more = next(
                (attributes for _, attributes in Elements(page).found if "data-more" in attributes), dict[str, str]()
            )
    assert set(names) == {f"Call{number}" for number in range(450)}


def test_declarations_of_one_name_are_told_apart_in_a_picture_and_tests_are_counted_in_full(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    for name in ("first.go", "second.go"):
        (root / "store" / name).write_text("package store\n\nfunc init() { New() }\n")
    tests = "\n".join(f"func TestNew{number}(t *testing.T) {{ New() }}" for number in range(130))
    (root / "store" / "many_test.go").write_text(f'package store\n\nimport "testing"\n\n{tests}\n')
    assert main(["learn", str(root), "--workers=0"]) == 0
    with viewing(root, "--port=0") as twins:
        page = twins.get(f"symbol/{SHOP}.New")
    assert "store.init in first.go" in page
    assert "store.init in second.go" in page
    assert re.search(r"<summary>1\d\d rows in test files, the first 100 of them here</summary>", page)


def test_a_static_site_has_every_page_that_it_links_to(viewed: Viewed, tmp_path: Path) -> None:
    directory = tmp_path / "site"
    assert main(["view", "--once", str(directory), "--repo", str(viewed.root)]) == 0
    pages = list(directory.glob("*.html"))
    assert (directory / "index.html") in pages
    for page in pages:
        for address in Elements(page.read_text(encoding="utf-8")).addresses():
            name, _, _ = unquote(address).partition("#")
            assert not name or (directory / name).is_file(), (page, address)
        assert "<script" not in page.read_text(encoding="utf-8")
    assert main(["view", "--once", str(directory), "--repo", str(viewed.root)]) == 2


def test_javascript_and_css_are_small() -> None:
    assert sum((DATA / "static" / name).stat().st_size for name in ("view.js", "view.css")) <= 24 * 1024
