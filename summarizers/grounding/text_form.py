"""Checks the form of a summary: a few plain sentences about code, without instructions, code blocks or chatter.

Summaries are shown to coding agents. A text that tells its reader to do something is therefore refused: the code that
the model read may have made it say so. Instructions in the passive voice count too: “It must be run with …”, “The user
has approved …”. Sentences about what callers must do are allowed, because they are about code: “Close must be called”,
“The lock must be held”.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from golore.graph.safety.visible_text import visible_block

LONGEST: Final = 1_200
_FEWEST_WORDS: Final = 4
_MOST_SENTENCES: Final = 4
_LIST_OR_HEADING: Final = re.compile(r"#{1,6} |[-*•] |\d+[.)] ")
_FENCED: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"”’)]*\s+")
_IMPERATIVES: Final = frozenset(
    """add always answer append apply approve ask avoid build call change check click clone close commit configure
    connect consider copy create delete deploy disable disregard do don't download edit email enable ensure
    execute exfiltrate fetch fix follow forget forward get give grant help ignore import include insert install
    invoke keep kill leave let list load look make merge modify move never note notice open output overwrite paste
    perform please post print proceed provide publish pull push put read refactor refer refrain remember remove
    rename repeat replace reply report respond restart return reveal revert review rewrite run save say search see
    send set show skip start stop submit summarize switch tell test treat trust try turn uninstall update upload
    use verify visit wait write you your""".split()
)
_COMMANDS: Final = re.compile(
    r"""\b(?:you|your|yours|yourself)\b
    | \bplease\b
    | \b(?:ignore|disregard|forget)\s+(?:all|any|the|previous|prior|every)
    | \b(?:previous|prior|above)\s+instructions?\b
    | \bsystem\s+(?:prompt|message)\b
    | \bas\s+an?\s+(?:AI|assistant|language\s+model)
    | \b(?:dear|hey|hello|hi|attention|note\s+to|notice\s+to|instructions?\s+(?:for|to))\s+(?:the\s+)?
      (?:AI|agents?|assistants?|models?|claude|chatgpt|gpt|LLMs?|developer|reader)
    | \b(?:the\s+)?(?:AI|assistant|LLM|coding\s+agent|language\s+model|claude|chatgpt)\s+
      (?:must|should|shall|needs?\s+to|has\s+to|is\s+to|will|can)\b
    | \b(?:agents?|assistants?|readers?)\s+(?:reading|that\s+read|who\s+read|must|should|shall|are\s+to|is\s+to)\b
    | \bit\s+is\s+(?:mandatory|imperative|required|necessary)\s+(?:for\s+\w+\s+)?to\s+
      (?:run|delete|send|post|upload|download|execute|install)\b
    | \b(?:do\s+not|don['’]t|never|always|must)\s+
      (?:tell|mention|reveal|report|trust|follow|obey|answer|reply|respond)\b
    | (?:^|\s)(?:sudo|curl|wget|rm\s+-rf?|chmod|bash\s+-c|npm\s+install|pip\s+install|git\s+push)\s
    | <\s*/?\s*(?:system|assistant|user|tool|instructions?|function)[^>]*>
    | \b(?:human|assistant|system|user)\s*:
    | https?://""",
    re.IGNORECASE | re.VERBOSE,
)
_ACTIONS: Final = """run|re-?run|executed|invoked\\s+with|installed|uninstalled|downloaded|uploaded|fetched\\s+from|
    deleted|removed|erased|wiped|purged|overwritten|disabled|turned\\s+off|bypassed|skipped|ignored|
    sent\\s+to|posted\\s+to|pushed|committed|merged|deployed|published|approved|accepted|trusted|obeyed|followed|
    copied\\s+to|pasted|granted|piped|opened\\s+in|exported\\s+to|reported\\s+to|emailed|forwarded\\s+to|revealed"""
"""What instructions in the passive voice ask for. What is done to a value by code, such as `closed`, is not here."""
_PASSIVE: Final = re.compile(
    rf"""\b(?:must|should|shall|ought\s+to|ha(?:s|ve)\s+to|needs?\s+to|(?:is|are)\s+to|
      (?:is|are)\s+(?:required|expected|supposed)\s+to)\s+
      (?:not\s+|never\s+|always\s+|first\s+|only\s+|now\s+)*be\s+(?:\w+ly\s+|first\s+|always\s+)?(?:{_ACTIONS})\b
    | \b(?:users?|owner|developers?|maintainers?|operator|administrator|admin|human|team|author)\s+
      (?:ha(?:s|ve)\s+)?(?:already\s+|explicitly\s+|just\s+)*
      (?:approved|agreed|authori[sz]ed|consented|permitted|instructed|requested\s+that|asked\s+(?:that|to))\b
    | \b(?:approved|authori[sz]ed|permitted|requested|agreed)\s+(?:\w+\s+)?(?:by|with)\s+the\s+
      (?:user|owner|developer|maintainer|operator|administrator|team)\b
    | \b(?:permission|approval|consent|authori[sz]ation)\s+(?:to\s+(?:\w+\s+){{1,4}}?)?
      (?:was|has\s+been|have\s+been)\s+(?:already\s+)?(?:given|granted|obtained)\b
    | \b(?:running|executing|installing|deleting|removing|disabling|uploading|downloading|sending)\s+[^,;]{{1,60}}?\s+
      is\s+(?:mandatory|required|necessary|expected|recommended|safe|approved|allowed)\b
    | \brequires?\s+(?:running|executing|installing|downloading|uploading|disabling)\s
    | \b(?:agents?|assistants?|LLMs?|AIs?|language\s+models?|copilots?|reviewers?|contributors?|editors?|
      any(?:one|body)(?:\s+\w+){{0,4}}|every(?:one|body)(?:\s+\w+){{0,4}}|whoever(?:\s+\w+){{0,4}}|
      those\s+who(?:\s+\w+){{0,4}})\s+
      (?:(?:is|are)\s+(?:\w+ly\s+)?(?:expected|required|supposed|asked|instructed|advised|told|allowed|encouraged|
      requested|obliged|reminded|permitted|free)\s+to|must|should|shall|ha(?:s|ve)\s+to|needs?\s+to)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CHATTER: Final = re.compile(
    r"^(?:sure|certainly|of course|here is|here's|here are|okay|the following|as requested|I )"
    r"|\b(?:I am|I'm|I will|I'll|I cannot|I can't|let me|I hope|as mentioned)\b"
    r"|\bthe (?:given|provided|above) (?:code|text|snippet)\b",
    re.IGNORECASE,
)


def form_problems(text: str) -> Iterator[tuple[str, str]]:
    """Yields the sort and the sentence (see `GroundingProblem`) of each problem with the form of a text."""
    plain = text.strip()
    if len(plain.split()) < _FEWEST_WORDS:
        yield "form", "It is too short to say anything."
        return
    if len(plain) > LONGEST:
        yield "form", f"It has more than {LONGEST:,} characters."
    if "```" in plain or re.search(r"(?m)^\s*(?:#{1,6} |[-*] |\d+\. )", plain):
        yield "form", "It is not plain sentences: no lists, headings or blocks of code."
    if _CHATTER.search(plain):
        yield "form", "It speaks of itself or of the task instead of the code."
    if _repeats(plain):
        yield "form", "It repeats itself."
    if visible_block(plain) != plain:
        yield "form", "It has signs that are no text."
    for sentence in instructions(plain):
        yield "instruction", f"It tells its reader to do something: “{sentence[:80]}”"


def instructions(text: str) -> list[str]:
    """The sentences that read like instructions."""
    return [
        sentence
        for sentence in sentences_of(text)
        if _COMMANDS.search(sentence) or _PASSIVE.search(sentence) or _is_imperative(sentence)
    ]


def sentences_of(text: str) -> list[str]:
    return _SENTENCE_END.split(" ".join(text.split()))


def _is_imperative(sentence: str) -> bool:
    words = re.findall(r"`?[\w'’]+`?", sentence)
    if len(words) < 2 or words[0].startswith("`"):
        return False
    first, second = words[0].lower().replace("’", "'"), words[1].lower()
    if first not in _IMPERATIVES:
        return False
    # `Save keeps a key`, `Run is called` and `Open and Close` are about functions.
    is_verb = second.endswith("s") and not second.endswith(("ss", "us", "this", "its", "always", "files", "tests"))
    return not (is_verb or second in _AFTER_NAMES)


_AFTER_NAMES: Final = frozenset(
    "is and or has was are were can may must also never always only then itself calls".split()
)


def _repeats(text: str) -> bool:
    sentences = [sentence.strip().lower() for sentence in _SENTENCE_END.split(text) if len(sentence) > 20]
    if len(sentences) != len(set(sentences)):
        return True
    words = text.lower().split()
    runs = [" ".join(words[start : start + 6]) for start in range(len(words) - 5)]
    return len(runs) >= 12 and len(set(runs)) < len(runs) * 0.75


def clean_answer(text: str) -> str:
    """The first sentences of a model's answer, without lists, headings, code, repetitions, lead-ins and an unfinished
    last sentence."""
    bare = _FENCED.sub("\n", text).replace("**", "")
    lines = [line.strip() for line in bare.splitlines() if line.strip() and not line.rstrip().endswith(":")]
    prose = [line for line in lines if not _LIST_OR_HEADING.match(line)]
    words = " ".join(prose or [_LIST_OR_HEADING.sub("", line).rstrip(".;, ") + "." for line in lines])
    sentences: dict[str, None] = {}
    room = LONGEST
    for sentence in _SENTENCE_END.split(whole_sentences(words)):
        room -= len(sentence) + 1
        if len(sentences) == _MOST_SENTENCES or room < 0:
            break
        sentences.setdefault(sentence)
    return " ".join(sentences)


def whole_sentences(text: str) -> str:
    """A text without its last sentence if that is unfinished."""
    plain = " ".join(text.split())
    if plain.endswith((".", "!", "?", "”", "`.", ")")):
        return plain
    end = max(plain.rfind(stop) for stop in (". ", "! ", "? "))
    return plain[: end + 1] if end > 0 else plain
