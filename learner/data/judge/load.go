package main

// Loading finds the packages: which files belong to each in this build configuration, and which import means which
// package. The go command decides; where it cannot, because dependencies are absent, directories are read instead.

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// unit is one package without regard to tests, with what is needed to check it and its tests.
type unit struct {
	path   string // as the go command names it, with "vendor/"
	dir    string
	name   string
	files  []string
	tests  []string // in-package test files
	xtests []string // files of the external test package

	imports, testImports, xtestImports []string
	importMap                          map[string]string

	goVersion string
	std       bool
	target    bool // matched by ./..., so to be judged

	home *universe
	deps []*unit // of files alone, linked

	pkg    *types.Package
	syntax []*ast.File // without bodies; only where a test variant may be needed
}

// goPath is the import path as it is written in source.
func (u *unit) goPath() string { return withoutVendor(u.path) }

func withoutVendor(path string) string {
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		return path[i+len("/vendor/"):]
	}
	return strings.TrimPrefix(path, "vendor/")
}

// universe is one assignment of import paths to packages: a module's build list, a workspace's, or a GOPATH.
type universe struct {
	tree  *tree
	std   map[string]*unit // shared by all universes
	units map[string]*unit
	// sealed is set once linking is over: from then on nothing new is looked up.
	sealed bool
	// elsewhere remembers what was looked up outside the listing, nil for what was not found.
	elsewhere map[string]*unit
}

// listed is what `go list` tells of a package.
type listed struct {
	Dir, ImportPath, Name, ForTest     string
	Standard, DepOnly                  bool
	GoFiles, CgoFiles                  []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
	ImportMap                          map[string]string
	Module                             *struct{ GoVersion string }
}

const listFields = "-json=Dir,ImportPath,Name,ForTest,Standard,DepOnly,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles," +
	"Imports,TestImports,XTestImports,ImportMap,Module"

// loadUniverses yields the tree's universes one after the other, so that each can be dropped before the next.
func loadUniverses(t *tree, notes *truth, each func(*universe)) {
	std := map[string]*unit{}
	fresh := func() *universe {
		return &universe{tree: t, std: std, units: map[string]*unit{}, elsewhere: map[string]*unit{}}
	}
	for _, group := range moduleGroups(t) {
		u := fresh()
		if !u.list(group, notes) {
			for _, m := range group.modules {
				u.walk(m.dir, m.path, m.version)
			}
		}
		each(u)
	}
	if len(t.modules) == 0 || t.modules[0].dir != t.root {
		u := fresh()
		u.walk(t.root, "", "")
		each(u)
	}
}

// moduleGroup is what one run of the go command covers: a workspace's modules, or one module.
type moduleGroup struct {
	dir     string
	env     []string
	modules []module
}

func moduleGroups(t *tree) []moduleGroup {
	used := workspaceDirs(t)
	var workspace moduleGroup
	var groups []moduleGroup
	for _, m := range t.modules {
		if used[m.dir] {
			workspace.modules = append(workspace.modules, m)
			continue
		}
		groups = append(groups, moduleGroup{dir: m.dir, env: []string{"GOWORK=off"}, modules: []module{m}})
	}
	if len(workspace.modules) > 0 {
		workspace.dir = workspace.modules[0].dir
		groups = append([]moduleGroup{workspace}, groups...)
	}
	// A standard library to be judged comes first: once it was checked for others, without bodies, it would be too late.
	sort.SliceStable(groups, func(i, j int) bool {
		return groups[i].modules[0].path == "std" && groups[j].modules[0].path != "std"
	})
	return groups
}

// workspaceDirs are the module directories that the go.work in force at the root uses.
func workspaceDirs(t *tree) map[string]bool {
	out, err := t.run(t.root, nil, "env", "GOWORK")
	file := strings.TrimSpace(string(out))
	if err != nil || file == "" || file == "off" {
		return nil
	}
	out, err = t.run(t.root, nil, "work", "edit", "-json", file)
	var work struct{ Use []struct{ DiskPath string } }
	if err != nil || json.Unmarshal(out, &work) != nil {
		return nil
	}
	used := map[string]bool{}
	for _, use := range work.Use {
		dir := use.DiskPath
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(file), dir)
		}
		used[filepath.Clean(dir)] = true
	}
	return used
}

// list asks the go command, and says whether it got an answer.
func (u *universe) list(group moduleGroup, notes *truth) bool {
	patterns := make([]string, 0, len(group.modules))
	for _, m := range group.modules {
		pattern, err := filepath.Rel(group.dir, m.dir)
		if err != nil {
			return false
		}
		patterns = append(patterns, "./"+filepath.ToSlash(filepath.Join(pattern, "...")))
	}
	// Profile-guided builds would list packages a second time, as variants for one command.
	full := append([]string{"list", "-e", listFields, "-pgo=off", "-deps", "-test"}, patterns...)
	out, err := u.tree.run(group.dir, group.env, full...)
	if u.take(out, false) > 0 {
		return true
	}
	if err != nil {
		notes.note("go list in " + group.dir + ": " + err.Error())
	}
	return u.listLoosely(group, patterns)
}

