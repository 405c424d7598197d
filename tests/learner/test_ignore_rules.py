"""Ignore rules, with git itself as the judge."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from golore.learner.checkout.discovery import discover
from golore.learner.checkout.ignore_rules import IgnoreRules, parse_patterns, rules_for
from hypothesis import given
from hypothesis import strategies as st

NAMES = ("a", "b", "ab", "a.go", "b.go")
_ATOMS = "a b ab a.go b.go * *.go ? [ab] [!a] [^a] ** a* \\a \\* a** **b [a-b]* *** [[:alpha:]] []a] [a \\ [a-"
ATOMS = tuple(_ATOMS.split())


def _git(directory: Path, *arguments: str, given_input: str = "") -> str:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    identity = ("-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always")
    command = ["git", *identity, *arguments]
    done = subprocess.run(
        command, cwd=directory, input=given_input, capture_output=True, text=True, check=False, env=environ
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def _write(root: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def _learned(root: Path) -> list[str]:
    return [file.path for file in discover(root).files]


def _random_pattern(choose: random.Random) -> str:
    pattern = "/".join(choose.choice(ATOMS) for _ in range(choose.choice((1, 1, 1, 2, 2, 3))))
    pattern = choose.choice(("", "", "", "", "/")) + pattern + choose.choice(("", "", "", "/"))
    pattern = choose.choice(("", "", "!")) + pattern
    return pattern + choose.choice(("",) * 8 + (" ", "  ", "\\ ", "\t", "\r"))


def _ignored(root: Path, directory: str, rules: IgnoreRules) -> set[str]:
    content = root / directory / ".gitignore"
    if content.is_file():
        rules = rules.with_ignore_file(directory, content.read_bytes())
    found: set[str] = set()
    for entry in (root / directory).iterdir():
        path = f"{directory}/{entry.name}" if directory else entry.name
        if entry.name in (".git", ".gitignore"):
            continue
        if rules.ignores(path, is_dir=entry.is_dir()):
            found.add(path)
        elif entry.is_dir():
            found |= _ignored(root, path, rules)
    return found


def test_git_ignores_the_same_paths_for_random_patterns(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    paths: list[str] = []
    for first in NAMES[:3]:
        for second in NAMES[:3]:
            _write(tmp_path, {f"{first}/{second}/{name}": "" for name in NAMES})
            paths += [f"{first}/{second}/{name}" for name in NAMES]
            paths.append(f"{first}/{second}")
        _write(tmp_path, {f"{first}/{name}": "" for name in NAMES[3:]})
        paths += [first, *(f"{first}/{name}" for name in NAMES[3:])]
    _write(tmp_path, dict.fromkeys(NAMES[3:], ""))
    paths += NAMES[3:]
    for seed in range(150):
        choose = random.Random(seed)
        outer = [_random_pattern(choose) for _ in range(choose.randint(1, 4))]
        inner = [_random_pattern(choose) for _ in range(choose.randint(0, 3))]
        _write(tmp_path, {".gitignore": "\n".join(outer) + "\n", "a/.gitignore": "\n".join(inner) + "\n"})
        theirs = set(_git(tmp_path, "check-ignore", "-z", "--stdin", given_input="\0".join(paths)).split("\0")) - {""}
        tops = _ignored(tmp_path, "", rules_for(tmp_path))
        ours = {path for path in paths if any(path == top or path.startswith(f"{top}/") for top in tops)}
        assert ours == theirs, (outer, inner)


@given(st.binary(max_size=60))
def test_reading_patterns_never_raises(content: bytes) -> None:
    rules = IgnoreRules().with_ignore_file("", content)
    rules.ignores("a/b.go", is_dir=False)


def test_an_empty_file_of_patterns_adds_no_layer() -> None:
    assert IgnoreRules().with_ignore_file("", b"# only\n\n   \n").layers == ()
    assert parse_patterns(b"x").files is not None


def test_nested_and_negated_rules_hold_without_git(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            ".gitignore": "*.gen.go\n/out/\nbuild\n",
            "a.go": "",
            "a.gen.go": "",
            "out/a.go": "",
            "sub/out/a.go": "",
            "sub/build/a.go": "",
            "sub/.gitignore": "!keep.gen.go\n",
            "sub/keep.gen.go": "",
            "sub/drop.gen.go": "",
        },
    )
    without_git = _learned(tmp_path)
    assert without_git == ["a.go", "sub/keep.gen.go", "sub/out/a.go"]
    _git(tmp_path, "init", "-q")
    assert _learned(tmp_path) == without_git


def test_a_file_below_an_ignored_directory_cannot_be_taken_back(tmp_path: Path) -> None:
    _write(tmp_path, {".gitignore": "out/\n!out/a.go\n", "out/a.go": "", "b.go": ""})
    assert _learned(tmp_path) == ["b.go"]


def test_an_ignored_directory_is_not_entered(tmp_path: Path) -> None:
    _write(tmp_path, {".gitignore": "/out\n", "out/.gitignore": "!*\n", "out/sub/a.go": "", "b.go": ""})
    (tmp_path / "out" / "sub").chmod(0)
    try:
        assert discover(tmp_path).problems == ()
    finally:
        (tmp_path / "out" / "sub").chmod(0o755)


def test_info_exclude_counts_and_gitignore_overrides_it(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    _write(tmp_path, {".git/info/exclude": "x.go\ny.go\n", ".gitignore": "!y.go\n", "x.go": "", "y.go": "", "z.go": ""})
    assert _learned(tmp_path) == ["y.go", "z.go"]


def test_info_exclude_of_the_main_repository_counts_in_a_worktree(tmp_path: Path) -> None:
    main = tmp_path / "main"
    _write(main, {"a.go": ""})
    _git(main, "init", "-q")
    _git(main, "add", "-A")
    _git(main, "commit", "-qm", "x")
    _write(main, {".git/info/exclude": "x.go\n"})
    _git(main, "worktree", "add", "-q", "../tree")
    _write(tmp_path / "tree", {"x.go": ""})
    assert _learned(tmp_path / "tree") == ["a.go"]


def test_rules_from_above_the_root_hold_unless_they_ignore_the_root_itself(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    _write(
        tmp_path, {".gitignore": "*.gen.go\n/sub/x.go\n/third/\n", "sub/a.gen.go": "", "sub/x.go": "", "sub/b.go": ""}
    )
    _write(tmp_path, {"third/c.go": "", "third/c.gen.go": ""})
    assert _learned(tmp_path / "sub") == ["b.go"]
    assert _learned(tmp_path / "third") == ["c.gen.go", "c.go"]


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_what_git_tracks_is_not_ignored(tmp_path: Path, object_format: str) -> None:
    _git(tmp_path, "init", "-q", f"--object-format={object_format}")
    _write(tmp_path, {"cmd/server/main.go": "", "cmd/server/sub/deep/a.go": "", "x.gen.go": "", "b.go": ""})
    _git(tmp_path, "add", "-A")
    _write(
        tmp_path, {".gitignore": "server\n*.gen.go\n", "cmd/server/untracked.go": "", "y.gen.go": "", "server/z.go": ""}
    )
    expected = ["b.go", "cmd/server/main.go", "cmd/server/sub/deep/a.go", "x.gen.go"]
    for version in ("2", "3", "4"):
        _git(tmp_path, "update-index", "--index-version", version)
        assert _learned(tmp_path) == expected, version
    assert _learned(tmp_path / "cmd") == ["server/main.go", "server/sub/deep/a.go"]


def test_a_damaged_index_tracks_nothing(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    _write(tmp_path, {"x.gen.go": "", "b.go": "", ".gitignore": "*.gen.go\n"})
    _git(tmp_path, "add", "-f", "-A")
    index = tmp_path / ".git" / "index"
    for size in (0, 5, 13, 80, len(index.read_bytes()) - 60):
        whole = index.read_bytes()
        index.write_bytes(whole[:size])
        assert "b.go" in _learned(tmp_path)
        index.write_bytes(whole)


HOSTILE = {
    "many stars": ("*a" * 100 + "b", "a" * 250),
    "many stars in a directory": ("x/" + "*a" * 100 + "b", "x/" + "a" * 250),
    "many directories": ("**/a/" * 40 + "b", "a/" * 100 + "c"),
    "both": ("**/*a*a*a/" * 20 + "b", "aaaaaa/" * 40 + "c"),
    "many turns": ("[a-z]x\n!b\n" * 20_000, "some/where/file.go"),
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_patterns_are_matched_in_bounded_time(hostile: str) -> None:
    """The processor limit is reached only if the time grows faster than the number of stars."""
    content, path = HOSTILE[hostile]
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        "from golore.learner.checkout.ignore_rules import IgnoreRules\n"
        "rules = IgnoreRules().with_ignore_file('', sys.stdin.buffer.read())\n"
        "print([rules.ignores(sys.argv[1], is_dir=False) for _ in range(20)].count(True))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path], input=content.encode(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"0\n"), done.stderr
