"""Decides whether a message of the user corrects the agent, by its text and by what came before. Uses no model.

A correction denies something that the agent said or did and states what is true, or states what is always or never done
in this repository. Sentences that cannot be corrections are excluded first: questions, wishes, praise, reports of
failures, and quoted text. English only. It prefers to miss a correction rather than to take a wish for a fact; a person
reviews each one.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from golore.mcp_server.sessions.transcripts import UserMessage

_MAX_MESSAGE: Final = 2_500
"""A message of more characters is taken for pasted text."""
_MAX_PREMISE: Final = 300
_FENCE: Final = re.compile(r"```.*?(```|\Z)", re.DOTALL)
_PASTED: Final = re.compile(
    r"^\s*(>|\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|(ERROR|WARN|INFO|FAIL|---|\+\+\+|@@)\b).*$", re.MULTILINE
)
_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"')”]*\s+(?=\S)|\n+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
"""Characters that a terminal would interpret."""
_NOT: Final = r"(n'?t| not)"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_ASIDE: Final = _any(
    r"\bchanged? my mind\b|\bnever ?mind\b|\bmy (fault|mistake|bad)\b",
    r"\bi was (wrong|mistaken)\b|\byou('re| are) right\b",
    r"\blet'?s\b|\bwhile (we|you)('re| are) at it\b|\b(yet|for now|for today|for the moment|until \w+day)\b",
    r"\bi('d| would)? (want|like|prefer|need)\b|\bmeant to (ask|say|tell)\b",
    r"\bwhat i (asked|wanted|expected|had in mind)\b",
    r"\bi('m| am| do)?(n'?t| not) (know|sure|understand|mind)\b|\b(unsure|no idea)\b",
    r"(n'?t| not) (that |so |very |too )?"
    r"(a big deal|urgent|important|pretty|obvious|ideal|matter|critical|great|good|nice)\b",
    r"\b(fails|failing|failed|crashes|crashed|panics|hangs)\b|\bi (get|got|see) an?\b|\bnot working\b",
    r"\b(do|does|did|is|are|will)(n'?t| not) (work|compile|build|load|start|show|appear|respond|pass)",
    r"\bdon'?t forget\b|\bremember to\b|^(wait|hold on|hang on)\b[^?]*\b(let me|first)\b",
    r"\bno (rush|way|problem|worries|hurry|thanks|need)\b|\bnot bad\b",
    r"\b(amazing|awesome|excellent|perfect|perfectly|well done|great job|impressive)\b",
    r"^(ok(ay)?|yes|yep|great|nice|good|thanks|thank you|cool|fine)\b[^:;]*$",
)
"""The sentence does not state a fact: it is a wish, a doubt, a report of a failure, or praise."""
_DENIAL: Final = _any(
    r"^(no|nope|nah|wrong|incorrect|not (quite|really|true|right|exactly))\b",
    r"^(hm+|uh+|um+|well|sorry|wait|but|ah|oh)[,. ]+(but )?(no|nope|not quite|wrong)\b",
    rf"^(but|actually|in fact)\b.*\b(is|are|was|does|do|did|has|have|can|will){_NOT}\b|^(actually|in fact)\b",
    r"\b(is|are|was|'s|one thing) (still |completely |simply )?(wrong|incorrect|mistaken|false)\b|\bthe wrong \w+",
    rf"\b(that|this|it|they|he|she)('s| is|'re| are)? ?(does|do|did|is|are|was|were|has|have)?{_NOT}\b",
    r"\byou('ve| have)? (misread|misunderstood|misunderstand|assumed?|confused?|mixed|missed that|forgot that)\b",
    r"\byou got (it|that|this|them|\w+ \w+) (wrong|backwards|mixed)\b",
    r"^(careful|beware|watch out)\b|\b(on purpose|intentional(ly)?|by design|deliberate(ly)?)\b",
    r"^(that|this|it)( \w+)? (was|has been|got) (removed|renamed|replaced|dropped|moved)\b",
    r"\byou('re| are) (wrong|mistaken|confusing|assuming|mixing|misreading)\b",
    r"\b(backwards|the other way (a)?round|the wrong way)\b",
    r"\bmisunderstanding\b|\b(premise|assumption) (is|was)\b|\bthere('s| is|'re| are) no such\b",
    r"\bas i (said|told|wrote|mentioned)\b|\bi ((already )?told you|meant)\b",
    r"^((wait|hm+|huh)[,. ]+)?(why|since when) (are|did|do|would|have) (you|we)\b",
)
"""Something that the agent said or did is wrong."""
_RULE: Final = _any(
    rf"\bwe (always|never|only|do{_NOT}) (?!need|have|know|care|want|got|had|saw|tried|even|really|much|mind)\w+",
    rf"\bwe('re| are){_NOT} (using|supposed|allowed)\b|\bwe('ve| have) (dropped|removed|banned|stopped|abandoned)\b",
    r"\b(always|never|must)\b.*\b(here|in (this|our) \w+)\b",
)
"""What is always or never done in this repository."""
_CUSTOM: Final = _any(
    r"\bwe (use|build|test|keep|write|wrap|avoid|have to|must)\b",
    r"\b(in|for) (this|our) (repo|repository|codebase|code base|code|project|team)\b",
)
"""What is done in this repository. A wish may say this too."""
_NORM: Final = _any(
    r"\b(must|ha(s|ve) to|needs? (a|an|the|to|our)|only|never|(?<!can )always)\b",
    r"\b(everywhere|otherwise|guarantees?|no-go)\b",
    r"\b(can'?t|cannot|can not|may not|won'?t|would break|will break|are not to|is not to) ",
)
"""What must or cannot be. It is a correction if it is about what the agent has just said."""
_REPROACH: Final = _any(
    r"^(please )?(stop|quit|revert|undo|don'?t|do not)\b",
    rf"\b(should{_NOT}|must{_NOT}|must never|should have|not supposed|not allowed|you can(no|')t)\b",
)
_CONTRAST: Final = _any(
    r"\b(is|are|was|were|means?|returns?|lives?|belongs?|happens?|comes?|goes|runs?)\b.*[,;—–-] ?(and )?(not|never) ",
    rf"\b(is|are|does|do){_NOT}\b.*[,;:] *\w+\b.*"
    r"\b(is|are|was|were|has|have|does|must|comes?|means|belongs?|lives?)\b",
)
"""This, not that."""
_NEGATED: Final = _any(rf"\b(is|are|was|were|does|do|did|has|have){_NOT}\b|\bnever\b|\bno longer\b")
_FACT: Final = _any(
    rf"\b(is|are|was|were|has|have|had|does|do){_NOT}?\b|\b(must|allowed|\w+ed by)\b",
    r"\b(mean|return|live|own|hold|keep|use|close|call|run|come|get|need|build|protect|depend|sort|belong|happen|expect)s?\b",
    r"\b(goes|go|pass|passes|publishes|matches|does)\b",
)
_WISH: Final = _any(
    r"^((please|ok|yes|great|and|then|also|now|actually|instead)[,.]? )*"
    r"(add|make|rename|write|show|move|run|put|use|try|change|create|give|do|go|check|look|commit|fix|update)\b",
    r"\b(could|can|would|will) (you|we)\b",
)
_ANSWER: Final = re.compile(r"^(no|nope|nah|yes|yep)\b[,.!]*\s*", re.IGNORECASE)
_OPENING: Final = _any(
    r"^((hm+|uh+|well|sorry|but|wait|no|nope|nah|wrong|incorrect|not quite|"
    r"that'?s (wrong|not right|incorrect))[,.:! ]+)+"
)
_ORDER: Final = _any(r"^(please )?(stop|quit|revert|undo|don'?t|do not)\b")
_REASON: Final = re.compile(r"[,;:—–]\s+|\s-\s|\s(?:because|since|otherwise|as)\s", re.IGNORECASE)
_ABOUT_THE_USER: Final = _any(r"^i('m|'ll|'ve|'d)?\b(?! (told|said|meant|already told))")
_WORD: Final = re.compile(r"[A-Za-z_]\w{2,}")
_COMMON: Final = frozenset(
    "the and are was were that this with not you your have has had for but from they them there here its it's isn't "
    "don't doesn't always never should would could will can use used using all any one only now then than into".split()
)


class Correction(NamedTuple):
    """`text` is what the user said. `premise` is what the agent had assumed, if it said so."""

    text: str
    premise: str


def correction_in(words: UserMessage) -> Correction | None:
    """The correction in a message, None if there is none."""
    if not words.said and not words.files:
        return None  # the agent has not said or done anything to correct
    typed = _PASTED.sub("", _FENCE.sub("", words.text.replace("’", "'"))).strip()
    if not typed or len(typed) > _MAX_MESSAGE:
        return None
    sentences = [sentence.strip() for sentence in _SENTENCE.split(typed) if sentence.strip()]
    relevant = [sentence for sentence in sentences if not _is_aside(sentence)]
    if not _is_correction(relevant, words):
        return None
    text = _CONTROL.sub(" ", " ".join(sentence for sentence in relevant if not _is_question(sentence)))
    return Correction(text, _CONTROL.sub(" ", _premise(words.said, text)))


def _is_aside(sentence: str) -> bool:
    """Whether a sentence states no fact. Questions state none, except reproaches such as "why are you mocking it?"."""
    return not _DENIAL.match(sentence) if _is_question(sentence) else bool(_ASIDE.search(sentence))


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"')”").endswith("?")


def _is_correction(sentences: list[str], words: UserMessage) -> bool:
    if sentences and words.said.rstrip().endswith("?"):
        # A "no" that answers a question denies no assumption of the agent.
        sentences = [_ANSWER.sub("", sentences[0]), *sentences[1:]]
    stated = [part for sentence in sentences if not _is_question(sentence) and (part := _stated(sentence))]
    if _has(_RULE, stated) or _has(_CONTRAST, stated):
        return True
    is_denied = words.is_refusal or _has(_DENIAL, sentences)
    if _has(_CUSTOM, stated) and (is_denied or _has(_REPROACH, sentences) or _has(_NEGATED, stated)):
        return True
    if not is_denied and sentences and _WISH.search(sentences[0]):
        return False  # a norm is then part of the wish
    if _has(_NORM, stated) and _is_about(" ".join(stated), words):
        return not any(_ABOUT_THE_USER.match(sentence) for sentence in stated)
    return (is_denied or _has(_REPROACH, stated)) and any(map(_states_fact, stated))


def _stated(sentence: str) -> str:
    """The statement in a sentence: the reason given with a wish, empty if there is none; else the whole sentence."""
    if not _WISH.search(sentence):
        return sentence
    reason = _REASON.split(sentence, maxsplit=1)[1:]
    return reason[0] if reason and not _WISH.search(reason[0]) else ""


def _has(pattern: re.Pattern[str], sentences: list[str]) -> bool:
    return any(pattern.search(sentence) for sentence in sentences)


def _is_about(text: str, words: UserMessage) -> bool:
    """Whether the text has at least six words, and one in common with what the agent said or with its files' names."""
    topic = _words(words.said) | _words(" ".join(words.files))
    return len(text.split()) >= 6 and not topic.isdisjoint(_words(text))


def _states_fact(sentence: str) -> bool:
    """Whether a sentence states something about the code, beyond that something is wrong."""
    rest = _OPENING.sub("", sentence)
    if _ORDER.match(rest):
        rest = (_REASON.split(rest, maxsplit=1)[1:] or [""])[0]
    return len(rest.split()) >= 4 and bool(_FACT.search(rest)) and not _ABOUT_THE_USER.match(rest)


def _premise(said: str, text: str) -> str:
    """The agent's sentence that has most words in common with the correction; its last one if none has any."""
    sentences = [sentence.strip() for sentence in _SENTENCE.split(_FENCE.sub("", said)) if sentence.strip()]
    if not sentences:
        return ""
    wanted = _words(text)
    best = max(range(len(sentences)), key=lambda index: (len(wanted & _words(sentences[index])), index))
    premise = sentences[best]
    return premise if len(premise) <= _MAX_PREMISE else premise[: _MAX_PREMISE - 1] + "…"


def _words(text: str) -> set[str]:
    return {word.lower().removesuffix("s") for word in _WORD.findall(text)} - _COMMON
