"""A repository with a store that is updated incrementally, and its comparison with a fresh learn."""

from __future__ import annotations

import io
import shutil
from collections import Counter
from pathlib import Path

from golore.graph.database.store import Store
from golore.graph.safety.trust import STORE_NAME, register_store
from golore.graph.transfer.jsonl_export import export_jsonl
from golore.learner.pipeline.graph_step import Report, learn_graph


class Tree:
    """A repository with a store beside it that `learn` updates."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.root = directory / "repository"
        self.root.mkdir(exist_ok=True)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def learn(self) -> Report:
        return learn_graph(self.root, store_directory=self.directory / "store", workers=0)

    def kept(self) -> list[str]:
        return exported(self.directory / "store")

    def staleness(self) -> list[str]:
        """How the store differs from that of a fresh learn."""
        return differences(self.kept(), self.fresh())

    def fresh(self) -> list[str]:
        directory = self.directory / "fresh"
        learn_graph(self.root, store_directory=directory, workers=0)
        lines = exported(directory)
        shutil.rmtree(directory)
        return lines


def differences(kept: list[str], fresh: list[str]) -> list[str]:
    """Lines that only one of two exports has, or that one has more often."""
    first, last = Counter(kept), Counter(fresh)
    return [f"- {line}" for line in sorted((first - last).elements())] + [
        f"+ {line}" for line in sorted((last - first).elements())
    ]


def exported(directory: Path) -> list[str]:
    out = io.StringIO()
    with Store.open(directory, write=False) as store:
        export_jsonl(store, out)
    return out.getvalue().splitlines()


def copy_repository(source: Path, target: Path) -> Path:
    """Copy a learned repository, and register the copy of its store as the user's, as `golore adopt` does."""
    shutil.copytree(source, target, symlinks=True)
    if (target / STORE_NAME).exists():
        register_store(str(target.resolve() / STORE_NAME))
    return target
