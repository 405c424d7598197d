"""Parses the payload that an agent sends to its hook: the event, the Go files, the text written and the session.

Agents use different names and rename their tools, so a tool is recognized by its input: the path of a file, with or
without text to write. Answers have the format of the payload. Nothing here reads the disk.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    Json = dict[str, "Json"] | list["Json"] | str | float | bool | None
    Fields = dict[str, Json]

READ = "read"
EDIT = "edit"
PROMPT = "prompt"
START = "start"
COMPACTED = "forget"
STOP = "stop"

_AFTER_TOOL_EVENTS = {"posttooluse", "aftertool"}
_BEFORE_TOOL_EVENTS = {"pretooluse"}
_PROMPT_EVENTS = {"userpromptsubmit", "userpromptsubmitted", "beforeagent"}
_START_EVENTS = {"sessionstart"}
_COMPACTION_EVENTS = {"precompact", "postcompact", "precompress"}
_STOP_EVENTS = {"stop"}
"""The end of a turn. Only Claude Code reads context there; others take it for a refusal to stop, or for a prompt."""
_SILENT_EVENTS = {"afterfileedit", "filechanged"}
"""Events after a file has changed, which take no answer."""

_PATH_KEYS = set(
    "absolutepath file filename filepath filepaths files include path paths relativepath relativeworkspacepath "
    "targetfile".split()
)
_NEW_TEXT_KEYS = set("code codeedit inserttext newstr newstring replacement".split())
_EDIT_KEYS = _NEW_TEXT_KEYS | set(
    "content contents diff edits filetext insertline newcontent oldstr oldstring patch replacements".split()
)
_EDIT_WORDS = ("edit", "write", "replace", "create", "patch", "insert", "delete")
_SESSION_KEYS = ("session_id", "sessionId", "conversation_id", "conversationId", "transcript_path", "transcriptPath")
_INPUT_KEYS = ("tool_input", "toolArgs", "tool_args", "toolInput")
_READING_COMMANDS = set("awk bat batcat cat head less more nl sed tail view".split())
_PATCH_START = "*** Begin Patch"
_MAX_DEPTH = 4
_MAX_FILES = 20
"""Files of one event to look at. An agent that opens files names fewer."""


class Event:
    """One call of the hook. `name` and `shape` give the format of the answer; if `shape` is empty, none is read."""

    __slots__ = ("agent", "cwd", "files", "kind", "name", "new_texts", "prompt", "session", "shape")

    def __init__(self, kind: str, name: str, shape: str, payload: "Fields") -> None:
        self.kind = kind
        self.name = name
        self.shape = shape
        self.session = _first_text(payload, _SESSION_KEYS)
        self.agent = _first_text(payload, ("agent_id", "agentId", "subagent_id"))
        self.cwd = _cwd(payload)
        self.prompt = ""
        self.files: list[str] = []
        """Paths that end in .go, as the agent wrote them and in its order."""
        self.new_texts: list[str] = []
        """Pieces of text that an edit wrote."""


def parse_event(payload: "Fields", agent: str) -> Event | None:
    """The event of a payload; None if the hook has nothing to do."""
    name = _first_text(payload, ("hook_event_name", "hookEventName", "event_name"))
    plain = name.replace("_", "").lower()
    shape = _shape(payload, agent, name)
    if not plain:
        plain = _infer_event_name(payload)
    if plain in _START_EVENTS:
        event = Event(START, name, shape, payload)
        event.prompt = _first_text(payload, ("source", "trigger"))
        return event
    if plain in _COMPACTION_EVENTS:
        # Gemini CLI announces an automatic compression before every turn, even if there is nothing to compress.
        is_certain = plain != "precompress" or payload.get("trigger") == "manual"
        return Event(COMPACTED, name, "", payload) if is_certain else None
    if plain in _PROMPT_EVENTS:
        event = Event(PROMPT, name, shape, payload)
        event.prompt = _without_hook_output(_first_text(payload, ("prompt", "user_prompt", "userPrompt")))
        return event
    if plain in _STOP_EVENTS:
        # If `stop_hook_active` is set, a hook's answer has already continued this turn. VS Code runs the hooks of
        # Claude Code, too, but names its events in `hookEventName` and reads no context here.
        is_first = agent == "claude" and "hook_event_name" in payload and not payload.get("stop_hook_active")
        return Event(STOP, name, shape, payload) if is_first and shape == "claude" else None
    if plain in _SILENT_EVENTS:
        return _tool_event(Event(EDIT, name, "", payload), "", payload)
    if plain in _AFTER_TOOL_EVENTS or (plain in _BEFORE_TOOL_EVENTS and shape == "claude"):
        tool = _first_text(payload, ("tool_name", "toolName"))
        if "golore" in tool or "memory_" in tool:
            return None  # a tool of golore's own MCP server
        event = _tool_event(Event(READ, name, shape, payload), tool, _tool_input(payload))
        return None if event is not None and event.kind == EDIT and plain in _BEFORE_TOOL_EVENTS else event
    return None


def parse_json(text: str) -> "Json":
    """Like `json.loads`, but None for invalid JSON. Importing `json` would take a third of a hook's time."""
    text = text.strip()
    if not text:
        return None
    try:
        from _json import make_scanner
    except ImportError:
        from json import loads

        try:
            return loads(text)
        except (ValueError, RecursionError):
            return None
    try:
        value, end = make_scanner(_ScannerRules)(text, 0)  # pyright: ignore[reportArgumentType]  wrong in the stubs
    except (StopIteration, ValueError, RecursionError):
        return None
    return value if end == len(text) else None