// listLoosely lists packages when the module's own go.mod cannot be followed. The copy of go.mod keeps `-mod=mod`, which
// may write that file, away from the user's.
func (u *universe) listLoosely(group moduleGroup, patterns []string) bool {
	if len(group.modules) > 1 {
		return false
	}
	copied, err := os.MkdirTemp("", "judge")
	if err != nil {
		return false
	}
	defer os.RemoveAll(copied)
	for _, name := range []string{"go.mod", "go.sum"} {
		if text, err := os.ReadFile(filepath.Join(group.dir, name)); err == nil {
			os.WriteFile(filepath.Join(copied, name), text, 0o600)
		}
	}
	flags := []string{"list", "-e", listFields, "-pgo=off", "-mod=mod", "-modfile=" + filepath.Join(copied, "go.mod")}
	for _, extra := range [][]string{{"-deps", "-test"}, {"-find"}} {
		args := append(append(append([]string{}, flags...), extra...), patterns...)
		out, _ := u.tree.run(group.dir, group.env, args...)
		if u.take(out, false) > 0 {
			return true
		}
	}
	return false
}

// take adds listed packages and returns how many of them are to be judged.
func (u *universe) take(out []byte, asDependencies bool) int {
	decoder := json.NewDecoder(bytes.NewReader(out))
	var packages []listed
	for {
		var p listed
		if decoder.Decode(&p) != nil {
			break
		}
		p.DepOnly = p.DepOnly || asDependencies
		p.Dir = u.tree.shadowedBy(p.Dir)
		packages = append(packages, p)
	}
	targets := 0
	for _, p := range packages {
		// What is looked up while packages are being linked must not take the place of one that already is.
		if asDependencies && u.find(p.ImportPath) != nil {
			continue
		}
		if p.ForTest == "" && u.add(p) {
			targets++
		}
	}
	// A dependency of tests alone that itself imports the tested package is listed only as a variant for that test.
	for _, p := range packages {
		path, _, isVariant := strings.Cut(p.ImportPath, " [")
		if isVariant && path != p.ForTest && path != p.ForTest+"_test" && u.find(path) == nil {
			p.ImportPath, p.DepOnly = path, true
			for i, imported := range p.Imports {
				p.Imports[i], _, _ = strings.Cut(imported, " [")
			}
			u.add(p)
		}
	}
	return targets
}

func (u *universe) add(p listed) bool {
	files := append(append([]string{}, p.GoFiles...), p.CgoFiles...)
	if p.Dir == "" || len(files)+len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 || isTestMain(p) {
		return false
	}
	made := &unit{path: p.ImportPath, dir: p.Dir, name: p.Name, files: files, std: p.Standard, home: u,
		imports: p.Imports, importMap: plainImports(p.ImportMap)}
	if p.DepOnly && !p.Standard {
		made.target = u.tree.isAside(p.Dir)
	}
	if !p.DepOnly {
		made.target = inside(p.Dir, u.tree.root)
		made.tests, made.testImports = p.TestGoFiles, p.TestImports
		made.xtests, made.xtestImports = p.XTestGoFiles, p.XTestImports
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		made.goVersion = "go" + p.Module.GoVersion
	}
	home := u.units
	if p.Standard {
		home = u.std
	}
	if known := home[p.ImportPath]; known != nil && (known.pkg != nil || known.target) {
		return known.target && made.target
	}
	home[p.ImportPath] = made
	return made.target
}

// isTestMain recognises the main package that `go list -test` makes up for each tested package.
func isTestMain(p listed) bool {
	return p.Name == "main" && strings.HasSuffix(p.ImportPath, ".test") && len(p.GoFiles) == 1 && filepath.IsAbs(p.GoFiles[0])
}

func plainImports(mapped map[string]string) map[string]string {
	plain := make(map[string]string, len(mapped))
	for from, to := range mapped {
		plain[from], _, _ = strings.Cut(to, " [")
	}
	return plain
}

func (u *universe) find(path string) *unit {
	if found := u.units[path]; found != nil {
		return found
	}
	return u.std[path]
}

// resolve says which package an import of from means, or nil.
func (u *universe) resolve(from *unit, path string) *unit {
	if mapped := from.importMap[path]; mapped != "" {
		path = mapped
	}
	if from.std {
		for _, prefix := range []string{"", "vendor/", "cmd/vendor/"} {
			if found := u.std[prefix+path]; found != nil {
				return found
			}
		}
		return nil
	}
	if found := u.find(path); found != nil {
		return found
	}
	key := path
	if strings.HasPrefix(path, ".") {
		key = from.path + " " + path
	}
	if found, known := u.elsewhere[key]; known || u.sealed {
		return found
	}
	found := u.lookElsewhere(from, path)
	u.elsewhere[key] = found
	return found
}
