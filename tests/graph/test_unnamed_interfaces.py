"""Methods of interfaces without a name: what their ids say, and which declared methods fit them."""

from __future__ import annotations

import pytest
from golore.graph.queries.names.short_names import assumed_short_name
from golore.graph.queries.unnamed_interfaces import Arity, arity_of, fits, methods_of


def test_an_id_names_all_methods_with_their_arity() -> None:
    id = "interface{Do(func(int, string) error, map[string]int...) (int, error); Len() int; example.com/m.stop()}.Len"
    assert methods_of(id) == {"Do": Arity(2, 2), "Len": Arity(0, 1), "example.com/m.stop": Arity(0, 0)}


@pytest.mark.parametrize(
    ("signature", "arity"),
    [
        ("func (t T) Do()", Arity(0, 0)),
        ("func (t *T[K, V]) Do(a, b int, f func(x, y int) (int, error)) (n int, err error)", Arity(3, 2)),
        ("func (T) Do(args ...any) map[string][]int", Arity(1, 1)),
        ("Do(context.Context) error", Arity(1, 1)),
        ("func (T) Do(interface{ Do(int) }) func() (int, int)", Arity(1, 1)),
    ],
)
def test_the_arity_of_a_declared_method(signature: str, arity: Arity) -> None:
    assert arity_of("Do", signature) == arity


def test_an_unexported_method_fits_in_its_own_package_alone() -> None:
    id = "interface{example.com/m.stop()}.stop"
    assert fits(id, "stop", "example.com/m", Arity(0, 0))
    assert not fits(id, "stop", "example.com/other", Arity(0, 0))
    assert not fits(id, "stop", "example.com/m", Arity(1, 0))


def test_short_names_leave_out_the_paths_of_packages() -> None:
    assert (
        assumed_short_name("interface{Type() go/types.Type; a.com/m.x()}.Type")
        == "interface{Type() types.Type; m.x()}.Type"
    )
