"""Measures how well corrections are found in sessions: precision and recall on the excerpts of `fixtures/sessions`.

    python benchmarks/corrections.py [--file EXCERPTS] [--misses]

Each excerpt is turned into a transcript as Claude Code writes it, and is read as `golore learn-sessions` does. A
proposal for any other message than the marked one counts against precision. The sets of `fixtures/sessions` were used
to fit the weights of the features, or to set the threshold, so their figures are too good; `correction_weights.py` has
those of cross-validation. `--file` measures the excerpts of another file alone, such as some that nobody who worked on
the features has seen. The exit code is 1 if precision is below 0.9 or recall is below 0.6 over all excerpts. `--misses`
lists missed corrections and messages that were wrongly found.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.mcp_server.sessions.claude_code import read_lines
from golore.mcp_server.sessions.correction_rules import Correction, correction_in
from golore.mcp_server.sessions.user_message import UserMessage, files_below

FIXTURES: Final = Path(__file__).parents[1] / "fixtures" / "sessions"
FITTED: Final = ("excerpts", "later", "last", "tune", "held")
SETS: Final = (*FITTED, "second")
ROOT: Final = Path("/home/ann/shop")
PRECISION: Final = 0.9
RECALL: Final = 0.6
_REFUSAL: Final = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)


class Excerpt(NamedTuple):
    number: int
    is_correction: bool
    is_held: bool
    lines: tuple[tuple[str, str], ...]

    @property
    def corrected(self) -> str:
        """The message that is the correction; empty if there is none."""
        return next((text for kind, text in self.lines if kind in "UX"), "")


class Score(NamedTuple):
    found: int
    missed: int
    wrong: int

    @property
    def precision(self) -> float:
        return self.found / (self.found + self.wrong) if self.found + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.found / (self.found + self.missed) if self.found + self.missed else 1.0


def excerpts(path: Path = FIXTURES / "excerpts.txt") -> list[Excerpt]:
    found: list[Excerpt] = []
    for block in path.read_text(encoding="utf-8").split("\n# "):
        head, *rest = block.removeprefix("# ").splitlines()
        lines: list[tuple[str, str]] = []
        for line in rest:
            if line.startswith("   "):
                kind, text = lines.pop()
                lines.append((kind, f"{text}\n{line.strip()}"))
            elif line:
                lines.append((line[0], line[3:]))
        words = head.split()
        found.append(Excerpt(int(words[0]), words[1] == "yes", "held" in words, tuple(lines)))
    return found


def transcript(excerpt: Excerpt) -> list[bytes]:
    """The excerpt as lines of a transcript, between lines of other types that must be ignored."""
    entries: list[dict[str, Any]] = [{"type": "summary", "summary": "Work", "leafUuid": "0"}]
    for number, (kind, text) in enumerate(excerpt.lines):
        if kind != "f":
            entries.append(_entry(excerpt.number, number, kind, text))
    entries.append({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}})
    return [json.dumps(entry).encode() + b"\n" for entry in entries] + [b"{ cut off"]


def _entry(excerpt: int, number: int, kind: str, text: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "assistant" if kind in "atb" else "user",
        "uuid": f"{excerpt}-{number}",
        "sessionId": f"session-{excerpt}",
        "cwd": str(ROOT),
        "timestamp": f"2026-11-16T09:{excerpt % 60:02}:{number:02}.000Z",
        "isSidechain": kind == "s",
        "isMeta": kind == "m",
        "isCompactSummary": kind == "c",
    }
    content: Any = text
    if kind == "a":
        content = [{"type": "thinking", "thinking": "No, that's wrong."}, {"type": "text", "text": text}]
    elif kind == "t":
        tool, file = text.split()
        content = [{"type": "tool_use", "id": f"t{number}", "name": tool, "input": {"file_path": f"{ROOT}/{file}"}}]
    elif kind == "b":
        content = [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": text}}]
    elif kind == "r":
        content = [{"type": "tool_result", "tool_use_id": "t", "content": text}]
    elif kind in "xX":
        content = [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": _REFUSAL + text}]
    return entry | {"message": {"role": entry["type"], "content": content}}


def proposals(excerpt: Excerpt) -> list[tuple[UserMessage, Correction]]:
    words = read_lines(transcript(excerpt)).words
    return [(one, found) for one in words if (found := correction_in(one)) is not None]


def score(chosen: list[Excerpt]) -> Score:
    found = missed = wrong = 0
    for excerpt in chosen:
        proposed = [words.text for words, _ in proposals(excerpt)]
        hits = sum(text == excerpt.corrected for text in proposed)
        found += hits
        wrong += len(proposed) - hits
        missed += excerpt.is_correction and not hits
    return Score(found, missed, wrong)


def files_named(chosen: list[Excerpt]) -> tuple[int, int]:
    """The number of found corrections that name the expected file, and the number for which a file is expected."""
    right = wanted = 0
    for excerpt in chosen:
        expected = [text for kind, text in excerpt.lines if kind == "f"]
        for words, _ in proposals(excerpt):
            if expected and words.text == excerpt.corrected:
                wanted += 1
                right += set(expected) <= set(files_below(ROOT, words))
    return right, wanted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="excerpts to measure instead of those of fixtures/sessions")
    parser.add_argument("--misses", action="store_true", help="list what was missed or wrongly found")
    options = parser.parse_args()
    paths = [options.file] if options.file else [FIXTURES / f"{name}.txt" for name in SETS]
    sets = {path.stem: excerpts(path) for path in paths}
    everything = [one for chosen in sets.values() for one in chosen]
    for name, chosen in {**sets, "all": everything}.items():
        result = score(chosen)
        right, wanted = files_named(chosen)
        print(
            f"{name:9} {len(chosen)} excerpts: precision {result.precision:.2f}, recall {result.recall:.2f} "
            f"({result.found} found, {result.missed} missed, {result.wrong} wrong); files right in {right} of {wanted}"
        )
    for excerpt in everything if options.misses else ():
        proposed = [words.text for words, _ in proposals(excerpt)]
        if excerpt.corrected and excerpt.corrected not in proposed:
            print(f"missed {excerpt.number}: {excerpt.corrected}")
        for text in proposed:
            if text != excerpt.corrected:
                print(f"wrong {excerpt.number}: {text}")
    whole = score(everything)
    return 0 if whole.precision >= PRECISION and whole.recall >= RECALL else 1


if __name__ == "__main__":
    sys.exit(main())
