"""Resolution: a package of one mutated file and another one, which use each other."""

from __future__ import annotations

from pathlib import Path

from fuzzing.go_source import go_files
from fuzzing.target import Target
from golore.learner.checkout.discovery import discover
from golore.learner.extraction import facts as f
from golore.learner.extraction.extract import encode, extract
from golore.learner.go_rules.go_env import read_environment
from golore.learner.project.catalog import head_of, repository_catalog
from golore.learner.project.project import build_project
from golore.learner.project.stdlib_index import import_paths
from golore.learner.resolution.method_sets import package_tables
from golore.learner.resolution.package_loader import PackageLoader
from golore.learner.resolution.resolve_file import resolve_file
from golore.learner.resolution.world import World

_OTHER = b"""package p

import "errors"

type Store interface{ Save(key string) error }

type Memory[K comparable] struct{ Keys map[K]int }

func (m *Memory[K]) Save(key K) error { m.Keys[key]++; return errors.New("x") }

func Use(s Store) { _ = s.Save("a"); F(); var t T; t.M(); _ = C + V }
"""


def prepare(directory: Path) -> Target:
    (directory / "go.mod").write_text("module example.com/p\n\ngo 1.24\n")
    (directory / "other.go").write_bytes(_OTHER)
    (directory / "p.go").write_text("package p\n")
    project = build_project(discover(directory), read_environment(std=import_paths()))
    other = extract(_OTHER)

    def run(data: bytes) -> None:
        facts = extract(data)
        packed = encode(facts)
        shapes = {"p": f.decode_shape(packed.shape), "other": other.shape}
        bodies = {"p.go": f.decode_body(packed.body), "other.go": other.body}
        heads = {"p.go": head_of("p", facts.outline), "other.go": head_of("other", other.outline)}
        loader = PackageLoader(project, repository_catalog(project, heads), {}, shapes.__getitem__)
        world = World(loader)
        for package in loader.packages_in(""):
            for file in package.files:
                for problem in resolve_file(world, file, bodies[file.path]).problems:
                    assert "could not be resolved" not in problem, problem
            package_tables(world, package)

    return Target(go_files(), run)
