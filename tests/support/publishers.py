"""A program that publishes one store several times: under a name of its own, and under one that several use."""

from __future__ import annotations

TURNS = 3
REPOSITORIES = 2
PUBLISHER = f"""
import sys
from pathlib import Path
from golore.graph.lake.bucket import open_lake
from golore.graph.lake.publishing import Revision, publish

store, lake, number, run = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for turn in range({TURNS}):
    for repository in (f"example.org/own-{{number}}", "example.org/shared"):
        commit = f"{{number:02x}}{{turn:02x}}{{run:02x}}" + "0" * 34
        revision = Revision(repository, commit, "", ("example.com/shop",), {{}}, "1.1")
        publish(open_lake(lake), revision, store, ())
"""
