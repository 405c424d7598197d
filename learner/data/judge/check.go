package main

// Checking runs go/types over the packages of one universe after another.
//
// A package's files are checked with bodies once: together with its in-package tests where there are any. Importers see
// the package without tests, and without bodies. An external test sees its package with the in-package tests, and, as
// in a real build, so does everything between the two; those in-between packages are checked anew, without bodies.
// Objects of such variants differ, so declarations are told apart by position and name, never by identity.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"go/version"
	"path/filepath"
	"runtime/debug"
	"sync"
)

type checker struct {
	tree  *tree
	truth *truth
	fset  *token.FileSet
	sizes types.Sizes

	broken sync.Map // names of files whose syntax is broken

	fieldsLock sync.Mutex
	fields     map[*types.Package]map[token.Pos]string // names of fields, by where they are declared
}

func judgeTree(t *tree, workers int) *truth {
	// Most of what is allocated is syntax that dies with its package.
	debug.SetGCPercent(150)
	c := &checker{tree: t, truth: newTruth(), fset: token.NewFileSet(), sizes: types.SizesFor("gc", t.arch)}
	c.fields = map[*types.Package]map[token.Pos]string{}
	c.truth.impl.universe()
	loadUniverses(t, c.truth, func(u *universe) { c.checkUniverse(u, max(workers, 1)) })
	return c.truth
}

func (c *checker) checkUniverse(u *universe, workers int) {
	plain, targets := u.link()
	c.checkInOrder(plain, workers)
	inParallel(targets, workers, c.checkTests)
}

// link finds everything that the targets need. It returns the packages to be checked as they are, and the targets.
func (u *universe) link() (plain, targets []*unit) {
	for _, home := range []map[string]*unit{u.units, u.std} {
		for _, path := range sortedKeys(home) {
			if home[path].target && home[path].home == u {
				targets = append(targets, home[path])
			}
		}
	}
	seen := map[*unit]bool{}
	var visit func(from *unit, imports []string) []*unit
	visit = func(from *unit, imports []string) []*unit {
		var deps []*unit
		for _, path := range imports {
			dep := u.resolve(from, path)
			if dep == nil {
				continue
			}
			deps = append(deps, dep)
			if !seen[dep] {
				seen[dep] = true
				dep.deps = visit(dep, dep.imports)
				plain = append(plain, dep)
			}
		}
		return deps
	}
	for _, target := range targets {
		if len(target.tests) == 0 && !seen[target] {
			seen[target] = true
			target.deps = visit(target, target.imports)
			plain = append(plain, target)
		} else {
			visit(target, target.imports)
		}
		visit(target, target.testImports)
		visit(target, target.xtestImports)
	}
	u.sealed = true
	return plain, targets
}

// checkInOrder checks packages after their imports. Packages of an import cycle are never ready and stay unchecked.
func (c *checker) checkInOrder(plain []*unit, workers int) {
	waiting, users, left := map[*unit]int{}, map[*unit][]*unit{}, 0
	for _, u := range plain {
		if u.pkg == nil {
			waiting[u] = 0
		}
	}
	ready := make(chan *unit, len(plain)+1)
	for _, u := range plain {
		if u.pkg != nil {
			continue
		}
		for _, dep := range u.deps {
			if _, pending := waiting[dep]; pending {
				waiting[u]++
				users[dep] = append(users[dep], u)
			}
		}
		if waiting[u] == 0 {
			ready <- u
			left++
		}
	}
	if left == 0 {
		return
	}
	var mu sync.Mutex
	var done sync.WaitGroup
	finish := func(u *unit) {
		mu.Lock()
		defer mu.Unlock()
		left--
		for _, user := range users[u] {
			if waiting[user]--; waiting[user] == 0 {
				ready <- user
				left++
			}
		}
		if left == 0 {
			close(ready)
		}
	}
	for range workers {
		done.Add(1)
		go func() {
			defer done.Done()
			for u := range ready {
				c.checkPlain(u)
				finish(u)
			}
		}()
	}
	done.Wait()
}

func inParallel(units []*unit, workers int, do func(*unit)) {
	next := make(chan *unit)
	var done sync.WaitGroup
	for range workers {
		done.Add(1)
		go func() {
			defer done.Done()
			for u := range next {
				do(u)
			}
		}()
	}
	for _, u := range units {
		next <- u
	}
	close(next)
	done.Wait()
}

