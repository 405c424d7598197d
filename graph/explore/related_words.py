"""Words that programmers use for the same thing, and the abbreviations that Go code has for them.

Only general words: nothing here comes from one repository. A related word counts half of the word itself.
"""

from __future__ import annotations

from typing import Final

from golore.graph.search.terms import stem

_GROUPS: Final = """
address addr ip
allocate alloc
append add write put
application app
argument arg
asynchronous async
authentication authorization permission auth
begin start launch spawn run
blocked slow full stuck pending wait
broken corrupt damaged invalid bad torn
buffer buf cache
change modify update edit
character char rune
choose pick select
check validate verify ensure
clone copy dup
combine merge join concat
compare equal match
compress encode gzip
configuration config settings options cfg opts
connection conn
construct create make build new init
convert transform translate
compute calculate
count number num total
crash panic fatal
current cur
database db
delete remove drop purge evict discard erase
deliver send dispatch notify emit publish push
destination dest dst target
directory dir folder
document doc
empty nil zero
environment env
error failure fail
execute exec run
expire expiry lifetime ttl timeout deadline
fetch load read get
find locate lookup search resolve
finish stop close shutdown terminate cancel end
fix repair recover restore
function func
identifier id
ignore skip
implementation impl
index idx
information info
initialize init setup
iterate list walk enumerate traverse foreach
leader lead primary
length len size
lock mutex
maximum max
member node peer
message msg
minimum min
monitor observe watch poll
parameter param
period interval tick schedule
persist save store
position pos offset
previous prev
print output render
raise increase upgrade bump
receive recv accept
reference ref
remaining rest left
replace substitute expand
repository repo
request req
response resp reply
retry backoff transient temporary
revision rev
sequence seq
source src
specification spec
split divide partition
statistics stats
synchronize sync
temporary temp tmp
throttle limit rate
transaction tx txn
version ver
"""


def _related() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in _GROUPS.split("\n"):
        group = frozenset(map(stem, line.split()))
        for word in group:
            found[word] = found.get(word, frozenset()) | (group - {word})
    return found


RELATED: Final = _related()
"""Stem → the stems of related words."""
