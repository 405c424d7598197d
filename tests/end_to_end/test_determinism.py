"""The same tree gives the same bytes of export, whatever the workers, the hash seed and the order of files on disk."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.graph.transfer.jsonl_export import export_jsonl
from golore.graph.transfer.parquet_export import HEADER_NAME, export_parquet
from golore.learner.pipeline.graph_step import learn_graph
from support import markers

ARCHIVES = sorted((Path(__file__).parents[2] / "fixtures" / "resolve").glob("*.txtar"))

PROGRAM = """
import sys
from pathlib import Path
from golore.graph.transfer.jsonl_export import export_jsonl
from golore.graph.transfer.parquet_export import export_parquet
from golore.graph.database.store import Store
from golore.learner.pipeline.graph_step import learn_graph

root, directory = map(Path, sys.argv[1:])
learn_graph(root, store_directory=directory, workers=0)
with Store.open(directory, write=False) as store:
    export_jsonl(store, sys.stdout)
    export_parquet(store, directory.parent / "parquet")
"""


def tree() -> dict[str, str]:
    """All archives in one repository: many modules, twins, generics, broken and missing things."""
    files: dict[str, str] = {}
    for path in ARCHIVES:
        archive = markers.read_archive(path.read_text(encoding="utf-8"))
        files |= {f"{path.stem}/{name}": text for name, text in archive.files.items()}
    return files


def write(root: Path, files: dict[str, str]) -> Path:
    return markers.Archive("", files).write_to(root)


def exported(root: Path, directory: Path, workers: int) -> str:
    learn_graph(root, store_directory=directory, workers=workers)
    out = io.StringIO()
    with Store.open(directory, write=False) as store:
        export_jsonl(store, out)
    return out.getvalue()


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("repository"), tree())


@pytest.fixture(scope="session")
def parquet_tables(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> object:
    directory = tmp_path_factory.mktemp("exported")
    learn_graph(repository, store_directory=directory / "store", workers=0)
    with Store.open(directory / "store", write=False) as store:
        export_parquet(store, directory / "parquet")
    return tables_of(directory / "parquet")


def tables_of(export: Path) -> object:
    """Rows and digest of each file of an export."""
    return json.loads((export / HEADER_NAME).read_text())["tables"]


@pytest.fixture(scope="session")
def expected(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return exported(repository, tmp_path_factory.mktemp("store"), workers=0)


def test_the_export_holds_every_kind_of_row(expected: str) -> None:
    for label in ("Package", "File", "Symbol", "External", "Unresolved"):
        assert f'{{"type":"node","label":"{label}"' in expected
    for label in ("CONTAINS", "IMPORTS", "CALLS", "REFERENCES", "IMPLEMENTS", "EMBEDS", "TESTS"):
        assert f'{{"type":"edge","label":"{label}"' in expected


@pytest.mark.parametrize("workers", [1, 2])
def test_the_number_of_workers_does_not_change_the_export(
    workers: int, repository: Path, expected: str, tmp_path: Path
) -> None:
    assert exported(repository, tmp_path / "store", workers) == expected


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_the_hash_seed_does_not_change_the_exports(
    seed: str, repository: Path, expected: str, parquet_tables: object, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(repository), str(tmp_path / "store")],
        env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == expected
    assert tables_of(tmp_path / "parquet") == parquet_tables


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_files_on_disk_does_not_change_the_export(seed: int, expected: str, tmp_path: Path) -> None:
    files = list(tree().items())
    random.Random(seed).shuffle(files)
    assert exported(write(tmp_path / "repository", dict(files)), tmp_path / "store", workers=0) == expected


def test_learning_the_whole_tree_again_from_a_warm_cache_does_not_change_the_export(
    repository: Path, expected: str, tmp_path: Path
) -> None:
    assert exported(repository, tmp_path / "store", workers=0) == expected
    learn_graph(repository, store_directory=tmp_path / "store", workers=0, full=True)
    assert exported(repository, tmp_path / "store", workers=0) == expected
