"""What an agent tells its hook: which event, which Go files, what was written, whose session.

Agents differ in names and rename their tools, so a tool is known by the shape of its input: a file's path, and beside
it text to write or none. Answers go back in the shape that the payload came in. Nothing here looks at the disk.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    Json = dict[str, "Json"] | list["Json"] | str | float | bool | None
    Fields = dict[str, Json]

READ = "read"
EDIT = "edit"
PROMPT = "prompt"
START = "start"
FORGET = "forget"

_TOOLS = {"posttooluse", "aftertool"}
_EARLY = {"pretooluse"}
_PROMPTS = {"userpromptsubmit", "userpromptsubmitted", "beforeagent"}
_STARTS = {"sessionstart"}
_COMPACTIONS = {"precompact", "postcompact", "precompress"}
_SILENT = {"afterfileedit", "filechanged"}
"""Events after which a file has changed and to which no answer is taken."""

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
_READERS = set("awk bat batcat cat head less more nl sed tail view".split())
_PATCH = "*** Begin Patch"
_DEPTH = 4
_MOST = 20
"""Files of one event that are looked at; more is not an agent opening files."""


class Event:
    """One call of the hook. `name` and `shape` say how to answer; an empty shape says that nobody listens."""

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
        """Paths that end in .go, as the agent wrote them, in its order."""
        self.new_texts: list[str] = []
        """Pieces of text that an edit has put into its file."""


def understand(payload: "Fields", agent: str) -> Event | None:
    """The event of a payload; None for what a hook has nothing to do with."""
    name = _first_text(payload, ("hook_event_name", "hookEventName", "event_name"))
    plain = name.replace("_", "").lower()
    shape = _shape(payload, agent, name)
    if not plain:
        plain = _unnamed(payload)
    if plain in _STARTS:
        event = Event(START, name, shape, payload)
        event.prompt = _first_text(payload, ("source", "trigger"))
        return event
    if plain in _COMPACTIONS:
        # Gemini CLI tells of an automatic one before every turn, whether there is anything to compress or not.
        is_certain = plain != "precompress" or payload.get("trigger") == "manual"
        return Event(FORGET, name, "", payload) if is_certain else None
    if plain in _PROMPTS:
        event = Event(PROMPT, name, shape, payload)
        event.prompt = _own_words(_first_text(payload, ("prompt", "user_prompt", "userPrompt")))
        return event
    if plain in _SILENT:
        return _tool_event(Event(EDIT, name, "", payload), "", payload)
    if plain in _TOOLS or (plain in _EARLY and shape == "claude"):
        tool = _first_text(payload, ("tool_name", "toolName"))
        if "golore" in tool or "memory_" in tool:
            return None  # our own MCP server has just answered
        event = _tool_event(Event(READ, name, shape, payload), tool, _input(payload))
        return None if event is not None and event.kind == EDIT and plain in _EARLY else event
    return None


def parse_json(text: str) -> "Json":
    """`json.loads`, without what the module `json` imports, which is a third of a hook's time; None for no JSON."""
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
        value, end = make_scanner(_Rules)(text, 0)  # pyright: ignore[reportArgumentType]  the stubs take it for another
    except (StopIteration, ValueError, RecursionError):
        return None
    return value if end == len(text) else None


class _Rules:
    """What the standard library's decoder hands to its scanner."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012  the scanner wants the attribute, and nobody changes it


def _first_text(payload: "Fields", names: tuple[str, ...]) -> str:
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _own_words(prompt: str) -> str:
    """A prompt without what hooks have put before it, as Gemini CLI hands it on."""
    while True:
        before, begins, rest = prompt.partition("<hook_context>")
        _, ends, after = rest.partition("</hook_context>")
        if not (begins and ends):
            return prompt
        prompt = before + after


def _cwd(payload: "Fields") -> str:
    here = _first_text(payload, ("cwd", "workingDirectory"))
    roots = payload.get("workspace_roots")
    if not here and isinstance(roots, list) and roots and isinstance(roots[0], str):
        return roots[0]
    return here


def _shape(payload: "Fields", agent: str, name: str) -> str:
    if "cursor_version" in payload or (agent == "cursor" and not name[:1].isupper()):
        return "cursor"
    if not name and agent != "claude":
        return "copilot"
    return "claude"


def _unnamed(payload: "Fields") -> str:
    """Copilot's command line does not name the event; what comes with it does."""
    if "toolName" in payload or "tool_name" in payload:
        done = any(name in payload for name in ("toolResult", "tool_result", "tool_response"))
        return "posttooluse" if done else "pretooluse"
    if "prompt" in payload:
        return "userpromptsubmit"
    if "customInstructions" in payload:
        return "precompact"
    return "sessionstart" if "source" in payload else ""


def _input(payload: "Fields") -> "Json":
    for name in _INPUT_KEYS:
        value = payload.get(name)
        if isinstance(value, str):
            parsed = parse_json(value) if value.lstrip()[:1] == "{" else None
            return {"patch": value} if parsed is None else parsed
        if value is not None:
            return value
    return None


def _tool_event(event: Event, tool: str, given: "Json") -> Event | None:
    if not isinstance(given, dict):
        return None
    keys: set[str] = set()
    _gather(event, given, "", _DEPTH, keys)
    command = _command(given)
    if _PATCH in command:
        _read_patch(event, command)
        keys.add("patch")
    elif command and not event.files:
        event.files = _opened_by(command)
        folder = _first_text(given, ("workdir", "cwd"))
        event.cwd = folder or event.cwd
    tool = tool.lower()
    if keys & _EDIT_KEYS or (not command and any(word in tool for word in _EDIT_WORDS)):
        event.kind = EDIT
    del event.files[_MOST:]
    return event if event.files else None


def _gather(event: Event, value: "Json", key: str, depth: int, keys: set[str]) -> None:
    """Collect the files and new texts that a tool's input names, wherever in it they are."""
    if isinstance(value, str):
        if key in _PATH_KEYS and value.endswith(".go") and "\n" not in value:
            path = value.removeprefix("file://")
            if path not in event.files:
                event.files.append(path)
        elif key in _NEW_TEXT_KEYS:
            event.new_texts.append(value)
        elif key in ("patch", "input", "diff") and _PATCH in value:
            _read_patch(event, value)
            keys.add("patch")
    elif depth and isinstance(value, list):
        for item in value[:_MOST]:
            _gather(event, item, key, depth - 1, keys)
    elif depth and isinstance(value, dict):
        for name, item in value.items():
            plain = name.replace("_", "").lower()
            keys.add(plain)
            _gather(event, item, plain, depth - 1, keys)


def _command(given: "Fields") -> str:
    command = given.get("command") or given.get("cmd")
    if isinstance(command, list):
        command = command[-1] if command[1:2] in (["-c"], ["-lc"]) else " ".join(map(str, command))
    return command if isinstance(command, str) else ""


def _opened_by(command: str) -> list[str]:
    """The Go files that a shell command prints."""
    files: list[str] = []
    for mark in ("&&", "||", "|", "\n"):
        command = command.replace(mark, ";")
    for part in command.split(";"):
        words = part.split()
        if not words or words[0].rpartition("/")[2] not in _READERS or "-i" in words or ">" in part:
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
        for mark in ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "):
            path = line.removeprefix(mark).strip()
            if line.startswith(mark) and path.endswith(".go") and path not in event.files:
                event.files.append(path)
