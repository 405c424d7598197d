"""A small Go module for tests of questions and commands: interfaces, twins, a promoted method, an unresolved use."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "go.mod": "module example.com/shop\n\ngo 1.24\n",
    "main.go": """\
package main

import (
	"fmt"

	"example.com/shop/store"
	"github.com/absent/dep"
)

func main() { run() }

func run() {
	m := store.New()
	_ = m.Save("a")
	_ = store.Put(m, "b")
	fmt.Println(store.Limit)
	dep.Client().Save("c")
}

func New() {}

func lonely() {}
""",
    "store/store.go": """\
package store

// Limit is how much fits.
const Limit = 3

// Saver saves things.
type Saver interface {
	// Save keeps a key.
	Save(key string) error
}

// Memory keeps things in memory.
type Memory struct {
	items map[string]int
}

// Save counts a key.
func (m *Memory) Save(key string) error {
	m.items[key]++
	return nil
}

// Logged has what Memory has.
type Logged struct {
	*Memory
}

// New makes an empty Memory.
func New() *Memory { return &Memory{items: map[string]int{}} }

// Put saves a key in whatever saves.
func Put(s Saver, key string) error { return s.Save(key) }

func Flush() { Sync() }
""",
    "store/sync_linux.go": "package store\n\nfunc Sync() {}\n",
    "store/sync_windows.go": "package store\n\nfunc Sync() {}\n",
    "store/store_test.go": """\
package store

import "testing"

func TestPut(t *testing.T) {
	if Put(New(), "a") != nil {
		t.Fatal("not kept")
	}
}
""",
}


def make_shop(root: Path) -> Path:
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
