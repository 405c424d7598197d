"""Other programs read the files of a lake: the queries of the documentation, run as they are printed there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from golore.mcp_server.cli.main import main
from support.environments import make_environment
from support.fleet import make_repositories, publish

pytestmark = pytest.mark.slow
_PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "fleet-lead.md"
_ASKED = "github.com/spf13/cobra.Command.Flags"
_PACKAGES = {"duckdb": "duckdb", "datafusion": "datafusion", "chdb": "chdb", "daft": "daft", "pyspark": "pyspark"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "lake").mkdir()
    for root in make_repositories(folder).values():
        publish(root, folder / "lake")
    assert main(["fleet", "compact", str(folder / "lake")]) == 0
    return folder


def queries() -> dict[str, str]:
    """The Python code of the page by the package that it imports."""
    blocks = re.findall(r"```python\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    found = {
        name: block for name in _PACKAGES for block in blocks if re.search(rf"^(import|from) {name}\b", block, re.M)
    }
    assert len(found) == len(blocks) == len(_PACKAGES)
    return found


@pytest.mark.parametrize("name", sorted(_PACKAGES))
def test_a_query_of_the_documentation_gives_the_rows_that_golore_gives(name: str, folder: Path, tmp_path: Path) -> None:
    if name == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    programs = make_environment(tmp_path / "environment", _PACKAGES[name], "pyarrow", "numpy", "pandas")
    query = queries()[name].replace(_ASKED, "example.com/lib/store.Store.Save")
    done = subprocess.run(
        [str(programs / "python"), "-c", f"{query}\nprint(len(rows))"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[-1] == "1"
