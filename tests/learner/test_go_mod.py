"""Reading go.mod, go.work and modules.txt, with the go command's own reading as the judge."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from golore.learner.go_rules.go_mod import (
    Exclude,
    Replace,
    Require,
    Retract,
    VendoredModule,
    escape_path,
    parse_gomod,
    parse_gowork,
    parse_vendor_list,
    version_key,
)
from hypothesis import given
from hypothesis import strategies as st

GO = Path(sys.executable).with_name("go")

EVERYTHING = b"""\
// Deprecated: use example.com/new
// instead.
module "example.com/old" // trailing

go 1.25.1

toolchain go1.25.3

godebug default=go1.21

require example.com/a v1.2.3
require (
\texample.com/b v0.0.0-20240102030405-abcdefabcdef // indirect
\t"example.com/quoted" v1.0.0 // indirect; because

\texample.com/c/v2 v2.0.0+incompatible // a remark
)

replace example.com/a => ./local/a
replace (
\texample.com/b v1.0.0 => ../b
\texample.com/c/v2 => example.com/fork/c/v2 v2.1.0
\texample.com/d v1.0.0 => example.com/e v1.5.0
\texample.com/space => "../with space"
)

exclude example.com/x v1.0.0

retract v0.1.0 // broken
retract (
\t[v0.2.0, v0.3.0]
)

