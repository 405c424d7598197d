"""Removes secrets from text before it is stored as knowledge or sent to another machine.

Keys, tokens and passwords are replaced by markers that name their kind, such as `[secret removed: AWS access key]`. It
is a filter, not a proof: a password that is an ordinary word is not recognized. Digests, hashes of commits and UUIDs
stay. The rules are in `secret_rules`, which is loaded at the first use; the hook process does not use this module.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from golore.graph.phrases import counted

if TYPE_CHECKING:
    import re

    from golore.graph.safety.secret_rules import Allowed, Rule

_MARKER: Final = "[secret removed: "
_SIGNS: Final = frozenset("!@#$%^&*+=?~|\\")


class Filtered(NamedTuple):
    """A text without its secrets, and the kinds of those that were removed, in their order."""

    text: str
    removed: tuple[str, ...]


class _Finding(NamedTuple):
    start: int
    end: int
    order: int
    """The position of its rule: earlier ones name a secret better."""
    kind: str


def remove_secrets(text: str) -> Filtered:
    findings = _without_overlaps(_findings(text))
    pieces: list[str] = []
    at = 0
    for start, end, _, kind in findings:
        pieces += (text[at:start], f"{_MARKER}{kind}]")
        at = end
    return Filtered("".join((*pieces, text[at:])), tuple(finding.kind for finding in findings))


def removal_message(removed: Iterable[str]) -> str:
    """A sentence about what was removed, such as "Removed 2 secrets: password (2)."; empty if nothing was."""
    kinds = Counter(removed)
    if not kinds:
        return ""
    listed = ", ".join(f"{kind} ({number:,})" for kind, number in sorted(kinds.items()))
    return f"Removed {counted(kinds.total(), 'secret')}: {listed}."


def _findings(text: str) -> Iterable[_Finding]:
    from golore.graph.safety.secret_rules import all_rules

    lower = text.lower()
    for order, rule in enumerate(all_rules()):
        if any(keyword in lower for keyword in rule.keywords):
            for match in rule.pattern.finditer(text):
                start, end = _secret_span(rule, match)
                if start < end and not text.startswith(_MARKER, start) and _is_secret(rule, match, text[start:end]):
                    yield _Finding(start, end, order, rule.kind)


def _secret_span(rule: Rule, match: re.Match[str]) -> tuple[int, int]:
    """Where the secret is: the named group, the group of the rule, the first group that took part, or the match."""
    for name in ("secret", "plain"):
        if name in rule.pattern.groupindex and match.group(name):
            return match.span(name)
    if rule.group:
        return match.span(rule.group)
    return next((match.span(n) for n, group in enumerate(match.groups(), start=1) if group), match.span())


def _is_secret(rule: Rule, match: re.Match[str], secret: str) -> bool:
    if rule.is_mixed and not _is_mixed(secret):
        return False
    if rule.entropy and _entropy(secret) <= rule.entropy:
        return False
    return not any(_is_allowed(allowed, match, secret) for allowed in rule.allowed)


def _is_allowed(allowed: Allowed, match: re.Match[str], secret: str) -> bool:
    lower = secret.lower()
    if any(word in lower for word in allowed.words):
        return True
    part = secret
    if allowed.part == "match":
        part = match.group()
    elif allowed.part == "line":
        text = match.string
        end = text.find("\n", match.end())
        part = text[text.rfind("\n", 0, match.start()) + 1 : end if end >= 0 else len(text)]
    return any(pattern.search(part) for pattern in allowed.patterns)


def _is_mixed(text: str) -> bool:
    has_letter = any(map(str.isalpha, text))
    return any(map(str.isdigit, text)) or (has_letter and not _SIGNS.isdisjoint(text))


def _entropy(text: str) -> float:
    """Shannon's entropy, in bits per character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _without_overlaps(findings: Iterable[_Finding]) -> list[_Finding]:
    """In the order of the text. Findings that overlap become one, which the earliest rule names."""
    merged: list[_Finding] = []
    for finding in sorted(findings):
        if merged and finding.start < merged[-1].end:
            last = merged.pop()
            named = min(last, finding, key=lambda one: one.order)
            finding = named._replace(start=last.start, end=max(last.end, finding.end))
        merged.append(finding)
    return merged
