"""Counts false claims: sentences of cards and summaries that deny uses which Go's type checker finds.

    python benchmarks/claims.py REPOSITORY [--gopath DIR]

REPOSITORY must have been learned. Prints the number of claims, the number of false ones, and the first of those.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from golore.graph.database.store import Store
from golore.graph.files.store_path import store_of
from golore.learner.audit.go_judge import judge_edges
from support.claims import check_claims


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--gopath", type=Path, action="append", default=[])
    options = parser.parse_args()
    root = options.repository.resolve()
    truth = judge_edges(root, gopath=options.gopath)
    with Store.open(store_of(root), write=False) as store:
        claims = check_claims(store, truth)
    print(f"{claims.checked:,} claims, {len(claims.false):,} false")
    for claim in claims.false[:40]:
        print(f"  {claim}")


if __name__ == "__main__":
    main()
