"""The payloads of hooks, for all agents, in this process: the answer is empty or one JSON object, and no failure is
logged."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fuzzing.target import Target
from golore.learner.learn import learn
from golore.mcp_server.cli.agent_arguments import AGENTS
from golore.mcp_server.hooks import hook
from golore.mcp_server.hooks.hook_settings import read_hook_settings
from support.shop import make_shop

_PAYLOADS = Path(__file__).parents[2] / "fixtures" / "hooks"


def prepare(directory: Path) -> Target:
    root = make_shop(directory.resolve() / "shop")
    learn(root, root / ".golore", workers=0)
    settings = root / ".golore" / hook.SETTINGS_NAME
    settings.write_text("[hooks]\nrelearn = false\nbudget = 1000000000\n")
    assert read_hook_settings(str(settings))["relearn"] is False
    setattr(hook, "exit_after", float)  # noqa: B010  the deadline would end the process
    setattr(hook, "_log", _raise_again)  # noqa: B010  it is private
    asked, answered = (os.open(directory / name, os.O_RDWR | os.O_CREAT) for name in ("asked", "answered"))

    def run(data: bytes) -> None:
        agent = AGENTS[len(data) % len(AGENTS)]
        for file, content in ((asked, data), (answered, b"")):
            os.ftruncate(file, 0)
            os.pwrite(file, content, 0)
            os.lseek(file, 0, os.SEEK_SET)
        kept = [(number, os.dup(number)) for number in (0, 1)]
        os.dup2(asked, 0)
        os.dup2(answered, 1)
        try:
            assert hook.run_hook(agent) == 0
        finally:
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)
        answer = os.pread(answered, 1 << 20, 0)
        assert not answer or isinstance(json.loads(answer), dict)

    return Target(_seeds(root), run)


def _raise_again(store: str, action: str) -> None:
    raise AssertionError(f"{action} failed for {store}")


def _seeds(root: Path) -> tuple[bytes, ...]:
    found = [path.read_text(encoding="utf-8") for path in sorted(_PAYLOADS.glob("*.json"))]
    return tuple(text.replace("ROOT", str(root)).encode() for text in found)
