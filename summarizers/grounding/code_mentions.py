"""Finds the words of a text that must be identifiers, paths or packages, by the way they are written.

Text in backticks is code. Outside backticks a word counts as code if it has a capital, a dot or an underscore inside,
is followed by parentheses, has a capital where English has none, contains a slash, or stands next to the word
`package`. A lower-case word such as `save` without any of these cannot be distinguished from English and does not count
as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from golore.summarizers.grounding.lexicon import ACRONYMS, GO_WORDS, PROPER_NAMES, PROSE_PAIRS, is_ordinary

_PIECE: Final = re.compile(r"`([^`\n]+)`|(\S+)")
_STRIPPED: Final = "\"'“”‘’„(){}[]<>,;:!?…*&~|="
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$")
_CODE_NAME: Final = re.compile(r"(?<![\w/.-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_PATH: Final = re.compile(r"[\w.@~-]+(?:/[\w.@~*-]+)+/?$|[\w-]+/$|[\w.-]+\.go$")
_FILE: Final = re.compile(r"[\w./-]+\.(?:go|mod|sum|work|ya?ml|json|toml|md|txt|proto|sh|sql|html|tmpl|cfg|conf|ini)$")
_INNER_CAPITAL: Final = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")
_ABBREVIATIONS: Final = frozenset(("e.g", "i.e", "etc", "vs", "cf", "a.k.a", "approx", "resp", "no", "et", "al"))
_LITERAL: Final = re.compile(r"-?\d|[\"'].*[\"']$|[^\w]+$")
_ABSTRACT: Final = ("ion", "ing", "ment", "ness", "ity", "ance", "ence", "age", "ure", "ism", "ship", "th")
_OPENERS: Final = frozenset(
    """A Access All An Another Any Anything Behavior Behaviour Both Code Content Control Data Each Eight Either Every
    Everybody Everything Few Five Four Growth Her Here His Input It Its Logic Many Memory Most My Neither Nine No
    Nobody None Nothing One Order Other Our Output Seven Several Six Some Someone Something Space State Storage
    Such Ten Text That The Their There These This Those Three Time Traffic Two Usage Use What Which Who Whoever
    Work""".split()
)
"""English words that often start a sentence and are followed by a verb, as a name would be."""
_BESIDE_PACKAGE: Final = frozenset(
    """a about above after all also an and another any anything are as at base because before below between both
    boundary but by can comment comments contains core declares defines depends doc docs documentation does each
    every everything exists exports exposes external few first five for four from gives go had has have helper
    here holds how if import imported imports in inside internal into is it its itself keeps knows large last leaf
    lets level like little main makes may must name named names needs no nor nothing of offers on one only or
    other our outside own owns parent path paths per private provides public reads returns same scope second
    serves several should since single sits small so some standard stands such surface takes test tested tests
    than that the their them then there these they third this those three to two under uses using utility variable
    variables via was were what when where which while who whole whose wide will with within without works would
    wraps writes""".split()
)
_BEFORE_PATHS: Final = frozenset(
    "by directory file files folder from in into is of package packages path under uses".split()
)
_DIRECTORIES: Final = frozenset(
    "api app build cmd config docs internal lib pkg proto src test tests tools vendor web".split()
)
_EMPHATIC: Final = frozenset("ALL ALWAYS AND ANY EITHER MAY MUST NEVER NO NOT ONLY OR SHOULD".split())
_PREPOSITIONS: Final = frozenset(
    "and as by for from in inside into like of on or outside than through to via with".split()
)
_DETERMINERS: Final = frozenset("a any each every its one other our own same that the this which whole".split())
_CODE_NOUNS: Final = frozenset(
    "alias constant field func function interface method package struct type variable".split()
)
_SAID_OF_NAMES: Final = frozenset(
    """accepts adds advances allocates allows answers appends applies asks assigns awaits begins binds blocks brings
    builds buries caches calls cancels carries checks cleans clears clones closes collects combines compares
    compiles completes computes configures connects contains controls converts copies counts creates decides
    declares decodes decrements defines delegates deletes delivers describes determines discards dispatches does
    drops emits enables encapsulates encodes ends enforces ensures evaluates executes exists exits expects exposes
    extends extracts fails fetches fills filters finds finishes flushes follows forgets formats forwards frees
    generates gets gives grants groups guards handles hands has hashes helps hides holds identifies ignores
    implements imports increments indexes inherits initializes injects inserts invokes iterates joins keeps kills
    knows launches leases lets limits listens lists loads locks logs looks makes manages maps marks marshals
    matches measures merges moves needs notifies offers opens orchestrates orders overrides owns packs parses
    passes performs persists picks pings polls prepares prevents prints processes produces protects provides
    publishes pulls pushes puts queries raises reads receives records reduces refuses registers releases reloads
    removes renames renders renews repeats replaces reports represents requires resets resolves responds restores
    resumes retries retrieves returns reverts rewrites rolls rotates routes runs satisfies saves scans schedules
    searches selects sends serializes serves sets shows shuts signals signs sits skips sleeps sorts specifies
    splits stands starts stops stores streams submits subscribes sums swaps switches takes tells tests throws
    tracks transforms translates traverses tries triggers turns unlocks unmarshals unwraps updates uploads uses
    validates verifies visits waits wakes walks warns watches wraps writes yields""".split()
)
"""Verbs that follow the name of a function or type at the start of a sentence."""


class CodeMention(NamedTuple):
    """`kind` is `name` (an identifier, possibly dotted), `opener` (an identifier that may be capitalised only because
    it starts a sentence), `path` (a file, directory or import path) or `package`."""

    kind: str
    text: str


class _Word(NamedTuple):
    text: str
    is_code: bool
    is_first: bool
    """Whether it starts a sentence."""
    is_call: bool


def mentions(text: str) -> list[CodeMention]:
    """The mentions of code in a text, in order and without duplicates."""
    words = list(_words(text))
    found: dict[CodeMention, None] = {}
    for at, word in enumerate(words):
        for mention in _in_code(word.text) if word.is_code else _in_prose(words, at):
            found.setdefault(mention)
    return list(found)


def _words(text: str) -> Iterator[_Word]:
    is_first = True
    for match in _PIECE.finditer(text):
        code, plain = match.groups()
        if code is not None:
            yield _Word(code.strip(), True, is_first, False)
            is_first = False
            continue
        for piece, ends in _split(plain):
            bare = piece.strip(_STRIPPED)
            is_call = "()" in piece and bare != ""
            bare = bare.removesuffix("'s").removesuffix("’s").rstrip(".").strip(_STRIPPED)
            if bare:
                yield _Word(bare, False, is_first, is_call)
                is_first = False
            if ends and bare.lower() not in _ABBREVIATIONS:
                is_first = True


def _split(plain: str) -> Iterator[tuple[str, bool]]:
    """Split a word at dashes and arrows. Yields each part with whether a sentence ends after it."""
    parts = [part for part in re.split(r"—|–|(?<=\w)->(?=\w)", plain) if part]
    for index, part in enumerate(parts):
        tail = part.rstrip("\"'”’)]")
        yield part, index == len(parts) - 1 and tail.endswith((".", "!", "?", ":"))


def _in_code(text: str) -> Iterator[CodeMention]:
    """Mentions in the text of a pair of backticks: a path, or the names in a piece of code."""
    if _LITERAL.match(text):
        return
    plain = text.removeprefix("./")
    if " " not in plain and (_FILE.match(plain) or ("/" in plain and _PATH.match(plain))):
        yield CodeMention("path", plain)
        return
    without_strings = re.sub(r"\"[^\"]*\"|'[^']*'", " ", text)
    for name in _CODE_NAME.findall(without_strings):
        if name.partition(".")[0] not in GO_WORDS or "." in name:
            yield CodeMention("name", name)


def _in_prose(words: Sequence[_Word], at: int) -> Iterator[CodeMention]:
    word = words[at]
    text = word.text
    if "://" in text or text in PROSE_PAIRS or text.lower() in _ABBREVIATIONS:
        return
    if text in ACRONYMS or text in PROPER_NAMES or text in _EMPHATIC or text.rstrip("s") in ACRONYMS:
        return
    if "/" in text:
        before = words[at - 1].text.lower() if at and not word.is_first else ""
        yield from _in_slashed(text, follows_path_word=before in _BEFORE_PATHS)
    elif _FILE.match(text):
        yield CodeMention("path", text)
    elif "-" in text:
        for part in text.split("-"):
            yield from _in_word(part, is_first=word.is_first, is_call=False)
    elif "." in text:
        if _NAME.match(text):
            yield CodeMention("name", text)
    else:
        found = list(_in_word(text, is_first=word.is_first, is_call=word.is_call))
        yield from found or _in_first_word(words, at)
        if not found:
            yield from _in_package_name(words, at)


def _in_slashed(text: str, *, follows_path_word: bool) -> Iterator[CodeMention]:
    """Mentions in a word with a slash: a path, or words between which the slash means "or" (`hidden/deprecated`)."""
    parts = [part for part in text.split("/") if part]
    if all(part in ACRONYMS or part in PROPER_NAMES for part in parts):
        return
    if not follows_path_word and all(
        part.islower() and part not in _DIRECTORIES and is_ordinary(part) for part in parts
    ):
        return
    if _PATH.match(text):
        yield CodeMention("path", text.removeprefix("./"))
    else:
        for part in parts:
            yield from _in_word(part, is_first=False, is_call=False)


def _in_word(text: str, *, is_first: bool, is_call: bool) -> Iterator[CodeMention]:
    if not text.isidentifier() or text in ACRONYMS or text in PROPER_NAMES or text.removesuffix("s") in ACRONYMS:
        return
    has_form = "_" in text.strip("_") or _INNER_CAPITAL.search(text) is not None
    is_capital = text[0].isupper() and not (is_first and (text in _OPENERS or is_ordinary(text.lower())))
    if (is_call and text not in GO_WORDS) or has_form:
        yield CodeMention("name", text)
    elif is_capital and text not in ("I", "A"):
        yield CodeMention("opener" if is_first else "name", text)


def _in_first_word(words: Sequence[_Word], at: int) -> Iterator[CodeMention]:
    """Mention in the first word of a sentence, if it is an English word used as a name: `Flush writes the rest.`"""
    word = words[at]
    follows = words[at + 1].text if at + 1 < len(words) and not words[at + 1].is_first else ""
    if not word.is_first or not word.text[0].isupper() or word.text in _OPENERS or not word.text.isidentifier():
        return
    lower = word.text.lower()
    is_plural = lower.endswith("s") and not lower.endswith("ss")
    if is_plural or lower.endswith((*_ABSTRACT, "ly", "ed")) or len(lower) < 3:
        return
    is_defined = follows == "is" and any(near.text in _CODE_NOUNS for near in words[at + 2 : at + 5])
    if follows in _SAID_OF_NAMES or is_defined:
        yield CodeMention("opener", word.text)


def _in_package_name(words: Sequence[_Word], at: int) -> Iterator[CodeMention]:
    """Mention in a lower-case word that the neighbouring words call a package."""
    text = words[at].text
    before = words[at - 1].text.lower() if at and not words[at].is_first else ""
    after = words[at + 1].text.lower() if at + 1 < len(words) and not words[at + 1].is_first else ""
    if not text.isidentifier() or text in _BESIDE_PACKAGE or not text.islower():
        return
    is_named = before == "package" and _is_package_name(words, at)
    is_named = is_named or (before == "packages" and not is_ordinary(text))
    if is_named or (after == "package" and not text.endswith(("ing", "ed", "al", "ic"))):
        yield CodeMention("package", text)


def _is_package_name(words: Sequence[_Word], at: int) -> bool:
    """Whether a word after `package` is its name. After `in package` it is; after `the package` it may be a verb."""
    if words[at - 1].is_first:
        return True
    earlier = words[at - 2].text.lower()
    text = words[at].text
    is_verb = f"{text}s" in _SAID_OF_NAMES or (text.endswith(("s", "ed")) and is_ordinary(text))
    return earlier in _PREPOSITIONS or (earlier in _DETERMINERS and not is_verb)
