"""Every page of `golore view` in a real browser, light and dark, wide and narrow, with axe; a static site opened from
its files; and a page that follows a running `golore watch`.

`benchmarks/view_pages.py` does the first for any repository.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from golore.mcp_server.cli.main import main
from support.browser import INSTALL, Tab, browser_program, browser_tab
from support.git_repository import git
from support.hostile_shop import HOSTILE_DIRECTORY, HOSTILE_FILE, make_hostile_shop
from support.page_check import INSTALL_AXE, LOOKS, Look, axe_program, see
from support.shop import make_shop
from support.viewed import Viewed, viewing
from support.watching import Watch

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not browser_program(), reason=INSTALL)]
SHOP = "example.com/shop/store"
PAGES = [
    "",
    f"symbol/{SHOP}.Hostile",
    f"symbol/{SHOP}.Saver",
    "symbol/example.com/shop.run",
    "symbol/Save",
    "file/store/store.go",
    f"file/{HOSTILE_FILE}",
    "file/README.md",
    "map/",
    "map/store",
    f"map/{HOSTILE_DIRECTORY}",
    "map/?show=treemap",
    "map/?show=treemap&colour=tests",
    "change",
    "search?q=hacked",
    "search?q=nothing-like-it",
    "knowledge",
    "review",
    "query",
    "query?q=MATCH%20(a:Symbol)-[e:CALLS]->(b:Symbol)%20RETURN%20a,%20e,%20b%20LIMIT%2030",
    "query?q=MATCH%20nonsense",
]


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Tab]:
    with browser_tab(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Viewed]:
    """The hostile shop with a stale note and a change in the working tree."""
    root = make_hostile_shop(tmp_path_factory.mktemp("seen").resolve() / "shop")
    assert main(["note", "--repo", str(root), "store.New", "Makes an empty one."]) == 0
    file = root / "store" / "store.go"
    file.write_text(file.read_text().replace("func New() *Memory {", "func New() *Memory {\n\t_ = 1\n"))
    assert main(["learn", str(root), "--workers=0"]) == 0
    file.write_text(f"// Not learned.\n{file.read_text()}")
    with viewing(root, "--port=0") as running:
        yield running


@pytest.fixture(scope="module")
def axe() -> str:
    path = axe_program()
    if path is None:
        pytest.skip(INSTALL_AXE)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_axe_finds_nothing_serious_on_any_page(tab: Tab, viewed: Viewed, axe: str, look: Look) -> None:
    for page in PAGES:
        seen = see(tab, f"{viewed.base}/{page}", look, (viewed.base,), axe)
        assert [one for one in seen.findings if one.is_serious] == [], page
        assert (seen.overflow, seen.errors, seen.outside) == (0, (), ()), page
        assert seen.boxes <= 80, page
    assert tab.evaluate("typeof hacked") == "undefined"


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_a_static_site_works_from_its_files(tab: Tab, tmp_path: Path, axe: str, look: Look) -> None:
    root = make_hostile_shop(tmp_path.resolve() / "shop")
    (root / "store" / "more.go").write_text("package store\n\nfunc More() *Memory { return New() }\n")
    site = tmp_path.resolve() / "a site"
    assert main(["learn", str(root), "--workers=0"]) == 0
    assert main(["view", "--once", str(site), "--diff", "--repo", str(root)]) == 0
    own = (site.as_uri(),)
    for page in sorted(site.glob("*.html")):
        seen = see(tab, page.as_uri(), look, own, axe)
        assert [one for one in seen.findings if one.is_serious] == [], page
        assert (seen.overflow, seen.errors, seen.outside) == (0, (), ()), page
        assert (tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)") == look.dark
        assert tab.evaluate("typeof hacked") == "undefined"
    tab.open((site / "index.html").as_uri())
    for link, title in (("Map", "shop"), ("Knowledge", "Knowledge"), ("Change", "Change")):
        tab.evaluate(f"[...document.querySelectorAll('header a')].find((one) => one.textContent === '{link}').click()")
        tab.wait_until(f"document.querySelector('h1')?.textContent.trim() === '{title}'")
    tab.open((site / "index.html").as_uri())
    tab.evaluate("[...document.querySelectorAll('main a')].find((one) => one.textContent === 'store/store.go').click()")
    tab.wait_until("document.querySelector('h1')?.textContent === 'store/store.go'")


def test_an_open_page_follows_a_running_watch(tab: Tab, tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    assert main(["learn", str(root), "--workers=0"]) == 0
    tab.look()
    with viewing(root, "--port=0") as running, Watch(root) as watch:
        watch.event("watching")
        tab.open(f"{running.base}/symbol/{SHOP}.New")
        (root / "store" / "more.go").write_text("package store\n\nfunc More() *Memory { return New() }\n")
        tab.wait_until("document.querySelector('#lists').textContent.includes('store.More')")
        assert tab.evaluate("document.querySelector('.state').textContent") != ""
        (root / "store" / "more.go").unlink()
        tab.wait_until("!document.querySelector('#lists').textContent.includes('store.More')")
