"""Writes the reference pages that are derived from the code: commands, MCP tools, Python API, graph schema, packages.

    uv run python docs/generate.py

`tests/test_docs.py` fails when a page differs from what this script would write.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, cast

import anyio
import golore
from golore.graph.database.vector_changes import VECTOR_LABELS
from golore.graph.model.edge_kinds import EDGE_LABELS
from golore.graph.model.tables import NODE_COLUMNS, NODE_TYPES
from golore.mcp_server.cli.main import build_parser
from golore.mcp_server.server.app import build_server
from golore.mcp_server.server.open_repositories import Repositories

ROOT: Final = Path(__file__).resolve().parent.parent
REFERENCE: Final = ROOT / "docs" / "reference"
FOLDERS: Final = ("graph", "learner", "summarizers", "mcp_server")
NOTICE: Final = "<!-- Written by docs/generate.py. Edit the code that it is derived from. -->\n\n"


def commands_page() -> str:
    """Every command, from the declarations of the parser. Not argparse's own help: that differs between Pythons."""
    parser = build_parser()
    about = {name: help for name, help, _ in _subcommands(parser)}
    parts = ["# Commands\n\n", parser.description or "", "\n\n", "| command | what it does |\n|---|---|\n"]
    parts += [f"| [`{name}`](#golore-{name}) | {help} |\n" for name, help in about.items()]
    parts.append(
        "\nExit codes: 0 success, 1 failure, 2 wrong usage. A symbol is named as `go doc` prints it, or by any end of "
        "that name that is not ambiguous.\n"
    )
    for name, _, command in _subcommands(parser):
        actions = [action for action in command._actions if action.dest != "help"]  # noqa: SLF001  no public way
        usage = " ".join(["golore", name, *map(_usage, actions)])
        parts.append(f"\n## golore {name}\n\n{command.description}\n\n```text\n{usage}\n```\n")
        if actions:
            parts.append("\n| argument | meaning |\n|---|---|\n")
            parts += [f"| `{_shown(action)}` | {_escaped(action.help or '')} |\n" for action in actions]
        if command.epilog:
            parts.append(f"\n```text\n{command.epilog}\n```\n")
    return "".join(parts)


def tools_page() -> str:
    """The MCP tools, as a client sees them."""
    with tempfile.TemporaryDirectory() as folder, Repositories([Path(folder)]) as repositories:
        tools = anyio.run(build_server(repositories).list_tools)
    parts = ["# MCP tools\n\nThe tools of `golore mcp` and `golore serve`, as a client sees them.\n"]
    for tool in tools:
        parts.append(
            f"\n## {tool.name}\n\n{tool.description}\n\n| parameter | type | default | meaning |\n|---|---|---|---|\n"
        )
        required = tool.input_schema.get("required", [])
        for name, schema in tool.input_schema.get("properties", {}).items():
            default = "required" if name in required else f"`{schema.get('default')!r}`"
            parts.append(f"| `{name}` | {_type(schema)} | {default} | {schema.get('description', '')} |\n")
    return "".join(parts)


def api_page() -> str:
    """The public names of `import golore`, from their docstrings."""
    module = _docstring(ROOT / "mcp_server" / "public" / "__init__.py")
    about, _, rest = module.partition("\n\n")
    example, _, more = rest.rpartition("\n\n")
    parts = [f"# Python API\n\n{about}\n\n```python\n{textwrap.dedent(example)}\n```\n\n{' '.join(more.split())}\n"]
    parts.append("\n[How to use it](../how-to/python.md), with worked examples.\n")
    for name, node in public_nodes().items():
        parts.append(f"\n## golore.{name}\n\n")
        if isinstance(node, ast.FunctionDef):
            parts.append(f"```python\n{_signature(node)}\n```\n\n{ast.get_docstring(node)}\n")
            continue
        bases = [base for base in map(ast.unparse, node.bases) if base.endswith("Error")]
        parts.append(f"{ast.get_docstring(node)}{f' A `{bases[0]}`.' if bases else ''}\n")
        if fields := list(_fields(node)):
            parts.append("\n| field | type |\n|---|---|\n")
            parts += [f"| `{field}` | `{_escaped(type)}` |\n" for field, type in fields]
        for method in _methods(node):
            parts.append(f"\n### {name}.{method.name}\n\n```python\n{_signature(method)}\n```\n\n")
            parts.append(f"{ast.get_docstring(method) or ''}\n")
    return "".join(parts)


