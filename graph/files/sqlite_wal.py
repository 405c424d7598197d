"""Switches a SQLite database to write-ahead logging."""

from __future__ import annotations

import sqlite3
import time

_PAUSE = 0.01


def switch_to_wal(connection: sqlite3.Connection, wait: float) -> None:
    """Wait while other processes switch it: SQLite fails at once then, without its own waiting."""
    deadline = time.monotonic() + wait
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as failure:
            if failure.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
