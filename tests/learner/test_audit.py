"""The comparison of golore's edges with the judge's truth."""

from __future__ import annotations

import json
from pathlib import Path

from golore.learner.audit.comparison import (
    AuditResult,
    OurCall,
    OurEdges,
    OurImplements,
    OurUnresolved,
    Score,
    as_json,
    compare,
    render_table,
)
from golore.learner.audit.go_judge import (
    JudgedCall,
    JudgedFile,
    JudgedImplements,
    JudgedInterface,
    JudgedType,
    NamelessSite,
    Truth,
    UncheckedName,
    judge_edges,
)

FILES = (JudgedFile("a.go"), JudgedFile("b.go"), JudgedFile("x_linux.go"))
LEARNED = frozenset({"a.go", "b.go", "x_linux.go", "x_windows.go"})


def so(line: int, callee: str, callee_file: str = "", callee_line: int = 0) -> JudgedCall:
    return JudgedCall("a.go", line, 2, "m.F", 3, callee, callee_file, callee_line, "static")


def said(callee: str, callee_file: str = "", callee_line: int = 0, sites: tuple[int, ...] = (4,)) -> OurCall:
    return OurCall("m.F", "a.go", 3, callee, callee_file, callee_line, sites)


def compare_calls(truth: Truth, *calls: OurCall) -> AuditResult:
    return compare(truth._replace(files=truth.files or FILES), OurEdges(LEARNED, calls))


def test_equal_calls_are_right_however_often_they_occur() -> None:
    truth = Truth(calls=(so(4, "m.G", "b.go", 7), so(5, "m.G", "b.go", 7), so(6, "fmt.Println")))
    result = compare_calls(truth, said("m.G", "b.go", 7, (4, 5)), said("fmt.Println", sites=(6,)))
    assert result.calls == Score(right=2, wrong=0, missed=0, unjudged=0)
    assert result.sites == Score(right=3, wrong=0, missed=0, unjudged=0)
    assert (result.calls.precision, result.calls.recall) == (1.0, 1.0)


def test_a_missed_and_a_wrong_call_are_told_with_examples() -> None:
    truth = Truth(calls=(so(4, "m.T.Close", "b.go", 7),))
    result = compare_calls(truth, said("m.U.Close", "b.go", 9))
    assert result.calls == Score(right=0, wrong=1, missed=1, unjudged=0)
    labels = {pattern.about: (pattern.label, pattern.examples) for pattern in result.patterns}
    assert labels["calls wrong"] == ("different callee with the same name", ("a.go:4 m.F -> m.U.Close",))
    assert labels["callees missed"] == ("m.T.Close", ("a.go:4 m.F -> m.T.Close",))


def test_a_missed_call_is_grouped_by_the_reason_golore_gave() -> None:
    edges = OurEdges(LEARNED, unresolved=(OurUnresolved("a.go", "G", "type of x unknown", (4,)),))
    result = compare(Truth(files=FILES, calls=(so(4, "m.G", "b.go", 7),)), edges)
    assert "static call, callee inside: type of x unknown" in {pattern.label for pattern in result.patterns}


def test_calls_of_files_outside_this_build_are_not_compared() -> None:
    call = OurCall("m.W", "x_windows.go", 1, "m.G", "b.go", 7, (2,))
    assert compare_calls(Truth(), call).calls == Score(0, 0, 0, 0)


def test_files_golore_has_not_learned_are_counted_not_compared() -> None:
    truth = Truth(files=FILES, calls=(so(4, "m.G", "b.go", 7),))
    result = compare(truth, OurEdges(frozenset({"b.go"})))
    assert result.calls == Score(0, 0, 0, 0)
    assert result.files_not_learned == ("a.go", "x_linux.go")


def test_a_build_tag_twin_is_not_held_against_golore() -> None:
    truth = Truth(calls=(so(4, "m.open", "x_linux.go", 5),))
    twins = (said("m.open", "x_linux.go", 5), said("m.open", "x_windows.go", 6))
    assert compare_calls(truth, *twins).calls == Score(1, 0, 0, 0)
    assert compare_calls(truth, twins[1]).calls == Score(0, 0, 1, 0)
    assert compare_calls(truth, said("m.shut", "x_windows.go", 9)).calls == Score(0, 1, 1, 0)


