"""Texts → vectors: the model that comes with `golore[vectors]`, and those of an Ollama server.

The embedded one is Granite 30M as signed bytes, in a package without dependencies and with the weights inside: no
server, no download. It was the best of those measured on paraphrased questions (DEPENDENCIES of the design: MRR@10 .59,
MiniLM .54, static tables .36), and takes some 25 ms of one core for a short text, so that vectors are made in the
background, what matters first. What the vectors are for, and where they are kept, is not known here.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

from golore.graph.errors import ModelUnavailable

DEFAULT: Final = "granite"
OLLAMA: Final = "ollama:"
BATCH: Final = 64


class Embedder(Protocol):
    """`name` stands for model and version: vectors of another name are of another space."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Vectors of texts that are to be found."""
        ...

    def question(self, text: str) -> list[float]:
        """The vector of a text that is asked."""
        ...


def open_embedder(name: str = DEFAULT, host: str = "") -> Embedder:
    """`granite`, or `ollama:MODEL`. Raises `ModelUnavailable`, with what to do."""
    if name.startswith(OLLAMA):
        return Ollama(name.removeprefix(OLLAMA), host)
    if name != DEFAULT:
        raise ModelUnavailable(f"There is no embedding model {name!r}. Use {DEFAULT}, or {OLLAMA}nomic-embed-text.")
    return Granite()


class Granite:
    """The embedded model. Loading it takes a quarter of a second and 180 MB while it works."""

    def __init__(self) -> None:
        try:
            module = importlib.import_module("holographic_memory")
        except ImportError as failure:
            raise ModelUnavailable(
                "The embedding model is not installed. Run `pip install 'golore[vectors]'`; words are searched without."
            ) from failure
        self._model: Any = module.Embedder(offline=True)

    @property
    def name(self) -> str:
        return f"{DEFAULT} {cast('str', self._model.revision)[:8]}"

    @property
    def dimensions(self) -> int:
        return cast("int", self._model.dimensions)

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        # Texts of one length are not filled up to that of the longest.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        made = cast("list[list[float]]", self._model.embed_passages([texts[at] for at in order]))
        vectors: list[list[float]] = [[] for _ in texts]
        for at, vector in zip(order, made, strict=True):
            vectors[at] = vector
        return vectors

    def question(self, text: str) -> list[float]:
        return cast("list[float]", self._model.embed_query(text))


class Ollama:
    """A model of an Ollama server, by `/api/embed`; its dimension is known after the first answer."""

    def __init__(self, model: str, host: str = "") -> None:
        import ollama

        self._model = model
        self._client: Any = ollama.Client(host=host or None)
        self._dimensions = 0

    @property
    def name(self) -> str:
        return f"{OLLAMA}{self._model}"

    @property
    def dimensions(self) -> int:
        if not self._dimensions:
            self.question("dimensions")
        return self._dimensions

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            answer = self._client.embed(model=self._model, input=list(texts))
        except Exception as failure:
            raise ModelUnavailable(
                f"Ollama did not embed with {self._model}: {failure}. "
                f"Check that it runs, and `ollama pull {self._model}`."
            ) from failure
        vectors = [list(map(float, vector)) for vector in cast("list[list[float]]", answer["embeddings"])]
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1:
            raise ModelUnavailable(f"Ollama's {self._model} gave {len(vectors)} vectors for {len(texts)} texts.")
        self._dimensions = len(vectors[0]) if vectors else 0
        return vectors

    def question(self, text: str) -> list[float]:
        return self.passages([text])[0]
