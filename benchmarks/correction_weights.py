"""Fits the weights of the features of corrections, and measures them by cross-validation.

    python benchmarks/correction_weights.py

A logistic regression over the messages of the excerpts in `fixtures/sessions`, `second.txt` left out. A weight keeps
the sign that the table in `correction_features` gives it, or becomes 0. The cross-validation holds out a tenth of the
excerpts at a time, ten times over; it does not undo that the words of the features were chosen by somebody who had read
most of the excerpts. Messages that cannot be corrections are left out of the fit, and corrections among them are
missed. Prints the weights, to be copied to the table, and precision and recall at several thresholds.
"""

from __future__ import annotations

import random
import sys
from typing import Any, Final, NamedTuple, cast

import numpy as np
from corrections import FITTED, FIXTURES, excerpts, transcript
from golore.mcp_server.sessions.claude_code import read_lines
from golore.mcp_server.sessions.correction_features import MEASURES, WEIGHTS
from golore.mcp_server.sessions.correction_rules import reading_of

PENALTY: Final = 1.0
FOLDS: Final = 10
REPETITIONS: Final = 10
THRESHOLDS: Final = (0.0, 0.5, 1.0, 1.3, 1.6, 2.0)
Array = Any
"""Of numbers."""


class Sample(NamedTuple):
    excerpt: tuple[str, int]
    values: list[float]
    is_correction: bool


def samples() -> tuple[list[Sample], dict[str, int]]:
    """The messages that may be corrections, and by set the number of corrections among those that may not."""
    found: list[Sample] = []
    missed: dict[str, int] = dict.fromkeys(FITTED, 0)
    for name in FITTED:
        for excerpt in excerpts(FIXTURES / f"{name}.txt"):
            for words in read_lines(transcript(excerpt)).words:
                is_correction = words.text == excerpt.corrected
                reading = reading_of(words)
                if reading is None:
                    missed[name] += is_correction
                else:
                    values = [measure(reading) for measure in MEASURES.values()]
                    found.append(Sample((name, excerpt.number), values, is_correction))
    return found, missed


def fitted(values: Array, labels: Array) -> Array:
    """The bias and the weights. Features whose weight would have the wrong sign are left out, one round at a time."""
    signs = np.sign([WEIGHTS[name] for name in MEASURES])
    kept = np.ones(values.shape[1], bool)
    while True:
        weights = _regression(values[:, kept], labels)
        wrong = weights[1:] * signs[kept] < 0
        if not wrong.any():
            break
        kept[np.flatnonzero(kept)[wrong]] = False
    whole = np.zeros(values.shape[1] + 1)
    whole[0], whole[1:][kept] = weights[0], weights[1:]
    return whole


def _regression(values: Array, labels: Array) -> Array:
    """Newton's method, with a quadratic penalty on the weights but not on the bias."""
    columns: Array = np.c_[np.ones(len(values)), values]
    weights = cast("Array", np.zeros(columns.shape[1]))
    penalty = cast("Array", np.full(columns.shape[1], PENALTY))
    penalty[0] = 0.01
    exponential, solve = cast("Array", np.exp), cast("Array", np.linalg.solve)
    for _ in range(50):
        odds = 1 / (1 + exponential(-columns @ weights))
        slope = columns.T @ (odds - labels) + penalty * weights
        curve = (columns * (odds * (1 - odds))[:, None]).T @ columns + np.diag(penalty)
        step = solve(curve, slope)
        weights -= step
        if abs(step).max() < 1e-8:
            break
    return weights


def validated(found: list[Sample]) -> Array:
    """The score of each sample by weights that were fitted without its excerpt, averaged over the repetitions."""
    values = np.array([one.values for one in found])
    labels = np.array([one.is_correction for one in found], float)
    groups = sorted({one.excerpt for one in found})
    scores = np.zeros(len(found))
    for seed in range(REPETITIONS):
        random.Random(seed).shuffle(groups)
        fold = {group: number % FOLDS for number, group in enumerate(groups)}
        folds = np.array([fold[one.excerpt] for one in found])
        for number in range(FOLDS):
            weights = fitted(values[folds != number], labels[folds != number])
            scores[folds == number] += weights[0] + values[folds == number] @ weights[1:]
    return scores / REPETITIONS


def main() -> int:
    found, missed = samples()
    weights = fitted(np.array([one.values for one in found]), np.array([one.is_correction for one in found], float))
    print(f"{len(found)} messages; bias {weights[0]:.1f}")
    for name, weight in zip(MEASURES, weights[1:], strict=True):
        print(f"  {weight:5.1f}  {name}")
    scores = validated(found)
    labels = np.array([one.is_correction for one in found])
    for chosen in (FITTED, ("tune",)):
        within = np.array([one.excerpt[0] in chosen for one in found])
        lost = sum(missed[name] for name in chosen)
        for threshold in THRESHOLDS:
            taken = within & (scores >= threshold)
            right, all_of_them = int((taken & labels).sum()), int((within & labels).sum()) + lost
            precision = right / max(1, int(taken.sum()))
            print(f"{'+'.join(chosen)} from {threshold}: precision {precision:.2f}, recall {right / all_of_them:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
