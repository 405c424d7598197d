"""What differs between systems: every test here also runs on macOS and Windows, in the workflow `tests`."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from golore.graph.files.atomic_write import replace_file
from golore.graph.files.read_only_db import connect_read_only, database_uri
from golore.graph.safety import system
from golore.graph.safety.regular_file import NotRegularError, open_regular, read_regular
from support.alarm import unblocked_alarm

HOLDER = """
import sys
from golore.graph.safety.regular_file import open_regular
from golore.graph.safety.system import try_lock
import os
descriptor = open_regular(sys.argv[1], os.O_RDWR | os.O_CREAT)
print(try_lock(descriptor, exclusive=sys.argv[2] == "exclusive"), flush=True)
sys.stdin.read()
"""


def holder(path: Path, kind: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-c", HOLDER, str(path), kind]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [("shared", False, True), ("shared", True, False), ("exclusive", False, False), ("exclusive", True, False)],
)
def test_only_shared_locks_of_two_processes_go_together(
    tmp_path: Path, theirs: str, ours: bool, expected: bool
) -> None:
    path = tmp_path / "lock"
    with holder(path, theirs) as process:
        descriptor = open_regular(path, os.O_RDWR)
        assert system.try_lock(descriptor, exclusive=ours) is expected
        if expected:
            system.unlock(descriptor)
        process.kill()
        process.communicate()
        assert system.try_lock(descriptor, exclusive=True)  # a lock ends with its process
        system.unlock(descriptor)
        os.close(descriptor)


def test_files_are_written_and_read_byte_by_byte(tmp_path: Path) -> None:
    content = b"one\r\ntwo\n\x1athree\r"
    replace_file(tmp_path / "file", content, durable=True)
    replace_file(tmp_path / "file", content, durable=True)
    assert read_regular(tmp_path / "file", 100) == content
    assert (tmp_path / "file").read_bytes() == content


@pytest.mark.parametrize(
    ("path", "separator", "expected"),
    [
        ("/home/a?#%/x.db", "/", "file:/home/a%3f%23%25/x.db"),
        (r"C:\repo\x.db", "\\", "file:///C:/repo/x.db"),
        (r"\\server\share\x.db", "\\", "file:////server/share/x.db"),
    ],
)
def test_databases_have_uris_that_sqlite_reads(path: str, separator: str, expected: str) -> None:
    assert database_uri(path, separator) == expected


def test_a_database_with_any_path_is_opened_read_only(tmp_path: Path) -> None:
    path = tmp_path / "a b#c%20" / "x.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE t (a)")
    with closing(connect_read_only(path, 1.0)) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "target").write_bytes(b"x")
    try:
        (tmp_path / "link").symlink_to(tmp_path / "target")
    except OSError:
        pytest.skip("this user may not create links")
    for flag in (system.NO_FOLLOW, 0):  # Windows has no flag for it
        monkeypatch.setattr("golore.graph.safety.regular_file.NO_FOLLOW", flag)
        with pytest.raises(NotRegularError):
            read_regular(tmp_path / "link", 100)
        assert read_regular(tmp_path / "link", 100, follow=True) == b"x"


def test_a_rename_that_is_refused_for_a_moment_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    refusals = [PermissionError(13, "in use")] * 3

    def rename() -> None:
        if refusals:
            raise refusals.pop()
        system.rename_over(tmp_path / "new", tmp_path / "old")

    with pytest.raises(PermissionError):
        system.retry_denied(rename, 0.0)
    system.retry_denied(rename, 60.0)
    assert (tmp_path / "old").read_text() == "new"


def test_what_this_process_creates_is_its_users_own_and_private(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    status = (tmp_path / "file").stat()
    assert status.st_uid == system.user_id()
    assert system.user_name(status.st_uid)
    tmp_path.chmod(0o700)
    assert not system.permits_others(tmp_path.stat(), 0o077)


def test_a_blocked_process_ends_with_code_0() -> None:
    code = "from golore.graph.safety.system import exit_after; exit_after(0.2); import os; os.read(0, 1); os.read(0, 1)"
    with unblocked_alarm(), subprocess.Popen([sys.executable, "-P", "-c", code], stdin=subprocess.PIPE) as process:
        assert process.wait() == 0


def test_a_detached_process_runs_after_the_one_that_started_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(600)
        later = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]})).recv(1)"
        command = [sys.executable, "-c", later]
        code = f"from golore.graph.safety.child_processes import start_detached; start_detached({command!r})"
        subprocess.run([sys.executable, "-P", "-c", code], check=True)
        server.accept()[0].close()
