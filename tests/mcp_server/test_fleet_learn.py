"""`golore fleet learn` on local processes: a bad repository breaks nothing, and nothing is published twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from golore.graph.errors import RepositoryError, UsageError
from golore.learner.checkout.git_clone import get_revision, remote_commit, require_source
from golore.mcp_server.cli.main import main
from golore.mcp_server.services.fleet.fleet_jobs import Job, Outcome, failed, run_job
from golore.mcp_server.services.fleet.fleet_list import Source, is_path, read_list
from golore.mcp_server.services.fleet.fleet_pools import run_jobs
from support.git_repository import commit, git


def repository(root: Path, remote: str = "", module: str = "example.com/one") -> Path:
    root.mkdir(parents=True)
    git(root, "init", "-q")
    if remote:
        git(root, "remote", "add", "origin", remote)
    commit(root, {"go.mod": f"module {module}\n\ngo 1.24\n", "one.go": "package one\n\nfunc One() { One() }\n"})
    return root


def learned(
    capsys: pytest.CaptureFixture[str], folder: Path, *lines: str | Path, code: int = 0
) -> list[dict[str, Any]]:
    (folder / "list").write_text("".join(f"{line}\n" for line in lines))
    (folder / "lake").mkdir(exist_ok=True)
    capsys.readouterr()
    assert main(["fleet", "learn", str(folder / "list"), "--lake", str(folder / "lake"), "--json"]) == code
    return json.loads(capsys.readouterr().out)["repositories"]


def test_one_bad_repository_does_not_break_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = repository(tmp_path / "one", "git@example.org:team/one.git")
    git(one, "tag", "v1.2.0")
    commit(one, {"two.go": "package one\n\nfunc Two() {}\n"})
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    lines = ("# comment", "one v1.2.0", tmp_path / "nothing", tmp_path / "empty", "one no-such-branch")
    found = learned(capsys, tmp_path, *lines, code=1)
    assert {(Path(each["address"]).name, each["revision"]): each["status"] for each in found} == {
        ("one", "v1.2.0"): "published",
        ("one", "no-such-branch"): "failed",
        ("nothing", ""): "failed",
        ("empty", ""): "failed",
    }
    (done,) = (each for each in found if each["status"] == "published")
    assert (done["repository"], done["commit"]) == ("example.org/team/one", git(one, "rev-parse", "v1.2.0"))
    reasons = {each["reason"] for each in found if each["status"] == "failed"}
    assert all(reason.endswith(".") and "\n" not in reason for reason in reasons)
    assert main(["fleet", "list", str(tmp_path / "lake")]) == 0
    assert "example.org/team/one  v1.2.0" in capsys.readouterr().out

    # Once more: what is published is neither fetched nor learned, and a store was left neither there nor here.
    assert {each["status"] for each in learned(capsys, tmp_path, "one v1.2.0")} == {"known"}
    assert not (one / ".golore").exists()


def test_a_repository_without_a_remote_is_named_by_its_module(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(tmp_path / "one", module="example.com/team/shop")
    (done,) = learned(capsys, tmp_path, "one")
    assert (done["status"], done["repository"]) == ("published", "example.com/team/shop")
    (again,) = learned(capsys, tmp_path, "one")
    assert again["status"] == "known"


@pytest.mark.parametrize("shallow", [False, True])
def test_nothing_of_a_repository_is_run_when_it_is_fetched(
    tmp_path: Path, shallow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    one = repository(tmp_path / "one")
    commit(one, {".gitattributes": "*.txt filter=evil\n", "a.txt": "text\n"})
    git(one, "tag", "-a", "-m", "note", "v1.0.0")
    for hook in ("post-checkout", "post-merge", "reference-transaction"):
        path = one / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {trap}\n")
        path.chmod(0o755)
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    (template / "post-checkout").write_text(f"#!/bin/sh\ntouch {trap}\n")
    (template / "post-checkout").chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(
        f'[filter "evil"]\nsmudge = touch {trap}\nclean = touch {trap}\n[init]\ntemplateDir = {template.parent}\n'
        f"[core]\nfsmonitor = touch {trap}\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    wanted = remote_commit(str(one), "v1.0.0")
    assert wanted == git(one, "rev-parse", "HEAD")
    get_revision(str(one), wanted, "v1.0.0", tmp_path / "target", shallow=shallow)
    assert (tmp_path / "target" / "a.txt").read_text() == "text\n"
    assert not trap.exists()
    assert git(tmp_path / "target", "describe", "--tags") == "v1.0.0"
    assert git(tmp_path / "target", "rev-list", "--count", "HEAD") == ("1" if shallow else "2")


@pytest.mark.parametrize(
    ("source", "revision", "message"),
    [
        ("--upload-pack=touch x", "", "is not the address of a repository"),
        ("ext::sh -c touch% x", "", "is not the address of a repository"),
        ("https://me:secret@example.org/x", "", "must not contain a password"),
        ("https://example.org/x", "--output=x", "is not a branch, tag or commit"),
        ("https://example.org/x", "a..b", "is not a branch, tag or commit"),
    ],
)
def test_an_address_that_git_could_take_for_something_else_is_refused(source: str, revision: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        require_source(source, revision)
    assert "secret" not in str(caught.value)


def test_a_repository_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match=r"cannot be read: .* does not appear to be a git repository"):
        remote_commit(str(tmp_path), "")


def test_a_list_has_addresses_revisions_and_comments(tmp_path: Path) -> None:
    text = "# all\n\nhttps://example.org/a v1 # why\ngit@example.org:team/b.git\n../c main\n../c main\n"
    (tmp_path / "list").write_text(text)
    assert read_list(tmp_path / "list") == [
        Source("https://example.org/a", "v1"),
        Source("git@example.org:team/b.git", ""),
        Source(str(tmp_path.parent / "c"), "main"),
    ]
    assert [is_path(one) for one in ("a/b", "/a:b", "host:a", "ssh://host/a")] == [True, True, False, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no repository"),
        ("a b c\n", "line 1: write a URL or a path, and perhaps a revision"),
        ("a\n-x\n", "line 2: '-x' is not the address"),
    ],
)
def test_a_list_that_is_wrong_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "list").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_list(tmp_path / "list")


def job(address: str = "a", memory: int = 4) -> Job:
    return Job(address, "", "lake", "1", False, 2, memory)


def test_another_version_of_golore_learns_nothing(tmp_path: Path) -> None:
    outcome = run_job(msgspec.structs.replace(job(str(tmp_path)), edition="another", lake=str(tmp_path)))
    assert (outcome.status, outcome.can_retry) == ("failed", False)
    assert "another version of golore" in outcome.reason


class ScriptedPool:
    """Ends each job with the next of the outcomes that are given for its address."""

    def __init__(self, memory: int, **outcomes: list[Outcome]) -> None:
        self.memory = memory
        self.submitted: list[Job] = []
        self._waiting: list[Job] = []
        self._outcomes = outcomes

    def submit(self, job: Job) -> None:
        self.submitted.append(job)
        self._waiting.append(job)

    def next_outcome(self) -> tuple[Job, Outcome]:
        job = self._waiting.pop(0)
        return job, self._outcomes[job.address].pop(0)


def test_a_job_that_was_killed_is_repeated_with_more_memory_and_one_process() -> None:
    killed = failed(job(), "killed", can_retry=True, was_stopped=True)
    done = Outcome("a", "", "published")
    pool = ScriptedPool(6, a=[killed, killed, done], b=[failed(job("b"), "bad")])
    reported: list[Outcome] = []
    outcomes = run_jobs([job("b", 1), job("a")], pool, reported.append)
    assert [(one.address, one.status) for one in outcomes] == [("a", "published"), ("b", "failed")]
    assert [(one.address, one.memory, one.cpus) for one in pool.submitted] == [
        ("a", 4, 2),
        ("b", 1, 2),
        ("a", 6, 1),
        ("a", 6, 1),
    ]
    assert len(reported) == 2


def test_a_job_is_given_up_after_three_attempts() -> None:
    lost = failed(job(), "The lake cannot be reached.", can_retry=True)
    pool = ScriptedPool(6, a=[lost] * 3)
    (outcome,) = run_jobs([job()], pool, lambda _: None)
    assert outcome.status == "failed"
    assert len(pool.submitted) == 3


def test_ray_is_named_as_an_extra_if_it_is_not_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    repository(tmp_path / "one")
    (tmp_path / "list").write_text("one\n")
    (tmp_path / "lake").mkdir()
    assert main(["fleet", "learn", str(tmp_path / "list"), "--lake", str(tmp_path / "lake"), "--ray"]) == 2
    assert "pip install 'golore[fleet]'" in capsys.readouterr().err
    assert main(["fleet", "status", str(tmp_path / "lake"), "--ray"]) == 2
