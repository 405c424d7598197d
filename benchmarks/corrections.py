"""How well corrections are found in sessions: precision and recall on the labelled excerpts of `fixtures/sessions`.

    python benchmarks/corrections.py [--misses]

Each excerpt is turned into a transcript as Claude Code writes it and read as `golore learn-sessions` does. A proposal
for any other message than the marked one counts against precision. Told for the excerpts that were looked at while the
rules were written, for those held out, and for all. Two lots of harder ones follow, `later.txt` and `last.txt`, most of
them without any word of disagreement: they were written after the rules, which were amended by what each lot showed
(`docs/sessions.md` has what was measured at first sight). The exit code is 1 below precision 0.9 or recall 0.8 over all
of the set.
`--misses` names what was missed or wrongly found, held out or not.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.mcp_server.sessions.correction_rules import Correction, correction_in
from golore.mcp_server.sessions.transcripts import Words, inside, read_lines

EXCERPTS: Final = Path(__file__).parents[1] / "fixtures" / "sessions" / "excerpts.txt"
LATER: Final = EXCERPTS.with_name("later.txt")
LAST: Final = EXCERPTS.with_name("last.txt")
ROOT: Final = Path("/home/ann/shop")
PRECISION: Final = 0.9
RECALL: Final = 0.8
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
        """The message that is the correction; nothing if none is."""
        return next((text for sort, text in self.lines if sort in "UX"), "")


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


def excerpts(path: Path = EXCERPTS) -> list[Excerpt]:
    found: list[Excerpt] = []
    for block in path.read_text(encoding="utf-8").split("\n# "):
        head, *rest = block.removeprefix("# ").splitlines()
        lines: list[tuple[str, str]] = []
        for line in rest:
            if line.startswith("   "):
                sort, text = lines.pop()
                lines.append((sort, f"{text}\n{line.strip()}"))
            elif line:
                lines.append((line[0], line[3:]))
        words = head.split()
        found.append(Excerpt(int(words[0]), words[1] == "yes", "held" in words, tuple(lines)))
    return found


def transcript(excerpt: Excerpt) -> list[bytes]:
    """The excerpt as lines of a transcript, among others that say nothing."""
    entries: list[dict[str, Any]] = [{"type": "summary", "summary": "Work", "leafUuid": "0"}]
    for number, (sort, text) in enumerate(excerpt.lines):
        if sort != "f":
            entries.append(_entry(excerpt.number, number, sort, text))
    entries.append({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}})
    return [json.dumps(entry).encode() + b"\n" for entry in entries] + [b"{ cut off"]


def _entry(excerpt: int, number: int, sort: str, text: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "assistant" if sort in "atb" else "user",
        "uuid": f"{excerpt}-{number}",
        "sessionId": f"session-{excerpt}",
        "cwd": str(ROOT),
        "timestamp": f"2026-11-16T09:{excerpt % 60:02}:{number:02}.000Z",
        "isSidechain": sort == "s",
        "isMeta": sort == "m",
        "isCompactSummary": sort == "c",
    }
    content: Any = text
    if sort == "a":
        content = [{"type": "thinking", "thinking": "No, that's wrong."}, {"type": "text", "text": text}]
    elif sort == "t":
        tool, file = text.split()
        content = [{"type": "tool_use", "id": f"t{number}", "name": tool, "input": {"file_path": f"{ROOT}/{file}"}}]
    elif sort == "b":
        content = [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": text}}]
    elif sort == "r":
        content = [{"type": "tool_result", "tool_use_id": "t", "content": text}]
    elif sort in "xX":
        content = [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": _REFUSAL + text}]
    return entry | {"message": {"role": entry["type"], "content": content}}


def proposals(excerpt: Excerpt) -> list[tuple[Words, Correction]]:
    words = read_lines(transcript(excerpt)).words
    return [(one, found) for one in words if (found := correction_in(one)) is not None]


def score(chosen: list[Excerpt]) -> Score:
    found = missed = wrong = 0
    for excerpt in chosen:
        made = [words.text for words, _ in proposals(excerpt)]
        hits = sum(text == excerpt.corrected for text in made)
        found += hits
        wrong += len(made) - hits
        missed += excerpt.is_correction and not hits
    return Score(found, missed, wrong)


def files_named(chosen: list[Excerpt]) -> tuple[int, int]:
    """In how many of the corrections that were found the file is named that should be, and in how many one should."""
    right = wanted = 0
    for excerpt in chosen:
        expected = [text for sort, text in excerpt.lines if sort == "f"]
        for words, _ in proposals(excerpt):
            if expected and words.text == excerpt.corrected:
                wanted += 1
                right += set(expected) <= set(inside(ROOT, words))
    return right, wanted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--tuning", action="store_true", help="leave out those that are held out")
    options = parser.parse_args()
    everything = excerpts()
    sorts = {"tuning": [one for one in everything if not one.is_held]}
    if not options.tuning:
        sorts |= {"held out": [one for one in everything if one.is_held], "all": everything}
        sorts |= {"later": excerpts(LATER), "last": excerpts(LAST)}
    for name, chosen in sorts.items():
        told = score(chosen)
        right, wanted = files_named(chosen)
        print(
            f"{name:9} {len(chosen)} excerpts: precision {told.precision:.2f}, recall {told.recall:.2f} "
            f"({told.found} found, {told.missed} missed, {told.wrong} wrong); files right in {right} of {wanted}"
        )
    listed = sorts["tuning"] if options.tuning else everything + sorts["later"] + sorts["last"]
    for excerpt in listed if options.misses else ():
        made = [words.text for words, _ in proposals(excerpt)]
        if excerpt.corrected and excerpt.corrected not in made:
            print(f"missed {excerpt.number}: {excerpt.corrected}")
        for text in made:
            if text != excerpt.corrected:
                print(f"wrong {excerpt.number}: {text}")
    whole = score(everything)
    return 0 if whole.precision >= PRECISION and whole.recall >= RECALL else 1


if __name__ == "__main__":
    sys.exit(main())
