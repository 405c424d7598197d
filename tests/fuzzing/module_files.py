"""go.mod, go.work and vendor/modules.txt, and how the imports of a repository with them are found."""

from __future__ import annotations

from pathlib import Path

from fuzzing.target import Target
from golore.learner.checkout.configs_above import ConfigFile
from golore.learner.checkout.discovery import discover
from golore.learner.go_rules.go_env import read_environment
from golore.learner.go_rules.go_mod import parse_gomod, parse_gowork, parse_vendor_list, version_key
from golore.learner.project.project import build_project
from golore.learner.project.stdlib_index import import_paths

_SEEDS = (
    b"module example.com/shop\n\ngo 1.24\n",
    b'// Deprecated: use v2\nmodule "example.com/shop" // here\n\ngo 1.24.1\ntoolchain go1.25.0\n\nrequire (\n'
    b"\texample.com/a v1.2.3\n\texample.com/b v0.0.0-20240101120000-abcdefabcdef // indirect\n)\n\n"
    b"replace example.com/a => ../a\nreplace example.com/b v1.0.0 => example.com/c v1.1.0\n"
    b"exclude example.com/d v1.0.0\nretract [v1.0.0, v1.1.0] // bad\nretract v0.1.0\ntool example.com/a/cmd/x\n"
    b"ignore ./node_modules\ngodebug default=go1.21\n",
    b"go 1.24\n\nuse (\n\t./a\n\t./b // remark\n)\nuse .\n\nreplace example.com/x => ./x\n",
    b"# example.com/a v1.2.3\n## explicit; go 1.20\nexample.com/a\nexample.com/a/inner\n"
    b"# example.com/b v1.0.0 => ../b\n## explicit\nexample.com/b\n## workspace\n",
    b"module m\n<<<<<<< HEAD\nrequire `example.com/a` v1\n=======\nrequire example.com/a v2\n>>>>>>> other\n",
)
_NAMES = ("go.mod", "inner/go.mod", "go.work", "vendor/modules.txt")


def prepare(directory: Path) -> Target:
    for name in ("main.go", "inner/inner.go", "vendor/example.com/a/a.go"):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"package {path.stem}\n")
    found = discover(directory)
    environment = read_environment(std=import_paths())

    def run(data: bytes) -> None:
        mod = parse_gomod(data)
        parse_gowork(data)
        vendored = parse_vendor_list(data)
        for version in [require.version for require in mod.requires] + [module.version for module in vendored.modules]:
            assert version_key(version) == version_key(version)
        name = _NAMES[len(data) % len(_NAMES)]
        files = tuple(ConfigFile(*item) for item in sorted({"go.mod": _SEEDS[0], name: data}.items()))
        project = build_project(found._replace(configs=files), environment)
        for path in ("fmt", "example.com/a", "example.com/shop/inner", mod.module, *(one.old for one in mod.replaces)):
            project.find("", path)
            project.find("inner", path)

    return Target(_SEEDS, run)
