"""The rules by which secrets are recognized: gitleaks' rules, and a few of golore's own for prose.

gitleaks' rules come as a data file in the package `secretscreen`; its code is not imported. They find tokens by their
format and values beside a key word. Golore's rules add what people write in notes and chats: a password in a sentence
or a URL, a header, a token whose length gitleaks does not know. A rule is compiled when a text contains one of its key
words: most texts need none of them. This module finds nothing itself (see `secret_filter`).
"""

from __future__ import annotations

import re
import tomllib
import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import util
from pathlib import Path
from typing import Any, Final

from golore.graph.errors import GoloreError

_PACKAGE: Final = "secretscreen"
_FILE: Final = "gitleaks.toml"
_GENERIC: Final = "generic-api-key"
_SLOW: Final = frozenset(("curl-auth-header", "curl-auth-user"))
"""Rules that Python's `re` runs in quadratic time: a minute for 64 kB. Rules of our own replace them."""
_ASSIGNMENT: Final = r"(?i)[\w.-]{0,50}?"
"""How gitleaks' patterns begin that want a name and an assignment before the value."""
_DELIMITER: Final = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
_PROSE_DELIMITER: Final = r"""(?:[\x60'"\s;.,:!?)\]}>”’]|\\[nr]|$)"""
_NAMES: Final = {
    "api": "API", "aws": "AWS", "gcp": "GCP", "github": "GitHub", "gitlab": "GitLab", "jwt": "JWT", "openai": "OpenAI",
    "pypi": "PyPI", "pat": "access token",
}  # fmt: skip


@dataclass(frozen=True)
class Rule:
    """`keywords`: the rule is tried only if the text has one of them, in lower case. `entropy`: bits per character
    that the secret must exceed. `is_mixed`: it must have a letter and a digit or a sign, as no word has."""

    kind: str
    source: str
    keywords: tuple[str, ...]
    entropy: float = 0.0
    group: int = 0
    is_mixed: bool = False
    allowed: tuple[Allowed, ...] = ()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.source)


@dataclass(frozen=True)
class Allowed:
    """What is not a secret although a rule matches. `part`: the patterns apply to the secret, the match or its line."""

    part: str
    sources: tuple[str, ...]
    words: tuple[str, ...] = ()

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(_compiled, self.sources))


