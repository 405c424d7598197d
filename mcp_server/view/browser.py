"""Opens the browser at a page without showing the secret to other users of the machine.

The command line of a browser is visible in lists of processes, so it gets the path of a private file. That file leads
to the door, and the door to the page: the request for the page then comes from this server's own origin.
"""

from __future__ import annotations

import os
import webbrowser
from html import escape
from pathlib import Path
from typing import Final

from golore.graph.safety.system import NO_FOLLOW
from golore.mcp_server.server.loopback import make_private

_PAGE: Final = (
    '<!doctype html><meta charset="utf-8"><title>golore</title>{1}<meta http-equiv="refresh" content="0;url={0}">'
)
_ICON: Final = '<link rel="icon" href="{0}">'
"""Without one, browsers ask for an icon at an address without the secret."""


def redirect_page(address: str, icon: str = "") -> str:
    """A page that leads to an address at once."""
    return _PAGE.format(escape(address, quote=True), _ICON.format(escape(icon, quote=True)) if icon else "")


def write_redirect(path: Path, address: str) -> None:
    """Write a page that leads to an address, into a file that only its owner can read."""
    make_private(path.parent)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(redirect_page(address))


def open_browser(path: Path) -> bool:
    """Open the file in the user's browser. Returns whether there is one."""
    return webbrowser.open(path.as_uri())