def public_nodes() -> dict[str, ast.ClassDef | ast.FunctionDef]:
    """The definitions of the public names: functions first, then the repository, then the types of results."""
    homes = {name: home for home, names in golore._HOMES.items() for name in names.split()}  # noqa: SLF001  no other use
    found: dict[str, ast.ClassDef | ast.FunctionDef] = {}
    for name in sorted(golore.__all__, key=lambda name: (not name.islower(), name != "Repository", name)):
        path = (ROOT / Path(*homes[name].split(".")[1:])).with_suffix(".py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
                found[name] = node
    return found


def api_surface() -> str:
    """A digest of the public names with their parameters, fields and types. CHANGELOG.md names it, so that it cannot
    change without an entry."""
    lines: list[str] = []
    for name, node in public_nodes().items():
        if isinstance(node, ast.FunctionDef):
            lines.append(_signature(node))
        else:
            lines += [f"{name}: {', '.join(map(ast.unparse, node.bases))}"]
            lines += [f"{name}.{field}: {type}" for field, type in _fields(node)]
            lines += [f"{name}.{_signature(method)}" for method in _methods(node)]
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=4).hexdigest()


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.target.id[0] != "_":
            yield part.target.id, ast.unparse(part.annotation)


def _methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (part for part in node.body if isinstance(part, ast.FunctionDef) and part.name[0] != "_")


def _signature(node: ast.FunctionDef) -> str:
    given = ast.unparse(node.args).removeprefix("self").removeprefix(", ")
    is_property = any(ast.unparse(one) == "property" for one in node.decorator_list)
    returns = ast.unparse(node.returns) if node.returns else ""
    return f"{node.name}: {returns}" if is_property else f"{node.name}({given}) -> {returns}"


def schema_page() -> str:
    """Nodes and edges of the graph, from the row types and the table of edge labels."""
    parts = [
        "# Graph schema\n\nFor `golore query` and `memory_query` (Cypher, read-only) and for exports.\n\n## Nodes\n"
    ]
    for label, row in NODE_TYPES.items():
        about = ast.get_docstring(_class(row.__module__, label)) or ""
        parts.append(f"\n### {label}\n\n{about}\n\n" if about else f"\n### {label}\n\n")
        parts.append("| property | type |\n|---|---|\n")
        parts += [f"| `{column.name}` | {column.type} |\n" for column in NODE_COLUMNS[label]]
    parts.append(
        f"\n### Vectors\n\nAfter `golore embed`, nodes with the labels {', '.join(VECTOR_LABELS)} also have `vector` "
        "(FLOAT[N], N numbers of the model, length 1; null without a text) and `vector_key`, the digest of the text "
        "that it was made of. Exports leave both out.\n"
    )
    parts.append("\n## Edges\n\n| label | joins | properties | meaning |\n|---|---|---|---|\n")
    for edge in EDGE_LABELS.values():
        ends = ", ".join(f"{source} → {target}" for source, target in edge.ends)
        properties = ", ".join(f"`{name}`" for name in edge.properties) or "–"
        parts.append(f"| `{edge.label}` | {ends} | {properties} | {edge.meaning} |\n")
    parts.append(
        "\n`sites` are the lines where the relation occurs, in the file of the source, as text: `12 40`. "
        "`evidence` says how the edge is known.\n"
    )
    return "".join(parts)


def packages_page() -> str:
    """Every package and module, with the first sentence of its docstring."""
    parts = [
        "# Packages and modules\n\nWhere things are. The folders install as one package: `graph/` is imported as "
        "`golore.graph`. Imports go `mcp_server` → `learner` or `summarizers` → `graph`. Inside a folder, a package "
        "may import those that are listed below it, never those above. import-linter checks both.\n"
    ]
    for folder in FOLDERS:
        parts.append(f"\n## {folder}\n\n{_docstring(ROOT / folder / '__init__.py')}\n")
        parts.append(_modules(ROOT / folder))
        for package in _packages(folder):
            parts.append(f"\n### {package.relative_to(ROOT).as_posix()}\n\n{_docstring(package / '__init__.py')}\n")
            parts.append(_modules(package))
    return "".join(parts)


