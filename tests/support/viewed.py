"""A running `golore view`, as a process, and what its pages contain."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from support.mcp_client import GOLORE


class Viewed(NamedTuple):
    """`base` is the address with the secret, without a slash at its end."""

    root: Path
    base: str
    redirect: Path

    @property
    def port(self) -> int:
        return urlsplit(self.base).port or 0

    @property
    def secret(self) -> str:
        return self.base.rpartition("/")[2]

    def get(self, page: str = "") -> str:
        status, _, text = self.ask(f"/{self.secret}/{page}")
        assert status == 200, text
        return text

    def post(self, page: str, body: object) -> tuple[int, str]:
        """The status and the message of the reply to a page of this server that sends a value."""
        origin = f"http://127.0.0.1:{self.port}"
        data = json.dumps(body).encode()
        headers = {"Origin": origin, "Content-Length": str(len(data))}
        status, _, text = self._sent(f"/{self.secret}/{page}", "POST", headers, data)
        return status, json.loads(text)["message"]

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
        """What a request gets with these headers, or without those that are empty."""
        return self._sent(path, method, {name.replace("_", "-"): value for name, value in headers.items()}, b"")

    def _sent(self, path: str, method: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], str]:
        usual = {"Host": f"127.0.0.1:{self.port}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.putrequest(method, quote(path, safe="/?&=%+:@"), skip_host=True, skip_accept_encoding=True)
            for name, value in (usual | headers).items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            response = connection.getresponse()
            return (
                response.status,
                {key.lower(): value for key, value in response.getheaders()},
                response.read().decode(),
            )
        finally:
            connection.close()


@contextmanager
def viewing(root: Path, *arguments: str) -> Generator[Viewed]:
    command = [GOLORE, "view", "--repo", root, "--no-browser", "--json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed: dict[str, str] = json.loads(process.stdout.readline())
        try:
            parts = urlsplit(printed["url"])
            base = f"{parts.scheme}://{parts.netloc}/{parts.path.split('/')[1]}"
            viewed = Viewed(root, base, Path(printed["open"]))
            # A server that answers handles the signal, also where Python was started with SIGINT ignored.
            viewed.ask("/")
            yield viewed
        finally:
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(30) == 0
            finally:
                process.kill()


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def addresses(self) -> list[str]:
        return [value for _, attributes in self.found for name, value in attributes.items() if name in ("href", "src")]
