"""Completion of shells: the scripts that `golore completion SHELL` prints, and the names that they ask for.

A shell waits for the names at every key, so nothing is imported here that they do not need.
"""

from __future__ import annotations

import os

SHELLS = ("bash", "zsh", "fish")
NAMES = "names"
"""What the scripts give instead of a shell, followed by the beginning of a name."""
_MOST = 40

_BASH = """\
_golore() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "COMMANDS" -- "$word"))
    return
  fi
  case $word in
    -*)
      case $command in
OPTIONS
      esac ;;
    *) COMPREPLY=($(golore completion names "$word" 2>/dev/null) $(compgen -f -- "$word")) ;;
  esac
}
complete -F _golore golore
"""
_ZSH = """\
#compdef golore
_golore() {
  local word=${words[CURRENT]} command=${words[2]}
  if (( CURRENT == 2 )); then
    compadd -- COMMANDS
    return
  fi
  case $word in
    -*)
      case $command in
OPTIONS
      esac ;;
    *) compadd -- ${(f)"$(golore completion names "$word" 2>/dev/null)"}; _files ;;
  esac
}
compdef _golore golore
"""
_FISH = """\
complete -c golore -n __fish_use_subcommand -f -a 'COMMANDS'
complete -c golore -n 'not __fish_use_subcommand' -a '(golore completion names (commandline -ct) 2>/dev/null)'
OPTIONS
"""
_OPTION_LINES = {
    "bash": '        {name}) COMPREPLY=($(compgen -W "{options}" -- "$word")) ;;',
    "zsh": "        {name}) compadd -- {options} ;;",
}


def script(shell: str, options_of: dict[str, list[str]]) -> str:
    """The completion script of a shell. `options_of` are the options of each command."""
    lines: list[str] = []
    for name, options in sorted(options_of.items()):
        if shell == "fish":
            condition = f"__fish_seen_subcommand_from {name}"
            lines += [f"complete -c golore -n '{condition}' -l {one.removeprefix('--')}" for one in options]
        elif options:
            lines.append(_OPTION_LINES[shell].format(name=name, options=" ".join(options)))
    text = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell]
    return text.replace("COMMANDS", " ".join(sorted(options_of))).replace("OPTIONS", "\n".join(lines)).rstrip("\n")


def names_from(start: str, beginning: str) -> list[str]:
    """The declared names that begin with a text, in the learned repository around a directory, the shortest first."""
    from pathlib import Path

    from golore.graph.search.index import open_index
    from golore.graph.search.terms import folded
    from golore.mcp_server.hooks.store_locator import find_store

    found = find_store(os.path.realpath(start))
    index = open_index(Path(found[1])) if found is not None and beginning else None
    if index is None:
        return []
    names: dict[str, None] = {}
    with index:
        for name in index.names_from(folded(beginning), _MOST):
            file = index.files_naming(name)[0]
            for symbol in index.symbols(file):
                written = symbol.local if folded(symbol.local) == name else symbol.name
                if folded(written) == name:
                    names[written] = None
                    break
    return [name for name in names if name.startswith(beginning)] or list(names)
