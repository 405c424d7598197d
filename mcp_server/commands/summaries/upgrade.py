"""`golore upgrade`: has a frontier model rewrite the most valuable draft summaries, through its API.

The cost is estimated and shown before anything is sent. The key comes from the environment and is sent to that one
server only. Secrets are removed from what is sent.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import AnswerFailed, ModelError, ModelUnavailable, UsageError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summary_inputs import inputs_of
from golore.graph.phrases import counted
from golore.graph.safety.secret_filter import removal_message
from golore.mcp_server.services.knowledge.draft_list import Draft, drafts
from golore.mcp_server.services.knowledge.upgrades import accept_summary, publish_summary
from golore.mcp_server.services.open_store import open_current_store
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.services.settings import UpgradeSettings, upgrade_settings
from golore.mcp_server.text.output import print_json, print_lines, print_message, styled
from golore.summarizers.drafting.prompts import prompt_for, retry_prompt, tokens_of
from golore.summarizers.models.anthropic import HOST, AnthropicModel
from golore.summarizers.models.filtered_model import FilteredModel
from golore.summarizers.models.model import ANSWER_TOKENS, Model, Prompt, ask
from golore.summarizers.models.openai import OpenAiModel

_MILLION: Final = 1_000_000
_KEYS: Final = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_OPENAI: Final = "https://api.openai.com"


@dataclass(slots=True)
class Upgrade:
    """The result of a run. `cost` is in dollars, 0 if the prices are unknown."""

    model: str
    taken: int = 0
    refused: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost: float = 0.0
    stopped: str = ""
    reasons: list[str] = field(default_factory=list[str])


def run_upgrade(
    start: Path,
    *,
    limit: int,
    max_cost: float | None,
    price: str,
    is_agreed: bool,
    as_json: bool,
    provider: str | None = None,
    model: str | None = None,
    host: str | None = None,
) -> int:
    repository = find_repository(start)
    settings = upgrade_settings({"provider": provider, "model": model, "host": host, **_prices(price)})
    if max_cost is not None and not settings.price_in:
        raise UsageError("--max-cost needs prices: give them with --price IN/OUT, in dollars per million tokens.")
    with closing(FilteredModel(frontier_model(settings))) as opened:
        code = _run(repository, opened, settings, limit, max_cost, is_agreed=is_agreed, as_json=as_json)
    if opened.removed:
        print_message(f"golore: {removal_message(opened.removed)}")
    return code


def _run(
    repository: LearnedRepository,
    model: Model,
    settings: UpgradeSettings,
    limit: int,
    max_cost: float | None,
    *,
    is_agreed: bool,
    as_json: bool,
) -> int:
    with open_current_store(repository) as store:
        found = drafts(repository, store, limit, with_material=True)
        prompts = [_prompt(repository, store, one, model.context) for one in found]
    work = [(one, prompt) for one, prompt in zip(found, prompts, strict=True) if prompt is not None]
    if not as_json:
        print_lines(_estimate_lines(work, settings, model))
    if not work:
        return 0
    if not is_agreed and not _ask_to_send():
        print_message("Nothing was sent.")
        return 1
    outcome = _upgrade(repository, model, work, settings, max_cost)
    if as_json:
        print_json(outcome)
    else:
        print_lines(_lines(outcome))
    return 1 if outcome.stopped and not outcome.taken else 0


def frontier_model(settings: UpgradeSettings) -> AnthropicModel | OpenAiModel:
    variable = _KEYS[settings.provider]
    key = os.environ.get(variable, "")
    if not key and not settings.host:
        raise ModelUnavailable(
            f"{variable} is not set. Set it to your API key, or name a server that needs none with --host."
        )
    if not settings.model:
        raise ModelUnavailable("No model is set. Name it with --model, as the API does, or in your settings.")
    if settings.provider == "anthropic":
        return AnthropicModel(settings.model, key, settings.host or HOST, context=settings.context)
    return OpenAiModel(settings.model, settings.host or _OPENAI, key=key, context=settings.context)


def _prompt(repository: LearnedRepository, store: Store, one: Draft, context: int) -> Prompt | None:
    with Knowledge.open(repository.store) as knowledge:
        inputs = inputs_of(store, repository.root, knowledge, one.level, one.subject)
    if inputs is None or inputs.digest != one.digest:
        return None
    name = inputs.pieces[0].title if one.level == "symbol" else one.subject
    facts = [one.material.partition("\n\n")[0], f"A draft to improve on, which may be wrong: {one.text}"]
    return prompt_for(inputs, name, facts, context)


def _upgrade(
    repository: LearnedRepository,
    model: Model,
    work: list[tuple[Draft, Prompt]],
    settings: UpgradeSettings,
    max_cost: float | None,
) -> Upgrade:
    outcome = Upgrade(model.name)
    for one, prompt in work:
        if max_cost is not None and outcome.cost + _cost(tokens_of(prompt), ANSWER_TOKENS, settings) > max_cost:
            outcome.stopped = f"The next text could exceed the limit of ${max_cost:.2f}."
            break
        try:
            _improve(repository, model, one, prompt, settings, outcome)
        except AnswerFailed as failure:
            outcome.refused += 1
            outcome.reasons.append(f"{one.subject}: {failure}")
        except ModelError as failure:
            outcome.stopped = str(failure)
            break
    return outcome


def _improve(
    repository: LearnedRepository, model: Model, one: Draft, prompt: Prompt, settings: UpgradeSettings, outcome: Upgrade
) -> None:
    """Request one text, and once more if the first is refused."""
    reason = ""
    for attempt in range(2):
        answer = ask(model, prompt, threading.Event())
        outcome.prompt_tokens += answer.prompt_tokens
        outcome.answer_tokens += answer.answer_tokens
        outcome.cost += _cost(answer.prompt_tokens, answer.answer_tokens, settings)
        try:
            with Store.open(repository.store, write=False) as store:
                record = accept_summary(
                    repository, store, one.level, one.subject, answer.text, one.digest, model=model.name
                )
        except UsageError as refusal:
            reason = str(refusal)
            if attempt == 0:
                prompt = retry_prompt(prompt, answer.text, [reason])
            continue
        publish_summary(repository, record)
        outcome.taken += 1
        return
    outcome.refused += 1
    outcome.reasons.append(f"{one.subject}: {reason}")


def _cost(tokens_in: int, tokens_out: int, settings: UpgradeSettings) -> float:
    return (tokens_in * settings.price_in + tokens_out * settings.price_out) / _MILLION


def _prices(text: str) -> dict[str, float]:
    if not text:
        return {}
    first, _, second = text.partition("/")
    try:
        return {"price_in": float(first), "price_out": float(second)}
    except ValueError as failure:
        raise UsageError(f"--price {text} is not IN/OUT, such as 3/15.") from failure


def _estimate_lines(work: list[tuple[Draft, Prompt]], settings: UpgradeSettings, model: Model) -> list[str]:
    if not work:
        return ["There is nothing to improve: no summary is a draft or stale."]
    tokens = sum(tokens_of(prompt) for _, prompt in work)
    answers = len(work) * ANSWER_TOKENS
    if settings.price_in:
        price = f"at most about ${_cost(tokens, answers, settings):.2f}, twice that if every text is written twice"
    else:
        price = "at an unknown price; give it with --price IN/OUT"
    sent = f"about {tokens:,} tokens of code and facts"
    return [
        styled(f"{counted(len(work), 'summary')} to be rewritten by {model.name}:", "bold")
        + f" {sent} would be sent and up to {answers:,} come back, {price}."
    ]


def _ask_to_send() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("Nothing is sent without confirmation. Use --yes to confirm.")
    return input("Send it? [y/N] ").strip().lower() in ("y", "yes")


def _lines(outcome: Upgrade) -> list[str]:
    cost = f", ${outcome.cost:.2f}" if outcome.cost else ""
    tokens = f"{outcome.prompt_tokens:,} tokens in, {outcome.answer_tokens:,} out{cost}"
    done = f"{counted(outcome.taken, 'summary')} rewritten by {outcome.model}"
    lines = [styled(done, "bold") + f" ({tokens})."]
    if outcome.refused:
        lines.append(f"{counted(outcome.refused, 'text')} refused:")
        lines += [f"  {reason}" for reason in outcome.reasons]
    if outcome.stopped:
        lines.append(f"Stopped: {outcome.stopped}")
    return lines
