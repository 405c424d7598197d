"""Nothing is sent to another machine unless the user said so: not by a repository's files, the environment, a proxy or
a redirect.

The other machine is a name that does not resolve, behind a proxy that records every request; or an address of this
machine that is not a loopback address.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from golore.graph.errors import AnswerFailed, GoloreError, ModelUnavailable, UsageError
from golore.graph.files.store_path import VECTOR_MODEL_NAME
from golore.mcp_server.cli.main import main
from golore.mcp_server.services.settings import model_settings
from golore.summarizers.models.anthropic import AnthropicModel
from golore.summarizers.models.embeddings import Ollama
from golore.summarizers.models.endpoint import is_loopback, ollama_host
from golore.summarizers.models.ollama import OllamaModel
from golore.summarizers.models.openai import OpenAiModel
from support.drafted_shop import LEVELS, drafted, learned_shop
from support.fake_ollama import fake_ollama
from support.learned_tree import copy_repository

REMOTE = "http://models.example:11434"
_VARIABLES = ("OLLAMA_HOST", "GOLORE_MODEL_HOST", "GOLORE_MODEL", "GOLORE_MODEL_SERVER", "NO_PROXY", "no_proxy")


class _Recorder(BaseHTTPRequestHandler):
    """Records what arrives. Redirects if the server has a `target`."""

    def _answer(self) -> None:
        server = self.server
        assert isinstance(server, Recorder)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server.arrived.append(f"{self.command} {self.path}")
        self.send_response(307 if server.target else 403)  # neither is asked again
        if server.target:
            self.send_header("Location", server.target + self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_CONNECT = _answer  # noqa: N815  the names that http.server looks for

    def log_message(self, format: str, *args: object) -> None:
        pass


class Recorder(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Recorder)
        self.arrived: list[str] = []
        self.target = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


def running(server: Recorder) -> Generator[Recorder]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Generator[Recorder]:
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    server = Recorder()
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, server.url)
    yield from running(server)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def shop(learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return copy_repository(learned, tmp_path / "shop")


def users_settings(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config" / "golore" / "settings.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_a_committed_model_of_vectors_sends_nothing_to_another_machine(
    shop: Path, proxy: Recorder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", REMOTE)
    (shop / ".golore" / VECTOR_MODEL_NAME).write_text("ollama:x")
    (shop / "new.go").write_text("package shop\n\n// New is new.\nfunc New() {}\n")
    assert main(["learn", str(shop), "--no-summaries", "--workers", "0"]) == 0
    assert main(["search", "--repo", str(shop), "keep what was saved"]) == 0
    assert main(["embed", "--repo", str(shop)]) == 1
    assert f"OLLAMA_HOST names {REMOTE}, which is not on this machine" in capsys.readouterr().err
    assert proxy.arrived == []
    main(["embed", "--repo", str(shop), "--host", REMOTE])  # the user says so
    assert proxy.arrived == [f"GET {REMOTE}/api/tags"]


@pytest.mark.parametrize("variable", ["OLLAMA_HOST", "GOLORE_MODEL_HOST"])
def test_the_environment_alone_has_no_code_sent_to_another_machine(
    variable: str, shop: Path, tmp_path: Path, proxy: Recorder, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv(variable, REMOTE)
    command = ["summarize", "--repo", str(shop), "--model", "tiny"]
    for more in ([], ["--background"]):
        assert main([*command, *more]) == 2
        assert f"names the server {REMOTE}, which is not on this machine" in capsys.readouterr().err
    assert proxy.arrived == []
    main([*command, "--host", REMOTE])
    assert proxy.arrived
    proxy.arrived.clear()
    users_settings(tmp_path, f'[models]\nhost = "{REMOTE}"\n')
    main(command)
    assert proxy.arrived


@pytest.mark.parametrize(
    "host",
    [
        REMOTE,
        "models.example",
        "http://127.0.0.1@models.example",
        "http://user:pass@127.0.0.1:11434",
        "http://models.example\\@127.0.0.1",
        "http://127.0.0.1\\@models.example",
        "http://127.0.0.1.nip.io:11434",
        "http://localhost.models.example",
        "http://127.0.0.1 .models.example",
        "http://[::ffff:8.8.8.8]",
        "http://[",
        "http://0x7f000001",
        "",
    ],
)
def test_settings_in_a_store_name_no_other_machine(host: str, shop: Path, tmp_path: Path) -> None:
    (shop / ".golore" / "settings.toml").write_text(f"[models]\nhost = '{host}'\n")
    assert not is_loopback(host)
    with pytest.raises(UsageError, match="not on this machine"):
        model_settings(shop / ".golore", {}, {"XDG_CONFIG_HOME": str(tmp_path)})


@pytest.mark.parametrize("host", ["http://127.0.0.1:11434", "localhost:1", "http://[::1]:5", "https://127.9.9.9/v1"])
def test_settings_in_a_store_name_servers_on_this_machine(host: str, shop: Path, tmp_path: Path) -> None:
    (shop / ".golore" / "settings.toml").write_text(f"[models]\nhost = '{host}'\n")
    assert model_settings(shop / ".golore", {}, {"XDG_CONFIG_HOME": str(tmp_path)}).host == host


def test_a_store_decides_neither_when_nor_how_the_users_server_is_asked(shop: Path, tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    (shop / ".golore" / "settings.toml").write_text('[models]\nwatch = true\nserver = "openai"\nparallel = 3\n')
    users_settings(tmp_path, f'[models]\nhost = "{REMOTE}"\n')
    found = model_settings(shop / ".golore", {}, environ)
    assert (found.host, found.server, found.watch, found.parallel) == (REMOTE, "ollama", False, 3)
    assert model_settings(shop / ".golore", {"host": "localhost:1"}, environ).watch
    assert model_settings(shop / ".golore", {"server": "openai"}, environ).server == "openai"


def test_settings_that_are_a_link_or_a_device_are_not_read(shop: Path, tmp_path: Path) -> None:
    settings = shop / ".golore" / "settings.toml"
    settings.symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="cannot be read"):
        model_settings(shop / ".golore", {}, {"XDG_CONFIG_HOME": str(tmp_path)})


def test_the_address_of_all_networks_is_this_machine_for_a_client() -> None:
    assert ollama_host({"OLLAMA_HOST": "0.0.0.0"}) == "127.0.0.1"
    assert ollama_host({"OLLAMA_HOST": "http://0.0.0.0:999/"}) == "http://127.0.0.1:999/"
    assert ollama_host({"OLLAMA_HOST": "[::]:5"}) == "127.0.0.1:5"
    assert ollama_host({"OLLAMA_HOST": "0.0.0.0.models.example"}) == "0.0.0.0.models.example"
    assert ollama_host({}) == "http://127.0.0.1:11434"


def test_a_proxy_of_the_environment_does_not_get_what_is_for_this_machine(shop: Path, proxy: Recorder) -> None:
    with fake_ollama() as server:
        assert main(["summarize", "--repo", str(shop), "--model", "tiny", "--host", server.host]) == 0
        with closing(Ollama("tiny", server.host)) as embedder, pytest.raises(ModelUnavailable):
            embedder.question("a")  # the fake has no embeddings
        for model in (OpenAiModel("tiny", server.host), AnthropicModel("tiny", "key", server.host)):
            with pytest.raises(GoloreError):  # nor these protocols
                model.complete("a", "b")
            model.close()
    assert drafted(shop) == LEVELS
    assert proxy.arrived == []


def test_a_redirect_to_another_server_is_not_followed(proxy: Recorder) -> None:
    for redirecting in running(Recorder()):
        redirecting.target = REMOTE
        for model in (
            OllamaModel("tiny", redirecting.url),
            OpenAiModel("tiny", redirecting.url),
            AnthropicModel("tiny", "key", redirecting.url),
        ):
            with pytest.raises((AnswerFailed, ModelUnavailable)):
                model.complete("a", "b")
            model.close()
        with closing(Ollama("tiny", redirecting.url)) as embedder, pytest.raises(ModelUnavailable):
            embedder.question("a")
        assert len(redirecting.arrived) == 4
    assert proxy.arrived == []
