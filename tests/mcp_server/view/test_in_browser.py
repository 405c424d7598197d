"""`golore view` in a real browser: keys, search, unfolding, saved pictures, refresh, and that nothing goes wrong.

`.ci/run` installs a browser and sets GOLORE_BROWSER, so that nothing is skipped there.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest
from golore.mcp_server.cli.main import main
from support.browser import INSTALL, Tab, browser_program, browser_tab
from support.hostile_shop import HOSTILE_FILE, make_hostile_shop
from support.viewed import Viewed, viewing

pytestmark = pytest.mark.skipif(not browser_program(), reason=INSTALL)
SHOP = "example.com/shop/store"
PAGES = [
    "",
    f"symbol/{SHOP}.Hostile",
    f"symbol/{SHOP}.Saver",
    f"file/{HOSTILE_FILE}",
    "search?q=hacked",
    "file/README.md",
    "map/",
    "map/store?show=treemap",
    "change",
    "knowledge",
    "review",
    "query?q=MATCH%20(s:Symbol)%20RETURN%20s.doc,%20s%20LIMIT%2050",
]


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Viewed]:
    root = make_hostile_shop(tmp_path_factory.mktemp("browsed").resolve() / "shop")
    with viewing(root, "--port=0") as running:
        yield running


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Tab]:
    with browser_tab(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def nothing_goes_wrong(tab: Tab, viewed: Viewed) -> Generator[None]:
    """No test may leave an error on the console, ask another machine, or run a script of the repository."""
    tab.errors.clear()
    tab.requests.clear()
    yield
    assert tab.evaluate("typeof hacked") == "undefined"
    assert tab.errors == []
    own = (viewed.base, viewed.redirect.as_uri(), "about:", "blob:", "data:")
    assert [address for address in tab.requests if not address.startswith(own)] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pages_fit_a_narrow_window_in_both_schemes(tab: Tab, viewed: Viewed, dark: bool) -> None:
    for page in PAGES:
        tab.look(width=400, dark=dark)
        tab.open(f"{viewed.base}/{page}")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400, page
        shade = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (shade != "rgb(255, 255, 255)") == dark


def test_a_wide_picture_scrolls_in_its_own_box(tab: Tab, viewed: Viewed) -> None:
    tab.look(width=400)
    tab.open(f"{viewed.base}/symbol/{SHOP}.New")
    assert tab.evaluate("(box => box.scrollWidth > box.clientWidth)(document.querySelector('.drawing .scroll'))")
    assert tab.evaluate("getComputedStyle(document.querySelector('.drawing .scroll')).borderTopStyle") == "solid"
    assert "scroll" in tab.evaluate("getComputedStyle(document.querySelector('.drawing'), '::before').content")
    tab.look()


def test_the_table_of_files_takes_the_room_that_there_is(tab: Tab, viewed: Viewed) -> None:
    long = viewed.root / "store" / f"{'long_' * 9}name.go"
    long.write_text("package store\n")
    assert main(["learn", str(viewed.root), "--workers=0"]) == 0
    tab.look(width=1400)
    tab.open(f"{viewed.base}/map/")
    tab.open(f"{viewed.base}/map/store")
    assert long.name in tab.evaluate("document.querySelector('#files').textContent")
    assert tab.evaluate("(box => box.scrollWidth <= box.clientWidth)(document.querySelector('#files .scroll'))")
    tab.look()


def test_the_browser_is_led_from_the_private_file_to_the_page(tab: Tab, viewed: Viewed) -> None:
    tab.open(viewed.redirect.as_uri())
    tab.wait_until(f"location.href === '{viewed.base}/' && document.readyState === 'complete'")
    assert tab.evaluate("document.querySelector('h1').textContent") == "shop"


def test_search_works_by_keys_alone_and_the_back_button_returns(tab: Tab, viewed: Viewed) -> None:
    tab.look()
    tab.open(f"{viewed.base}/")
    tab.press("/")
    tab.wait_until("document.activeElement.name === 'q'")
    tab.type("Twice")
    tab.wait_until("document.querySelectorAll('#results li').length > 0")
    tab.press("ArrowDown")
    tab.wait_until("document.querySelector('[aria-selected=true]')?.textContent.startsWith('store.Twice')")
    tab.press("Enter")
    tab.wait_until("document.querySelector('h1')?.textContent === 'store.Twice'")
    assert tab.evaluate("location.href") == f"{viewed.base}/symbol/{SHOP}.Twice"
    tab.evaluate("history.back()")
    tab.wait_until(f"location.href === '{viewed.base}/' && document.readyState === 'complete'")


def test_a_row_unfolds_by_keyboard(tab: Tab, viewed: Viewed) -> None:
    tab.open(f"{viewed.base}/symbol/{SHOP}.New")
    tab.evaluate("document.querySelector('button.unfold').focus()")
    tab.press("Enter")
    tab.wait_until("document.querySelector('li > ul.rows > li') !== null")
    assert tab.evaluate("document.querySelector('button.unfold').ariaExpanded") == "true"
    tab.press("Enter")
    assert tab.evaluate("document.querySelector('li > ul.rows').hidden") is True


@pytest.mark.parametrize(("format", "kind"), [("svg", "image/svg+xml"), ("png", "image/png")])
def test_a_picture_is_saved(tab: Tab, viewed: Viewed, format: str, kind: str) -> None:
    tab.open(f"{viewed.base}/symbol/{SHOP}.Memory.Save")
    tab.evaluate(
        "saved = []; create = URL.createObjectURL; "
        "URL.createObjectURL = (blob) => { saved.push([blob.type, blob.size]); return create(blob); }; "
        "HTMLAnchorElement.prototype.click = function () { saved.push(this.download); }"
    )
    tab.evaluate(f"document.querySelector('[data-save={format}]').click()")
    tab.wait_until(f"saved.includes('store.Memory.Save.{format}')")
    sizes: dict[str, int] = dict(tab.evaluate("saved.filter(Array.isArray)"))
    assert sizes[kind] > 500


def test_a_summary_is_rewritten_by_keys_alone(tab: Tab, viewed: Viewed) -> None:
    tab.open(f"{viewed.base}/review")
    tab.press("j")
    assert tab.evaluate("document.activeElement.dataset.proposal") == "p1"
    tab.press("j")
    subject = tab.evaluate("document.activeElement.dataset.subject")
    tab.press("e")
    tab.wait_until("document.activeElement.matches('textarea')")
    tab.evaluate("document.activeElement.value = 'Written by keys.'")
    tab.evaluate("document.activeElement.closest('article').querySelector('[data-act=rewrite]').click()")
    tab.wait_until("document.querySelector('article.done') !== null")
    assert tab.evaluate("document.querySelector('article.done').dataset.subject") == subject
    assert tab.evaluate("document.querySelector('article.done [role=status]').textContent") == "Saved as reviewed."


def test_an_open_page_follows_the_graph(tab: Tab, viewed: Viewed) -> None:
    tab.open(f"{viewed.base}/symbol/{SHOP}.New")
    before = tab.evaluate("document.querySelector('#lists h2').textContent")
    (viewed.root / "store" / "more.go").write_text("package store\n\nfunc More() *Memory { return New() }\n")
    assert main(["learn", str(viewed.root), "--workers=0"]) == 0
    tab.wait_until("document.querySelector('main').textContent.includes('store.More')")
    assert tab.evaluate("document.querySelector('#lists h2').textContent") != before


def test_everything_that_can_be_clicked_has_a_name_and_can_be_reached_by_keyboard(tab: Tab, viewed: Viewed) -> None:
    for page in PAGES:
        tab.open(f"{viewed.base}/{page}")
        nameless = tab.evaluate(
            "[...document.querySelectorAll('a[href], button, input, summary, [role=region]')]"
            ".filter((one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.length))"
            ".map((one) => one.outerHTML)"
        )
        assert nameless == []
        # The rectangles of a treemap are left out: the lists of directories and files have the same links.
        unreachable = "[onclick], [tabindex]:not([tabindex='0'], main, svg a)"
        assert tab.evaluate(f'document.querySelectorAll("{unreachable}").length') == 0


def test_a_printed_page_has_no_navigation(tab: Tab, viewed: Viewed) -> None:
    tab.open(f"{viewed.base}/file/store/store.go")
    tab.send("Emulation.setEmulatedMedia", media="print")
    hidden = tab.evaluate("getComputedStyle(document.querySelector('header')).display")
    tab.send("Emulation.setEmulatedMedia", media="")
    assert hidden == "none"
