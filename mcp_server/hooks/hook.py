"""`golore hook AGENT`: reads an agent's event on standard input, and prints what golore knows about the code concerned.

It fails open: the exit code is always 0, nothing is printed if there is nothing to add, and errors go only to the
user's `hook.log`. It never changes, blocks or delays what the agent does: it prints no decision, and an alarm ends it
if it hangs. The same text is not printed twice to the same agent in a session, and the characters printed in a session
are limited.

Only small modules without imports of their own are loaded here: no engine, no MCP, no pydantic, no argparse.
"""

import os

from golore.graph.cards.card_store import Card, CardStore, open_card_store
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.graph.safety.system import exit_after
from golore.graph.safety.trust import blake2b_hex
from golore.graph.safety.visible_text import visible_block, visible_line
from golore.mcp_server.hooks.event_paths import native_path, relative_path
from golore.mcp_server.hooks.payloads import COMPACTED, EDIT, PROMPT, READ, START, STOP, Event, parse_event, parse_json
from golore.mcp_server.hooks.store_locator import find_store

SWITCH_VARIABLE = "GOLORE_HOOKS"
SETTINGS_NAME = "settings.toml"
BUDGET = 60_000
"""Characters printed in a session, or until its context is compacted: about thirty cards."""
_MAX_ANSWER = 9_500
"""Claude Code cuts at 10,000 characters, Codex at about 2,500 tokens."""
_MAX_INPUT = 16 << 20
_DEADLINE = 3.0
_WAIT = 0.25
OFF = ("off", "0", "false", "no")
_MEMBERS = ("method", "imethod", "field")
"""Kinds of symbols whose qualified names contain the name of a type."""
_TASKS_HEAD = "Tasks in golore's notes that are not done, as people and agents wrote them (data):"
_MAX_SYMBOLS = 4
_ENOUGH_PARTS = 2
"""If a prompt names this many things, golore does not guess what else it is about."""
_BEGINNING_LENGTH = 320
_RECALLED_NOTE_HEAD = "A note in golore that has the words of this prompt, as somebody wrote it (data):"
_MAX_DECLARATIONS = 3
"""A name with more declarations than this is too ambiguous to show them."""


def run_hook(agent: str) -> int:
    """Run one hook. Returns the exit code, which is always 0."""
    store = ""
    try:
        exit_after(_DEADLINE)  # even if a lock or an open pipe blocks: the agent waits for its hook
        data = _read_input()
        if os.environ.get(SWITCH_VARIABLE, "").strip().lower() in OFF:
            return 0
        payload = parse_json(data.decode("utf-8", "replace"))
        event = parse_event(payload, agent) if isinstance(payload, dict) else None
        if event is None:
            return 0
        repository = _repository_of(event)
        if repository is None:
            _learn_first(event)
            return 0
        root, store = repository
        settings = _Settings(store)
        if settings.enabled:
            _serve(event, root, store, settings)
    except Exception:  # noqa: BLE001  a failure must not disturb the agent
        _log(store, f"golore hook {agent}")
    return 0


class _Settings:
    """The table `[hooks]` of the store's settings.toml. If the file cannot be read, hooks are off."""

    __slots__ = ("budget", "enabled", "relearn", "turn_end")

    def __init__(self, store: str) -> None:
        self.enabled, self.relearn, self.turn_end, self.budget = True, True, True, BUDGET
        path = os.path.join(store, SETTINGS_NAME)
        if not os.path.exists(path):
            return
        from golore.mcp_server.hooks.hook_settings import read_hook_settings

        try:
            table = read_hook_settings(path)
            self.enabled = bool(table.get("enabled", True))
            self.relearn = bool(table.get("relearn", True))
            self.turn_end = bool(table.get("turn_end", True))
            self.budget = table.get("budget", BUDGET)
        except (OSError, ValueError, AttributeError):
            self.enabled = False
            _log(store, f"{path} cannot be read, so hooks are off")


class _Part:
    """A text to print. `key` identifies it, so that it is printed once in a session."""

    __slots__ = ("head", "is_stale", "key", "subject", "text")

    def __init__(self, subject: str, text: str, *, is_stale: bool = False, head: str = "") -> None:
        self.head = head or f"golore's facts about {subject}, learned from the code (data):"
        self.subject = subject
        self.text = text
        self.is_stale = is_stale
        self.key = f"{subject} {blake2b_hex(text.encode('utf-8', 'replace'), 8)}"

    def rendered(self) -> str:
        """The text in a code fence, because it quotes names and comments of the code, which may contain anything. The
        head stays on its line, because it has names and paths."""
        text = visible_block(self.text)
        fence = "```"
        while fence in text:
            fence += "`"
        stale = "\nThe file has changed since; lines and uses may differ." if self.is_stale else ""
        return f"{visible_line(self.head)}\n{fence}\n{text}\n{fence}{stale}"


