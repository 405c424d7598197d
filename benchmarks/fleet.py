"""A fleet of repositories in a lake: how well they join, how large the index is, and how fast questions are.

    uv run python benchmarks/fleet.py join LAKE
    uv run python benchmarks/fleet.py grow LAKE NEW 1000
    uv run python benchmarks/fleet.py ask LAKE github.com/spf13/cobra.Command.Flags
    uv run python benchmarks/fleet.py publish PATH

`join`: a use counts if its package is one that a repository of the lake declares; it joins if that repository declares
the name. `grow`: makes a lake of many repositories from a small one, by publishing its tables again with renamed
modules; all copies use the same libraries. `ask`: callers, and impact of depth 3, with and without opening the lake,
and the command `golore callers` as a process. `publish`: a fresh learn of a repository, and publishing and pulling it.
Times are processor time, of all threads and children.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec
from golore.graph.lake.bucket import KeyDigest, Lake, open_lake
from golore.graph.lake.fleet import Fleet, Member
from golore.graph.lake.fleet_answers import FleetAnswer
from golore.graph.lake.fleet_questions import callers, impact
from golore.graph.lake.heads import encoded
from golore.graph.lake.keys import HeadKey, new_id
from golore.graph.lake.lake_index import compact
from golore.graph.lake.segments import IMPORTS, POSSIBLE, SUFFIX, TABLES, write_table

_NAMES: Final = ("target", "source", "name", "package", "owner")
_RUNS: Final = 7


def join(address: str) -> None:
    lake = open_lake(address)
    compact(lake)
    with Fleet(lake) as fleet:
        joined: Counter[str] = Counter()
        lost: Counter[str] = Counter()
        for member in fleet.members:
            names = fleet.symbol_names(member) or frozenset()
            prefixes = tuple(f"{module}{end}" for module in member.head.modules for end in ("/", "."))
            packages = {row["package"] for row in fleet.symbols(member, names)}
            for row in fleet.uses_below(prefixes):
                if row.kind in (IMPORTS, POSSIBLE) or _package(row.target, packages) == "":
                    continue
                pair = f"{row.member.name} -> {member.name}"
                (joined if row.target in names else lost)[pair] += 1
                if row.target not in names:
                    print(f"  does not join: {pair}: {row.target}")
        for pair in sorted(joined.keys() | lost.keys()):
            print(f"{pair}: {joined[pair]:,} of {joined[pair] + lost[pair]:,}")
        total, found = sum(joined.values()) + sum(lost.values()), sum(joined.values())
        share = f" ({found / total:.2%})" if total else ": these repositories do not use each other"
        print(f"all: {found:,} of {total:,}{share}")
    _print_sizes(lake)


def grow(address: str, new: str, number: int) -> None:
    """Publish copies until the new lake has `number` repositories. The largest repositories are copied three times."""
    Path(new).mkdir(parents=True)
    lake, target = open_lake(address), open_lake(new)
    with Fleet(lake) as fleet:
        members = sorted(fleet.members, key=lambda one: sum(one.head.counts.values()))
        written = family = 0
        while written < number:
            for member in members if family < 3 else members[: len(members) * 2 // 3]:
                if written < number:
                    _copy(lake, Path(new), member, family)
                    written += 1
            family += 1
    started = time.process_time()
    compact(target)
    print(f"{written:,} repositories, compacted in {time.process_time() - started:.1f} s of processor time")
    _print_sizes(target)


def ask(address: str, name: str) -> None:
    lake = open_lake(address)
    with Fleet(lake) as fleet:
        print(f"{len(fleet.members):,} repositories")
    questions: dict[str, Callable[[Fleet], FleetAnswer]] = {
        "callers": lambda fleet: callers(fleet, name),
        "impact of depth 3": lambda fleet: impact(fleet, name, depth=3),
    }
    for title, question in questions.items():
        opening: list[float] = []
        asking: list[float] = []
        found = repositories = 0
        for _ in range(_RUNS):
            started = time.process_time()
            with Fleet(lake) as fleet:
                opened = time.process_time()
                answer = question(fleet)
            asking.append(time.process_time() - opened)
            opening.append(opened - started)
            found = len(answer.resolved) + len(answer.candidates)
            repositories = len({use.repository for use in (*answer.resolved, *answer.candidates)})
        both = [a + b for a, b in zip(opening, asking, strict=True)]
        parts = {"opening": opening, "question": asking, "both": both}
        shown = (
            f"{name} {statistics.median(times) * 1000:.1f}, best {min(times) * 1000:.1f}"
            for name, times in parts.items()
        )
        print(f"{title}: {found:,} uses in {repositories:,} repositories; ms, median of {_RUNS}: {'; '.join(shown)}")
    with tempfile.TemporaryDirectory(prefix="golore-bench-") as folder:
        environment = {**os.environ, "GOLORE_HOME": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = ("callers", name, "--fleet", str(Path(address).resolve()), "--repo", folder)
        times = [_timed(environment, *command) for _ in range(_RUNS)]
    print(f"golore callers: ms, median of {_RUNS}: {statistics.median(times) * 1000:.0f}, best {min(times) * 1000:.0f}")


def publish(path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="golore-bench-") as folder:
        place = Path(folder)
        (place / "lake").mkdir()
        environment = {**os.environ, "GOLORE_HOME": str(place / "home"), "XDG_STATE_HOME": str(place / "state")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run(["git", "clone", "-q", str(path), str(place / "a")], check=True)
        learned = _timed(environment, "learn", str(place / "a"))
        name = ["--name", "example.com/bench"]
        published: list[float] = []
        for turn in range(4):
            shutil.rmtree(place / "lake")
            (place / "lake").mkdir()
            published.append(
                _timed(environment, "publish", str(place / "lake"), "--repo", str(place / "a"), *name, "--must")
            )
            print(f"publish {turn + 1}: {published[-1]:.2f} s")
        subprocess.run(["git", "clone", "-q", str(path), str(place / "b")], check=True)
        pulled = _timed(environment, "pull", str(place / "lake"), "--repo", str(place / "b"), *name)
        print(f"learn {learned:.2f} s, publish {min(published):.2f} s: {min(published) / learned:.1%} of learn")
        print(f"pull {pulled:.2f} s: {learned / pulled:.1f} times faster than learn")


def _copy(lake: Lake, target: Path, member: Member, family: int) -> None:
    """Publish the tables of a repository again, with the family's number in the names of its modules."""
    parquet = importlib.import_module("pyarrow.parquet")
    name = f"{member.name}-{family}" if family else member.name
    key = HeadKey(name, member.key.stamp, member.key.commit, new_id())
    rename = _renaming(member.head.modules, family)
    digests: dict[str, KeyDigest] = {}
    (target / key.folder).mkdir(parents=True)
    for table in TABLES:
        with lake.open_file(f"{member.key.folder}/{table}{SUFFIX}") as file:
            rows = parquet.read_table(file)
        path = target / key.folder / f"{table}{SUFFIX}"
        write_table(rename(rows) if family else rows, path)
        data = path.read_bytes()
        digests[table] = KeyDigest(len(data), blake2b(data, digest_size=16).hexdigest())
    head = msgspec.structs.replace(
        member.head,
        repository=name,
        modules=tuple(f"{one}-{family}" if family else one for one in member.head.modules),
        tables=digests,
        store=None,
        why_no_store="copy",
    )
    (target / key.key).parent.mkdir(parents=True)
    (target / key.key).write_bytes(encoded(head))


