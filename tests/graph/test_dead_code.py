"""Dead code: what nothing reaches, and what only uncertain means reach."""

from __future__ import annotations

from pathlib import Path

from golore.graph.analysis.dead_code import DeadCode, find_dead_code
from golore.graph.database.store import Store
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.text.dead_text import dead_reply
from golore.mcp_server.text.replies import plain_lines


def dead_of(
    root: Path, files: dict[str, str], below: str = "", *, tests: bool = False, exported: bool = False
) -> DeadCode:
    for name, text in {"go.mod": "module m\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    learn_graph(root, workers=0)
    with Store.open(root / ".golore", write=False) as store:
        return find_dead_code(store, root, below, tests=tests, exported=exported)


def names(found: DeadCode) -> list[str]:
    return [one.qualified_name.removeprefix("m.") for one in found.dead]


def uncertain(found: DeadCode) -> dict[str, str]:
    return {one.qualified_name.removeprefix("m."): one.reason for one in found.uncertain}


def program(code: str) -> dict[str, str]:
    return {"main.go": f"package main\n\n{code}"}


def test_functions_are_followed_through_calls_values_and_initializers(tmp_path: Path) -> None:
    found = dead_of(
        tmp_path,
        program("""
func main() { run(handle) }
func run(f func()) { f() }
func handle() {}
func init() { initialized() }
func initialized() {}
var table = map[string]func(){"a": listed}
func listed() {}
func unused() { onlyFromUnused() }
func onlyFromUnused() {}
const Limit = 3
type Unused struct{}
"""),
    )
    assert names(found) == ["Limit", "Unused", "onlyFromUnused", "table", "unused"]
    assert found.uncertain == ()


INTERFACE = """
type Shape interface{ area() int }
type Square struct{}
func (Square) area() int { return 1 }
type Circle struct{}
func (Circle) area() int { return 3 }
"""


def test_a_call_through_an_interface_reaches_only_types_that_reached_code_puts_into_it(tmp_path: Path) -> None:
    code = INTERFACE + "func main() { var s Shape = Square{}; s.area(); other() }\nfunc other() { _ = Circle{} }\n"
    assert names(dead_of(tmp_path, program(code))) == ["Circle.area"]


def test_values_are_followed_from_interface_to_interface(tmp_path: Path) -> None:
    code = (
        INTERFACE
        + """
type Both interface { Shape; name() string }
func (Circle) name() string { return "" }
func main() { use(box{Circle{}}) }
type box struct{ content any }
func use(b box) { if both, ok := b.content.(Both); ok { measure(both) } }
func measure(s Shape) { s.area() }
"""
    )
    found = dead_of(tmp_path, program(code))
    assert names(found) == ["Circle.name", "Square", "Square.area"]
    assert next(one for one in found.dead if one.kind == "method").satisfies == ("m.Both",)


def test_values_are_followed_through_type_parameters(tmp_path: Path) -> None:
    code = (
        INTERFACE
        + """
type list[T any] struct{ items []T }
func (l list[T]) each() { for _, item := range l.items { show(item) } }
func show(v any) { v.(Shape).area() }
func total[S Shape](s S) int { return s.area() }
func main() { list[Circle]{}.each(); total(Square{}) }
"""
    )
    assert names(dead_of(tmp_path, program(code))) == []


def test_a_method_that_an_outside_interface_requires_is_reached_if_its_type_gets_there(tmp_path: Path) -> None:
    code = """
import "fmt"
type Shown struct{}
func (Shown) String() string { return "" }
func (Shown) Reset() {}
func (Shown) hide() {}
type Kept struct{}
func (Kept) String() string { return "" }
func main() { fmt.Println(Shown{}); _ = Kept{} }
"""
    found = dead_of(tmp_path, program(code))
    assert names(found) == ["Kept.String", "Shown.hide"]
    assert uncertain(found) == {"Shown.Reset": "reflection"}


def test_reflection_reaches_the_types_of_fields(tmp_path: Path) -> None:
    code = """
import "encoding/json"
type Config struct{ Inner []*Inner }
type Inner struct{}
func (*Inner) MarshalText() ([]byte, error) { return nil, nil }
func main() { json.Marshal(Config{}) }
"""
    assert uncertain(dead_of(tmp_path, program(code))) == {"Inner.MarshalText": "reflection"}


def test_uses_that_are_no_go_code_are_named(tmp_path: Path) -> None:
    files = program("""
import "example.com/absent"
func main() { absent.New().Refresh() }
type cache struct{}
func (cache) Refresh() {}

//go:linkname linked example.com/other.linked
func linked() {}

//export exported
func exported() {}

func fromAssembly() {}
func unused() {}
""")
    found = dead_of(tmp_path, {**files, "code.s": "TEXT ·start(SB), $0\n\tCALL ·fromAssembly(SB)\n"})
    assert names(found) == ["unused"]
    assert uncertain(found) == {
        "cache": "unresolved",
        "cache.Refresh": "unresolved",
        "exported": "cgo",
        "fromAssembly": "assembly",
        "linked": "linkname",
    }


def test_a_call_through_an_unnamed_interface_reaches_the_methods_that_fit_it(tmp_path: Path) -> None:
    code = """
type Server struct{}
func (Server) check() {}
func (Server) other() {}
type Client struct{}
func (Client) check(deep bool) {}
type Idle struct{}
func (Idle) check() {}
var _ Idle
func main() { register(Server{}); register(Client{}) }
func register(v any) { if c, ok := v.(interface{ check() }); ok { c.check() } }
"""
    found = dead_of(tmp_path, program(code))
    assert names(found) == ["Client.check", "Idle.check", "Server.other"]
    assert uncertain(found) == {}


LIBRARY = {
    "lib/lib.go": "package lib\n\nfunc Api() { helper() }\nfunc helper() {}\nfunc lost() {}\nfunc tested() {}\n",
    "lib/lib_test.go": 'package lib\n\nimport "testing"\n\nfunc TestIt(t *testing.T) { tested() }\nfunc idle() {}\n',
    "internal/deep/deep.go": "package deep\n\nfunc Unused() {}\n",
}


def test_a_library_is_judged_by_its_exported_api(tmp_path: Path) -> None:
    found = dead_of(tmp_path, LIBRARY)
    assert names(found) == ["m/lib.lost", "m/lib.tested"]
    assert (found.roots.exported, found.roots.tests) == (True, 0)
    assert found.unlinked == ("m/internal/deep",)


def test_tests_are_roots_on_request(tmp_path: Path) -> None:
    found = dead_of(tmp_path, LIBRARY, tests=True)
    assert names(found) == ["m/lib.idle", "m/lib.lost"]
    assert found.roots.tests == 1


def test_exported_api_is_a_root_on_request_if_there_are_programs(tmp_path: Path) -> None:
    files = {**LIBRARY, "cmd/a/main.go": 'package main\n\nimport "m/lib"\n\nvar _ = lib.Api\n\nfunc main() {}\n'}
    files["lib/more.go"] = "package lib\n\nfunc More() {}\n"
    assert names(dead_of(tmp_path, files)) == ["m/lib.More", "m/lib.lost", "m/lib.tested"]
    assert names(dead_of(tmp_path, files, exported=True)) == ["m/lib.lost", "m/lib.tested"]
    assert names(dead_of(tmp_path, files, "cmd")) == []


def test_a_method_that_only_marks_its_type_is_not_judged(tmp_path: Path) -> None:
    code = """
type node interface{ isNode() }
type leaf struct{}
func (leaf) isNode() {}
func main() { var n node = leaf{}; _ = n }
"""
    assert names(dead_of(tmp_path, program(code))) == []


def test_the_text_names_roots_reasons_and_what_was_not_judged(tmp_path: Path) -> None:
    code = (
        'import "fmt"\n\ntype T struct{}\n\nfunc (T) Reset() {}\nfunc main() { fmt.Println(T{}) }\nfunc unused() {}\n'
    )
    found = dead_of(tmp_path, {**program(code), "lib/lib.go": "package lib\n"})
    lines = plain_lines(dead_reply(found), 10)
    assert lines[0] == "1 of 3 declarations is dead: nothing reaches it from main and init of 1 program."
    assert lines[4:6] == ["dead unless used by reflection", "  main.go:7  method  m.T.Reset"]
    assert lines[-1].endswith("(see --tests and --exported): 1 package: m/lib.")