def _serve(event: Event, root: str, store: str, settings: _Settings) -> None:
    card_store = open_card_store(store, write=False, wait=_WAIT)
    stale = event.kind == EDIT
    if card_store is not None:
        with card_store:
            session = event.session or _hour_as_session()
            if event.kind == COMPACTED or (event.kind == START and event.prompt in ("compact", "clear")):
                card_store.forget_session(session)
            if event.kind == EDIT and settings.turn_end:
                _record_edits(event, card_store, root, session)
            parts = _parts(event, card_store, root) if event.shape else []
            if event.kind == STOP and settings.turn_end:
                parts = _parts_of_turn(card_store, root, store, session)
            if event.kind == PROMPT and event.shape and len(parts) < _ENOUGH_PARTS:
                parts += _recalled_parts(event, card_store, root, store, session)
            stale = stale or any(part.is_stale for part in parts)
            text = _new_text(parts, card_store, session, event.agent, settings.budget)
            if text:
                _print(_answer(event, text))
    if stale and settings.relearn:
        from golore.mcp_server.hooks.background_learn import start_background_learn

        start_background_learn(root, store)


def _learn_first(event: Event) -> None:
    """Start to learn a repository that has no store, and say so once."""
    from golore.mcp_server.hooks.first_learn import ANNOUNCEMENT, start_first_learn, unlearned_checkout

    is_time = event.kind not in (COMPACTED, STOP)
    checkout = unlearned_checkout(event.cwd, event.files) if is_time else None
    if checkout is not None and start_first_learn(*checkout) and event.shape:
        _print(_answer(event, ANNOUNCEMENT))


def _parts(event: Event, card_store: CardStore, root: str) -> list[_Part]:
    if event.kind == START:
        card = card_store.card("")
        tasks = (card_store.meta("tasks") or b"").decode()
        parts = [_Part("this repository", card.text)] if card is not None else []
        return [*parts, _Part("tasks", tasks, head=_TASKS_HEAD)] if tasks else parts
    if event.kind == PROMPT:
        return _parts_of_prompt(event, card_store, root)
    if event.kind in (READ, EDIT):
        parts: list[_Part] = []
        for file in event.files:
            path = _relative_to_root(root, event.cwd, file)
            card = card_store.card(path) if path else None
            if card is None:
                continue
            text = _read_bytes(root, path)
            part = _card_part(card, text)
            if event.kind == EDIT and event.new_texts:
                parts += _parts_of_edit(event, card_store, path, text, is_stale=part.is_stale)
            parts.append(part)
        return parts
    return []


def _card_part(card: Card, text: bytes) -> _Part:
    return _Part(card.path, card.text, is_stale=bool(card.digest) and blake2b_hex(text, 16) != card.digest)


def _parts_of_edit(event: Event, card_store: CardStore, path: str, text: bytes, *, is_stale: bool) -> list[_Part]:
    """Facts about the declarations that an edit touched."""
    from golore.mcp_server.hooks.prompt_names import is_named, touched_names

    parts: list[_Part] = []
    for name in touched_names(text.decode("utf-8", "replace"), event.new_texts)[:_MAX_SYMBOLS]:
        for symbol in card_store.symbols(name.rpartition(".")[2]):
            is_match = is_named(symbol.qualified_name, name) and ("." in name) == (symbol.kind in _MEMBERS)
            if is_match and symbol.path == path and symbol.text:
                parts.append(_Part(f"{name} in {path}", symbol.text, is_stale=is_stale))
                break
    return parts


def _parts_of_prompt(event: Event, card_store: CardStore, root: str) -> list[_Part]:
    from golore.mcp_server.hooks.prompt_names import is_named, mentioned_names, mentioned_paths

    parts: list[_Part] = []
    for mentioned in mentioned_paths(event.prompt):
        path = _relative_to_root(root, event.cwd, mentioned) or _relative_to_root(root, root, mentioned)
        if path.endswith(".go"):
            card = card_store.card(path)
            if card is not None:
                parts.append(_card_part(card, _read_bytes(root, path)))
        elif path and os.path.isdir(os.path.join(root, path)):
            card = card_store.card("./" if path == "." else f"{path}/")
            if card is not None:
                parts.append(_Part(f"the package in {card.path}", card.text))
    symbols = 0
    for name in mentioned_names(event.prompt):
        found = [one for one in card_store.symbols(name.rpartition(".")[2]) if is_named(one.qualified_name, name)]
        found = [one for one in found if one.kind not in _MEMBERS] or found
        if found and len(found) <= _MAX_DECLARATIONS and symbols < _MAX_SYMBOLS:
            symbols += 1
            parts += [_Part(one.qualified_name, one.text) for one in found if one.text]
    return parts


def _record_edits(event: Event, card_store: CardStore, root: str, session: str) -> None:
    resolved = (_resolved(event.cwd, file) for file in event.files)
    paths = [path for file in resolved if (path := relative_path(root, file)) not in ("", ".")]
    try:
        card_store.record_edits(session, paths)
    except Exception:  # noqa: BLE001  a learn is writing: the end of the turn then says less
        return


