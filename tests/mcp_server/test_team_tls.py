"""A team server with a certificate of its own: clients that know it are answered, and nothing goes over plain HTTP."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import anyio
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from golore.mcp_server.cli.main import main
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from support.fleet import make_repositories, publish
from support.mcp_client import told
from support.team import LIBRARY, Team, call, requested, serving


class Served(NamedTuple):
    team: Team
    certificate: Path

    @property
    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "golore test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "server.pem", folder / "server.key"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """Two processes, so that both listen with TLS."""
    folder = tmp_path_factory.mktemp("tls")
    (folder / "lake").mkdir()
    for root in make_repositories(folder).values():
        publish(root, folder / "lake")
    certificate, key = make_certificate(folder)
    with serving(folder, "--tls-cert", str(certificate), "--tls-key", str(key), "--processes", "2") as team:
        yield Served(team, certificate)


def test_a_client_that_trusts_the_certificate_is_answered(served: Served) -> None:
    assert served.team.url.startswith("https://127.0.0.1:")

    async def run() -> str:
        headers = {"Authorization": f"Bearer {served.team.anna}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, verify=served.trusting) as sender,
            Client(streamable_http_client(served.team.url, http_client=sender)) as client,
        ):
            return await told(client, "memory_graph", question="callers", symbol="store.Open", repository="app")

    assert "main.go:12" in anyio.run(run)


def test_a_client_that_does_not_trust_it_sends_no_token(served: Served) -> None:
    connection = http.client.HTTPSConnection("127.0.0.1", served.team.port, timeout=60)
    with pytest.raises(ssl.SSLCertVerificationError):
        connection.request("POST", "/mcp", call("memory_status", {}), {"Authorization": f"Bearer {served.team.anna}"})


def test_plain_http_is_not_answered(served: Served) -> None:
    with pytest.raises((http.client.HTTPException, OSError)):
        requested(served.team, "GET", "/healthz")


def test_a_ticket_is_only_for_tls(served: Served) -> None:
    port = served.team.port
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=served.trusting)
    body = urlencode({"token": served.team.anna})
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"https://127.0.0.1:{port}"}
    connection.request("POST", "/view/login", body, form)
    reply = connection.getresponse()
    cookie = reply.headers["Set-Cookie"]
    assert (reply.status, cookie.endswith("; HttpOnly; SameSite=Strict; Secure")) == (303, True)
    reply.read()
    connection.request("GET", f"/view/{LIBRARY}/-/", headers={"Cookie": cookie.partition(";")[0]})
    reply = connection.getresponse()
    assert (reply.status, b"Where does it start?" in reply.read()) == (200, True)
    connection.close()


def test_a_certificate_that_does_not_fit_its_key_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    certificate, _ = make_certificate(tmp_path / "one")
    _, key = make_certificate(tmp_path / "two")
    tokens = tmp_path / "tokens.toml"
    (tmp_path / "lake").mkdir()
    options = ["--new-token", "anna", "--repositories", "*"]
    assert main(["serve", "--tokens", str(tokens), *options]) == 0
    capsys.readouterr()
    command = ["serve", "--lake", str(tmp_path / "lake"), "--tokens", str(tokens)]
    assert main([*command, "--tls-cert", str(certificate), "--tls-key", str(key)]) == 2
    assert "are no certificate and its key" in capsys.readouterr().err
