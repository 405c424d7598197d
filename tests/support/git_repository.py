"""Real git repositories with commits at fixed times."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

DAY = 86_400
NOW = 1_700_000_000


def git(root: Path, *arguments: str, at: int = NOW) -> str:
    date = f"{at} +0000"
    environment = {
        **os.environ,
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(root: Path, files: dict[str, str | None], at: int = NOW) -> None:
    """Write these files, remove those whose text is None, and commit the changes."""
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "change", at=at)
