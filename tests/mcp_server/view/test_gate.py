"""Who may ask `golore view`, and what protects its pages."""

from __future__ import annotations

import stat
from collections.abc import Generator
from pathlib import Path

import pytest
from golore.mcp_server.server.http import token_path
from golore.mcp_server.server.loopback import secret_path
from golore.mcp_server.view.command import SECRET_NAME
from support.shop import make_shop
from support.viewed import Viewed, viewing


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Viewed]:
    from golore.mcp_server.cli.main import main

    root = make_shop(tmp_path_factory.mktemp("viewed").resolve() / "shop")
    assert main(["learn", str(root), "--workers=0"]) == 0
    with viewing(root, "--port=0") as running:
        yield running


def test_requests_without_the_secret_are_refused(viewed: Viewed) -> None:
    assert viewed.ask(f"/{viewed.secret}/")[0] == 200
    for path in ("/", f"/{viewed.secret[:-1]}/", f"/x{viewed.secret}/", "/assets/view.js", f"/{viewed.secret}x/"):
        status, _, text = viewed.ask(path)
        assert status == 403
        assert viewed.secret not in text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_requests_of_other_pages_are_refused(viewed: Viewed, headers: dict[str, str]) -> None:
    given = {name: value.format(port=viewed.port) for name, value in headers.items()}
    assert viewed.ask(f"/{viewed.secret}/", **given)[0] == 403


def test_a_request_that_writes_needs_the_origin_of_this_server(viewed: Viewed) -> None:
    own = f"http://127.0.0.1:{viewed.port}"
    assert viewed.ask(f"/{viewed.secret}/", "POST")[0] == 403
    assert viewed.ask(f"/{viewed.secret}/", "POST", Origin=own)[0] == 405


def test_only_the_door_is_open_to_a_link_from_elsewhere_and_has_no_content(viewed: Viewed) -> None:
    door = f"/{viewed.secret}/door"
    given = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "document"}
    status, _, text = viewed.ask(f"{door}?to=symbol/x%22%3E%3Cscript%3E", **given)
    assert status == 200
    assert "<script" not in text
    assert f'content="0;url=/{viewed.secret}/symbol/x' in text
    assert viewed.ask(f"/{viewed.secret}/", **given)[0] == 403
    assert viewed.ask(door, **{**given, "Sec_Fetch_Dest": "iframe"})[0] == 403
    assert viewed.ask(f"{door}?to=//evil.example/", **given)[2].count("evil.example") == 1
    assert f"url=/{viewed.secret}/evil.example" in viewed.ask(f"{door}?to=//evil.example/", **given)[2]


@pytest.mark.parametrize("path", ["", "assets/view.js", "nothing/here", "state"])
def test_every_response_has_the_headers_that_protect_it(viewed: Viewed, path: str) -> None:
    _, headers, _ = viewed.ask(f"/{viewed.secret}/{path}")
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_the_secret_is_private_and_not_the_token_of_serve(viewed: Viewed) -> None:
    path = secret_path(viewed.root / ".golore", SECRET_NAME)
    assert path.read_text().strip() == viewed.secret
    assert path != token_path(viewed.root / ".golore")
    for file in (path, viewed.redirect):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert viewed.secret in viewed.redirect.read_text()


def test_links_survive_a_restart(tmp_path: Path) -> None:
    from golore.mcp_server.cli.main import main

    root = make_shop(tmp_path.resolve() / "shop")
    assert main(["learn", str(root), "--workers=0"]) == 0
    with viewing(root) as first:
        pass
    with viewing(root, "store.New") as second:
        assert second.base == first.base
        assert "symbol/example.com/shop/store.New" in second.redirect.read_text()
