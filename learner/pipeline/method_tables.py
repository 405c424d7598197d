"""The method tables of one package in the form in which the cache has them, and worker processes send them."""

from __future__ import annotations

from typing import Final

import msgspec
from golore.learner.resolution.method_sets import MethodTable


class Tables(msgspec.Struct, frozen=True, array_like=True):
    types: list[MethodTable]
    interfaces: list[MethodTable]


encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode
"""Exports contain the tables, so equal tables must have equal bytes: sets have no order of their own."""
decode: Final = msgspec.msgpack.Decoder(Tables).decode
