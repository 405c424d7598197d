"""The weight of each signal, and the measurements that chose the weights.

Measured by `benchmarks/usefulness.py --locate` (commit subject → files it changed). Weights were raised and lowered in
turn on six repositories (prometheus, hugo, tailscale, syft, etcd, tools) and then checked on eight others (terraform,
docker/cli, moby, gin, loki, cilium, cobra, lo), which were not used for the choice; recall@10 and MRR@10, averaged:

                          the six         the eight
    BM25, whole files   .580  .514      .624  .520
    all of these        .738  .696      .747  .664
    without history     .687  .638      .696  .614

Removing any single signal cost 0.00 to 0.02 on both sides. `neighbours` was added later: +.004 and +.003 on six
repositories, none of them worse by more than .001; more weight did harm. Importance by PageRank added nothing (.000 and
.001), nor did the test beside a file.

`meaning` is for questions whose words are not in the code; subjects of commits are not such questions. The more the
other signals agree on one file, the less it counts. Its weight was measured on both: 133 questions about Go's library
in words other than its own (`benchmarks/meaning.py`; recall@10 and MRR@10), and the commits of six repositories (gin,
cobra, docker/cli, etcd, hugo, prometheus), averaged:

                              questions        commits
    without                  .376  .186      .787  .675
    meaning alone            .744  .412      .452  .474
    always, with .4          .504  .256      .781  .670
    always, with 2           .737  .404      .723  .610
    in doubt, with 1.3       .647  .310      .777  .671

Doubt begins when the best file has less than .55 of the highest possible total, and is full at .4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "words": 1.0,
    "cover": 0.4,
    "path": 0.4,
    "place": 1.1,
    "area": 0.6,
    "names": 0.3,
    "commits": 0.3,
    "subjects": 0.5,
    "busy": 0.4,
    "neighbours": 0.15,
    "meaning": 1.3,
}
"""`words`: BM25 of text and path · `cover`: share of the question, by rarity, that is in the file · `path`: BM25 of the
path · `place`: share of the question in the path · `area`: the words before a colon are in the path · `names`: BM25 of
declared names · `commits`: files of the closest past commits · `subjects`: BM25 of all subjects of a file's commits ·
`busy`: how often it changed recently · `neighbours`: the best files call it or are called by it ·
`meaning`: nearness of vectors, in proportion to the doubt that the others leave."""
TOTAL: Final = sum(WEIGHTS.values()) - WEIGHTS["meaning"]
_NO_DOUBT, _FULL_DOUBT = 0.55, 0.4
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "words": ("words", "cover", "path", "place", "area", "names"),
    "history": ("commits", "subjects", "busy"),
    "graph": ("neighbours",),
    "vectors": ("meaning",),
}


def weighted_sums(signals: Mapping[str, Mapping[int, float]], only: Collection[str] | None = None) -> dict[int, float]:
    """File → weighted sum of its signals, between 0 and 1; with `only`, of these signals."""
    total: dict[int, float] = {}
    for name, weight in WEIGHTS.items():
        if only is not None and name not in only:
            continue
        share = weight / TOTAL
        for file, value in signals.get(name, {}).items():
            total[file] = total.get(file, 0.0) + share * value
    return total


def raised(totals: Mapping[int, float], name: str, signal: Mapping[int, float]) -> dict[int, float]:
    """The sums with one more signal added."""
    share, after = WEIGHTS[name] / TOTAL, dict(totals)
    for file, value in signal.items():
        after[file] = after.get(file, 0.0) + share * value
    return after


def doubt(totals: Mapping[int, float]) -> float:
    """How little the signals agree on a best file: 0 if its total is at least .55, 1 if it is at most .4."""
    return min(1.0, max(0.0, (_NO_DOUBT - max(totals.values(), default=0.0)) / (_NO_DOUBT - _FULL_DOUBT)))


def best_of(
    totals: Mapping[int, float], most: int, path_of: Callable[[int], str], is_allowed: Callable[[int], bool]
) -> list[int]:
    """The `most` best files that are allowed; those with equal totals are ordered by path."""
    chosen: list[int] = []
    last = 0.0
    for file in sorted(totals, key=totals.__getitem__, reverse=True):
        if len(chosen) >= most and totals[file] < last:
            break
        if is_allowed(file):
            chosen.append(file)
            last = totals[file]
    return sorted(chosen, key=lambda file: (-totals[file], path_of(file)))[:most]
