"""Measures export, import, snapshot, restore and diff of a repository's store.

    python benchmarks/sharing.py REPOSITORY [--edits N]

The repository is copied twice to a temporary directory and learned in the first copy. In the second, some files are
edited, the store is imported and the copy is learned: this prints how many files are parsed, to compare with a learn
from scratch.
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
    """Run a command. Returns the seconds and the output, parsed with `--json`."""
    environment = {name: value for name, value in os.environ.items() if name != "GOLORE_HOME"}
    started = time.perf_counter()
    result = subprocess.run([GOLORE, *words], cwd=root, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if result.returncode:
        sys.exit(f"golore {' '.join(map(str, words))}: {result.stderr}")
    return seconds, json.loads(result.stdout) if result.stdout.startswith("{") and "--json" in words else result.stdout


def size(path: Path) -> float:
    paths = [path] if path.is_file() else [inner for inner in path.rglob("*") if inner.is_file()]
    return sum(inner.stat().st_size for inner in paths) / _MEGABYTE


def edit(root: Path, count: int) -> None:
    """Add a line to `count` files, spread over the repository."""
    paths = sorted(path for path in root.rglob("*.go") if "vendor" not in path.parts and "testdata" not in path.parts)
    for path in paths[:: max(1, len(paths) // count)][:count]:
        path.write_bytes(path.read_bytes() + b"\n// edited\n")


def measure(directory: Path, source: Path, edits: int) -> None:
    first, second = directory / "first", directory / "second" / "deeper"
    skipped = shutil.ignore_patterns(".golore", ".git")
    for copy in (first, second):
        shutil.copytree(source, copy, symlinks=True, ignore=skipped)
    edit(second, edits)
    seconds, report = golore(first, "learn", "--json")
    print(f"learn from scratch      {seconds:7.1f} s  {report['files_parsed']:,} files parsed")
    for format, name in (("jsonl", "store.jsonl"), ("parquet", "store.parquet")):
        seconds, _ = golore(first, "export", "--format", format, "--output", directory / name)
        print(f"export {format:8}         {seconds:7.1f} s  {size(directory / name):,.0f} MB")
        seconds, output = golore(second, "import", directory / name, "--json")
        print(f"import {format:8}         {seconds:7.1f} s  {len(output['differing']['edited']):,} files differ")
        seconds, _ = golore(second, "export", "--format", format, "--output", directory / f"again-{name}")
        same = (
            subprocess.run(["diff", "-r", "-q", directory / name, directory / f"again-{name}"], check=False).returncode
            == 0
        )
        print(f"  export again          {seconds:7.1f} s  {'identical' if same else 'DIFFERENT'}")
        seconds, report = golore(second, "learn", "--json")
        print(
            f"  learn after that      {seconds:7.1f} s  {report['files_parsed']:,} files parsed, "
            f"{report['packages_resolved']:,} packages resolved, {report['rows_written']:,} rows written"
        )
        shutil.rmtree(second / ".golore")
    seconds, output = golore(first, "snapshot", "one", "--json")
    print(f"snapshot                {seconds:7.1f} s  {output['bytes'] / _MEGABYTE:,.0f} MB")
    edit(first, edits)
    golore(first, "learn", "--json")
    seconds, output = golore(first, "diff", "one", "--json")
    print(f"diff                    {seconds:7.1f} s  {len(output['differences']):,} differences")
    seconds, _ = golore(first, "restore", "one", "--json")
    print(f"restore                 {seconds:7.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--edits", type=int, default=3, help="number of files to edit (3)")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="golore-sharing-") as directory:
        measure(Path(directory), options.repository, options.edits)


if __name__ == "__main__":
    main()