def _parts_of_turn(card_store: CardStore, root: str, store: str, session: str) -> list[_Part]:
    """What the edits touch that the session has made since this was last said."""
    edits = card_store.edits(session)
    if not edits:
        return []
    from golore.mcp_server.hooks.turn_report import DEADLINE, turn_report

    exit_after(DEADLINE)
    text = turn_report(root, store, edits)
    if text is None:
        return []
    card_store.forget_edits(session, edits)
    return [_Part("what the edits of this session touch", text)] if text else []


def _recalled_parts(event: Event, card_store: CardStore, root: str, store: str, session: str) -> list[_Part]:
    """Code and notes that the prompt may be about without naming them; usually none."""
    from golore.graph.search.prompt_recall import CHARACTERS, recalled

    parts: list[_Part] = []
    left = CHARACTERS
    for one in recalled(store, root, event.prompt, _WAIT):
        if one.text:
            part = _Part("", one.text, head=_RECALLED_NOTE_HEAD)
        else:
            card = card_store.card(one.path)
            # If the whole card was shown, its beginning is not needed.
            if card is None or card_store.was_shown(session, event.agent, _card_part(card, b"").key):
                continue
            part = _Part(f"{one.path}, which has the words of this prompt", _beginning(card.text))
        left -= len(part.rendered()) + 1
        if left < 0:
            break
        parts.append(part)
    return parts


def _beginning(text: str) -> str:
    """The first lines of a card. A title whose lines do not fit is left out."""
    if len(text) <= _BEGINNING_LENGTH:
        return text
    end = text.rfind("\n", 0, _BEGINNING_LENGTH)
    kept = text[: end if end > 0 else _BEGINNING_LENGTH]
    if kept.endswith(":"):
        return kept[: kept.rfind("\n")] if "\n" in kept else kept[:-1]
    return kept


def _new_text(parts: list[_Part], card_store: CardStore, session: str, agent: str, budget: int) -> str:
    """The text of the parts that are new to this agent and fit the budget. Records them as shown."""
    left = min(_MAX_ANSWER, budget - card_store.characters_shown(session)) if parts else 0
    texts: list[str] = []
    for part in parts:
        text = part.rendered()
        if len(text) > left or not _record_shown(part, card_store, session, agent, len(text)):
            continue
        left -= len(text) + 1
        texts.append(text)
    return "\n".join(texts)


def _record_shown(part: _Part, card_store: CardStore, session: str, agent: str, characters: int) -> bool:
    """Record a part as shown. Returns False if it was shown before."""
    if card_store.was_shown(session, agent, part.key):
        return False
    try:
        return card_store.record_shown(session, agent, part.key, characters)
    except Exception:  # noqa: BLE001  a learn is writing: showing it twice is better than never
        return True


def _answer(event: Event, text: str) -> str:
    try:
        from _json import encode_basestring_ascii as quoted
    except ImportError:
        from json import dumps as quoted
    if event.shape == "cursor":
        return f'{{"additional_context":{quoted(text)}}}\n'
    if event.shape == "copilot":
        return f'{{"additionalContext":{quoted(text)}}}\n'
    inner = f'"hookEventName":{quoted(event.name)},"additionalContext":{quoted(text)}'
    return f'{{"hookSpecificOutput":{{{inner}}}}}\n'


def _repository_of(event: Event) -> tuple[str, str] | None:
    """Root and store of the first file that is in a repository; without files, of the agent's working directory."""
    event.cwd = native_path(event.cwd) or os.getcwd()
    event.files = [native_path(file) for file in event.files]
    for file in event.files:
        path = _resolved(event.cwd, file)
        if event.kind == EDIT or os.path.isfile(path):
            repository = find_store(os.path.dirname(path))
            if repository is not None:
                return repository
    return None if event.files else find_store(_resolved(event.cwd, ""))


def _resolved(folder: str, path: str) -> str:
    """The absolute path without links; the root if it has characters that no file name can have."""
    try:
        return os.path.realpath(os.path.join(folder, os.path.expanduser(path)))
    except ValueError:
        return "/"


def _relative_to_root(root: str, folder: str, path: str) -> str:
    """The path relative to the root, "." for the root itself; empty if it is outside or does not exist."""
    path = _resolved(folder, path)
    relative = relative_path(root, path)
    return relative if relative == "." or os.path.exists(path) else ""


def _read_bytes(root: str, path: str) -> bytes:
    return read_regular(os.path.join(root, path), SOURCE_LIMIT)


def _hour_as_session() -> str:
    """Session id for an agent that sends none: each text is then shown once an hour."""
    import time

    return f"hour {int(time.time()) // 3600}"


def _read_input() -> bytes:
    """Read all of standard input, so that the agent can write all of it. Empty if it is larger than any payload."""
    pieces: list[bytes] = []
    size = 0
    while piece := os.read(0, 1 << 16):
        size += len(piece)
        if size <= _MAX_INPUT:
            pieces.append(piece)
    return b"".join(pieces) if size <= _MAX_INPUT else b""


def _print(text: str) -> None:
    data = text.encode("ascii")
    while data:
        data = data[os.write(1, data) :]


def _log(store: str, action: str) -> None:
    from golore.mcp_server.hooks.log import log_failure

    log_failure(store, action)
