"""A real S3 server for tests: OpenStack Swift with its S3 API, on loopback, in an environment of its own.

One replica on one directory, without memcached and without root. Users and secrets are those of Swift's `tempauth`.
"""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

_SECONDS = 120
_PIPELINE = "catch_errors gatekeeper healthcheck listing_formats bulk s3api tempauth copy slo dlo proxy-server"
_USER = "team:publisher"
_SECRET = "secret"


class SwiftServer(NamedTuple):
    port: int

    def address(self, path: str) -> str:
        """The address of a lake in a bucket."""
        return f"s3://{path}?endpoint_override={quote(f'http://127.0.0.1:{self.port}', safe='')}&region=us-east-1"

    def credentials(self, user: str = _USER, secret: str = _SECRET) -> dict[str, str]:
        """Variables for the environment of a client."""
        return {"AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": secret, "AWS_EC2_METADATA_DISABLED": "true"}


@contextmanager
def swift_server(programs: Path, folder: Path) -> Generator[SwiftServer]:
    """Run a server until the block ends. `programs`: the directory of Swift's programs."""
    ports = dict(zip(("proxy", "account", "container", "object"), _free_ports(4), strict=True))
    (folder / "swift.conf").write_text(
        "[swift-hash]\nswift_hash_path_suffix = golore\n[storage-policy:0]\nname = one\n"
    )
    (folder / "devices" / "d1").mkdir(parents=True)
    for name in ("account", "container", "object"):
        _make_ring(programs, folder, name, ports[name])
    running: list[subprocess.Popen[bytes]] = []
    try:
        for name, port in ports.items():
            (folder / f"{name}.conf").write_text(_configuration(name, port, folder))
            with (folder / f"{name}.log").open("wb") as log:
                command = [
                    str(programs / "python"),
                    str(programs / f"swift-{name}-server"),
                    str(folder / f"{name}.conf"),
                ]
                running.append(subprocess.Popen([*command, "-v"], stdout=log, stderr=log, env=_environment(programs)))
        _wait_for(ports["proxy"], running, folder)
        yield SwiftServer(ports["proxy"])
    finally:
        for process in running:
            process.kill()
            process.wait()


def _make_ring(programs: Path, folder: Path, name: str, port: int) -> None:
    builder = [str(programs / "python"), str(programs / "swift-ring-builder"), str(folder / f"{name}.builder")]
    for arguments in (("create", "4", "1", "1"), ("add", f"r1z1-127.0.0.1:{port}/d1", "1"), ("rebalance",)):
        done = subprocess.run([*builder, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def _configuration(name: str, port: int, folder: Path) -> str:
    common = f"""[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {getpass.getuser()}
swift_dir = {folder}
devices = {folder / "devices"}
mount_check = false
workers = 0
disable_fallocate = true
"""
    if name != "proxy":
        return f"""{common}
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
"""
    filters = "".join(f"[filter:{one}]\nuse = egg:swift#{one}\n" for one in _PIPELINE.split()[:-1])
    filters = filters.replace("#s3api\n", "#s3api\nlocation = us-east-1\nallow_multipart_uploads = true\n")
    users = f"user_team_publisher = {_SECRET} .admin\nuser_team_stranger = {_SECRET}\n"
    filters = filters.replace("#tempauth\n", f"#tempauth\n{users}")
    return f"""{common}
[pipeline:main]
pipeline = {_PIPELINE}
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
{filters}"""


def _environment(programs: Path) -> dict[str, str]:
    return {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/")}


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _wait_for(port: int, running: list[subprocess.Popen[bytes]], folder: Path) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        assert all(process.poll() is None for process in running), [
            path.read_text()[-2000:] for path in folder.glob("*.log")
        ]
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthcheck") as reply:
            if reply.status == 200:
                return
        time.sleep(0.05)
    raise AssertionError("Swift did not start")