// checkPlain checks a package as its importers see it, and judges it if there are no tests to judge it with.
func (c *checker) checkPlain(u *unit) {
	files := c.parse(u.dir, u.name, u.files)
	if u.target && len(u.tests) == 0 {
		u.pkg = c.judge(u, u.goPath(), files, importerFor{c: c, unit: u})
	} else {
		withoutBodies(files)
		u.pkg = c.check(u, u.goPath(), files, importerFor{c: c, unit: u}, nil, nil)
	}
	if u.std && !u.target {
		c.truth.impl.addStandard(u.pkg)
	}
	if u.target || !u.std {
		withoutBodies(files)
		u.syntax = files
	}
}

// checkTests judges a package with its in-package tests, then its external tests.
func (c *checker) checkTests(u *unit) {
	var v *variant
	if len(u.tests) > 0 {
		files := c.parse(u.dir, u.name, append(append([]string{}, u.files...), u.tests...))
		pkg := c.judge(u, u.goPath(), files, importerFor{c: c, unit: u})
		v = &variant{of: u, pkg: pkg, made: map[*unit]*types.Package{}, reaches: map[*unit]bool{u: true}}
	}
	if len(u.xtests) > 0 {
		files := c.parse(u.dir, "", u.xtests)
		c.judge(u, u.goPath()+"_test", files, importerFor{c: c, unit: u, variant: v})
	}
}

// parse reads the files of one package. Strays of another package name in the same directory are left out.
func (c *checker) parse(dir, name string, names []string) []*ast.File {
	var files []*ast.File
	for _, base := range names {
		path := base
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, base)
		}
		file, err := parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			c.broken.Store(path, true)
		}
		if file == nil || file.Name == nil || name != "" && file.Name.Name != name {
			continue
		}
		files = append(files, file)
	}
	return files
}

func withoutBodies(files []*ast.File) {
	for _, file := range files {
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.FuncDecl); ok {
				decl.Body = nil
			}
		}
	}
}

// check runs the type checker. Without info, bodies are ignored and errors do not matter.
func (c *checker) check(u *unit, path string, files []*ast.File, from types.Importer, info *types.Info, report func(error)) (pkg *types.Package) {
	if report == nil {
		report = func(error) {}
	}
	config := types.Config{Importer: from, Error: report, FakeImportC: true, Sizes: c.sizes, GoVersion: c.language(u),
		IgnoreFuncBodies: info == nil, DisableUnusedImportCheck: true}
	defer func() {
		if failure := recover(); failure != nil {
			c.truth.note(fmt.Sprintf("go/types gave up on %s: %v", path, failure))
			pkg = types.NewPackage(path, u.name)
		}
	}()
	pkg, _ = config.Check(path, c.fset, files, info)
	return pkg
}

// language is the package's Go version, unless the type checker is too old to know it.
func (c *checker) language(u *unit) string {
	if !version.IsValid(u.goVersion) || version.Compare(u.goVersion, c.tree.version) > 0 {
		return ""
	}
	return u.goVersion
}

// variant is what an external test sees of a package with in-package tests, and of what lies between the two.
type variant struct {
	of      *unit
	pkg     *types.Package
	made    map[*unit]*types.Package
	reaches map[*unit]bool
}

func (v *variant) reached(u *unit) bool {
	answer, known := v.reaches[u]
	if !known {
		v.reaches[u] = false // also ends the walk around an import cycle
		for _, dep := range u.deps {
			if v.reached(dep) {
				answer = true
				break
			}
		}
		v.reaches[u] = answer
	}
	return answer
}

// importerFor finds imports of one package, through a variant or not.
type importerFor struct {
	c       *checker
	unit    *unit
	variant *variant
}

func (i importerFor) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	found := i.unit.home.resolve(i.unit, path)
	if found == nil {
		return nil, fmt.Errorf("no package %s", path)
	}
	pkg := found.pkg
	if v := i.variant; v != nil && found == v.of {
		pkg = v.pkg
	} else if v != nil && v.reached(found) {
		pkg = i.c.checkBetween(found, v)
	}
	if pkg == nil {
		return nil, fmt.Errorf("package %s is part of an import cycle", path)
	}
	return pkg, nil
}

// checkBetween checks a package that lies between an external test and the package it tests.
func (c *checker) checkBetween(u *unit, v *variant) *types.Package {
	pkg, known := v.made[u]
	if !known {
		v.made[u] = nil
		files := u.syntax
		if files == nil {
			files = c.parse(u.dir, u.name, u.files)
			withoutBodies(files)
		}
		pkg = c.check(u, u.goPath(), files, importerFor{c: c, unit: u, variant: v}, nil, nil)
		v.made[u] = pkg
	}
	return pkg
}
