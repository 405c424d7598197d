"""Vectors: kept by digest, made once, resumed, of one model at a time; and what they add to a search."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.graph.errors import ModelUnavailable
from golore.graph.safety.state_directory import create_state_directory
from golore.graph.search.index import GRAPH, open_index
from golore.graph.search.results.hits import Hit, SearchRequest
from golore.graph.search.search import search
from golore.graph.search.vectors import Near, VectorFile, VectorSearch, stored_vectors
from golore.graph.search.weights import doubt
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from golore.mcp_server.commands.summaries import embed as embed_command
from golore.mcp_server.services.knowledge.vectors import embed
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.search_sources import sources_of
from golore.summarizers.models.embeddings import Ollama, open_embedder
from golore.summarizers.models.model_files import ModelFile, download_model, read_model
from support.local_model import make_model
from support.shop import make_shop


class Letters:
    """An embedder whose vectors are counts of letters, and that tells how many texts it was given."""

    def __init__(self, name: str = "letters", dimensions: int = 26) -> None:
        self.name = name
        self.dimensions = dimensions
        self.given = 0

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.given += len(texts)
        return [self.question(text) for text in texts]

    def question(self, text: str) -> list[float]:
        return [float(text.lower().count(chr(ord("a") + at % 26))) for at in range(self.dimensions)]


@pytest.fixture
def shop(tmp_path: Path) -> LearnedRepository:
    root = make_shop(tmp_path)
    learn_graph(root)
    finish(root, root / ".golore")
    return LearnedRepository(root, root / ".golore")


def test_only_what_has_no_vector_is_embedded_and_a_run_goes_on_where_it_stopped(shop: LearnedRepository) -> None:
    letters = Letters()
    begun = embed(shop, letters, limit=4)
    assert (begun.made, letters.given) == (4, 4)
    rest = embed(shop, letters)
    assert rest.made == begun.left > 0
    assert embed(shop, letters).made == 0
    source = shop.root / "store/store.go"
    source.write_text(source.read_text("utf-8").replace("counts a key", "adds up keys"), encoding="utf-8")
    learn_graph(shop.root)
    finish(shop.root, shop.store)
    assert embed(shop, letters).made == 1


def test_another_model_takes_the_place_of_the_first_when_it_has_all(shop: LearnedRepository) -> None:
    whole = embed(shop, Letters()).made
    other = Letters("other letters", 30)
    embed(shop, other, limit=2)
    assert stored_vectors(shop.store, "letters") is not None
    assert embed(shop, other).made == whole - 2
    assert stored_vectors(shop.store, "letters") is None
    found = stored_vectors(shop.store, "other letters")
    assert found is not None
    assert (found.dimensions, found.size) == (30, whole)


def test_rows_that_a_killed_run_left_without_keys_are_cut_off(tmp_path: Path) -> None:
    file = VectorFile(tmp_path, "m", 4)
    file.append([b"a" * 8], [[1, 0, 0, 0]])
    with file.rows_path.open("ab") as rows:
        rows.write(b"half")
    assert file.size == 1
    file.append([b"b" * 8], [[0, 0, 0, 1]])
    space = VectorSearch(file, [(7, b"a" * 8), (8, b"b" * 8 + b"c" * 8)])
    assert (len(space), space.missing) == (2, 1)
    assert next(iter(space.nearest([0, 0, 0.1, 1]))) == 8


def test_a_deleted_file_is_near_nothing_and_the_nearest_text_decides(shop: LearnedRepository) -> None:
    letters = Letters()
    embed(shop, letters)
    file = stored_vectors(shop.store, "letters")
    assert file is not None

    def nearest(text: str) -> str:
        index = open_index(shop.store)
        assert index is not None
        with index:
            paths = {row.id: row.path for row in index.files()}
            near = VectorSearch(file, index.embedding_keys()).nearest(letters.question(text))
            return paths[max(near, key=lambda id: near[id])]

    assert nearest("store sync linux: sync") == "store/sync_linux.go"
    (shop.root / "store/sync_linux.go").unlink()
    learn_graph(shop.root)
    finish(shop.root, shop.store)
    assert nearest("store sync linux: sync") == "store/sync_windows.go"


def test_a_local_model_finds_what_is_said_in_other_words(
    shop: LearnedRepository, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    model = make_model(tmp_path_factory.mktemp("models") / "small")
    (shop.root / "store/more.go").write_text(
        "package store\n\n// Rotate turns a list around.\nfunc Rotate() {}\n\n"
        "// EvictStale removes entries whose lifetime is over.\nfunc EvictStale() {}\n",
        encoding="utf-8",
    )
    learn_graph(shop.root)
    finish(shop.root, shop.store)

    def asked(text: str, kind: str = "file") -> tuple[Hit, ...]:
        with Store.open(shop.store, write=False) as store, sources_of(shop, store) as sources:
            return search(sources, SearchRequest(text, kind=kind, explain=True)).hits

    question = "discard what has outlived its time"
    before = asked(question)
    assert main(["embed", "--json", "--repo", str(shop.root), "--model", str(model)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["dimensions"], told["left"]) == (384, 0)
    assert told["model"] == f"small {read_model(model).digest[:12]}"
    assert stored_vectors(shop.store, told["model"]) is not None
    after = asked(question)
    assert "store/more.go" not in {hit.file for hit in before}
    assert after[0].file == "store/more.go"
    assert after[0].signals["meaning"] > 0
    assert (after[0].line, after[0].symbols[0].name) == (7, "example.com/shop/store.EvictStale")
    assert asked(question, "func")[0].name == "example.com/shop/store.EvictStale"
    assert main(["embed", "--json", "--repo", str(shop.root)]) == 0
    assert json.loads(capsys.readouterr().out)["made"] == 0


@pytest.mark.parametrize(("best", "expected"), [(0.3, 1.0), (0.4, 1.0), (0.475, 0.5), (0.55, 0.0), (0.9, 0.0)])
def test_vectors_count_as_far_as_the_other_signals_leave_in_doubt(best: float, expected: float) -> None:
    assert doubt({1: best, 2: best / 2}) == pytest.approx(expected)


def test_vectors_are_not_asked_where_words_and_paths_agree_on_a_file(shop: LearnedRepository) -> None:
    def asked(text: str) -> bool:
        questions: list[str] = []

        def meaning(question: str) -> dict[int, Near]:
            questions.append(question)
            return {}

        with Store.open(shop.store, write=False) as store, sources_of(shop, store) as sources:
            search(replace(sources, meaning=meaning), SearchRequest(text))
        return bool(questions)

    assert asked("discard what has outlived its time")
    assert not asked("store: sync on linux")


class Served(BaseHTTPRequestHandler):
    """What Ollama's `/api/embed` answers, as far as it is used here."""

    def do_GET(self) -> None:
        assert self.path == "/api/tags"
        self.send({"models": [{"model": "letters:latest", "digest": "0123456789abcdef"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        letters = Letters(dimensions=5)
        known = self.path == "/api/embed" and asked["model"] == "letters"
        answer = (
            {"model": "letters", "embeddings": letters.passages(asked["input"])} if known else {"error": "not found"}
        )
        self.send(answer, 200 if known else 404)

    def send(self, answer: object, code: int = 200) -> None:
        data = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def ollama() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Served) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_model_of_ollama_is_asked_by_its_own_protocol(ollama: str) -> None:
    with closing(Ollama("letters", ollama)) as letters:
        assert letters.name == "ollama:letters 0123456789ab"
        assert letters.dimensions == 5
        assert letters.passages(["abc", "aa"]) == [[1, 1, 1, 0, 0], [2, 0, 0, 0, 0]]
    with closing(Ollama("nothing", ollama)) as nothing, pytest.raises(ModelUnavailable, match="ollama pull nothing"):
        nothing.question("a")
    with pytest.raises(ModelUnavailable, match="There is no embedding model 'word2vec'"):
        open_embedder("word2vec")


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory without models."""
    directory = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    return directory / "golore"


def test_without_a_model_nothing_is_downloaded_and_one_sentence_says_how(
    shop: LearnedRepository, state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(start: Path) -> LearnedRepository:
        return shop._replace(root=start)

    monkeypatch.setattr(embed_command, "find_repository", found)  # the new state directory does not trust the store
    assert main(["embed", "--repo", str(shop.root)]) == 1
    assert "Run `golore embed --download` to download it" in capsys.readouterr().err
    assert not (state / "models").exists()
    assert main(["embed", "--repo", str(shop.root), "--model", str(shop.root)]) == 1
    assert "has no readable model.onnx" in capsys.readouterr().err


def test_a_file_of_the_built_in_model_that_differs_is_not_loaded(state: Path) -> None:
    make_model(Path(create_state_directory("models")) / "minilm")
    with pytest.raises(ModelUnavailable, match=r"model\.onnx is not the file that golore knows"):
        open_embedder()
    (state / "models" / "minilm" / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match="is not on this machine"):
        open_embedder()


def test_files_that_are_no_model_are_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    with pytest.raises(ModelUnavailable, match="are no model that works here"):
        open_embedder(str(tmp_path))


class Files(BaseHTTPRequestHandler):
    """Answers every request with the last part of its path."""

    def do_GET(self) -> None:
        data = self.path.rpartition("/")[2].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_a_download_is_kept_only_if_its_digest_is_the_known_one(state: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/files"
        good = ModelFile("model.onnx", f"{url}/weights", 7, sha256(b"weights").hexdigest())
        received: list[int] = []
        assert download_model([good], received.append) == state / "models" / "minilm"
        assert (state / "models" / "minilm" / "model.onnx").read_bytes() == b"weights"
        assert sum(received) == 7
        bad = ModelFile("tokenizer.json", f"{url}/other-words", 5, sha256(b"words").hexdigest())
        with pytest.raises(ModelUnavailable, match=r"its digest differs\. It was not kept"):
            download_model([bad])
        assert sorted(path.name for path in (state / "models" / "minilm").iterdir()) == ["model.onnx"]
        server.shutdown()
    with pytest.raises(ModelUnavailable, match="could not be downloaded"):
        download_model([good])


def test_an_index_that_was_lost_is_made_again_before_texts_are_taken_from_it(shop: LearnedRepository) -> None:
    whole = embed(shop, Letters()).made
    writer = open_index(shop.store, write=True)
    assert writer is not None
    with writer, writer.writing():
        writer.replace_all(())
        writer.set_meta(GRAPH, b"")
    assert embed(shop, Letters("other letters", 30)).made == whole
