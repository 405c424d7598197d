"""The questions that vectors are judged by: each leads to a file of the library that they are asked about."""

from __future__ import annotations

import subprocess
from pathlib import Path

from golore.graph.search.terms import STOP_WORDS, terms
from golore.learner.audit.go_judge import find_toolchain

QUESTIONS = Path(__file__).parents[2] / "benchmarks" / "paraphrases.tsv"


def test_every_question_has_an_answer_in_the_library_and_is_asked_once() -> None:
    said = subprocess.run([find_toolchain().go, "env", "GOROOT"], check=True, capture_output=True, text=True)
    library = Path(said.stdout.strip(), "src")
    rows = [line.split("\t") for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len({question for question, _ in rows}) == 133
    assert not [path for _, paths in rows for path in paths.split() if not (library / path).is_file()]


def test_most_questions_do_not_have_the_words_of_the_file_they_lead_to() -> None:
    rows = [line.split("\t") for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    alike = [
        question
        for question, paths in rows
        if set(terms(question)).difference(STOP_WORDS) & set(terms(paths.replace(".go", "").replace("src", "")))
    ]
    assert len(alike) < len(rows) / 3
