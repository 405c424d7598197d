"""Secrets are removed from text; digests, hashes and ordinary words stay.

The secrets here are made up. Each is put together from two parts, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from golore.graph.safety.secret_filter import removal_message, remove_secrets
from golore.graph.safety.secret_rules import all_rules, python_pattern
from hypothesis import given
from hypothesis import strategies as st

AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYzuVkQw9tLs"
SECRETS = {
    "Anthropic": ("No, the key is {}.", "sk-ant-" + "api03-Zk3mT9qLr8VwYx2Bn5Cd7Fg1Hj4Kp6Ms0Qt-uWvXyZaAbBcCAA"),
    "OpenAI": ("use {} for now", "sk-" + "proj-4Hk2mT9qLr8VwYx2Bn5Cd7Fg1Hj4"),
    "AWS access key": ("the id is {}, in us-east-1", "AKIA" + "Q3EGSIXXFE7DT4NB"),
    "AWS access key of the documentation": ("{}", "AKIA" + "IOSFODNN7EXAMPLE"),
    "AWS secret key": ("aws_secret_access_key = {}", AWS_SECRET),
    "AWS secret key in prose": ("The AWS secret is {}!", AWS_SECRET),
    "AWS secret key in Go": ('const awsSecret = "{}"', AWS_SECRET),
    "GitHub token": ("({})", "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"),
    "GitHub fine-grained token": ("{},", "github_pat_" + "11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789abcd"),
    "Slack": ("{}", "xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"),
    "Stripe": ("{}.", "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"),
    "Google": ("{}", "AIza" + "SyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe"),
    "npm": ("//registry.npmjs.org/:_authToken={}", "npm_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"),
    "GitLab": ("{}", "glpat-" + "Zx8Qw3Er5Ty7Ui9Op1As"),
    "private key": (
        "It is\n{}\nhere",
        "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bqX\nabcdefghijklmnop==\n-----END RSA PRIVATE KEY-----",
    ),
    "private key without its end": ("{}.", "-----BEGIN " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bqXabcdefghijklmnop"),
    "private key on one line": (
        "{}",
        "-----BEGIN EC " + "PRIVATE KEY-----\\nMHcCAQEEIIrYSSNQFaA2\\n-----END EC PRIVATE KEY-----",
    ),
    "JWT": (
        "{}.",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFU",
    ),
    "URL": ("postgres://app:{}@db.internal:5432/shop", "s3cr3t" + "Pw"),
    "assigned password": ('password = "{}"', "sword" + "fish"),
    "YAML": ("  password: {}", "hunter2" + "hunter"),
    "environment": ("export DB_PASSWORD={}", "hunter2" + "xyz"),
    "prose": ("the password is {}, by the way", "hunter" + "2"),
    "prose without a verb": ("log in with the password {}.", "hunter2" + "hunter"),
    "prose with a reason": ("No, the password for the staging database is {}.", "Tr0ub4dor" + "&3"),
    "quoted prose": ("Its password is “{}”.", "correct" + "-horse"),
    "header": ("Authorization: Bearer {}", "abcdef1234" + "567890abcdef"),
    "curl": ("curl -s -u admin:{} https://x.example", "swordfish" + "9"),
    "token in prose": ("use the token {} to log in", "Zx8Qw3Er5Ty7Ui9" + "Op1As3Df5Gh7Jk9Lz"),
    "key and value": ("api_key: {}", "8f14e45fceea167a" + "5a36dedd4bea2543"),
}
ORDINARY = [
    "commit 86405f0c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f60 fixes it",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "h1:Mx0k8mR2hG3mJkqQ0b0vYxq1nOZ2w5bD1mC4r3K6x7E= in go.sum",
    "The id is 7b9f8c1e-4a54-4c9f-9d3c-0f6f0e7f9a11.",
    "dGVzdCB2ZWN0b3IgZm9yIGJhc2U2NCBlbmNvZGluZw== decodes to a test vector",
    "the password is wrong; the token is required, and the secret is stored in config.yaml",
    "the token is base64-encoded, the password is sha256-hashed, the key is 32-byte, passwords are bcrypt-hashed",
    'password := cfg.Password; password: string; if password == "" {',
    'cfg.Password = splitted[1]; password = os.Getenv("PW1")',
    "postgres://user:password@host/db https://$USER:$PASS@host https://<user>:<pass>@host git@github.com:x/y",
    "Set the header Authorization: Bearer <token>, or Authorization: Basic $CREDENTIALS.",
    "type TokenReviewSpec struct { Token string; Audiences []string }",
    "keys are compared with bytes.Compare; the key is immutable.",
    "passwordFile: /etc/golore/password",
    'strings.HasPrefix(line, "-----BEGIN PRIVATE KEY-----")',
    "sk-learn is a library, sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxx is a placeholder",
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_replaced_by_a_marker_and_the_rest_stays(name: str) -> None:
    sentence, secret = SECRETS[name]
    text = f"Before it. {sentence.format(secret)} After it."
    filtered = remove_secrets(text)
    assert secret not in filtered.text
    assert not any(len(part) > 8 and part in filtered.text for part in re.split(r"[\s.\\]+", secret) if "-" not in part)
    assert filtered.text.startswith("Before it. ")
    assert filtered.text.endswith(" After it.")
    assert len(filtered.removed) == 1
    assert f"[secret removed: {filtered.removed[0]}]" in filtered.text
    assert remove_secrets(filtered.text) == (filtered.text, ())


@pytest.mark.parametrize("text", ORDINARY)
def test_digests_hashes_placeholders_and_words_stay(text: str) -> None:
    assert remove_secrets(text) == (text, ())


def test_the_message_counts_the_kinds() -> None:
    both = f"{SECRETS['Stripe'][1]} {SECRETS['AWS access key'][1]} {SECRETS['AWS access key of the documentation'][1]}"
    assert removal_message(remove_secrets(both).removed) == "Removed 3 secrets: AWS access key (2), Stripe key (1)."
    assert removal_message(()) == ""


@given(st.text())
def test_any_text_is_filtered_and_filtering_it_again_changes_nothing(text: str) -> None:
    once = remove_secrets(f"password {text} key=")
    assert remove_secrets(once.text).text == once.text


def test_all_rules_of_gitleaks_are_there_and_compile() -> None:
    rules = all_rules()
    assert len(rules) > 230
    assert all(rule.pattern for rule in rules)
    assert all(allowed.patterns is not None for rule in rules for allowed in rule.allowed)
    assert all(rule.keywords and all(word == word.lower() for word in rule.keywords) for rule in rules)


@pytest.mark.parametrize(
    ("go", "matching", "other"),
    [
        (r"a(?i)b|c", ["ab", "aB", "C"], ["Ab", "A"]),
        (r"(x(?i)y)z\z", ["xyz", "xYz"], ["xyZ", "Xyz", "xyz\n"]),
        (r"(?i)a(?-i:b)[(?i)]", ["Ab(", "abi"], ["aB("]),
    ],
)
def test_patterns_of_go_keep_their_meaning(go: str, matching: list[str], other: list[str]) -> None:
    pattern = re.compile(python_pattern(go))
    assert [text for text in matching + other if pattern.search(text)] == matching


def test_the_filter_is_not_loaded_by_the_hook_process() -> None:
    code = "import sys, golore.mcp_server.hooks.hook; print([name for name in sys.modules if 'secret' in name])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
