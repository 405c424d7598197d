"""A real browser, driven by the DevTools protocol: Chromium or Chrome, as `GOLORE_BROWSER` or on the PATH.

Only what tests of pages need: opening an address, evaluating JavaScript, keys, screenshots, and what went wrong: errors
on the console and requests to other machines.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from websockets.sync.client import ClientConnection, connect

INSTALL: Final = "no browser: apt-get install -y --no-install-recommends chromium, or set GOLORE_BROWSER"
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-lcd-text",
    "--remote-debugging-port=0",
)
_WAIT: Final = 60.0
_KEYS: Final = {"Enter": "\r", "Tab": "\t"}


def browser_program() -> str:
    """The path of a browser; empty if there is none."""
    return os.environ.get("GOLORE_BROWSER", "") or next(filter(None, map(shutil.which, _NAMES)), "")


class Tab:
    """One tab. `errors` has what the console reported, `requests` the addresses that were asked for."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._has_loaded = False
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: object) -> dict[str, Any]:
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (message := self._receive()).get("id") != number:
            pass
        if "error" in message:
            raise AssertionError(f"{method}: {message['error']}")
        return message["result"]

    def open(self, address: str) -> None:
        """Open an address and wait until it has loaded."""
        self._has_loaded = False
        self.send("Page.navigate", url=address)
        self.wait_for_load()

    def wait_for_load(self) -> None:
        while not self._has_loaded:
            self._receive()
        self.wait_until("document.readyState === 'complete'")

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression. A promise is awaited."""
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def wait_until(self, script: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + _WAIT
        while not self.evaluate(script):
            assert time.monotonic() < deadline, f"never true: {script}"
            self.evaluate("new Promise((done) => setTimeout(done, 20))")

    def press(self, key: str) -> None:
        text = _KEYS.get(key, key if len(key) == 1 else "")
        named = {"key": key, "code": key if len(key) > 1 else "", "text": text}
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}.get(key, 0)
        self.send("Input.dispatchKeyEvent", type="keyDown", windowsVirtualKeyCode=code, **named)
        self.send("Input.dispatchKeyEvent", type="keyUp", windowsVirtualKeyCode=code, key=key)

    def type(self, text: str) -> None:
        for key in text:
            self.press(key)

    def look(self, *, width: int = 1400, height: int = 900, dark: bool = False) -> None:
        """Set the size of the window, and whether the user prefers dark pages."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, *, clip: tuple[float, float] | None = None) -> bytes:
        """The visible part of the page as PNG, or its upper left part of this size."""
        area = {"clip": {"x": 0, "y": 0, "width": clip[0], "height": clip[1], "scale": 1}} if clip else {}
        return base64.b64decode(self.send("Page.captureScreenshot", format="png", **area)["data"])

    def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._connection.recv(_WAIT))
        match message.get("method"):
            case "Page.loadEventFired":
                self._has_loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(message["params"]["exceptionDetails"]))
            case "Log.entryAdded" if message["params"]["entry"]["level"] == "error":
                self.errors.append(json.dumps(message["params"]["entry"]))
            case "Runtime.consoleAPICalled" if message["params"]["type"] == "error":
                self.errors.append(json.dumps(message["params"]["args"]))
            case _:
                pass
        return message


@contextmanager
def browser_tab(profile: Path) -> Generator[Tab]:
    """Start a browser with an empty profile and open a tab."""
    command = [browser_program(), *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            port = _port(profile / "DevToolsActivePort", process)
            with connect(_tab_address(port), max_size=None) as connection:
                yield Tab(connection)
        finally:
            process.terminate()


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + _WAIT
    while not (file.exists() and file.read_text().strip()):
        assert process.poll() is None, f"the browser ended with {process.returncode}"
        assert time.monotonic() < deadline, "the browser did not start"
        time.sleep(0.02)
    return int(file.read_text().split()[0])


def _tab_address(port: int) -> str:
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=_WAIT) as reply:
        return next(one["webSocketDebuggerUrl"] for one in json.load(reply) if one["type"] == "page")
