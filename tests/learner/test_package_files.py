"""The packages of one directory."""

from __future__ import annotations

import pytest
from golore.graph.model.entities import ImportPath, RepoPath
from golore.learner.project.package_files import PackageFile, group_packages
from hypothesis import given
from hypothesis import strategies as st


def _grouped(*files: tuple[str, str, str]) -> list[tuple[str, str, bool, tuple[str, ...]]]:
    given_files = [PackageFile(RepoPath(path), name, constraint) for path, name, constraint in files]
    groups = group_packages(ImportPath("m/x"), given_files)
    return [(group.id, group.name, group.test, group.files) for group in groups]


def test_external_tests_and_strays_are_packages_of_their_own() -> None:
    assert _grouped(
        ("x/b.go", "x", ""),
        ("x/a.go", "x", "windows"),
        ("x/a_test.go", "x", ""),
        ("x/e_test.go", "x_test", ""),
        ("x/gen.go", "main", "ignore"),
        ("x/broken.go", "", ""),
        ("x/doc.go", "documentation", ""),
    ) == [
        ("m/x", "x", False, ("x/a.go", "x/a_test.go", "x/b.go", "x/broken.go")),
        ("m/x_test", "x_test", True, ("x/e_test.go",)),
        ("m/x [documentation]", "documentation", False, ("x/doc.go",)),
        ("m/x [main]", "main", False, ("x/gen.go",)),
    ]


@pytest.mark.parametrize(
    ("files", "ids"),
    [
        ("gen.go:main:ignore", "m/x"),
        ("gen1.go:main:ignore gen2.go:main:ignore x.go:x:", "m/x, m/x [main]"),
        ("gen1.go:main:ignore gen2.go:main:ignore x.go:x:windows", "m/x, m/x [main]"),
        ("a_test.go:x_test:", "m/x_test"),
        ("a_test.go:x_test: b_test.go:x:", "m/x, m/x_test"),
        ("a.go:x: a_test.go:y_test:", "m/x, m/x [y_test]"),
        ("a.go:x: odd.go:x_test:ignore a_test.go:x_test:", "m/x, m/x_test, m/x [x_test]"),
        ("a.go:main: b.go:x:", "m/x, m/x [main]"),
        ("a.go::", "m/x"),
        ("", ""),
    ],
)
def test_the_package_proper_is_the_one_that_go_builds(files: str, ids: str) -> None:
    described = [(path, name, constraint) for path, name, constraint in (file.split(":") for file in files.split())]
    assert ", ".join(group[0] for group in _grouped(*described)) == ids


_NAMES = st.sampled_from(("x", "x_test", "main", "", "documentation", "y"))
_PATHS = st.sampled_from(("d/a.go", "d/b.go", "d/a_test.go", "d/b_test.go", "d/c.go", "d/c_test.go"))


@given(st.dictionaries(_PATHS, st.tuples(_NAMES, st.sampled_from(("", "ignore", "windows"))), max_size=6))
def test_every_file_is_in_one_package_whatever_the_order(files: dict[str, tuple[str, str]]) -> None:
    listed = [(path, name, constraint) for path, (name, constraint) in files.items()]
    groups = _grouped(*listed)
    assert groups == _grouped(*reversed(listed))
    assert sorted(path for group in groups for path in group[3]) == sorted(files)
    assert len({group[0] for group in groups}) == len(groups)
