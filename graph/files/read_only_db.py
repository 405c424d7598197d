"""Opens SQLite files that this process cannot write, as on a read-only file system or in the store of another user.

To read a file with a write-ahead log, SQLite creates a file beside it. If it cannot, the file is opened as immutable:
what a log contains is not seen.

Runs in the hook process if the store cannot be written: imports only C modules of the standard library.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import _sqlite3 as sqlite3
    except ImportError:
        import sqlite3


def is_writable(path: str | os.PathLike[str]) -> bool:
    """Whether a database and the files beside it can be written; also if it does not exist but can be created."""
    directory = os.path.dirname(path) or "."  # noqa: PTH120  importing pathlib is too slow for a hook
    return os.access(directory, os.W_OK) and (os.access(path, os.W_OK) or not os.path.lexists(path))


def database_uri(path: str | os.PathLike[str], separator: str = os.sep) -> str:
    """The path as SQLite reads it in a URI, without parameters. `separator`: a backslash for paths of Windows."""
    text = os.fspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    if separator == "/":
        return f"file:{text}"
    text = text.replace(separator, "/")
    return f"file:///{text}" if text[1:2] == ":" else f"file://{text}" if text[:2] == "//" else f"file:{text}"


def connect_read_only(path: str | os.PathLike[str], wait: float) -> sqlite3.Connection:
    uri = database_uri(path)
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=wait, isolation_level=None)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        return sqlite3.connect(f"{uri}?immutable=1", uri=True, timeout=wait, isolation_level=None)
    return connection