tool example.com/a/cmd/tool
ignore (
\t./node_modules
\tweb
)
"""


def _go_json(command: list[str], path: Path) -> dict[str, Any]:
    done = subprocess.run([GO, *command, "-json", path], capture_output=True, text=True, check=True, cwd=path.parent)
    return json.loads(done.stdout)


def test_every_directive_is_read() -> None:
    mod = parse_gomod(EVERYTHING)
    assert mod.problems == ()
    assert (mod.module, mod.go, mod.toolchain) == ("example.com/old", "1.25.1", "go1.25.3")
    assert mod.deprecated.startswith("use example.com/new instead.")
    assert mod.requires == (
        Require("example.com/a", "v1.2.3"),
        Require("example.com/b", "v0.0.0-20240102030405-abcdefabcdef", indirect=True),
        Require("example.com/quoted", "v1.0.0", indirect=True),
        Require("example.com/c/v2", "v2.0.0+incompatible"),
    )
    assert mod.replaces[0] == Replace("example.com/a", "", "./local/a", "")
    assert mod.replaces[1].local
    assert not mod.replaces[2].local
    assert mod.replaces[4].new == "../with space"
    assert mod.excludes == (Exclude("example.com/x", "v1.0.0"),)
    assert mod.retracts == (Retract("v0.1.0", "v0.1.0", "broken"), Retract("v0.2.0", "v0.3.0"))
    assert mod.tools == ("example.com/a/cmd/tool",)
    assert mod.ignores == ("./node_modules", "web")


def test_go_reads_the_same_from_a_go_mod(tmp_path: Path) -> None:
    path = tmp_path / "go.mod"
    path.write_bytes(EVERYTHING.replace(b"v2.0.0+incompatible", b"v2.0.0"))
    theirs = _go_json(["mod", "edit"], path)
    ours = parse_gomod(path.read_bytes())
    assert ours.module == theirs["Module"]["Path"]
    assert ours.go == theirs["Go"]
    assert ours.requires == tuple(
        Require(item["Path"], item["Version"], item.get("Indirect", False)) for item in theirs["Require"]
    )
    assert ours.replaces == tuple(
        Replace(
            item["Old"]["Path"], item["Old"].get("Version", ""), item["New"]["Path"], item["New"].get("Version", "")
        )
        for item in theirs["Replace"]
    )
    assert [(item.low, item.high) for item in ours.retracts] == [
        (item["Low"], item["High"]) for item in theirs["Retract"]
    ]
    assert ours.tools == tuple(item["Path"] for item in theirs["Tool"])
    assert ours.ignores == tuple(item["Path"] for item in theirs["Ignore"])


def test_go_reads_the_same_from_a_go_work(tmp_path: Path) -> None:
    path = tmp_path / "go.work"
    path.write_text('go 1.22\n\nuse .\nuse (\n\t./a // one\n\t"../b"\n)\nreplace x.org/y => ./y\n')
    theirs = _go_json(["work", "edit"], path)
    ours = parse_gowork(path.read_bytes())
    assert ours.problems == ()
    assert ours.uses == tuple(item["DiskPath"] for item in theirs["Use"])
    assert ours.replaces == (Replace("x.org/y", "", "./y", ""),)


def test_crlf_and_a_byte_order_mark_change_nothing() -> None:
    plain = parse_gomod(EVERYTHING)
    assert parse_gomod(b"\xef\xbb\xbf" + EVERYTHING.replace(b"\n", b"\r\n")) == plain


def test_a_wrong_line_is_a_problem_and_the_rest_is_kept() -> None:
    mod = parse_gomod(
        b"module m\n<<<<<<< HEAD\nrequire x.org/a v1.0.0\nrequire x.org/b\nreplace x.org/c => d\n", "sub/go.mod"
    )
    assert mod.module == "m"
    assert mod.requires == (Require("x.org/a", "v1.0.0"),)
    assert [(problem.file, problem.line) for problem in mod.problems] == [
        ("sub/go.mod", 2),
        ("sub/go.mod", 4),
        ("sub/go.mod", 5),
    ]


def test_raw_strings_are_read_as_the_reference_describes_them() -> None:
    assert parse_gomod(b"module `m`\nreplace x.org/a => `../a b`\n").replaces == (Replace("x.org/a", "", "../a b", ""),)


def test_an_unclosed_block_is_a_problem_at_its_beginning() -> None:
    mod = parse_gomod(b"module m\nrequire (\n\tx.org/a v1.0.0\n")
    assert mod.requires == (Require("x.org/a", "v1.0.0"),)
    assert [problem.line for problem in mod.problems] == [2]


@given(st.binary(max_size=200) | st.text(alphabet='()"`=> \n\t/,[]module require\\', max_size=80).map(str.encode))
def test_reading_never_raises(data: bytes) -> None:
    parse_gomod(data)
    parse_gowork(data)
    parse_vendor_list(data)


def test_vendored_modules_have_their_packages_versions_and_replacements() -> None:
    listed = parse_vendor_list(
        b"## workspace\n# x.org/a v1.0.0\n## explicit; go 1.20\nx.org/a\nx.org/a/b\n"
        b"# x.org/c v1.1.0 => ./c\n# x.org/d => x.org/e v2.0.0\n"
    )
    assert listed.workspace
    assert listed.modules == (
        VendoredModule("x.org/a", "v1.0.0", True, "", ("x.org/a", "x.org/a/b")),
        VendoredModule("x.org/c", "v1.1.0", False, "./c", ()),
        VendoredModule("x.org/d", "", False, "x.org/e v2.0.0", ()),
    )


@pytest.mark.parametrize(
    "ordered",
    [
        ["nonsense", "v0.0.0-20200101000000-aaaaaaaaaaaa", "v0.1.0", "v1.0.0-alpha", "v1.0.0-alpha.1", "v1.0.0-beta"],
        ["v1.0.0-rc.2", "v1.0.0-rc.10", "v1.0.0", "v1.2.0", "v1.10.0", "v2.0.0+incompatible"],
    ],
)
def test_versions_sort_by_semantic_versioning(ordered: list[str]) -> None:
    shuffled = ordered[1::2] + ordered[::2]
    assert sorted(shuffled, key=version_key) == ordered


def test_capitals_are_escaped_as_in_the_module_cache() -> None:
    assert escape_path("github.com/BurntSushi/toml") == "github.com/!burnt!sushi/toml"