def dependencies_page() -> str:
    """What golore installs, from pyproject.toml, uv.lock and `docs/dependencies.toml`."""
    project, lock, notes = (_toml(name) for name in ("pyproject.toml", "uv.lock", "docs/dependencies.toml"))
    released: dict[str, dict[str, Any]] = {}
    for package in lock["package"]:
        released[package["name"]] = max(package, released.get(package["name"], package), key=_released)
    extras = project["project"]["optional-dependencies"]
    parts = [
        "# Dependencies\n\nWhat `pip install golore` brings, and what the extras add. The newest release is that of "
        "`uv.lock`. golore's own code is the only one that decides about the network; the last column says what a "
        "dependency could do or does on its behalf.\n"
    ]
    for title, requirements in (
        ("golore", project["project"]["dependencies"]),
        *((f"golore[{extra}]", listed) for extra, listed in extras.items()),
    ):
        parts.append(f"\n## {title}\n\n| package | for | kept by | release | licence | MB | network |\n")
        parts.append("|---|---|---|---|---|---|---|\n")
        for name in sorted(map(_required, requirements)):
            assert name in notes, f"describe the dependency {name} in docs/dependencies.toml"
            note = notes[name]
            release = f"{released[name]['version']}, {_released(released[name])}"
            cells = (f"`{name}`", note["for"], note["by"], release, note["licence"], note.get("size", "–"))
            parts.append(f"| {' | '.join(map(str, cells))} | {note.get('network', 'nothing')} |\n")
    parts.append(f"\n## Decisions\n\n{notes['decisions'].strip()}\n")
    return "".join(parts)


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def _required(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower()


def _released(package: dict[str, Any]) -> str:
    """The day of a release in uv.lock."""
    files = [*([package["sdist"]] if "sdist" in package else []), *package.get("wheels", [])]
    return min((file["upload-time"][:10] for file in files), default="")


PAGES: Final[dict[str, Callable[[], str]]] = {
    "commands.md": commands_page,
    "mcp-tools.md": tools_page,
    "python-api.md": api_page,
    "graph-schema.md": schema_page,
    "packages.md": packages_page,
    "dependencies.md": dependencies_page,
}


def _subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    for action in parser._actions:  # noqa: SLF001  argparse has no public way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            for name, command in cast("dict[str, argparse.ArgumentParser]", action.choices).items():
                yield name, _escaped(helps[name]), command


def _shown(action: argparse.Action) -> str:
    """An argument as it is typed: `--limit N`, `SYMBOL`."""
    if not action.option_strings:
        return str(action.metavar or action.dest).replace("|", "\\|")
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    choices = "\\|".join(map(str, action.choices)) if action.choices else ""
    return f"{names} {action.metavar or choices or action.dest.upper()}"


def _usage(action: argparse.Action) -> str:
    shown = _shown(action).replace("\\|", "|")
    if action.option_strings:
        return f"[{shown.split(', ')[-1]}]"
    if action.nargs == "?":
        return f"[{shown}]"
    return f"[{shown}...]" if action.nargs == "*" else f"{shown}..." if action.nargs == "+" else shown


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value)
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    return str(schema.get("type", ""))


def _class(module: str, name: str) -> ast.ClassDef:
    tree = ast.parse((ROOT / Path(*module.split(".")[1:])).with_suffix(".py").read_text(encoding="utf-8"))
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def _packages(folder: str) -> list[Path]:
    """The packages of a folder, highest layer first, as import-linter's contracts have them."""
    contracts = _toml("pyproject.toml")["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one.get("containers") == [f"golore.{folder}"])
    names = [name.strip() for layer in layers for name in layer.split("|")]
    found = [ROOT / folder / name for name in names if (ROOT / folder / name).is_dir()]
    return [
        path for package in found for path in (package, *sorted(path.parent for path in package.glob("*/__init__.py")))
    ]


def _modules(package: Path) -> str:
    rows = [
        f"| `{path.stem}` | {_first_paragraph(path)} |\n"
        for path in sorted(package.glob("*.py"))
        if path.stem != "__init__"
    ]
    return "".join(["\n| module | what it does |\n|---|---|\n", *rows]) if rows else ""


def _first_paragraph(path: Path) -> str:
    return _escaped(" ".join(_docstring(path).partition("\n\n")[0].split()))


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def main() -> None:
    REFERENCE.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        (REFERENCE / name).write_text(NOTICE + make(), encoding="utf-8")


if __name__ == "__main__":
    main()