def _renaming(modules: tuple[str, ...], family: int) -> Callable[[Any], Any]:
    compute = importlib.import_module("pyarrow.compute")
    ordered = sorted(modules, key=len, reverse=True)
    pattern = f"^({'|'.join(map(re.escape, ordered))})(/|\\.|$)"

    def rename(table: Any) -> Any:
        for column in set(_NAMES).intersection(table.column_names):
            if column == "name" and "reason" in table.column_names:
                continue  # the name of an unresolved use has no module
            values = compute.replace_substring_regex(table[column], pattern, rf"\1-{family}\2", max_replacements=1)
            table = table.set_column(table.column_names.index(column), column, values)
        first = table.column(0).combine_chunks()
        is_sorted = compute.all(compute.less_equal(first.slice(0, max(len(first) - 1, 0)), first.slice(1))).as_py()
        return table if is_sorted in (True, None) else table.sort_by(table.column_names[0])

    return rename


def _print_sizes(lake: Lake) -> None:
    with Fleet(lake) as fleet:
        assert fleet.index is not None
        edges = sum(sum(one.head.counts[name] for name in ("own", "across", "std")) for one in fleet.members)
        print(f"{edges:,} uses in all")
        for name, digest in sorted(fleet.index.made.tables.items()):
            rows = sum(one.head.counts[name] for one in fleet.members)
            each = digest.size / max(rows, 1)
            print(f"index, {name}: {digest.size:,} bytes for {rows:,} published rows: {each:.1f} each")


def _timed(environment: Mapping[str, str], *arguments: str) -> float:
    before = os.times()
    program = Path(sys.executable).with_name("golore")
    subprocess.run(
        [str(program), *arguments],
        env=dict(environment),
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _package(name: str, packages: set[str]) -> str:
    start = name.rfind("/") + 1
    parts = (name[:at] for at in range(len(name), start, -1) if name[at : at + 1] == ".")
    return next((part for part in parts if part in packages), "")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["join", "grow", "ask", "publish"])
    parser.add_argument("place", help="a lake; publish: a repository")
    parser.add_argument("more", nargs="*")
    options = parser.parse_args()
    if options.what == "join":
        join(options.place)
    elif options.what == "grow":
        grow(options.place, options.more[0], int(options.more[1]))
    elif options.what == "ask":
        ask(options.place, options.more[0])
    else:
        publish(Path(options.place))


if __name__ == "__main__":
    main()
