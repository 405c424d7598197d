"""The browser view of a team server: everybody sees the repositories of their token, and text of code stays text."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from golore.mcp_server.cli.main import main
from golore.mcp_server.team.token_file import Grant, add_token
from golore.mcp_server.team.view_tickets import COOKIE, HOURS, Tickets
from support.browser import INSTALL, Tab, browser_program, browser_tab
from support.fleet import make_repositories, publish
from support.git_repository import git
from support.hostile_shop import HOSTILE_DIRECTORY, HOSTILE_FILE, MARKUP
from support.shop import make_shop
from support.team import ANNA, APPLICATION, BOB, LIBRARY, TOOL, Team, call, requested, serving

OPEN = "example.com/lib/store.Open"
HOSTILE = "example.org/team/hostile"
PAGES = [
    "",
    "map/",
    "map/store",
    "knowledge",
    "query",
    "search?q=Save",
    f"symbol/{OPEN}",
    "file/store/store.go",
    "state",
]
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Team]:
    """A running server of three small repositories and a hostile one, which Carol may read, too."""
    folder = tmp_path_factory.mktemp("viewed")
    (folder / "lake").mkdir()
    for root in make_repositories(folder).values():
        publish(root, folder / "lake")
    publish_hostile(folder)
    with serving(folder) as team:
        yield team
    lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    assert not [line for line in lines if "team/" in str(line) or "example.com" in str(line) or "Save" in str(line)]


def publish_hostile(folder: Path) -> None:
    """Publish a repository with markup in its names, comments, documents and commits."""
    root = make_shop(folder / "hostile-shop")
    source = f"package store\n\n// Hostile says {MARKUP}\nfunc Hostile() string {{ return Twice(`{MARKUP}`) }}\n\n"
    source += f"/* Twice {MARKUP} */\nfunc Twice(text string) string {{ _ = New(); return text }}\n"
    (root / HOSTILE_FILE).write_text(source, encoding="utf-8")
    (root / HOSTILE_DIRECTORY).mkdir()
    (root / HOSTILE_DIRECTORY / "page.go").write_text(f"// Package page is {MARKUP}\npackage page\n", encoding="utf-8")
    (root / "README.md").write_text(f"# Hostile {MARKUP}\n\n`store.Hostile` is {MARKUP}.\n", encoding="utf-8")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", f"begin {MARKUP}")
    assert main(["learn", str(root), "--workers=0"]) == 0
    assert main(["publish", str(folder / "lake"), "--repo", str(root), "--name", HOSTILE, "--must"]) == 0


def logged_in(team: Team, token: str, after: str = "", **headers: str) -> tuple[int, str, dict[str, str]]:
    body = urlencode({"token": token, "next": after}).encode()
    origin = {"Origin": f"http://127.0.0.1:{team.port}"}
    return requested(team, "POST", "/view/login", "", body, **FORM | origin | headers)


def ticket(team: Team, token: str) -> str:
    """The value of `Cookie` that a browser sends after a login."""
    status, _, headers = logged_in(team, token)
    assert status == 303
    return headers["set-cookie"].partition(";")[0]


def page(team: Team, cookie: str, path: str, **headers: str) -> tuple[int, str]:
    return requested(team, "GET", path, "", b"", Cookie=cookie, **headers)[:2]


def test_a_login_gives_a_ticket_that_pages_cannot_read(team: Team) -> None:
    status, _, headers = logged_in(team, team.anna, "/view/fleet?ask=callers&name=x")
    assert (status, headers["location"]) == (303, "/view/fleet?ask=callers&name=x")
    value, *flags = headers["set-cookie"].split("; ")
    assert flags == [f"Max-Age={HOURS * 3600}", "Path=/view", "HttpOnly", "SameSite=Strict"]
    assert team.anna not in value
    encrypted = logged_in(team, team.anna, Host="golore.acme.example", Origin="https://golore.acme.example")[2]
    assert encrypted["set-cookie"].endswith("; Secure")
    for wrong in ("", "wrong", f"{team.anna}x"):
        status, text, headers = logged_in(team, wrong)
        assert (status, "set-cookie" in headers) == (401, False)
        assert "does not know this token" in text
    status, _, headers = requested(team, "POST", "/view/logout", Origin=f"http://127.0.0.1:{team.port}")
    assert (status, headers["set-cookie"].startswith(f"{COOKIE}=; Max-Age=0;")) == (303, True)
    assert logged_in(team, "x" * 10_000)[0] == 413


@pytest.mark.parametrize("after", ["https://evil.example/", "//evil.example", "/mcp", "/view/\r\nX: y", "/view/\\evil"])
def test_a_login_leads_only_to_pages_of_the_view(team: Team, after: str) -> None:
    assert logged_in(team, team.anna, after)[2]["location"] == "/view/"


def test_nobody_sees_a_page_without_a_ticket(team: Team) -> None:
    for path in ("/view/", f"/view/{LIBRARY}/-/", f"/view/{LIBRARY}/-/symbol/{OPEN}", "/view/nowhere"):
        status, text, headers = requested(team, "GET", path)
        assert (status, headers["location"]) == (303, f"/view/login?next={quote(path, safe='')}")
        assert "store" not in text
    script = {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Site": "same-origin"}
    assert requested(team, "GET", f"/view/{LIBRARY}/-/quick?q=Save", "", b"", **script)[0] == 401
    assert requested(team, "GET", "/view/assets/view.css")[0] == 200
    assert requested(team, "GET", "/")[2]["location"] == "/view/"


def test_everybody_sees_the_repositories_of_their_token_and_no_others(team: Team) -> None:
    anna, bob = ticket(team, team.anna), ticket(team, team.bob)
    text = page(team, anna, "/view/")[1]
    assert re.findall(r'href="/view/(example[^"]*)/-/"', text) == [APPLICATION, LIBRARY]
    assert re.findall(r'href="/view/(example[^"]*)/-/"', page(team, bob, "/view/")[1]) == [TOOL]
    for path in PAGES:
        assert page(team, anna, f"/view/{LIBRARY}/-/{path}")[0] == 200, path
        refused = page(team, bob, f"/view/{LIBRARY}/-/{path}")
        assert refused == page(team, bob, f"/view/example.org/team/none/-/{path}")
        assert refused[0] == 404
    shown = page(team, anna, f"/view/{LIBRARY}/-/symbol/{OPEN}")[1]
    assert f"{LIBRARY} at " in shown
    assert "published just now" in shown
    declared = page(team, anna, f"/view/{LIBRARY}/-/file/store/store.go")[1]
    assert f'<a href="/view/{LIBRARY}/-/symbol/example.com/lib/store.SaveAll">' in declared
    assert "source text is not on this server" in declared


def test_a_question_to_all_repositories_is_about_those_of_the_token(team: Team) -> None:
    asked = f"/view/fleet?ask=callers&name={OPEN}"
    text = page(team, ticket(team, team.anna), asked)[1]
    assert "app.run" in text
    assert "in 2 repositories" in text
    text = page(team, ticket(team, team.bob), asked)[1]
    assert "app.run" not in text
    assert LIBRARY not in text
    assert APPLICATION not in text
    anna = ticket(team, team.anna)
    assert page(team, anna, f"/view/fleet?ask=callers&name={quote(MARKUP)}")[0] == 404
    assert MARKUP not in page(team, anna, f"/view/fleet?ask=callers&name={quote(MARKUP)}")[1]


def test_pages_that_write_or_need_a_checkout_do_not_exist(team: Team) -> None:
    anna = ticket(team, team.anna)
    for path in ("review", "change", f"history/{OPEN}", "material/file/store/store.go", "door?to=x"):
        assert page(team, anna, f"/view/{LIBRARY}/-/{path}")[0] == 404, path
    own = {"Origin": f"http://127.0.0.1:{team.port}", "Cookie": anna}
    for path in (f"/view/{LIBRARY}/-/review", f"/view/{LIBRARY}/-/", "/view/"):
        assert requested(team, "POST", path, "", b"{}", **own)[0] in (404, 405)
    text = page(team, anna, f"/view/{LIBRARY}/-/symbol/{OPEN}")[1]
    assert not re.search(r"/-/(review|change|history|material)", text)


def test_every_response_is_protected_and_other_sites_get_nothing(team: Team) -> None:
    anna = ticket(team, team.anna)
    for path in ("/view/", "/view/login", f"/view/{LIBRARY}/-/", "/view/assets/view.css", f"/view/{TOOL}/-/"):
        headers = requested(team, "GET", path, Cookie=anna)[2]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")
    foreign = {"Sec-Fetch-Site": "cross-site", "Cookie": anna}
    assert (
        requested(
            team, "GET", "/view/", "", b"", **foreign, **{"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
        )[0]
        == 403
    )
    assert requested(team, "GET", "/view/", Origin="http://evil.example", Cookie=anna)[0] == 403
    body = urlencode({"token": team.anna}).encode()
    assert requested(team, "POST", "/view/login", "", body, **FORM)[0] == 403
    assert requested(team, "POST", "/view/login", "", body, **FORM, Origin="http://evil.example")[0] == 403
    assert requested(team, "POST", "/view/login", "", body, **FORM, Origin="null")[0] == 403
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    status, text, _ = requested(team, "GET", f'/view/{LIBRARY}/-/symbol/"%3E%3Cb%3E', "", b"", **followed)
    assert (status, "refresh" in text, "<b>" in text) == (200, True, False)


def test_a_ticket_ends_with_its_token_and_opens_nothing_else(team: Team) -> None:
    dora = add_token(team.tokens, "dora", (TOOL,), may_write=True)
    cookie = ticket(team, dora)
    assert page(team, cookie, "/view/")[0] == 200
    assert requested(team, "POST", "/mcp", "", call("memory_status", {}), Cookie=cookie)[0] == 401
    assert requested(team, "POST", "/mcp", cookie.partition("=")[2], call("memory_status", {}))[0] == 401
    text = team.tokens.read_text()
    team.tokens.write_text(text[: text.index("[dora]")])
    assert page(team, cookie, "/view/")[0] == 303
    team.tokens.chmod(0o644)
    try:
        assert page(team, cookie, "/view/")[0] == 503
    finally:
        team.tokens.chmod(0o600)


def test_only_a_ticket_of_this_server_that_has_not_ended_counts() -> None:
    now = 1_000_000.0
    tickets = Tickets("secret", lambda: now)
    value = tickets.cookie(ANNA, is_encrypted=False).partition(";")[0]
    name, ends, signature = value.partition("=")[2].split(".")

    def granted(ticket: str, *grants: Grant, by: Tickets = tickets) -> Grant | None:
        return by.grant_of([f"other=1; {COOKIE}={ticket}".encode()], grants or (BOB, ANNA))

    assert granted(f"{name}.{ends}.{signature}") == ANNA
    assert granted(f"bob.{ends}.{signature}") is None
    assert granted(f"{name}.{int(ends) + 1}.{signature}") is None
    assert granted(f"{name}.{ends}.{signature}", Grant("anna", "3" * 64, ANNA.patterns)) is None
    assert granted(f"{name}.{ends}.{signature}", by=Tickets("another", lambda: now)) is None
    assert granted(f"{name}.{ends}.{signature}", by=Tickets("secret", lambda: now + HOURS * 3600)) is None
    for damaged in ("", ".", "..", "anna", f"anna.x.{signature}", f"anna.{ends}.", f"anna.{ends}.\xff", '"'):
        assert granted(damaged) is None
    assert tickets.grant_of([b"\xff\xfe;=", b"golore_view"], (ANNA,)) is None


@pytest.fixture(scope="module")
def carol(team: Team) -> str:
    return add_token(team.tokens, "carol", (HOSTILE, LIBRARY), may_write=False)


def test_text_of_a_repository_stays_text(team: Team, carol: str) -> None:
    cookie = ticket(team, carol)
    for path in (
        "",
        "map/",
        "map/store",
        "knowledge",
        "search?q=hacked",
        "symbol/example.com/shop/store.Hostile",
        f"file/{quote(HOSTILE_FILE)}",
        "query?q=MATCH%20(s:Symbol)%20RETURN%20s.doc%20LIMIT%2050",
    ):
        status, text = page(team, cookie, f"/view/{HOSTILE}/-/{path}")
        assert status == 200
        assert not re.search(r"<script>hacked|<img src=x|<svg onload|<b onclick", text), path


@pytest.mark.skipif(not browser_program(), reason=INSTALL)
def test_a_browser_logs_in_and_goes_from_page_to_page(team: Team, carol: str, tmp_path: Path) -> None:
    base = f"http://127.0.0.1:{team.port}/view/"
    with browser_tab(tmp_path / "profile") as tab:
        tab.open(f"{base}{HOSTILE}/-/symbol/example.com/shop/store.Hostile")
        tab.wait_until("location.pathname === '/view/login'")
        fill_in(tab, carol)
        tab.wait_until("location.pathname.endsWith('store.Hostile')")
        assert tab.evaluate("document.cookie") == ""
        assert "store.Twice" in tab.evaluate("document.querySelector('main').textContent")
        for path in ("", "map/store", f"file/{quote(HOSTILE_FILE)}", "knowledge", "query", "search?q=Save"):
            tab.open(f"{base}{HOSTILE}/-/{path}")
            assert tab.evaluate("typeof hacked") == "undefined"
            assert "cannot be shown" not in tab.evaluate("document.title")
        tab.evaluate("document.querySelector('nav a').click()")
        tab.wait_until("location.pathname === '/view/'")
        assert tab.evaluate("document.querySelectorAll('tbody a').length") == 2
        tab.evaluate("document.querySelector('form[method=post] button').click()")
        tab.wait_until("location.pathname === '/view/login'")
        tab.open(base)
        tab.wait_until("location.pathname === '/view/login'")
        assert tab.errors == []
        assert [address for address in tab.requests if not address.startswith((base, "about:", "data:"))] == []


def fill_in(tab: Tab, token: str) -> None:
    tab.wait_until("document.querySelector('#token') !== null")
    tab.evaluate(f"document.querySelector('#token').value = {json.dumps(token)}")
    tab.evaluate("document.querySelector('form button').click()")
