"""Paths of payloads on both kinds of systems, as pure functions."""

from __future__ import annotations

import ntpath
import posixpath
from types import ModuleType

import pytest
from golore.mcp_server.hooks.event_paths import native_path, relative_path


@pytest.mark.parametrize(
    ("flavour", "sent", "expected"),
    [
        (ntpath, r"C:\repo\x.go", r"C:\repo\x.go"),
        (ntpath, "C:/repo/x.go", r"C:\repo\x.go"),
        (ntpath, "/c/repo/x.go", r"C:\repo\x.go"),
        (ntpath, "/c", "C:\\"),
        (ntpath, "file:///C:/repo/x.go", r"C:\repo\x.go"),
        (ntpath, "file:///c%3A/my%20repo/x.go", r"C:\my repo\x.go"),
        (ntpath, r"\\server\share\x.go", r"\\server\share\x.go"),
        (ntpath, "store/x.go", r"store\x.go"),
        (ntpath, "", ""),
        (posixpath, "/c/repo/x.go", "/c/repo/x.go"),
        (posixpath, "file:///home/a%20b/x.go", "/home/a b/x.go"),
        (posixpath, "file:///home/100%/x.go", "/home/100%/x.go"),
        (posixpath, "/home/a%20b/x.go", "/home/a%20b/x.go"),
        (posixpath, r"a\b.go", r"a\b.go"),
    ],
)
def test_paths_of_agents_are_written_as_the_system_does(flavour: ModuleType, sent: str, expected: str) -> None:
    assert native_path(sent, flavour) == expected


@pytest.mark.parametrize(
    ("flavour", "root", "path", "expected"),
    [
        (ntpath, r"C:\repo", r"C:\repo\store\x.go", "store/x.go"),
        (ntpath, r"C:\Repo", r"c:\repo\Store\x.go", "Store/x.go"),
        (ntpath, "C:\\", r"C:\x.go", "x.go"),
        (ntpath, r"C:\repo", r"C:\repo", "."),
        (ntpath, r"C:\repo", r"C:\repository\x.go", ""),
        (ntpath, r"C:\repo", r"D:\repo\x.go", ""),
        (posixpath, "/repo", "/repo/store/x.go", "store/x.go"),
        (posixpath, "/repo", "/Repo/store/x.go", ""),
        (posixpath, "/", "/x.go", "x.go"),
        (posixpath, "/repo", "/repo", "."),
        (posixpath, "/repo", "/repository/x.go", ""),
    ],
)
def test_paths_in_the_graph_have_slashes(flavour: ModuleType, root: str, path: str, expected: str) -> None:
    assert relative_path(root, path, flavour) == expected
