"""Settings from files, the environment and the command line.

An option of a command overrides the environment, which overrides the store's `settings.toml`, which overrides the
user's `$XDG_CONFIG_HOME/golore/settings.toml`. Hooks read their table of the store's file themselves (see
`hooks.hook_settings`).

A store is in the repository, which may be a stranger's. Its settings can therefore only name a server on this machine,
and cannot set where a key is sent. A server on another machine must be named by the user, in an option or in the user's
file: a repository can contain files that set variables of the environment.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from golore.graph.errors import UsageError
from golore.graph.safety.regular_file import SETTINGS_LIMIT, read_regular
from golore.summarizers.models.endpoint import is_loopback, ollama_host

SETTINGS_NAME: Final = "settings.toml"
SERVERS: Final = ("ollama", "openai")
PROVIDERS: Final = ("anthropic", "openai")
_MAX_BYTES: Final = 1 << 20
_VARIABLES: Final = {"host": "GOLORE_MODEL_HOST", "model": "GOLORE_MODEL", "server": "GOLORE_MODEL_SERVER"}


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The table `[models]`: the model for drafts. `context` is in tokens. With `watch`, `golore watch` drafts, too."""

    server: str = "ollama"
    host: str = ""
    model: str = ""
    context: int = 4096
    parallel: int = 2
    seconds: int = 120
    watch: bool = False


@dataclass(frozen=True, slots=True)
class UpgradeSettings:
    """The table `[upgrade]`: the paid model that improves drafts. Prices are dollars per million tokens; 0: unknown."""

    provider: str = "anthropic"
    host: str = ""
    model: str = ""
    context: int = 32_000
    price_in: float = 0.0
    price_out: float = 0.0


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """The table `[fleet]`: the address of the lake that commands use if none is given."""

    lake: str = ""


_Settings = TypeVar("_Settings", ModelSettings, UpgradeSettings, FleetSettings)


def model_settings(
    store: Path, options: Mapping[str, object], environ: Mapping[str, str] = os.environ
) -> ModelSettings:
    """The settings for a store. Options that are None are ignored."""
    user = _table(_user_file(environ), "models", follow=True)
    own = _table(store / SETTINGS_NAME, "models")
    if "host" in own and not is_loopback(str(own["host"])):
        raise UsageError(
            f"{store / SETTINGS_NAME} names the server {own['host']}, which is not on this machine. "
            f"To use it anyway, name it with --host or in {_user_file(environ)}."
        )
    given = {name: environ[variable] for name, variable in _VARIABLES.items() if environ.get(variable)}
    given |= _given(options)
    values = user | own | given
    if "host" not in values and values.get("server", "ollama") == "ollama" and environ.get("OLLAMA_HOST"):
        given["host"] = ollama_host(environ)
    if not is_loopback(str((values | given).get("host", "localhost"))):
        # A store does not decide when code is sent to another machine, nor by which protocol, which decides on the key.
        own = {name: value for name, value in own.items() if name not in ("server", "watch")}
    values = user | own | given
    found = _build(ModelSettings, values, "models")
    if found.server not in SERVERS:
        raise UsageError(f"models.server is {found.server!r}; it must be {' or '.join(SERVERS)}.")
    return found


def upgrade_settings(options: Mapping[str, object], environ: Mapping[str, str] = os.environ) -> UpgradeSettings:
    """The settings from the user's file and the options of the command, never from a store."""
    values = _table(_user_file(environ), "upgrade", follow=True)
    found = _build(UpgradeSettings, values | _given(options), "upgrade")
    if found.provider not in PROVIDERS:
        raise UsageError(f"upgrade.provider is {found.provider!r}; it must be {' or '.join(PROVIDERS)}.")
    return found


def lake_address(given: str, environ: Mapping[str, str] = os.environ) -> str:
    """The address of the lake: the given one, or that of the user's file. Neither a store nor the environment can name
    one, because what is read from a lake is shown to agents."""
    if given:
        return given
    found = _build(FleetSettings, _table(_user_file(environ), "fleet", follow=True), "fleet").lake
    if not found:
        raise UsageError(
            f"Name the lake: a directory, s3:// or gs://; or set `lake` in [fleet] in {_user_file(environ)}."
        )
    return found


def require_agreed(host: str, options: Mapping[str, object], environ: Mapping[str, str] = os.environ) -> None:
    """Raise `UsageError` if a server is on another machine and neither an option nor the user's file names it."""
    if is_loopback(host) or host in (options.get("host"), _table(_user_file(environ), "models").get("host")):
        return
    raise UsageError(
        f"The environment names the server {host}, which is not on this machine, so nothing was sent to it. "
        f"To send code there, name it with --host, or as `host` in [models] in {_user_file(environ)}."
    )


def _user_file(environ: Mapping[str, str]) -> Path:
    home = environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(home) / "golore" / SETTINGS_NAME


def _table(path: Path, name: str, *, follow: bool = False) -> dict[str, Any]:
    """A table of a settings file. `follow` permits a link: users keep their own files as links, strangers set traps."""
    try:
        found = tomllib.loads(read_regular(path, SETTINGS_LIMIT, follow=follow).decode()).get(name, {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as failure:
        raise UsageError(f"{path} cannot be read: {failure}. Correct it.") from failure
    if not isinstance(found, dict):
        raise UsageError(f"{path}: {name} is not a table. Write [{name}] above its values.")
    return dict(cast("dict[str, Any]", found))


def _given(options: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _build(kind: type[_Settings], values: dict[str, Any], table: str) -> _Settings:
    defaults = kind()
    for name, value in values.items():
        if not hasattr(defaults, name):
            known = ", ".join(sorted(kind.__dataclass_fields__))
            raise UsageError(f"There is no setting {table}.{name}. Known settings: {known}.")
        wanted = cast("type[object]", type(getattr(defaults, name)))
        if wanted is float and type(value) is int:
            values[name] = float(value)
        elif type(value) is not wanted:
            raise UsageError(f"{table}.{name} has the wrong type: it must be {wanted.__name__}.")
    return kind(**values)