class _ScannerRules:
    """The attributes that the scanner reads from the standard library's decoder."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012  the scanner requires the attribute; nothing changes it


def _first_text(payload: "Fields", names: tuple[str, ...]) -> str:
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _without_hook_output(prompt: str) -> str:
    """The prompt without the output of earlier hooks, which Gemini CLI passes on as part of it."""
    while True:
        before, begins, rest = prompt.partition("<hook_context>")
        _, ends, after = rest.partition("</hook_context>")
        if not (begins and ends):
            return prompt
        prompt = before + after


def _cwd(payload: "Fields") -> str:
    directory = _first_text(payload, ("cwd", "workingDirectory"))
    roots = payload.get("workspace_roots")
    if not directory and isinstance(roots, list) and roots and isinstance(roots[0], str):
        return roots[0]
    return directory


def _shape(payload: "Fields", agent: str, name: str) -> str:
    if "cursor_version" in payload or (agent == "cursor" and not name[:1].isupper()):
        return "cursor"
    if not name and agent != "claude":
        return "copilot"
    return "claude"


def _infer_event_name(payload: "Fields") -> str:
    """The name of an event that is sent without one, inferred from its fields: Copilot's command line sends none."""
    if "toolName" in payload or "tool_name" in payload:
        done = any(name in payload for name in ("toolResult", "tool_result", "tool_response"))
        return "posttooluse" if done else "pretooluse"
    if "prompt" in payload:
        return "userpromptsubmit"
    if "customInstructions" in payload:
        return "precompact"
    return "sessionstart" if "source" in payload else ""


def _tool_input(payload: "Fields") -> "Json":
    for name in _INPUT_KEYS:
        value = payload.get(name)
        if isinstance(value, str):
            parsed = parse_json(value) if value.lstrip()[:1] == "{" else None
            return {"patch": value} if parsed is None else parsed
        if value is not None:
            return value
    return None


def _tool_event(event: Event, tool: str, tool_input: "Json") -> Event | None:
    if not isinstance(tool_input, dict):
        return None
    keys: set[str] = set()
    _collect(event, tool_input, "", _MAX_DEPTH, keys)
    command = _command(tool_input)
    if _PATCH_START in command:
        _read_patch(event, command)
        keys.add("patch")
    elif command and not event.files:
        event.files = _printed_files(command)
        folder = _first_text(tool_input, ("workdir", "cwd"))
        event.cwd = folder or event.cwd
    tool = tool.lower()
    if keys & _EDIT_KEYS or (not command and any(word in tool for word in _EDIT_WORDS)):
        event.kind = EDIT
    del event.files[_MAX_FILES:]
    return event if event.files else None


def _collect(event: Event, value: "Json", key: str, depth: int, keys: set[str]) -> None:
    """Collect the files and new texts in a tool's input, at any depth up to `depth`, and the names of all `keys`."""
    if isinstance(value, str):
        if key in _PATH_KEYS and value.endswith(".go") and "\n" not in value:
            if value not in event.files:
                event.files.append(value)
        elif key in _NEW_TEXT_KEYS:
            event.new_texts.append(value)
        elif key in ("patch", "input", "diff") and _PATCH_START in value:
            _read_patch(event, value)
            keys.add("patch")
    elif depth and isinstance(value, list):
        for item in value[:_MAX_FILES]:
            _collect(event, item, key, depth - 1, keys)
    elif depth and isinstance(value, dict):
        for name, item in value.items():
            plain = name.replace("_", "").lower()
            keys.add(plain)
            _collect(event, item, plain, depth - 1, keys)


def _command(tool_input: "Fields") -> str:
    command = tool_input.get("command") or tool_input.get("cmd")
    if isinstance(command, list):
        command = command[-1] if command[1:2] in (["-c"], ["-lc"]) else " ".join(map(str, command))
    return command if isinstance(command, str) else ""


def _printed_files(command: str) -> list[str]:
    """The Go files that a shell command prints, such as `sed -n 1,20p a.go`."""
    files: list[str] = []
    for separator in ("&&", "||", "|", "\n"):
        command = command.replace(separator, ";")
    for part in command.split(";"):
        words = part.split()
        if not words or words[0].rpartition("/")[2] not in _READING_COMMANDS or "-i" in words or ">" in part:
            continue
        for word in words[1:]:
            path = word.strip("\"'")
            if path.endswith(".go") and path not in files:
                files.append(path)
    return files


def _read_patch(event: Event, patch: str) -> None:
    hunk: list[str] = []
    for line in [*patch.splitlines(), "@@"]:
        if line[:1] in ("+", " "):
            hunk.append(line[1:])
            continue
        if line[:1] == "-":
            continue
        if hunk:
            event.new_texts.append("\n".join(hunk))
            hunk = []
        for header in ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "):
            path = line.removeprefix(header).strip()
            if line.startswith(header) and path.endswith(".go") and path not in event.files:
                event.files.append(path)
