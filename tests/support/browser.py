"""A real browser, driven by the DevTools protocol: `GOLORE_BROWSER`, Chromium or Chrome on the PATH, or Qt WebEngine.

Qt WebEngine comes from PyPI, with the dependency group `browser`. `GOLORE_BROWSER=qt` chooses it where there is
Chromium, too.

Only what tests of pages need: opening an address, evaluating JavaScript, keys, screenshots, and what went wrong: errors
on the console and requests to other machines.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from websockets.sync.client import ClientConnection, connect

INSTALL: Final = (
    "no browser: apt-get install -y --no-install-recommends chromium, or uv run --group browser pytest, "
    "or set GOLORE_BROWSER"
)
QT: Final = "qt"
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
)
_WAIT: Final = 60.0
_KEYS: Final = {"Enter": "\r", "Tab": "\t"}


def browser_program() -> str:
    """The path of a browser, or `qt`; empty if there is none."""
    found = os.environ.get("GOLORE_BROWSER", "") or next(filter(None, map(shutil.which, _NAMES)), "")
    return found or (QT if find_spec("PySide6") and find_spec("PySide6.QtWebEngineWidgets") else "")


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
        while not self._is_true(script):
            assert time.monotonic() < deadline, f"never true: {script}"

    def _is_true(self, script: str) -> bool:
        """Evaluate an expression; if it is not true, or the page is left meanwhile, pause and return False."""
        try:
            if self.evaluate(script):
                return True
            self.evaluate("new Promise((done) => setTimeout(done, 20))")
        except AssertionError as failure:
            if "context was destroyed" not in str(failure) and "navigated or closed" not in str(failure):
                raise
        return False

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
    program = browser_program()
    flags = [*_FLAGS, f"--user-data-dir={profile}"]
    command, environment = [program, *flags, "--remote-debugging-port=0", "about:blank"], dict(os.environ)
    port = 0
    if program == QT:  # it does not say which port it chose
        port = _free_port()
        command = [sys.executable, str(Path(__file__).with_name("qt_browser.py"))]
        environment |= {
            "QT_QPA_PLATFORM": "offscreen",
            "QTWEBENGINE_CHROMIUM_FLAGS": " ".join(flags),
            "QTWEBENGINE_DISABLE_SANDBOX": "1",
            "QTWEBENGINE_REMOTE_DEBUGGING": f"127.0.0.1:{port}",
        }
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            port = port or _chosen_port(profile / "DevToolsActivePort", process)
            with connect(_tab_address(port, process), max_size=None) as connection:
                yield Tab(connection)
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def _chosen_port(file: Path, process: subprocess.Popen[bytes]) -> int:
    for _ in _attempts(process):
        if file.exists() and file.read_text().strip():
            break
    return int(file.read_text().split()[0])


def _tab_address(port: int, process: subprocess.Popen[bytes]) -> str:
    """The address of the tab, as soon as the browser has one."""
    pages = f"http://127.0.0.1:{port}/json/list"
    found = ""
    for _ in _attempts(process):
        with suppress(OSError), urllib.request.urlopen(pages, timeout=_WAIT) as reply:
            found = next((one["webSocketDebuggerUrl"] for one in json.load(reply) if one["type"] == "page"), "")
        if found:
            break
    return found


def _attempts(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Tries, until the caller has what it waits for."""
    deadline = time.monotonic() + _WAIT
    while True:
        yield
        assert process.poll() is None, f"the browser ended with {process.returncode}"
        assert time.monotonic() < deadline, "the browser did not start"
        time.sleep(0.02)
