"""Reading of files that a repository controls: links, pipes, devices and size limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from golore.graph.safety.regular_file import NotRegularError, TooLargeError, open_regular, read_regular, require_regular


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"content")
    assert read_regular(tmp_path / "a", 7) == b"content"


def test_a_link_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"content")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(NotRegularError):
        read_regular(tmp_path / "b", 100)
    with pytest.raises(NotRegularError):
        require_regular(tmp_path / "b")
    assert read_regular(tmp_path / "b", 100, follow=True) == b"content"


def test_a_pipe_a_directory_and_a_device_are_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(NotRegularError):
            read_regular(path, 100)
    with pytest.raises(NotRegularError):
        open_regular(tmp_path / "pipe", os.O_WRONLY)


def test_a_file_above_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    with pytest.raises(TooLargeError):
        read_regular(tmp_path / "a", 4)


def test_a_missing_file_is_not_an_irregular_one(tmp_path: Path) -> None:
    require_regular(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none", 4)
