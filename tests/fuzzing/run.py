"""Runs the fuzz targets with many inputs, guided by coverage, and prints counts. See CONTRIBUTING.md.

    GOLORE_PURE=1 uv run --group fuzz tests/fuzzing/run.py [--share 0.01] [TARGET...]

Each target runs in a process of its own, with a limit of memory and of time for one input. A crash, a hang or a memory
blow-up is counted, its input is kept, and the rest of the inputs are run in a new process.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzzing.mutator import mutations
from fuzzing.target import Target

RUNS: Final = {
    "agent_settings": 230_000,
    "documents": 124_000,
    "go_packages": 20_000,
    "go_source": 150_000,
    "hook_payloads": 60_000,
    "ignore_files": 168_000,
    "imports": 4_000,
    "module_files": 240_000,
    "stores": 4_000,
    "team_events": 20_000,
}
"""Inputs of each target; a million together."""
UNGUIDED: Final = ("stores",)
"""Targets that do their work in other processes, so that coverage cannot guide the mutations."""
SECONDS: Final = 10
"""Processor time for one input, because a busy machine makes the real time long."""
_HANG_SECONDS: Final = 300
"""Real time after which an input counts as hanging."""
MEGABYTES: Final = 1_024
_MAX_LENGTH: Final = 1 << 16
_MAX_FINDINGS: Final = 20


class Outcome(NamedTuple):
    executions: int
    findings: list[str]
    """The kind of each crash, hang and memory blow-up, with the path of its input."""
    peak: int
    """Megabytes."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=sorted(RUNS), metavar="TARGET")
    parser.add_argument("--share", type=float, default=1.0, help="share of the inputs to run")
    parser.add_argument("--output", type=Path, default=Path("build/fuzzing"), help="where inputs of findings are kept")
    options = parser.parse_args()
    total = Outcome(0, [], 0)
    for name in options.targets:
        started = time.monotonic()
        found = run_target(name, max(1, int(RUNS[name] * options.share)), options.output / name)
        total = Outcome(
            total.executions + found.executions, total.findings + found.findings, max(total.peak, found.peak)
        )
        print_counts(name, found, time.monotonic() - started)
    print_counts("together", total, 0)
    return 1 if total.findings else 0


def print_counts(name: str, found: Outcome, seconds: float) -> None:
    kinds = [finding.partition(" ")[0] for finding in found.findings]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("crash", "timeout", "oom"))
    print(f"{name}: {found.executions:,} executions, {counts}, {found.peak:,} MB, {seconds:,.0f} s", flush=True)
    for finding in found.findings:
        print(f"  {finding}", flush=True)


def run_target(name: str, runs: int, output: Path) -> Outcome:
    corpus, kept = output / "corpus", output / "findings"
    for directory in (corpus, kept):
        directory.mkdir(parents=True, exist_ok=True)
    done, findings, peak = 0, list[str](), 0
    while done < runs and len(findings) < _MAX_FINDINGS:
        with tempfile.TemporaryDirectory(prefix="golore-fuzz-", ignore_cleanup_errors=True) as temporary:
            environment = {**os.environ, "HOME": temporary, "XDG_STATE_HOME": f"{temporary}/state"}
            command = [sys.executable, __file__, "child", name, temporary, str(corpus), str(kept), str(runs - done)]
            log = output / "log"
            with log.open("wb") as file:
                code = subprocess.run(command, env=environment, stdout=file, stderr=file, check=False).returncode
        text = log.read_text(errors="replace")
        executed = _last_number(r"stat::number_of_executed_units:\s*(\d+)", text)
        peak = max(peak, _last_number(r"stat::peak_rss_mb:\s*(\d+)", text))
        done += executed
        if code == 0:
            break
        findings.append(_finding(text, log))
        if not executed:
            break
    return Outcome(done, findings, peak)


def _finding(text: str, log: Path) -> str:
    """The kind of a finding, the path of its input and the error, from the output of its process."""
    written = re.findall(r"Test unit written to (\S+)", text)
    lines = [line for line in text.splitlines() if re.match(r"\w*(Error|Exception|Warning)\b|.*ERROR: libFuzzer", line)]
    reason = lines[0] if lines else "\n".join(text.splitlines()[-5:])
    kind = Path(written[-1]).name.partition("-")[0] if written else "crash"
    return f"{'timeout' if reason.startswith('TimeoutError') else kind} {written[-1] if written else log}: {reason}"


def _last_number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run_child(name: str, temporary: Path, corpus: Path, kept: Path, runs: int) -> None:
    """Run a target in this process. atheris ends the process."""
    if name in UNGUIDED:
        run_unguided(importlib.import_module(f"fuzzing.{name}").prepare(temporary), kept, runs)
        return
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["golore"]):
        target = importlib.import_module(f"fuzzing.{name}").prepare(temporary)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number:04}").write_bytes(seed)
    limits = (f"-runs={runs}", f"-timeout={_HANG_SECONDS}", f"-rss_limit_mb={MEGABYTES}", f"-max_len={_MAX_LENGTH}")
    report = ("-print_final_stats=1", f"-artifact_prefix={kept}/")

    def run(data: bytes) -> None:
        before = time.process_time()
        target.run(data)
        taken = time.process_time() - before
        if taken > SECONDS:
            raise TimeoutError(f"took {taken:.1f} s of processor time")

    atheris.Setup([sys.argv[0], *limits, *report, str(corpus)], run)
    atheris.Fuzz()


def run_unguided(target: Target, kept: Path, runs: int) -> None:
    """Run mutations of the seeds, and report as atheris does."""
    done = 0
    try:
        for data in mutations(target.seeds, runs, number=os.getpid()):
            done += 1
            (kept / "current").write_bytes(data)
            target.run(data)
    except BaseException:
        path = (kept / "current").rename(kept / f"crash-{time.time_ns()}")
        print(f"Test unit written to {path}", file=sys.stderr)
        raise
    finally:
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
        print(f"stat::number_of_executed_units: {done}\nstat::peak_rss_mb: {peak}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        run_child(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5]), int(sys.argv[6]))
        sys.exit(0)
    sys.exit(main())
