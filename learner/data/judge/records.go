package main

// Records are the lines of the answer. They are written by hand, not by encoding/json: there are a million of them.

import (
	"encoding/json"
	"io"
	"sort"
	"strconv"
	"sync"
)

// truth collects records from many workers and writes them in one order, whatever the workers' order was.
type truth struct {
	mu     sync.Mutex
	chunks map[string][]byte // by the name of the package they are about
	counts map[string]int
	notes  []string
	impl   implementations
}

func newTruth() *truth {
	return &truth{chunks: map[string][]byte{}, counts: map[string]int{}, impl: newImplementations()}
}

func (t *truth) add(name string, lines []byte, counts map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chunks[name] = append(t.chunks[name], lines...)
	for what, n := range counts {
		t.counts[what] += n
	}
}

func (t *truth) note(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, text)
}

func (t *truth) writeTo(w io.Writer) error {
	for _, name := range sortedKeys(t.chunks) {
		if _, err := w.Write(t.chunks[name]); err != nil {
			return err
		}
	}
	if err := t.impl.writeTo(w); err != nil {
		return err
	}
	var r record
	sort.Strings(t.notes)
	for _, text := range t.notes {
		r.open("note").str("text", text).close()
	}
	for _, what := range sortedKeys(t.counts) {
		r.open("count").str("of", what).num("n", t.counts[what]).close()
	}
	_, err := w.Write(r)
	return err
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// record appends JSON objects, one a line.
type record []byte

func (r *record) open(kind string) *record {
	*r = append(*r, `{"k":"`...)
	*r = append(*r, kind...)
	*r = append(*r, '"')
	return r
}

func (r *record) str(key, value string) *record {
	*r = append(*r, `,"`...)
	*r = append(*r, key...)
	*r = append(*r, `":`...)
	*r = appendString(*r, value)
	return r
}

func (r *record) num(key string, value int) *record {
	*r = append(*r, `,"`...)
	*r = append(*r, key...)
	*r = append(*r, `":`...)
	*r = strconv.AppendInt(*r, int64(value), 10)
	return r
}

// flag writes a truth value.
func (r *record) flag(key string, value bool) *record {
	*r = append(*r, `,"`...)
	*r = append(*r, key...)
	*r = append(*r, `":`...)
	*r = strconv.AppendBool(*r, value)
	return r
}

func (r *record) close() {
	*r = append(*r, "}\n"...)
}

func appendString(to []byte, value string) []byte {
	for i := 0; i < len(value); i++ {
		if c := value[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			quoted, _ := json.Marshal(value)
			return append(to, quoted...)
		}
	}
	to = append(to, '"')
	to = append(to, value...)
	return append(to, '"')
}
