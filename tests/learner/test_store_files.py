"""Files of a store are read only if they are regular and of a bounded size: a link may lead to any file of the user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from golore.graph.errors import StoreDamaged
from golore.graph.files.handover import finish_handover_locked
from golore.graph.files.identity import graph_identity
from golore.graph.files.manifest import read_manifest
from golore.graph.transfer.snapshots import snapshot_named, take_snapshot
from golore.learner.pipeline.graph_step import learn_graph
from golore.learner.pipeline.saved_survey import read_saved_survey
from support.shop import make_shop


def replace(path: Path, kind: str) -> None:
    """Replace a file by something that a reader must refuse."""
    content = path.read_bytes()
    path.unlink()
    if kind == "link":
        elsewhere = path.parent.parent / f"{path.name}.elsewhere"
        elsewhere.write_bytes(content)
        path.symlink_to(elsewhere)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.write(content)
            file.truncate(2 << 30)


@pytest.mark.parametrize("kind", ["link", "pipe", "huge"])
def test_files_of_a_store_that_are_not_regular_or_too_large_are_not_read(kind: str, tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    store = root / ".golore"
    learn_graph(root, workers=0)
    take_snapshot(store, "s")
    assert read_saved_survey(store) is not None
    states = graph_identity(store)
    (store / "identity").write_text(f"recorded\n\n{states}")
    assert graph_identity(store) == "recorded"
    (store / "incoming.json").write_bytes((store / "store.json").read_bytes())
    for name in ("identity", "survey.msgpack", "incoming.json"):
        replace(store / name, kind)
    replace(store / "snapshots" / "s" / "snapshot.json", kind)
    assert graph_identity(store) == states
    assert read_saved_survey(store) is None
    with pytest.raises(StoreDamaged):
        snapshot_named(store, "s")
    with pytest.raises(StoreDamaged):
        finish_handover_locked(store)
    replace(store / "store.json", kind)
    with pytest.raises(StoreDamaged):
        read_manifest(store)
