"""The table of the standard library: what it says of some packages, and that it is what the source of Go says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from golore.graph.changes.standard_library import callers_of, is_standard, takes_values

GENERATOR = Path(__file__).parents[1] / "support" / "handed_values"
TABLE = Path(__file__).parents[2] / "graph" / "data" / "standard_library.txt"


def test_a_package_knows_the_interfaces_of_those_that_it_imports() -> None:
    callers = callers_of("io/fs")
    assert callers is not None
    assert {"io/fs", "os", "net/http"} <= callers
    assert "strings" not in callers


def test_any_package_may_know_interfaces_that_many_use_or_that_others_declare() -> None:
    assert callers_of("io") is None
    assert callers_of("example.com/other") is None


@pytest.mark.parametrize(
    ("package", "name", "takes"),
    [
        ("os", "Open", False),
        ("os", "CopyFS", True),
        ("strings", "Reader.WriteTo", True),
        ("strings", "NewReader", False),
        ("crypto/hmac", "New", True),
        ("io/fs", "Stat", True),
        ("io/fs", "ValidPath", False),
        ("fmt", "Println", True),
        ("example.com/other", "F", True),
    ],
)
def test_some_functions_can_be_handed_values_with_methods(package: str, name: str, takes: bool) -> None:
    assert takes_values(package, name) == takes


def test_packages_of_other_modules_have_a_dot() -> None:
    assert is_standard("net/http")
    assert not is_standard("example.com/other")


@pytest.mark.slow
def test_the_table_is_what_the_source_of_go_says(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None or sys.platform != "linux":
        pytest.skip("needs Go on Linux, for which the table was made")
    copy = tmp_path / "generator"
    shutil.copytree(GENERATOR, copy)
    environment = {**os.environ, "GOFLAGS": "", "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    done = subprocess.run([go, "run", ".", go], cwd=copy, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == TABLE.read_text(encoding="utf-8")