def test_a_call_the_type_checker_could_not_settle_is_unjudged() -> None:
    truth = Truth(open_sites=(UncheckedName("a.go", 4, 2, "Do"),), nameless_sites=(NamelessSite("a.go", 5, 2, "M"),))
    result = compare_calls(truth, said("dep.Do"), said("m.A.M", "b.go", 3, (5,)), said("dep.Other"))
    assert result.calls == Score(right=0, wrong=1, missed=0, unjudged=2)
    assert result.calls.precision == 0.0


def test_vendored_callees_are_compared_by_name() -> None:
    truth = Truth(calls=(so(4, "example.com/v.V"),))
    assert compare_calls(truth, said("example.com/v.V", "vendor/example.com/v/v.go", 3)).calls == Score(1, 0, 0, 0)


def test_a_published_copy_of_a_module_in_the_repository_is_the_same_callee() -> None:
    truth = Truth(calls=(so(4, "example.com/b.G"),))
    assert compare_calls(truth, said("example.com/b.G", "b.go", 3)).calls == Score(1, 0, 0, 0)


def test_files_with_broken_syntax_are_not_compared() -> None:
    truth = Truth(files=(JudgedFile("a.go", 1, "", True), JudgedFile("b.go")))
    assert compare_calls(truth, said("m.G", "b.go", 7)).calls == Score(0, 0, 0, 0)


IMPLEMENTS = Truth(
    files=FILES,
    interfaces=(
        JudgedInterface("error", "", 0),
        JudgedInterface("m.I", "b.go", 9),
        JudgedInterface("m.P", "b.go", 19, True),
    ),
    types=(JudgedType("m.T", "a.go", 5), JudgedType("m.U", "a.go", 15)),
    implements=(
        JudgedImplements("m.T", "a.go", 5, "error", "", 0, True),
        JudgedImplements("m.U", "a.go", 15, "m.I", "b.go", 9),
    ),
)


def test_implements_is_compared_over_types_and_interfaces_the_judge_looked_at() -> None:
    ours = (
        OurImplements("m.T", "a.go", 5, "error", "", 0, False),
        OurImplements("m.T", "a.go", 5, "m.I", "b.go", 9, False),
        OurImplements("m.T", "a.go", 5, "m.P", "b.go", 19, False),
        OurImplements("m.T", "a.go", 5, "other.External", "", 0, False),
        OurImplements("m.Generic", "a.go", 25, "m.I", "b.go", 9, False),
    )
    result = compare(IMPLEMENTS, OurEdges(LEARNED, implements=ours))
    assert result.implements == Score(right=1, wrong=1, missed=1, unjudged=1)
    assert result.pointer_differs == 1
    assert {p.about: p.examples for p in result.patterns} == {
        "implements missed": ("a.go:15 m.U -> m.I",),
        "implements wrong": ("a.go:5 m.T -> m.I",),
    }


def test_the_table_and_the_document_show_the_same_figures() -> None:
    truth = Truth(calls=(so(4, "m.G", "b.go", 7), so(5, "m.H", "b.go", 8)))
    result = compare_calls(truth, said("m.G", "b.go", 7))
    document = json.loads(json.dumps(as_json(result)))
    assert document["calls"] == {
        "right": 1,
        "wrong": 0,
        "missed": 1,
        "unjudged": 0,
        "precision": 1.0,
        "recall": 0.5,
    }
    row = next(line for line in render_table(result).splitlines() if line.startswith("calls"))
    assert row.split() == ["calls", "1.0000", "0.5000", "1", "0", "1", "0"]
    assert "a.go:5 m.F -> m.H" in render_table(result)


def test_the_judge_compared_with_itself_is_perfect(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module example.com/m\n\ngo 1.22\n")
    (tmp_path / "m.go").write_text(
        'package m\n\nimport "errors"\n\ntype E int\n\nfunc (*E) Error() string { return errors.New("").Error() }\n'
    )
    truth = judge_edges(tmp_path, cache=tmp_path / "cache")
    result = compare(truth, as_ours(truth))
    assert result.calls == Score(right=2, wrong=0, missed=0, unjudged=0)
    assert result.implements == Score(right=1, wrong=0, missed=0, unjudged=0)
    assert result.patterns == ()


def as_ours(truth: Truth) -> OurEdges:
    calls = tuple(
        OurCall(c.caller, c.file, c.caller_line, c.callee, c.callee_file, c.callee_line, (c.line,)) for c in truth.calls
    )
    implements = tuple(
        OurImplements(i.type_name, i.type_file, i.type_line, i.interface, i.interface_file, i.interface_line, i.pointer)
        for i in truth.implements
    )
    return OurEdges(frozenset(file.path for file in truth.files), calls, implements)
