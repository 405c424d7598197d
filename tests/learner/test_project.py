"""The project model: modules, import paths and where imports lead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from golore.graph.model.entities import ImportPath
from golore.learner.checkout.discovery import discover
from golore.learner.go_rules.go_env import Environment, config_directory, read_environment
from golore.learner.pipeline.graph_step import repository_of
from golore.learner.project.project import Location, Project, build_project

GO = Path(sys.executable).with_name("go")
NOTHING = Environment()


def _project(root: Path, files: dict[str, str], environment: Environment = NOTHING, below: str = "") -> Project:
    _write(root, files)
    return build_project(discover(root / below), environment)


def _write(root: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def _lead(project: Project, importing_dir: str, import_path: str) -> tuple[str, str] | None:
    """Kind and directory of a location, the directory relative to the parent of the root for brevity."""
    found = project.find(importing_dir, import_path)
    return None if found is None else (found.kind, found.dir.removeprefix(f"{project.root.parent}/"))


def test_nested_modules_own_their_directories(tmp_path: Path) -> None:
    project = _project(
        tmp_path,
        {
            "go.mod": "module example.com/m\n",
            "a.go": "",
            "x/y/b.go": "",
            "x/nested/go.mod": "module example.com/other/v2\n",
            "x/nested/z/c.go": "",
        },
    )
    assert project.import_path("") == "example.com/m"
    assert project.import_path("x/y") == "example.com/m/x/y"
    assert project.import_path("x/nested/z") == "example.com/other/v2/z"
    owner = project.module_of("x/nested/z")
    assert owner is not None
    assert owner.path == "example.com/other/v2"
    assert project.directories_of("example.com/other/v2/z") == ("x/nested/z",)
    assert project.find("", "example.com/m/x/y") == Location(
        "repo", ImportPath("example.com/m/x/y"), "x/y", "example.com/m"
    )
    assert project.find("", "example.com/m/x/nested/z") is None
    assert project.find("", "example.com/m/missing") is None


def test_a_sibling_module_is_found_in_the_repository_without_a_replace(tmp_path: Path) -> None:
    project = _project(
        tmp_path,
        {
            "a/go.mod": "module example.com/a\n\nrequire example.com/b v1.0.0\n",
            "a/a.go": "",
            "b/go.mod": "module example.com/b\n",
            "b/sub/b.go": "",
        },
    )
    assert _lead(project, "a", "example.com/b/sub") == ("repo", "b/sub")


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"go.mod": "module z.org/root\n", "a/go.mod": "module a.org/nested\n"}, "z.org/root"),
        ({"b/go.mod": "module b.org/near\n", "a/c/go.mod": "module a.org/far\n"}, "b.org/near"),
        ({}, "here"),
    ],
)
def test_a_repository_is_named_after_the_module_nearest_to_its_root(
    files: dict[str, str], name: str, tmp_path: Path
) -> None:
    assert repository_of(_project(tmp_path / "here", {"a.go": "package a\n", **files})).name == name


def test_two_modules_of_one_path_are_told_apart_by_who_imports(tmp_path: Path) -> None:
    project = _project(
        tmp_path,
        {
            "one/go.mod": "module example.com/app\n",
            "one/main.go": "",
            "one/lib/l.go": "",
            "two/go.mod": "module example.com/app\n",
            "two/main.go": "",
            "two/lib/l.go": "",
            "three/go.mod": "module example.com/three\nrequire example.com/app v1.0.0\n"
            "replace example.com/app => ../two\n",
            "three/t.go": "",
            "four/go.mod": "module example.com/four\nrequire example.com/app v1.0.0\n",
            "four/f.go": "",
        },
    )
    assert _lead(project, "one", "example.com/app/lib") == ("repo", "one/lib")
    assert _lead(project, "two", "example.com/app/lib") == ("repo", "two/lib")
    assert _lead(project, "three", "example.com/app/lib") == ("repo", "two/lib")
    assert _lead(project, "four", "example.com/app/lib") is None
    assert (project.id_suffix("one/lib"), project.id_suffix("two/lib")) == ("", "@two/lib")


def test_a_directory_named_like_an_external_test_gets_an_id_of_its_own(tmp_path: Path) -> None:
    project = _project(tmp_path, {"go.mod": "module m\n", "x/x.go": "", "x_test/x.go": "", "y_test/y.go": ""})
    assert [project.id_suffix(directory) for directory in ("x", "x_test", "y_test")] == ["", "@x_test", ""]


def test_the_go_command_resolves_a_workspace_with_replacements_alike(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _write(tmp_path, {"beside/go.mod": "module example.com/beside\n", "beside/deep/x.go": "package deep\n"})
    _write(
        root,
        {
            "go.work": "go 1.21\nuse (\n\t./app\n\t./lib\n)\nreplace example.com/r => ./r2\n",
            "app/go.mod": "module example.com/app\n\ngo 1.21\n\n"
            "require (\n\texample.com/r v1.0.0\n\texample.com/beside v0.1.0\n)\n"
            "replace example.com/r => ../r1\nreplace example.com/beside v0.1.0 => ../../beside\n",
            "app/main.go": 'package main\nimport _ "example.com/lib/x"\nimport _ "example.com/r"\n'
            'import _ "example.com/beside/deep"\nimport _ "example.com/app/in"\n'
            'import _ "example.com/lib/nested"\nfunc main() {}\n',
            "app/in/in.go": "package in\n",
            "lib/go.mod": "module example.com/lib\n\ngo 1.21\n",
            "lib/x/x.go": "package x\n",
            "lib/nested/x.go": "package nested\n",
            "r1/go.mod": "module example.com/r\n\ngo 1.21\n",
            "r1/r.go": "package r\n",
            "r2/go.mod": "module example.com/r\n\ngo 1.21\n",
            "r2/r.go": "package r\n",
        },
    )
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GO")}
    environ |= {"GOPROXY": "off", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"}
    command = [GO, "list", "-deps", "-json=ImportPath,Dir,Standard", "./app"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, env=environ)
    packages = [json.loads(text) for text in done.stdout.replace("}\n{", "}\0{").split("\0")]
    theirs = {package["ImportPath"]: package["Dir"] for package in packages if not package.get("Standard")}
    project = build_project(discover(root), NOTHING)
    ours = {path: project.find("app", path) for path in theirs}
    assert {path: found and str(root / found.dir) for path, found in ours.items()} == theirs
    assert len(theirs) == 6
    assert _lead(project, "app", "example.com/r") == ("repo", "r2")
    assert _lead(project, "app", "example.com/beside/deep") == ("local", "beside/deep")


def test_a_workspace_can_be_switched_off_or_named(tmp_path: Path) -> None:
    files = {
        "go.work": "use ./a\nreplace x.org/r => ./r1\n",
        "other.work": "use ./a\nreplace x.org/r => ./r2\n",
        "a/go.mod": "module a.org/a\nrequire x.org/r v1.0.0\n",
        "a/a.go": "",
        "r1/go.mod": "module x.org/r\n",
        "r1/r.go": "",
        "r2/go.mod": "module x.org/r\n",
        "r2/r.go": "",
    }
    assert _lead(_project(tmp_path, files), "a", "x.org/r") == ("repo", "r1")
    assert _lead(_project(tmp_path, files, Environment(gowork="off")), "a", "x.org/r") is None
    named = Environment(gowork=str(tmp_path / "other.work"))
    assert _lead(_project(tmp_path, files, named), "a", "x.org/r") == ("repo", "r2")


def test_a_root_inside_a_module_has_that_modules_paths(tmp_path: Path) -> None:
    files = {"go.mod": "module example.com/m\n", "in/a/a.go": "", "in/in.go": "", "other/o.go": ""}
    project = _project(tmp_path, files, below="in")
    assert project.import_path("") == "example.com/m/in"
    assert project.import_path("a") == "example.com/m/in/a"
    assert _lead(project, "", "example.com/m/in/a") == ("repo", "a")
    found = project.find("a", "example.com/m/other")
    assert found is not None
    assert (found.kind, found.dir) == ("local", str(tmp_path / "other"))


def test_vendor_is_asked_before_the_module_cache_and_knows_versions(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _write(cache, {"x.org/dep@v1.0.0/p/p.go": ""})
    files = {
        "go.mod": "module m.org/m\nrequire x.org/dep v1.0.0\n",
        "m.go": "",
        "vendor/modules.txt": "# x.org/dep v1.0.0\n## explicit\nx.org/dep/p\n",
        "vendor/x.org/dep/p/p.go": "",
    }
    root = tmp_path / "root"
    found = _project(root, files, Environment(gomodcache=cache)).find("", "x.org/dep/p")
    assert found == Location(
        "vendor", ImportPath("x.org/dep/p"), str(root / "vendor/x.org/dep/p"), "x.org/dep", "v1.0.0"
    )
    by_flag = _project(root, files, Environment(gomodcache=cache, mod="mod")).find("", "x.org/dep/p")
    assert by_flag is not None
    assert by_flag.kind == "modcache"


def test_the_module_cache_is_asked_for_the_required_version(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _write(
        cache,
        {
            "github.com/!burnt!sushi/toml@v1.0.0/t.go": "",
            "github.com/!burnt!sushi/toml@v1.1.0/t.go": "",
            "x.org/fork@v0.2.0/sub/f.go": "",
            "x.org/single@v0.1.0/s.go": "",
            "x.org/several@v0.1.0/s.go": "",
            "x.org/several@v0.2.0/s.go": "",
            "x.org/multi@v1.0.0/a.go": "",
            "x.org/multi/sub@v1.3.0/a.go": "",
            "x.org/late@v1.2.0/a.go": "",
            "x.org/late@v1.10.0/a.go": "",
        },
    )
    project = _project(
        tmp_path / "root",
        {
            "go.mod": "module m.org/m\nrequire (\n\tgithub.com/BurntSushi/toml v1.0.0\n\tx.org/orig v0.1.0\n"
            "\tx.org/multi v1.0.0\n\tx.org/multi/sub v1.3.0\n\tx.org/absent v1.0.0\n)\n"
            "replace x.org/orig => x.org/fork v0.2.0\n",
            "m.go": "",
            "a/go.mod": "module m.org/a\nrequire x.org/late v1.2.0\n",
            "a/a.go": "",
            "b/go.mod": "module m.org/b\nrequire x.org/late v1.10.0\n",
            "b/b.go": "",
        },
        Environment(gomodcache=cache),
    )

    def directory(path: str, importing_dir: str = "") -> str | None:
        found = project.find(importing_dir, path)
        return None if found is None else str(Path(found.dir).relative_to(cache))

    assert directory("github.com/BurntSushi/toml") == "github.com/!burnt!sushi/toml@v1.0.0"
    assert directory("x.org/orig/sub") == "x.org/fork@v0.2.0/sub"
    assert directory("x.org/multi/sub") == "x.org/multi/sub@v1.3.0"
    assert directory("x.org/single") == "x.org/single@v0.1.0"
    assert directory("x.org/several") is None
    assert directory("x.org/absent") is None
    assert directory("x.org/late", "a") == "x.org/late@v1.2.0"
    assert directory("x.org/late") == "x.org/late@v1.10.0"
    assert project.find("", "x.org/orig/sub") == Location(
        "modcache", ImportPath("x.org/orig/sub"), str(cache / "x.org/fork@v0.2.0/sub"), "x.org/fork", "v0.2.0"
    )


def test_a_tree_without_modules_has_paths_below_its_root_or_its_src(tmp_path: Path) -> None:
    gopath = tmp_path / "gopath"
    _write(gopath, {"src/x.org/dep/d.go": "", "src/x.org/major/p/p.go": ""})
    project = _project(
        tmp_path / "root",
        {
            "a/a.go": "",
            "main.go": "",
            "src/x.org/y/y.go": "",
            "src/x.org/y/vendor/v.org/v/v.go": "",
            "src/app/m.go": "",
        },
        Environment(gopath=(gopath,)),
    )
    assert [project.import_path(directory) for directory in ("", "a", "src/x.org/y", "src/app")] == [
        ".",
        "a",
        "x.org/y",
        "app",
    ]
    assert _lead(project, "a", "x.org/y") == ("repo", "src/x.org/y")
    assert _lead(project, "a", "app") == ("repo", "src/app")
    assert _lead(project, "a", "../src/app") == ("repo", "src/app")
    assert _lead(project, "src/x.org/y", "v.org/v") == ("vendor", "root/src/x.org/y/vendor/v.org/v")
    assert _lead(project, "a", "v.org/v") is None
    assert _lead(project, "a", "x.org/dep") == ("gopath", "gopath/src/x.org/dep")
    assert _lead(project, "a", "x.org/major/v2/p") == ("gopath", "gopath/src/x.org/major/p")
    assert _lead(project, "a", "fmt") == ("std", "")


def test_a_root_below_gopath_has_the_path_that_gopath_gives_it(tmp_path: Path) -> None:
    environment = Environment(gopath=(tmp_path,))
    project = _project(tmp_path, {"src/mine/lib/l.go": "", "src/other/o.go": ""}, environment, below="src/mine")
    assert project.import_path("lib") == "mine/lib"
    assert _lead(project, "lib", "other") == ("gopath", f"{tmp_path}/src/other".removeprefix(f"{project.root.parent}/"))
    elsewhere = _project(tmp_path, {"go/src/x.org/y/y.go": ""}, below="go/src/x.org/y")
    assert elsewhere.import_path("") == "x.org/y"


def test_gopath_serves_a_module_only_when_modules_are_off(tmp_path: Path) -> None:
    files = {"go.mod": "module m.org/m\nrequire x.org/dep v1.0.0\n", "m.go": ""}
    _write(tmp_path / "gocode", {"src/x.org/dep/d.go": ""})
    on = Environment(gopath=(tmp_path / "gocode",))
    off = Environment(gopath=(tmp_path / "gocode",), modules=False)
    assert _lead(_project(tmp_path / "root", files, on), "", "x.org/dep") is None
    assert _lead(_project(tmp_path / "root", files, off), "", "x.org/dep") == ("gopath", "gocode/src/x.org/dep")


def test_the_standard_library_is_what_has_no_dot_and_is_known(tmp_path: Path) -> None:
    goroot = tmp_path / "goroot"
    _write(goroot, {"src/brand/new/n.go": ""})
    files = {"go.mod": "module log\n", "l.go": "", "sub/s.go": ""}
    unknown = _project(tmp_path / "root", files)
    assert _lead(unknown, "", "net/http") == ("std", "")
    assert _lead(unknown, "", "log/sub") == ("repo", "sub")
    known = _project(tmp_path / "root", files, Environment(std=frozenset(("log", "net/http")), goroot=goroot))
    assert _lead(known, "sub", "log") == ("std", "")
    assert _lead(known, "", "log/sub") == ("repo", "sub")
    assert _lead(known, "", "brand/new") == ("goroot", "goroot/src/brand/new")
    assert _lead(known, "", "log/gone") is None
    assert _lead(known, "", "unsafe") == ("std", "")
    assert _lead(known, "", "C") == ("std", "")


def test_the_standard_librarys_own_tree_has_bare_paths_and_vendors_of_its_own(tmp_path: Path) -> None:
    project = _project(
        tmp_path,
        {
            "src/go.mod": "module std\n",
            "src/fmt/f.go": "",
            "src/net/http/h.go": "",
            "src/vendor/golang.org/x/net/idna/i.go": "",
            "src/cmd/go.mod": "module cmd\n",
            "src/cmd/go/main.go": "",
            "src/cmd/vendor/golang.org/x/mod/semver/s.go": "",
        },
        Environment(std=frozenset(("fmt", "net/http"))),
    )
    assert project.import_path("src/net/http") == "net/http"
    assert project.import_path("src/cmd/go") == "cmd/go"
    assert _lead(project, "src/cmd/go", "fmt") == ("repo", "src/fmt")
    assert _lead(project, "src/net/http", "cmd/go") == ("repo", "src/cmd/go")
    idna = project.find("src/net/http", "golang.org/x/net/idna")
    assert idna is not None
    assert (idna.kind, idna.import_path) == ("vendor", "vendor/golang.org/x/net/idna")
    semver = project.find("src/cmd/go", "golang.org/x/mod/semver")
    assert semver is not None
    assert semver.import_path == "cmd/vendor/golang.org/x/mod/semver"
    assert project.find("src/net/http", "golang.org/x/mod/semver") is None


def test_problems_of_module_files_are_the_projects(tmp_path: Path) -> None:
    project = _project(tmp_path, {"go.mod": "modul m\n", "a/a.go": ""})
    assert {problem.file for problem in project.problems} == {"go.mod"}
    assert project.import_path("a") == "a"


@pytest.mark.parametrize(
    ("system", "expected"),
    [("linux", "/h/.config"), ("darwin", "/h/Library/Application Support"), ("win32", r"C:\Users\h\Roaming")],
)
def test_settings_of_go_are_where_go_keeps_them_on_each_system(system: str, expected: str) -> None:
    environ = {"HOME": "/h", "APPDATA": r"C:\Users\h\Roaming"}
    assert config_directory(environ, system) == expected
    assert config_directory({}, system) == ""


def test_the_environment_is_read_as_go_reads_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    _write(home, {".config/go/env": "GOFLAGS=-mod=vendor\nGOPATH=/from/settings\n"})
    plain = read_environment({"HOME": "/nowhere"}, debian=tmp_path / "none")
    assert plain == Environment((Path("/nowhere/go"),), Path("/nowhere/go/pkg/mod"))
    written = read_environment({"HOME": str(home)}, debian=tmp_path / "none")
    assert (written.gopath, written.mod) == ((Path("/from/settings"),), "vendor")
    assert read_environment({"HOME": str(home), "GOENV": "off"}).mod == ""
    given_values = {"GOPATH": f"/a{os.pathsep}/b", "GOMODCACHE": "/c", "GO111MODULE": "off", "GOFLAGS": "-v -mod=mod"}
    (tmp_path / "gocode" / "src").mkdir(parents=True)
    full = read_environment({"HOME": str(home), **given_values, "GOWORK": "off"}, debian=tmp_path / "gocode")
    assert full == Environment(
        (Path("/a"), Path("/b"), tmp_path / "gocode"), Path("/c"), None, modules=False, mod="mod", gowork="off"
    )


def test_goroot_is_found_by_its_name_or_by_the_go_command(tmp_path: Path) -> None:
    _write(tmp_path, {"goroot/src/fmt/f.go": "", "goroot/bin/go": ""})
    (tmp_path / "goroot" / "bin" / "go").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "go").symlink_to("../goroot/bin/go")
    assert read_environment({"GOROOT": str(tmp_path / "goroot")}).goroot == tmp_path / "goroot"
    assert read_environment({"PATH": str(tmp_path / "bin")}).goroot == (tmp_path / "goroot").resolve()
    assert read_environment({"GOROOT": str(tmp_path)}).goroot is None


def test_paths_that_no_file_can_have_lead_nowhere(tmp_path: Path) -> None:
    """Fuzzing found them: Python raises ValueError for such paths, not OSError."""
    files = {
        "go.mod": "module m\n\nrequire example.com/a v1.0.0\n\nreplace example.com/a => ./a\0b\n",
        "go.work": "use .\nuse ./c\0d\n",
        "main.go": "package main\n",
    }
    project = _project(tmp_path, files)
    assert _lead(project, "", "example.com/a") is None
    assert _lead(project, "", "example.com/a/b\0c") is None
