"""Paths in the payloads of agents, and paths relative to the root, on every system. Nothing here reads the disk.

`flavour` is `posixpath` or `ntpath`, by default the one of this system.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_FILE_URI = "file://"


def native_path(path: str, flavour: "ModuleType" = os.path) -> str:
    """The path as this system writes it. Agents send `file:` URIs, and on Windows also the form of Git Bash: `/c/x.go`
    means `C:\\x.go`."""
    if path.startswith(_FILE_URI):
        path = _decoded(path.removeprefix(_FILE_URI))
    if flavour.sep == "/":
        return path
    path = path.replace("/", "\\")
    drive = path[1:2]
    if path[:1] == "\\" and drive.isascii() and drive.isalpha() and path[2:3] in (":", "\\", ""):
        rest = path[2:].removeprefix(":")
        path = f"{drive.upper()}:{rest or flavour.sep}"
    return path


def relative_path(root: str, path: str, flavour: "ModuleType" = os.path) -> str:
    """The path relative to the root, with slashes, as in the graph; "." for the root itself, empty if it is outside.
    Both must be resolved."""
    if flavour.normcase(path) == flavour.normcase(root):
        return "."
    prefix = root if root.endswith(flavour.sep) else f"{root}{flavour.sep}"
    is_inside = flavour.normcase(path).startswith(flavour.normcase(prefix))
    return path[len(prefix) :].replace(flavour.sep, "/") if is_inside else ""


def _decoded(text: str) -> str:
    """The text with its %XX decoded."""
    first, *rest = text.encode().split(b"%")
    pieces = [first]
    for piece in rest:
        try:
            pieces += (bytes.fromhex(piece[:2].decode("ascii")), piece[2:])
        except ValueError:
            pieces += (b"%", piece)
    return b"".join(pieces).decode("utf-8", "replace")
