"""A model on another machine: prompts are sent to it without the secrets in them."""

from __future__ import annotations

from golore.graph.safety.secret_filter import remove_secrets
from golore.summarizers.models.model import ANSWER_TOKENS, Completion, Model


class FilteredModel:
    """Passes everything to `model`, prompts after the secret filter. `removed` has the kinds of what was removed."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.removed: list[str] = []

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context(self) -> int:
        return self._model.context

    def check(self) -> None:
        self._model.check()

    def close(self) -> None:
        self._model.close()

    def complete(self, system: str, text: str, longest: int = ANSWER_TOKENS) -> Completion:
        filtered = remove_secrets(text)
        self.removed += filtered.removed
        return self._model.complete(remove_secrets(system).text, filtered.text, longest)
