"""Embedding models: a local one that ONNX Runtime runs, and those of an Ollama server.

The built-in model is MiniLM L6 with int8 weights (see `model_files`); any directory with an ONNX model of sentences,
whose vectors are means over tokens, works too. On 133 questions that use other words than the code, MiniLM found as
much as Granite 30M (hit@10 .72 and .70, MRR@10 .42 and .41, `benchmarks/meaning.py`) in a seventh of the time; static
embedding tables are far behind.

The name of a model has the digest of its files, and vectors are stored under that name: vectors of another model, or of
another version of the same one, are never compared with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, cast

from golore.graph.errors import ModelUnavailable
from golore.graph.safety.secret_filter import remove_secrets
from golore.summarizers.models.endpoint import client_options, is_loopback, ollama_host
from golore.summarizers.models.model_files import MINILM, ModelFile, is_installed, model_directory, read_model

DEFAULT: Final = "minilm"
OLLAMA: Final = "ollama:"
BATCH: Final = 64
_DIGEST: Final = 12
"""Characters of a digest in the name of a model."""
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
    """Open the model `minilm`, the one in a directory, or `ollama:MODEL`. Raises `ModelUnavailable` with a message that
    says what to do.

    `host` is a server that the user named for this run. Without it, only a server on this machine is used.
    """
    if name.startswith(OLLAMA):
        return Ollama(name.removeprefix(OLLAMA), host)
    if name == DEFAULT:
        if not is_installed():
            raise ModelUnavailable(
                "The embedding model is not on this machine. Run `golore embed --download` to download it, or give a "
                "directory with a model, or an Ollama model, as --model; search by words works without it."
            )
        return LocalModel(model_directory(), DEFAULT, MINILM)
    if not Path(name).is_dir():
        raise ModelUnavailable(
            f"There is no embedding model {name!r}. Use {DEFAULT}, {OLLAMA}nomic-embed-text, or the directory of one."
        )
    return LocalModel(Path(name), Path(name).name)


class LocalModel:
    """A model in files of this machine. The vector of a text does not depend on the other texts of the batch."""

    def __init__(self, directory: Path, label: str, known: Sequence[ModelFile] = ()) -> None:
        try:
            runtime: Any = import_module("onnxruntime")
            tokenizers: Any = import_module("tokenizers")
        except ImportError as failure:
            raise ModelUnavailable(
                "ONNX Runtime is not installed. Run `pip install 'golore[vectors]'`; search by words works without it."
            ) from failure
        files = read_model(directory, known)
        self.name = f"{label} {files.digest[:_DIGEST]}"
        options = runtime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # no busy waiting between texts
        options.enable_cpu_mem_arena = False
        try:
            self._session = runtime.InferenceSession(files.weights, options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_buffer(files.tokenizer)
            self._inputs = {one.name for one in self._session.get_inputs()}
            self.dimensions = int(self._session.get_outputs()[0].shape[-1])
        except Exception as failure:  # each library has errors of its own for files that are not what they should be
            raise ModelUnavailable(f"The files in {directory} are no model that works here: {failure}") from failure
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_TOKENS)

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
        states, *_ = self._session.run(None, {name: value for name, value in inputs.items() if name in self._inputs})
        means: Any = (states * mask[:, :, np.newaxis]).sum(axis=1)
        lengths: Any = (means * means).sum(axis=1, keepdims=True) ** 0.5
        return (means / lengths).tolist()


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
        self._digest = ""

    def close(self) -> None:
        self._client.close()

    @property
    def name(self) -> str:
        """With the digest that the server has for the model now."""
        if not self._digest:
            try:
                listed = self._client.list()["models"]
            except Exception as failure:
                raise self._failed(failure) from failure
            digests = {one["model"]: one["digest"] for one in listed}
            self._digest = digests.get(self._model) or digests.get(f"{self._model}:latest") or "unknown"
        return f"{OLLAMA}{self._model} {self._digest.removeprefix('sha256:')[:_DIGEST]}"

    def _failed(self, failure: Exception) -> ModelUnavailable:
        return ModelUnavailable(
            f"Ollama could not embed with {self._model}: {failure}. "
            f"Check that it is running, and run `ollama pull {self._model}`."
        )

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
            raise self._failed(failure) from failure
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
