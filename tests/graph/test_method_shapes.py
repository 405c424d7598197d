"""Methods with the same types have the same shape, however their parameters are named and written."""

from __future__ import annotations

import pytest
from golore.graph.lake.method_shapes import method_shape


@pytest.mark.parametrize(
    ("signature", "shape"),
    [
        ("func (c *Context) Put(key, value string)", "(string,string)()"),
        ("Put(string, string)", "(string,string)()"),
        ("Put(keys []string, more ...Item) (n int, err error)", "([]string,...shop.Item)(int,error)"),
        ("func (s S) Put(f func(int) error, c <-chan int) *Item", "(func(int) error,<-chan int)(*shop.Item)"),
        ("Put(ctx context.Context, v interface{}) error", "(context.Context,any)(error)"),
        ("Put(m map[string]Item, c chan int)", "(map[string]shop.Item,chan int)()"),
        ("Put()", "()()"),
        ("Put(", ""),
    ],
)
def test_a_shape_has_only_types(signature: str, shape: str) -> None:
    assert method_shape(signature, "Put", "example.com/shop/v2") == shape
