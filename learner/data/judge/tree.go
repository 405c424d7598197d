package main

// A tree is the user's source tree and the Go environment it is read with.

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

type tree struct {
	root    string // absolute, without symbolic links
	goCmd   string
	goroot  string
	arch    string
	version string // of the toolchain: "go1.27.3"
	roots   []string
	context build.Context
	modules []module

	standardListed bool

	shadow, shadowed string // a made-up GOROOT's src, and the directory it stands for
}

// module is a directory with a go.mod.
type module struct {
	dir, path, version string
}

func openTree(root, goCmd string, roots []string) (*tree, error) {
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, goCmd: goCmd}
	gopath, err := t.readEnvironment()
	if err != nil {
		return nil, err
	}
	for _, dir := range append(roots, filepath.SplitList(gopath)...) {
		if dir = sourceRoot(dir); isDir(dir) {
			t.roots = append(t.roots, dir)
		}
	}
	t.modules, err = findModules(root)
	for _, m := range t.modules {
		if m.path == "std" && isDir(filepath.Join(m.dir, "runtime")) {
			t.useStandardRoot(m.dir)
		}
	}
	return t, err
}

// useStandardRoot makes the go command take a copy of the standard library for its own: otherwise it would take the
// copy's imports from its own tree, or name its packages std/fmt.
func (t *tree) useStandardRoot(src string) {
	goroot := filepath.Dir(src)
	if filepath.Base(src) != "src" {
		shadow, err := os.MkdirTemp("", "judge-goroot")
		if err != nil || os.Symlink(src, filepath.Join(shadow, "src")) != nil {
			return
		}
		t.shadow, t.shadowed, goroot = filepath.Join(shadow, "src"), src, shadow
	}
	t.goroot, t.context.GOROOT = goroot, goroot
}

func (t *tree) close() {
	if t.shadow != "" {
		os.RemoveAll(filepath.Dir(t.shadow))
	}
}

// shadowOf and shadowedBy translate between a directory and its name below the made-up GOROOT.
func (t *tree) shadowOf(dir string) string {
	if t.shadow != "" && inside(dir, t.shadowed) {
		return t.shadow + dir[len(t.shadowed):]
	}
	return dir
}

func (t *tree) shadowedBy(dir string) string {
	if t.shadow != "" && inside(dir, t.shadow) {
		return t.shadowed + dir[len(t.shadow):]
	}
	return dir
}

// sourceRoot is DIR/src for a GOPATH entry, DIR itself otherwise.
func sourceRoot(dir string) string {
	dir, _ = filepath.Abs(dir)
	if src := filepath.Join(dir, "src"); isDir(src) {
		dir = src
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// readEnvironment asks the go command for its settings and returns GOPATH.
func (t *tree) readEnvironment() (gopath string, err error) {
	out, err := t.run(t.root, nil, "env", "-json", "GOROOT", "GOARCH", "GOOS", "GOVERSION", "CGO_ENABLED", "GOFLAGS", "GOPATH")
	if err != nil {
		return "", fmt.Errorf("the go command does not work: %w", err)
	}
	env := map[string]string{}
	if err := json.Unmarshal(out, &env); err != nil {
		return "", fmt.Errorf("the go command does not tell its environment: %w", err)
	}
	t.goroot, t.arch, t.version = env["GOROOT"], env["GOARCH"], strings.Fields(env["GOVERSION"] + " ")[0]
	t.context = build.Default
	t.context.GOROOT, t.context.GOARCH, t.context.GOOS = t.goroot, t.arch, env["GOOS"]
	t.context.CgoEnabled = env["CGO_ENABLED"] == "1"
	for _, flag := range strings.Fields(env["GOFLAGS"]) {
		if tags, found := strings.CutPrefix(flag, "-tags="); found {
			t.context.BuildTags = strings.Split(tags, ",")
		}
	}
	return env["GOPATH"], nil
}

// run starts the go command so that it neither asks the network nor another toolchain.
func (t *tree) run(dir string, env []string, args ...string) ([]byte, error) {
	dir = t.shadowOf(dir)
	command := exec.Command(t.goCmd, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOPROXY=off", "GOSUMDB=off", "GONOSUMDB=*", "GOVCS=*:off", "GOTOOLCHAIN=local",
		"GODEBUG=", "PWD="+dir)
	if t.goroot != "" {
		command.Env = append(command.Env, "GOROOT="+t.goroot)
	}
	command.Env = append(command.Env, env...)
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %s", strings.Join(args[:1], " "), firstLines(string(exit.Stderr), 3))
	}
	return out, err
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "; ")
}

// findModules lists the modules at and below root, the outer ones first, where the go command would look for packages.
func findModules(root string) ([]module, error) {
	var found []module
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if path == root {
				return err
			}
			return nil
		}
		if entry.IsDir() {
			if path != root && ignoredDir(entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.Name() == "go.mod" {
			found = append(found, readModule(filepath.Dir(path)))
		}
		return nil
	})
	sort.Slice(found, func(i, j int) bool { return found[i].dir < found[j].dir })
	return found, err
}

// ignoredDir says which directories `./...` does not enter.
func ignoredDir(name string) bool {
	return name == "vendor" || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// isAside says whether a directory of the tree is one that `./...` does not enter, though packages in it can be imported.
func (t *tree) isAside(dir string) bool {
	for _, part := range strings.Split(t.relative(dir), "/") {
		if part != "" && part != "vendor" && ignoredDir(part) {
			return true
		}
	}
	return false
}

func readModule(dir string) module {
	m := module{dir: dir, path: filepath.Base(dir)}
	text, _ := os.ReadFile(filepath.Join(dir, "go.mod"))
	for _, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "//")
		switch words := strings.Fields(line); {
		case len(words) == 2 && words[0] == "module":
			m.path = strings.Trim(words[1], "\"`")
		case len(words) == 2 && words[0] == "go":
			m.version = words[1]
		}
	}
	return m
}

// relative is a file's path below the root, "" for files that lie elsewhere or are vendored copies of foreign code.
func (t *tree) relative(path string) string {
	if path == t.root || !inside(path, t.root) {
		return ""
	}
	rest := strings.TrimPrefix(path[len(t.root):], string(filepath.Separator))
	rest = filepath.ToSlash(rest)
	if strings.HasPrefix(rest, "vendor/") || strings.Contains(rest, "/vendor/") {
		return ""
	}
	return rest
}

func inside(dir, parent string) bool {
	separator := string(filepath.Separator)
	return dir == parent || strings.HasPrefix(dir, strings.TrimSuffix(parent, separator)+separator)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
