"""The features of a message by which it is taken for a correction, each with its weight.

A correction states something that holds for this code or project beyond the session: a constraint, a reason, an
origin, a place, a convention. It contradicts or completes what the agent has just said or done. What speaks against one
are the marks of a wish, a question, an answer, a report, a doubt, and of matters of the session. Every feature can be
read off the words. English only.

The weights are those of a logistic regression over the labelled excerpts (`benchmarks/correction_weights.py`), rounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from golore.mcp_server.sessions.user_message import UserMessage


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_NOT: Final = r"(n'?t| not)"
_QUOTED: Final = re.compile(r"\"[^\"\n]{3,}\"|“[^”\n]{3,}”")
"""Words of somebody or something else."""
_QUESTION: Final = _any(
    r"\?[\"')”]*$",
    r"\b(where|why|what|how|who) (do|does|did|is|are|was|were|can|could|should|would) (the|it|that|this|these|you|"
    r"we|they|i)\b",
    r", (right|no|or what|any ideas?)$",
    r"^((and|but|so|ok|hm+|wait|well|also|strange)[, ]+)*((what|why|how|where|which|who|when)('s| is| are| was|"
    r" were| do| does| did| can| could|"
    r" should| would| will| about| if| much| many)|(does|do|did|is|are|was|can|could|should|would|will|has|have) "
    r"(i|you|we|it|they|that|this|there|the|a|an|one|somebody|anybody|anyone))\b",
)
_VERBS: Final = (
    "add|make|rename|write|show|move|run|put|use|try|change|create|give|do|go|check|look|commit|fix|update|remove|delete|"
    "drop|keep|leave|let|take|find|tell|explain|print|set|sort|start|stop|revert|undo|restore|replace|rewrite|split|"
    "merge|push|pull|open|close|continue|proceed|skip|ignore|test|build|bump|bring|call|clean|convert|copy|count|cover|"
    "cut|describe|document|draw|extend|fill|finish|format|generate|get|handle|have|implement|include|increase|inline|"
    "install|list|log|mention|name|pick|plot|profile|raise|read|rebase|redo|reduce|refactor|regenerate|repeat|report|"
    "rerun|resolve|return|say|see|send|shorten|simplify|sleep|sum|summari[sz]e|swap|switch|think|tidy|turn|upgrade|wrap|"
    "forget|remember|ask|assume|always use|never use|increment|double|halve|hide|highlight|align|ship|deploy|tag"
)
_OPENERS: Final = (
    r"(?:(?:please|pls|ok|okay|yes|yep|yeah|great|good|nice|and|then|also|now|actually|instead|just|so|but|no|nope|"
    r"not|"
    r"right|fine|well|sure|hm+|ah|oh|wow|cool|maybe|first|next|rather|better|sorry|btw|haha|too)[,.:;! ]+)*"
)
_WISH: Final = _any(
    rf"^{_OPENERS}({_VERBS})\b(?!'|[./_(*]| (is|are|was|were|has|have|must|can|can'?t|cannot|of|does|needs|fails|"
    rf"isn'?t|"
    r"aren'?t|doesn'?t|don'?t|won'?t|will|never|always|waits|only|between|times|errors?|calls?|caches?|flags?|"
    r"order)\b)",
    rf"^{_OPENERS}(do not|don'?t|dont) ({_VERBS}|touch|worry|bother|mess|care|like)\b",
    r"\b(could|can|would|will) (you|we|it|the \w+|i)\b|\blet'?s\b|\bplease\b|\bpls\b|\bi('d| would) (like|love|"
    r"prefer|rather)\b",
    r"\bi (want|need|prefer|wish|would)\b|\bi'd\b|\bwhat about\b|\bhow about\b|\bit should\b|\bgo ahead\b",
)
_AGREEMENT: Final = _any(
    r"^(ok|okay|yes|yep|yeah|sure|great|nice|good|perfect|thanks|thank you|cool|fine|wow|ha|haha|lol|looks? good|"
    r"right|"
    r"sounds good|awesome|love|lovely|really useful|makes sense|agreed|fair|ouch|argh|ah|typical|strange|odd|"
    r"interesting|"
    r"funny|neat|excellent|brilliant|amazing|not bad|confirmed|exactly|correct|true|indeed|works|merged|understood|"
    r"got it|"
    r"no (worries|problem|rush|need)|of course|hm+,? ok|aha|alright|all right|same here|that works|well done|"
    r"good (to know|point|catch|idea))\b",
)
_STATEMENT_OPENER: Final = re.compile(rf"^{_OPENERS}", re.IGNORECASE)
_CODE: Final = re.compile(
    r"`[^`]+`|\b\w+\.\w+\(?|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b\w+_\w+|(?<!\w)--?[a-z][\w-]+|"
    r"[\w.~*-]*/[\w./*~-]+|"
    r"\b\w+\(\)|\b[A-Z]{2,}\w*|%\w\b|\b\w+\*|\b[A-Z]\w*\[\w+\]"
)
_WORD: Final = re.compile(r"[A-Za-z_]\w{2,}")
_COMMON: Final = frozenset(
    "the and are was were that this with not you your have has had for but from they them there here its it's isn't "
    "don't doesn't always never should would could will can use used using all any one only now then than into just "
    "also what when which who how why about because been being does did done get gets got goes going make makes made "
    "more most some such very too out over same our ours who whom whose their theirs his her him she if else both each "
    "see say says said tell told let lets must may might need needs still yet".split()
)
_STEM: Final = 5
_SHORT: Final = 4
SENTENCE_GAP: Final = re.compile(r"(?<=[.!?…])[\"')”]*\s+(?=\S)|\n+")


class Reading(NamedTuple):
    """A message by its sentences. Quoted words are masked in all but `typed`, which has the sentences as typed."""

    message: UserMessage
    typed: tuple[str, ...]
    sentences: tuple[str, ...]
    stated: tuple[str, ...]
    """What is stated: sentences that are neither wishes nor questions, and the reasons given with wishes."""
    questions: tuple[str, ...]
    wishes: tuple[str, ...]

    @property
    def statement(self) -> str:
        return " ".join(self.stated)


def read(text: str, message: UserMessage) -> Reading:
    masked = _QUOTED.sub(lambda quoted: "…" * len(quoted[0]), text)
    typed: list[str] = []
    sentences: list[str] = []
    at = 0
    for end, start in [*((gap.start(), gap.end()) for gap in SENTENCE_GAP.finditer(masked)), (len(text), len(text))]:
        if sentence := masked[at:end].strip():
            sentences.append(sentence)
            typed.append(text[at:end].strip())
        at = start
    stated: list[str] = []
    questions: list[str] = []
    wishes: list[str] = []
    for sentence in sentences:
        if _QUESTION.search(sentence):
            questions.append(sentence)
        elif _WISH.search(sentence):
            wishes.append(sentence)
            stated += _reason(sentence)
        else:
            stated.append(sentence)
    return Reading(message, tuple(typed), tuple(sentences), tuple(stated), tuple(questions), tuple(wishes))


def asks(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence))


def agrees(sentence: str) -> bool:
    """Whether a sentence is nothing but agreement or thanks."""
    return len(sentence.split()) <= _SHORT and bool(_AGREEMENT.search(sentence))


_REASON_START: Final = re.compile(
    r"[,;:—–(]\s*|\s-\s|\s(?=(?:because|since|otherwise|or else|so that|as)\s)", re.IGNORECASE
)


def _reason(sentence: str) -> list[str]:
    """The reason that is given with a wish, if it is not another wish."""
    return [part for part in _REASON_START.split(sentence, maxsplit=1)[1:] if not _WISH.search(part)]


def content_words(text: str) -> set[str]:
    return {_stem(word.lower()) for word in _WORD.findall(text)} - _COMMON


def _stem(word: str) -> str:
    """The beginning of a word: enough to know `compression` again in `compresses`."""
    return word[:_STEM].removesuffix("s")


Measure = Callable[[Reading], float]


def _in_statements(*patterns: str) -> Measure:
    pattern = _any(*patterns)
    return lambda reading: float(any(pattern.search(sentence) for sentence in reading.stated))


def _in_message(*patterns: str) -> Measure:
    pattern = _any(*patterns)
    return lambda reading: float(bool(pattern.search(" ".join(reading.sentences))))


def _overlap(reading: Reading) -> float:
    said = content_words(reading.message.said) | content_words(" ".join(reading.message.files).replace("/", " "))
    return min(2, len(said & content_words(reading.statement))) / 2


def _new(reading: Reading) -> float:
    """How much is stated that the agent did not say."""
    return min(6, len(content_words(reading.statement) - content_words(reading.message.said))) / 6


_PRONOUN: Final = re.compile(
    r"^(i|i'\w+|my|me|it|it's|that|that's|this|these|those|they|they're|he|she|you|you're|you've|there|there's|what|"
    r"then|which|now|still|"
    r"again|same|both|one|none|nothing|everything|something|somebody|not|no|only|just|too|so|ok)\b",
    re.IGNORECASE,
)


def _has_subject(reading: Reading) -> float:
    """Whether a statement begins with a thing, rather than with a pronoun."""
    starts = (_STATEMENT_OPENER.sub("", sentence) for sentence in reading.stated)
    return float(any(len(start.split()) >= 4 and not _PRONOUN.match(start) for start in starts))


def _length(reading: Reading) -> float:
    return min(len(reading.statement.split()), 20) / 20


def _code_names(reading: Reading) -> float:
    return min(len(_CODE.findall(reading.statement)), 2) / 2


def _personal_share(reading: Reading) -> float:
    if not reading.stated:
        return 0.0
    return sum(bool(_PERSONAL.search(sentence)) for sentence in reading.stated) / len(reading.stated)


_PERSONAL: Final = _any(
    rf"^{_OPENERS}(i|i'm|i'll|i've|i'd|my|me)\b(?! (told|said|meant|already told|shouldn'?t have))",
    r"\b(i|i'm|i'll|i've|i'd|myself)\b",
)

BIAS: Final = -2.5
WEIGHTS: Final[Mapping[str, float]] = {
    "states nothing": -0.5,
    "share of questions": -1.2,
    "begins with a wish": -0.2,
    "share of wishes": -0.7,
    "length of what is stated": 1.1,
    "begins with agreement or thanks": -0.8,
    "shares words with the agent": 2.2,
    "states something new": 1.0,
    "is about a thing": 0.9,
    "names code": 1.1,
    "is about this project": 0.3,
    "is about the user": -1.7,
    "names those who depend on it": 0.7,
    "states what is": 0.5,
    "denies": 0.4,
    "says it is on purpose": 1.3,
    "contrasts": 0.1,
    "says what cannot be": 0.5,
    "gives a reason or a consequence": 0.3,
    "says where something comes from or belongs": 1.4,
    "points to the right way": 0.1,
    "reports a failure": -0.4,
    "is about this session": -1.6,
    "is a taste or a praise": -1.7,
    "is a doubt": -1.5,
    "is lively": -0.8,
    "is about a wanted change": -0.8,
    "tells what the user did or saw": -0.8,
    "is about what comes next": -1.2,
}
"""How much each feature speaks for a correction, if it is 1."""

MEASURES: Final[Mapping[str, Measure]] = {
    # how the message is made
    "states nothing": lambda reading: float(not reading.statement.strip()),
    "share of questions": lambda reading: len(reading.questions) / max(1, len(reading.sentences)),
    "begins with a wish": lambda reading: float(bool(reading.sentences) and reading.sentences[0] in reading.wishes),
    "share of wishes": lambda reading: len(reading.wishes) / max(1, len(reading.sentences)),
    "length of what is stated": _length,
    "begins with agreement or thanks": lambda reading: float(
        bool(reading.sentences) and bool(_AGREEMENT.search(reading.sentences[0]))
    ),
    # what it is about
    "shares words with the agent": _overlap,
    "states something new": _new,
    "is about a thing": _has_subject,
    "names code": _code_names,
    "is about this project": _in_statements(
        r"\b(we|we're|we've|our|ours|us)\b|\b(in|for) this (repo|repository|codebase|code base|code|project|module|"
        r"team|format)\b|\bhere\b"
    ),
    "is about the user": _personal_share,
    "names those who depend on it": _in_statements(
        r"\b(customers?|clients?|users?|partners?|people|ops|legal|privacy|security|compliance|billing|tenants?|"
        r"plugins?|authors?|"
        r"consumers?|callers?|on-?call|dashboards?|alerts?|scripts?|cron|browsers?|apps?|auditors?|contract|support|"
        r"vendors?|"
        r"services?|teams?|kernel|proxy|driver|firmware|hardware|linter|compiler|CI|bot|jobs?|tools?|parser|"
        r"database|db)\b"
    ),
    # what it states
    "states what is": _in_statements(
        r"\b(is|are|has|have|means|isn'?t|aren'?t|does|doesn'?t|do|don'?t)\b",
        r"\w's (a|an|the|not|no|only|already|in|on|by|from|\d+|called|set|generated|built|read)\b",
        r"\b[a-z]{2,}[a-z]s (the|a|an|it|them|from|to|in|on|by|with|as|out|for|all|our|their|its|any|no|only|when|"
        r"if|before|after|through|every|each)\b",
    ),
    "denies": _in_statements(
        r"^(no|nope|nah|wrong|incorrect|not (quite|really|true|right|exactly|so))\b(?! (problem|worries|rush|way|"
        r"idea|need|hurry|thanks))",
        r"^(hm+|uh+|um+|well|sorry|wait|but|ah|oh)[,. ]+(but )?(no|nope|not quite|wrong)\b",
        r"^(actually|in fact|careful|beware|watch out)\b",
        r"\b(is|are|was|'s|one thing) (still |completely |simply |just )?(wrong|incorrect|mistaken|false|misleading|"
        r"off)\b|\bthe wrong \w+",
        r"^(that|this)('s| is| was)? ?(does|do|did|is|are|was|were|has|have)?(n'?t| not| never) (true|right|how|"
        r"what|the|a|correct|enough|allowed|safe|so|needed|quite|possible)\b",
        r"\byou('ve| have)? (misread|misunderstood|misunderstand|assumed?|confused?|mixed|missed that|forgot that|"
        r"got \w+ \w+ (wrong|backwards))\b",
        r"\byou('re| are) (wrong|mistaken|confusing|assuming|mixing|misreading)\b",
        r"\b(backwards|the other way (a)?round|the wrong way|misunderstanding)\b|\b(premise|assumption) (is|was)\b",
        r"\bthere('s| is|'re| are) no such\b|\bas i (said|told|wrote|mentioned)\b|\bi ((already )?told you|meant)\b",
    ),
    "says it is on purpose": _in_statements(
        r"\b(on purpose|intentional(ly)?|by design|deliberate(ly)?|by convention|that'?s (the point|why|the reason)|"
        r"is the reason|the (whole )?point (of|is)|for a reason|was there (because|for|to))\b"
    ),
    "contrasts": _in_statements(
        r"[,;—–-] ?(and )?(not|never|no) \w+|\bnot (just |only )?\w+[^.]*, but\b|\binstead( of)?\b|\brather than\b|"
        r"\bnot \w+ but\b|"
        r"\bonly \w+ (is|are|may|can|do|does|has|have)\b|\bunlike\b"
    ),
    "says what cannot be": _in_statements(
        r"\b(can'?t|cannot|can not|may not|won'?t|wouldn'?t|would (break|be|lose|get)|will break|breaks?|blows?|"
        r"destroys?|"
        r"leaks?|bricks?|crash(es)?|hides?|caps?|drops?|blocks?|limits?|ignores?|overwrites?|truncates?|cuts?|"
        r"rewrites?|corrupts?|desyncs?|deadlocks?|locks?|kills?|poisons?|confuses?|panics?|throws?|rejects?|"
        r"refuses?|loses?|lost|silently|"
        r"twice|stuck|race|unsafe)\b"
    ),
    "gives a reason or a consequence": _in_statements(
        r"\b(because|so that|otherwise|or else|hence|therefore|thus|that'?s why|due to|in order to|which means|"
        r"so (it|the|we|a|an|no|every|\d)|"
        r"since (the|we|it|they|our)|until|if (the|it|they|you|we|a|an))\b"
    ),
    "says where something comes from or belongs": _in_statements(
        r"\b(com(es?|ing) (from|out of)|lives?|sits?|belongs?|resides?|generated|output of|goes through|go through|"
        r"goes? (in|into|to|under)|"
        r"(is|are|gets?|was|were) (set|read|made|written|built|run|called|created|owned|stored|kept|swapped|driven|"
        r"patched|embedded|replaced|removed|renamed|moved|dropped|deprecated|vendored|declared|defined|handled|done|"
        r"merged) (by|in|from|at|with|through|before|when|once)|"
        r"there('s| is| are) (a|an|already)|exists? already|already (exists?|does|has|there)|does it for you|"
        r"we (use|have|keep|go by|wrap|build|test))\b"
    ),
    "points to the right way": _in_statements(
        r"\b(instead|use|take|see|look at|via|there'?s|helper|rule|guidelines?|policy|convention|standard|contract|"
        r"part of the)\b"
    ),
    # what speaks against a correction
    "reports a failure": _in_message(
        r"\b(fails|failing|failed|crashed|crashing|hangs|hanging|not working|still (red|fails?|the same|not|get|see|"
        r"broken|there|has|does)|(get|gets|got|see|saw|throws?|gives?|with) (an?|the same|this|that) error|error:|"
        r"missing|typo|misspelled|misaligned|blank|cut off|(is|are|was|goes|went|turns?|turned) (red|broken|down|"
        r"gone)|complains?|warns?|barks?|unhappy|doesn'?t (find|like)|says?:|"
        r"broken|stack trace|exit code|timed? out|times out|i (still )?(get|got|see|can see)|it says|now (it|he|she|"
        r"they)|"
        rf"(do|does|did|is|are|will){_NOT} (work|compile|build|load|start|show|appear|respond|pass)\w*)\b",
    ),
    "is about this session": _in_message(
        r"\b(now|yet|today|tomorrow|tonight|yesterday|this (morning|afternoon|evening|week|time|one)|for (now|today|"
        r"the moment)|"
        r"until (\w+day|next|it's|it is)|later|again|moment|never ?mind|after (that|this)|wait|hold on|hang on|(on|"
        r"in) (a|the|this|my|your) branch|"
        r"go on|continue|next (week|time|step|sprint|month)|(put|go|come|swap|bring|change|switch|back|here|it|them|"
        r"that|was) back)\b",
        r"(^|[.!?,;] )(first|next|then|while)\b|\b(first|then)[.!?]*$",
    ),
    "is a taste or a praise": _in_message(
        r"\b(looks?|feels?|sounds?|prefer|rather|nicer?|ugly|pretty|useful|love|like (it|this|that|the)|too (large|"
        r"small|short|long|big|much|many|slow|fast|verbose|dark|bright)|"
        r"better|best|a bit|smaller|larger|bigger|shorter|longer|amazing|awesome|excellent|perfect(ly)?|well done|"
        r"great job|impressive|thanks|thank you|good|great|fair|overkill|"
        r"doesn'?t matter|not bad|urgent|a big deal|worth it|(is|are|'s|it's|that's) (ok|okay|fine|cool|enough))\b",
    ),
    "is a doubt": _in_message(
        r"\b(maybe|perhaps|i (think|guess|suppose|believe|assume|hope|thought|wonder|bet)|seems?|strange|odd|weird|"
        r"probably|(i'?d have|i would have|would never have)|"
        rf"(do|am|is|did|would){_NOT} (know|sure|understand|believe|remember|expect)|(don'?t|didn'?t) (know|"
        rf"understand|believe|expect|remember)|not sure|no idea|unsure|i was (wrong|leaning|expecting)|"
        r"changed? my mind|my (fault|mistake|bad)|you('re| are) right|really\?|is it|, no)\b|\bwhatever$|\bor what\b",
    ),
    "is lively": _in_message(r"(:\)|:\(|;\)|\bhaha|\blol\b|\bwow\b|\boh no\b|!$)"),
    "is about a wanted change": _in_message(
        r"\bit should\b|\bshould (be|say|have|do|show|contain|also|come|fall|print|use)\b|\binstead of (nothing|"
        r"bold|the)\b|\b(and|we|must|should|can|could|please|it) also\b|^also\b|\b(too|as well)( please)?[.!,]?$|"
        r"\bwithout the\b|\bmake it\b"
    ),
    "tells what the user did or saw": _in_message(
        r"\bi('ve| have|'m| am)? ?(just |still |also |only |already |now |always |never )?"
        r"(get|got|see|saw|can see|tried|try|ran|run|started|start|restarted|checked|looked|merged|pushed|reverted|"
        r"deployed|had|have|forgot|"
        r"forget|noticed|changed|updated|upgraded|installed|opened|closed|fixed|moved|deleted|removed|added|"
        r"expected|thought|remember|find|found|"
        r"work|working|going|doing|trying|looking|reading|leaving|away|waiting)\b",
        r"\b(for|on) (me|my)\b|\bon my (machine|laptop|mac|box|side|end)\b",
    ),
    "is about what comes next": _in_message(
        r"^(next|now|then|after that|another thing|new task|by the way|btw|one more thing|and now|back to)\b",
        r"\bwe('ll| will|( also| still| just)? (should|could|might|want|need|would))\b(?! (never|not|always|only))|"
        r"\b(wants?|would like|wishes|asked (for|me|us))\b|\bin the (next|future)\b",
    ),
}
"""The features, each a number from 0 to 1."""


def score(reading: Reading) -> float:
    """The logarithm of the odds that a message is a correction, as far as the features tell."""
    return BIAS + sum(weight * MEASURES[name](reading) for name, weight in WEIGHTS.items())
