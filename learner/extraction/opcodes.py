"""Opcodes of the compact code for expressions, types and statements that resolution works on.

Extraction encodes each declaration as a flat list of integers in prefix order. A file is parsed once, facts are small,
and resolving is one pass over a list. Types and expressions share one language, as in Go's own syntax tree: resolution
decides whether `a[b](c)` is a call, a conversion or an instantiation. Parentheses are dropped.

In the formats below, `s` is an index into the file's table of names (0 is the empty name). `line` is the line number
in a body, and an index into the shape's lines in a shape, so that moving code does not change the shape. `X`, `Y`, `K`,
`V` and `T` are nested codes.

`tree_encoder` and `token_encoder` write code; `type_reader`, `expressions` and `statements` read it.
"""

from __future__ import annotations

from typing import Final

# Expressions
BAD: Final = 0  # BAD                       code that did not parse
NAME: Final = 1  # NAME s line
SELECT: Final = 2  # SELECT s line X        X.s
CALL: Final = 3  # CALL n spread X args     also a conversion
INDEX: Final = 4  # INDEX n X args          also an instantiation
SLICE: Final = 5  # SLICE n X bounds
ASSERT: Final = 6  # ASSERT X T             X.(T)
STAR: Final = 7  # STAR X                   a dereference or a pointer type
ADDRESS: Final = 8  # ADDRESS X
RECEIVE: Final = 9  # RECEIVE X
UNARY: Final = 10  # UNARY X                has the type of X
NOT: Final = 11  # NOT X
BINARY: Final = 12  # BINARY X Y            arithmetic: the type of the typed side
SHIFT: Final = 13  # SHIFT X Y              the type of X
COMPARE: Final = 14  # COMPARE X Y
INT: Final = 15  # INT value                -1 if it does not fit
FLOAT: Final = 16
IMAGINARY: Final = 17
RUNE: Final = 18
STRING: Final = 19
COMPOSITE: Final = 20  # COMPOSITE n line T elements   an element is a code or KEYED key value; n may be DATA
ELIDED: Final = 21  # ELIDED n line elements     a composite literal without its type
KEYED: Final = 22  # KEYED key value
FUNCTION: Final = 23  # FUNCTION SIG statements END   a function literal

DATA: Final = -1
"""In place of the number of elements: there are some, all constants without names, and they are left out."""

# Types
ARRAY: Final = 30  # ARRAY length T
ARRAY_AUTO: Final = 31  # ARRAY_AUTO T      [...]T
SLICE_OF: Final = 32  # SLICE_OF T
MAP: Final = 33  # MAP K V
CHANNEL: Final = 34  # CHANNEL direction T  0 both, 1 send, 2 receive
FUNCTION_TYPE: Final = 35  # FUNCTION_TYPE SIG
STRUCT: Final = 36  # STRUCT n (s embedded T)*
INTERFACE: Final = 37  # INTERFACE n (METHOD s SIG | T)*
METHOD: Final = 38
UNION: Final = 39  # UNION n T*
TILDE: Final = 40  # TILDE T

# A signature, SIG, is: params results variadic (s T)*params (s T)*results
# Type parameters, TPARAMS, are: n (s T)*n

# Statements
END: Final = 50
OPEN: Final = 51  # a scope begins
CLOSE: Final = 52  # a scope ends
EVALUATE: Final = 53  # EVALUATE X
DEFINE: Final = 54  # DEFINE names values s* X*
ASSIGN: Final = 55  # ASSIGN targets values X* X*    `x++` has no values
VAR: Final = 56  # VAR names typed values s* [T] X*
CONST: Final = 57  # CONST names typed values s* [T] X*    without values: repeats those of the spec before
TYPE: Final = 58  # TYPE s alias TPARAMS T
RANGE: Final = 59  # RANGE defines targets X (s | X)*      X is the range operand
SWITCH_TYPE: Final = 60  # SWITCH_TYPE X    X is the switched value; ends at SWITCH_END
CASE_TYPE: Final = 61  # CASE_TYPE s n T*   s is bound to the value, 0 if none
SWITCH_END: Final = 62
RETURN: Final = 63  # RETURN n X*
SEND: Final = 64  # SEND X Y                Y is sent to X
