"""What it costs to share and to keep a store: export, import, snapshot, restore and diff of a repository.

    python benchmarks/sharing.py REPOSITORY [--edits N]

The repository is copied twice to a temporary place and learned in one of the copies. The other one gets some edited
files and then the store by import, and is learned: counted is how many files that parses, against a learn from nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

GOLORE: Final = Path(sys.executable).with_name("golore")
_MEGABYTE: Final = 1 << 20


def golore(root: Path, *words: str | Path) -> tuple[float, Any]:
    """Seconds, and what was printed, as JSON if it is."""
    environment = {name: value for name, value in os.environ.items() if name != "GOLORE_HOME"}
    began = time.perf_counter()
    told = subprocess.run([GOLORE, *words], cwd=root, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if told.returncode:
        sys.exit(f"golore {' '.join(map(str, words))}: {told.stderr}")
    return seconds, json.loads(told.stdout) if told.stdout.startswith("{") and "--json" in words else told.stdout


def size(path: Path) -> float:
    paths = [path] if path.is_file() else [inner for inner in path.rglob("*") if inner.is_file()]
    return sum(inner.stat().st_size for inner in paths) / _MEGABYTE


def edit(root: Path, count: int) -> None:
    """Add a line to some files, spread over the repository."""
    paths = sorted(path for path in root.rglob("*.go") if "vendor" not in path.parts and "testdata" not in path.parts)
    for path in paths[:: max(1, len(paths) // count)][:count]:
        path.write_bytes(path.read_bytes() + b"\n// edited\n")


def measure(room: Path, source: Path, edits: int) -> None:
    here, there = room / "here", room / "there" / "deeper"
    skipped = shutil.ignore_patterns(".golore", ".git")
    for copy in (here, there):
        shutil.copytree(source, copy, symlinks=True, ignore=skipped)
    edit(there, edits)
    seconds, report = golore(here, "learn", "--json")
    print(f"learn from nothing      {seconds:7.1f} s  {report['files_parsed']:,} files parsed")
    for format, name in (("jsonl", "store.jsonl"), ("parquet", "store.parquet")):
        seconds, _ = golore(here, "export", "--format", format, "--output", room / name)
        print(f"export {format:8}         {seconds:7.1f} s  {size(room / name):,.0f} MB")
        seconds, told = golore(there, "import", room / name, "--json")
        print(f"import {format:8}         {seconds:7.1f} s  {len(told['differing']['edited']):,} files differ")
        seconds, _ = golore(there, "export", "--format", format, "--output", room / f"again-{name}")
        same = subprocess.run(["diff", "-r", "-q", room / name, room / f"again-{name}"], check=False).returncode == 0
        print(f"  export again          {seconds:7.1f} s  {'the same bytes' if same else 'OTHER BYTES'}")
        seconds, report = golore(there, "learn", "--json")
        print(
            f"  learn after that      {seconds:7.1f} s  {report['files_parsed']:,} files parsed, "
            f"{report['packages_resolved']:,} packages resolved, {report['rows_written']:,} rows written"
        )
        shutil.rmtree(there / ".golore")
    seconds, told = golore(here, "snapshot", "one", "--json")
    print(f"snapshot                {seconds:7.1f} s  {told['bytes'] / _MEGABYTE:,.0f} MB")
    edit(here, edits)
    golore(here, "learn", "--json")
    seconds, told = golore(here, "diff", "one", "--json")
    print(f"diff                    {seconds:7.1f} s  {len(told['differences']):,} differences")
    seconds, _ = golore(here, "restore", "one", "--json")
    print(f"restore                 {seconds:7.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--edits", type=int, default=3)
    options = parser.parse_args()
    with TemporaryDirectory(prefix="golore-sharing-") as room:
        measure(Path(room), options.repository, options.edits)


if __name__ == "__main__":
    main()