_PASSWORD: Final = r"(?:passwords?|passwd|passphrases?|passcodes?|pwd)"
_SECRET_WORD: Final = (
    r"(?:passwords?|passwd|passphrases?|pwd|secrets?(?:[ _-]?keys?)?|tokens?|credentials?|(?:api|access|auth|signing|"
    r"encryption|private|account)[ _-]?keys?)"
)
_OPENING: Final = r"""["'`“‘]"""
_ABOUT: Final = r"(?:[ \t]+(?:for|of|to|on|in|at)[ \t]+[^\n.;:!?]{1,40}?)?"
_IS: Final = r"[ \t]+(?:is|was|are|be)[ \t]+(?:(?:now|still|always|just|set to|called)[ \t]+)?"
_PLACEHOLDER: Final = Allowed(
    "secret",
    (
        r"^[<\[{(%$*.].*|^(?i:x+|\*+|\.+|pass|passw(?:or)?d|pwd|user|secret|example|redacted|none|null|true|false)$",
        r"(?i)^(?:your|my|the|some|change)[-_ ]?",
        r"^\w+\.\w+|^\w+\(",  # an expression of a program
    ),
)
_TECHNICAL: Final = Allowed(
    "secret",
    (
        r"(?i)^(?:base\d|sha-?\d|md\d|utf-?\d|bcrypt|x\.?509|oauth|http|pbkdf\d|argon\d|rfc|hmac|aes|rsa|ed\d|v\d|ipv\d)",
        r"(?i)^\W*\d+[-\s]?(?:[a-z]+)?\W*$",  # 32-byte
        r"^[A-Za-z]+(?:[-/,'’][A-Za-z]+)*[^\w\s]*$",  # words
        r"^-{1,2}[a-z]",  # an option
    ),
)
OWN_RULES: Final = (
    Rule("AWS access key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", ("akia", "asia", "abia", "acca")),
    Rule(
        "AWS secret key",
        r"(?i:aws|amazon|akia|asia|secret[ _-]?(?:access[ _-]?)?key)[^\n]{0,80}?(?<![\w/+])"
        r"((?=[a-z/+A-Z]*\d)(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])[A-Za-z0-9/+]{40})(?![\w/+=])",
        ("aws", "amazon", "akia", "asia", "secret"),
        entropy=4.0,
    ),
    Rule("Anthropic API key", r"\bsk-ant-[\w-]{16,}", ("sk-ant-",), entropy=3.0),
    Rule("OpenAI API key", r"\bsk-(?=[\w-]*\d)[\w-]{20,}", ("sk-",), entropy=3.5),
    Rule(
        "GitHub token",
        r"\b(?:gh[pousr]_|github_pat_)\w{20,}",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        entropy=3.0,
    ),
    Rule("Slack token", r"\bxox[a-z]-[\w-]{10,}", ("xox",), entropy=2.5),
    Rule("Stripe key", r"\b(?:sk|rk)_(?:live|test)_\w{10,}", ("k_live_", "k_test_"), entropy=2.5),
    Rule("Google API key", r"\bAIza[\w-]{30,}", ("aiza",), entropy=3.5),
    Rule("npm token", r"\bnpm_(?=\w*\d)[A-Za-z0-9]{30,}", ("npm_",), entropy=3.0),
    Rule("GitLab token", r"\bglpat-[\w-]{16,}", ("glpat-",), entropy=3.0),
    Rule("JWT", r"\bey[\w-]{10,}\.ey[\w-]{10,}\.[\w-]*", ("ey",), entropy=3.0),
    Rule(
        "private key",
        r"-----BEGIN[ A-Z0-9]*PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\\"'`:,;.()|#*-]{16,10000}?"
        r"-----END[ A-Z0-9]*KEY(?: BLOCK)?-----|(?:[\s\\\"'`+]|\\n)*[A-Za-z0-9+/=]{16}[A-Za-z0-9+/=\s\\]*)",
        ("private key",),
    ),
    Rule(
        "password in a URL",
        r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@'\"`<>]*:([^\s/@'\"`]{3,200})@[\w\[]",
        ("://",),
        allowed=(_PLACEHOLDER,),
    ),
    Rule(
        "authorization header",
        r"(?i:\bauthorization\b|\bbearer\b|-H\b)[^\n]{0,30}?(?i:\b(?:bearer|basic|token))[ \t]+([\w+/.~=-]{16,})",
        ("bearer", "authorization"),
        entropy=3.0,
        is_mixed=True,
        allowed=(_PLACEHOLDER,),
    ),
    Rule(
        "password of curl",
        r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[= \t][ \t]?['\"]?[^\s:'\"$]{1,100}:([^\s'\"]{3,200})",
        ("curl",),
        allowed=(_PLACEHOLDER,),
    ),
    Rule(
        "password",
        rf"(?i)(?:\b|_){_PASSWORD}['\"`]?\s{{0,3}}(?::=|=>|=|:)\s{{0,3}}([\"'`])(?P<secret>[^\s\"'`]{{4,200}})\1",
        ("passw", "passphrase", "passcode", "pwd"),
        allowed=(_PLACEHOLDER,),
    ),
    Rule(
        "password",
        rf"(?i)(?:\b|_){_PASSWORD}['\"`]?[ \t]{{0,3}}[:=][ \t]{{0,3}}"
        r"(?P<secret>[^\s\"'`,;(){}\[\]<>]{6,200})(?![(\[{])",
        ("passw", "passphrase", "passcode", "pwd"),
        is_mixed=True,
        allowed=(_PLACEHOLDER, _TECHNICAL),
    ),
    Rule(
        "password",
        rf"(?i)\b{_PASSWORD}{_ABOUT}{_IS}{_OPENING}(?P<secret>[^\s\"'`“”‘’]{{4,200}})[\"'`”’]",
        ("passw", "passphrase", "passcode", "pwd"),
        allowed=(_PLACEHOLDER,),
    ),
    Rule(
        "password",
        rf"(?i)\b{_PASSWORD}[ \t]+(?P<secret>[^\s\"'`“”‘’,;(){{}}\[\]<>=]{{5,200}}[^\s\"'`“”‘’,;(){{}}\[\]<>=!?.:])",
        ("passw", "passphrase", "passcode", "pwd"),
        is_mixed=True,
        allowed=(_PLACEHOLDER, _TECHNICAL),
    ),
    Rule(
        "password",
        rf"(?i)\b{_SECRET_WORD}{_ABOUT}{_IS}(?P<secret>[^\s\"'`“”‘’,;()]{{5,200}}[^\s\"'`“”‘’,;()!?.])",
        ("passw", "passphrase", "pwd", "secret", "token", "credential", "key"),
        is_mixed=True,
        allowed=(_PLACEHOLDER, _TECHNICAL),
    ),
    Rule(
        "secret",
        rf"(?<![A-Za-z])(?i:{_SECRET_WORD})(?![A-Za-z])[^\n]{{0,40}}?(?<![\w/+=.-])((?=[^\d\s]*\d\S*\d)(?=[^A-Z\s]*[A-Z])(?=[^a-z\s]*[a-z])"
        r"[A-Za-z0-9+/_=-]{24,200})(?![\w(/.])",
        ("passw", "passphrase", "pwd", "secret", "token", "credential", "key"),
        entropy=4.2,
        allowed=(_PLACEHOLDER,),
    ),
)


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    return (*OWN_RULES, *_gitleaks_rules())


def _gitleaks_rules() -> list[Rule]:
    found = util.find_spec(_PACKAGE)
    places = found.submodule_search_locations if found is not None else None
    try:
        if not places:
            raise FileNotFoundError(_PACKAGE)
        document = tomllib.loads((Path(places[0]) / _FILE).read_text(encoding="utf-8"))
        everywhere = _allowed(document["allowlist"])
        return [
            _rule(entry, everywhere) for entry in document["rules"] if "regex" in entry and entry["id"] not in _SLOW
        ]
    except (OSError, ValueError, KeyError) as failure:
        # Text must not pass unfiltered.
        raise GoloreError(f"The rules for secrets ({_PACKAGE}) are missing. Install golore again.") from failure


def _rule(entry: dict[str, Any], everywhere: Allowed) -> Rule:
    source: str = entry["regex"]
    name: str = entry["id"]
    if not source.startswith(_ASSIGNMENT):
        source = source.replace(_DELIMITER, _PROSE_DELIMITER)
    allowed = [_allowed(one) for one in entry.get("allowlists", ()) if one.get("condition") != "AND"]
    return Rule(
        " ".join(_NAMES.get(word, word) for word in name.split("-")),
        source,
        tuple(entry["keywords"]),
        float(entry.get("entropy", 0.0)),
        entry.get("secretGroup", 0),
        name == _GENERIC,
        (everywhere, *allowed),
    )


def _allowed(entry: dict[str, Any]) -> Allowed:
    part = entry.get("regexTarget", "secret")
    return Allowed(part, tuple(entry.get("regexes", ())), tuple(map(str.lower, entry.get("stopwords", ()))))


def _compiled(source: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # a set that begins with "[" will mean something else one day
        return re.compile(python_pattern(source))


def python_pattern(source: str) -> str:
    """A pattern of Go in Python's syntax: `\\z`, and `(?i)` that holds from there to the end of the group."""
    if source.startswith("(?i)"):
        return "(?i)" + python_pattern(source[4:])
    pieces: list[str] = []
    open_groups = [0]
    """For each open group, how many groups were added inside it."""
    for token in re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?i\)|.", source, re.DOTALL):
        if token == "(?i)":
            open_groups[-1] += 1
            token = "(?i:"
        elif token == "(":
            open_groups.append(0)
        elif token == ")":
            token = ")" * (open_groups.pop() + 1)
        elif token == "|" and open_groups[-1]:
            token = f"{')' * open_groups[-1]}|{'(?i:' * open_groups[-1]}"
        elif token == r"\z":
            token = r"\Z"
        pieces.append(token)
    return "".join(pieces) + ")" * open_groups[0]
