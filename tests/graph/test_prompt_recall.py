"""What a prompt brings to mind that names no code: the few files that have its rare words, or nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from golore.graph.cards.card_store import create_card_store
from golore.graph.search.prompt_recall import CHARACTERS, recalled
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from support.hook_process import GOLORE, hook, seen

TOPICS = (
    "invoice",
    "shipment",
    "catalog",
    "warehouse",
    "discount",
    "refund",
    "currency",
    "basket",
    "voucher",
    "ledger",
)
PROMPT = "Refunds are paid twice when the voucher of a customer has expired"
GENERIC = ("Please make this faster and add a test", "What does this repository do?", "fix it", "yes", "")


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module with a package for each topic, used by one another so that there are cards; two topics meet once."""
    root = tmp_path_factory.mktemp("market")
    (root / "go.mod").write_text("module example.com/market\n\ngo 1.24\n", encoding="utf-8")
    for topic, other in zip(TOPICS, (*TOPICS[1:], ""), strict=True):
        imported = f'import "example.com/market/{other}"\n\n' if other else ""
        used = f"{other}.New{other.title()}()" if other else ""
        text = f"package {topic}\n\n{imported}// New{topic.title()} begins.\nfunc New{topic.title()}() {{ {used} }}\n"
        (root / topic).mkdir()
        (root / topic / f"{topic}.go").write_text(text, encoding="utf-8")
    (root / "refund/expired.go").write_text(
        "package refund\n\n// PayVoucher pays the refund of a voucher unless it has expired.\nfunc PayVoucher() {}\n",
        encoding="utf-8",
    )
    (root / "basket/pay.go").write_text(
        'package basket\n\nimport "example.com/market/refund"\n\nfunc Pay() { refund.PayVoucher() }\n', encoding="utf-8"
    )
    learn_graph(root)
    finish(root, root / ".golore")
    return root


def prompted(root: Path, text: str, session: str) -> str:
    payload = {"session_id": session, "cwd": str(root), "hook_event_name": "UserPromptSubmit", "prompt": text}
    return seen(hook("claude", payload))


def test_a_prompt_leads_to_the_file_in_which_its_rare_words_meet(market: Path) -> None:
    found = recalled(str(market / ".golore"), str(market), PROMPT)
    assert [one.path for one in found] == ["refund/expired.go"]


def test_a_prompt_that_says_little_recalls_nothing(market: Path) -> None:
    for text in (*GENERIC, "refund", "zebra quagga okapi"):
        assert recalled(str(market / ".golore"), str(market), text) == [], text
    assert recalled(str(market / "nowhere"), str(market), PROMPT) == []


def test_a_prompt_whose_words_meet_nowhere_recalls_nothing(market: Path) -> None:
    """Each word names a package, so several files fit a little and none of them fits well."""
    text = "The invoice, the shipment, the catalog, the warehouse and the discount of a customer are wrong"
    assert recalled(str(market / ".golore"), str(market), text) == []


def test_a_hook_tells_what_a_prompt_brings_to_mind_once_and_briefly(market: Path) -> None:
    told = prompted(market, PROMPT, "one")
    assert "golore's facts about refund/expired.go, which has the words of this prompt" in told
    assert "PayVoucher" in told
    assert len(told) <= CHARACTERS
    assert prompted(market, PROMPT, "one") == ""
    assert prompted(market, PROMPT, "two") == told
    assert prompted(market, GENERIC[0], "three") == ""


def test_a_card_that_is_cut_does_not_end_in_a_title_without_lines(market: Path) -> None:
    path = "refund/expired.go"
    with create_card_store(market / ".golore") as card_store:
        card = card_store.card(path)
        assert card is not None
        long = f"Used from 4 other files, all of its own package:\n- {'x' * 400}"
        card_store.update_texts([(path, long)], [])
        told = prompted(market, PROMPT, "six")
        card_store.update_texts([(path, card.main)], [])
    assert "Used from 4 other files, all of its own package" in told.splitlines()


def test_whoever_saw_the_card_is_not_told_of_the_file_again(market: Path) -> None:
    path = market / "refund/expired.go"
    read = {
        "session_id": "four",
        "cwd": str(market),
        "hook_event_name": "PostToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": str(path)},
    }
    assert "refund/expired.go" in seen(hook("claude", read))
    assert prompted(market, PROMPT, "four") == ""


def test_recalling_loads_nothing_heavy(market: Path) -> None:
    payload = {"session_id": "five", "cwd": str(market), "hook_event_name": "UserPromptSubmit", "prompt": PROMPT}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", GOLORE, "hook", "claude"],
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=True,
    )
    loaded = {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}
    assert "golore.graph.search.prompt_recall" in loaded
    assert not loaded & {"enum", "json", "pathlib", "re", "typing", "msgspec", "golore.graph.database.store"}
