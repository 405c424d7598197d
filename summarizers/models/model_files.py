"""The files of the built-in embedding model: where they are, how they are downloaded, and the check of their digests.

The model is all-MiniLM-L6-v2 with int8 weights, at one revision. Its files are known by their SHA-256: a download that
differs is discarded, and a file that differs is not loaded. Nothing is downloaded unless the user asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import ModelUnavailable
from golore.graph.files.atomic_write import replacing
from golore.graph.safety.regular_file import read_regular
from golore.graph.safety.state_directory import create_state_directory, state_directory

WEIGHTS: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
HOST: Final = "huggingface.co"
LICENCE: Final = "Apache-2.0"
_REVISION: Final = f"https://{HOST}/Xenova/all-MiniLM-L6-v2/resolve/751bff37182d3f1213fa05d7196b954e230abad9"
_LARGEST: Final = 1 << 30
"""Bytes of a model that golore would still load."""
_SECONDS: Final = 60.0


class ModelFile(NamedTuple):
    name: str
    url: str
    size: int
    sha256: str


MINILM: Final = (
    ModelFile(
        WEIGHTS,
        f"{_REVISION}/onnx/model_quantized.onnx",
        22_972_370,
        "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
    ),
    ModelFile(
        TOKENIZER,
        f"{_REVISION}/tokenizer.json",
        711_661,
        "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
    ),
)


class LoadedFiles(NamedTuple):
    """What was read, and a digest of all of it."""

    weights: bytes
    tokenizer: bytes
    digest: str


def model_directory() -> Path:
    """The directory of the built-in model, which need not exist."""
    return Path(state_directory(), "models", "minilm")


def is_installed() -> bool:
    return all((model_directory() / file.name).is_file() for file in MINILM)


def read_model(directory: Path, known: Sequence[ModelFile] = ()) -> LoadedFiles:
    """Read a model from a directory and check the digests of known files. What is checked is what is returned: the
    files are not read again. Raises `ModelUnavailable` if one is missing or differs."""
    contents: dict[str, bytes] = {}
    for name in (WEIGHTS, TOKENIZER):
        try:
            contents[name] = read_regular(directory / name, _LARGEST, follow=True)
        except OSError as failure:
            raise ModelUnavailable(
                f"The embedding model in {directory} has no readable {name} ({failure.strerror or failure}). A model "
                f"is a directory with {WEIGHTS} and {TOKENIZER}."
            ) from failure
    for file in known:
        if sha256(contents[file.name]).hexdigest() != file.sha256:
            raise ModelUnavailable(
                f"{directory / file.name} is not the file that golore knows: its digest differs. Run `golore embed "
                "--download` to get it again."
            )
    digest = sha256(b"".join(sha256(contents[name]).digest() for name in (WEIGHTS, TOKENIZER))).hexdigest()
    return LoadedFiles(contents[WEIGHTS], contents[TOKENIZER], digest)


def download_model(files: Sequence[ModelFile] = MINILM, tick: Callable[[int], None] | None = None) -> Path:
    """Download the files of the built-in model and return their directory. A file is kept only if its digest is the
    known one. `tick` is called with the number of bytes received."""
    directory = Path(create_state_directory("models", "minilm"))
    for file in files:
        data = _downloaded(file, tick)
        if sha256(data).hexdigest() != file.sha256:
            raise ModelUnavailable(
                f"What {file.url} returned is not the file that golore knows: its digest differs. It was not kept."
            )
        with replacing(directory / file.name) as out:
            out.write(data)
    return directory


def _downloaded(file: ModelFile, tick: Callable[[int], None] | None) -> bytes:
    import httpx

    data = bytearray()
    try:
        with (
            httpx.Client(follow_redirects=True, timeout=_SECONDS) as client,
            client.stream("GET", file.url) as response,
        ):
            response.raise_for_status()
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > file.size:
                    break  # the digest cannot match any more
                if tick is not None:
                    tick(len(chunk))
    except (httpx.HTTPError, OSError) as failure:
        raise ModelUnavailable(
            f"{file.url} could not be downloaded: {failure}. Try again, or give a directory with a model as --model."
        ) from failure
    return bytes(data)
