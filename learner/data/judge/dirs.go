package main

// Directories as packages: how trees without modules, and imports that no module provides, are read.

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// walk adds every package below dir, which is a module whose dependencies are absent, or, without an import path, a
// tree without modules.
func (u *universe) walk(dir, importPath, version string) {
	filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		if name != dir && (ignoredDir(entry.Name()) || u.tree.isModule(name)) {
			return filepath.SkipDir
		}
		found := u.tree.loosePath(name)
		if importPath != "" {
			rest, _ := filepath.Rel(dir, name)
			found = path.Join(importPath, filepath.ToSlash(rest))
		}
		u.addDir(name, found, version, true)
		return nil
	})
}

func (t *tree) isModule(dir string) bool {
	for _, m := range t.modules {
		if m.dir == dir {
			return true
		}
	}
	return false
}

// loosePath is the import path of a directory outside modules: what GOPATH would make of it, or its path below the root.
func (t *tree) loosePath(dir string) string {
	whole := filepath.ToSlash(dir)
	for _, root := range t.roots {
		if dir != root && inside(dir, root) {
			return whole[len(filepath.ToSlash(root))+1:]
		}
	}
	rest, _ := filepath.Rel(t.root, dir)
	rest = filepath.ToSlash(rest)
	if _, below, found := strings.Cut("/"+rest, "/src/"); found {
		return below
	}
	if i := strings.LastIndex(whole, "/src/"); i >= 0 {
		below := whole[i+len("/src/"):]
		if host, _, _ := strings.Cut(below, "/"); strings.Contains(host, ".") {
			return below
		}
	}
	return rest
}

func (u *universe) addDir(dir, importPath, version string, target bool) *unit {
	// A package of several names or with broken files is reported as an error and described all the same.
	p, _ := u.tree.context.ImportDir(dir, 0)
	if p == nil || len(p.GoFiles)+len(p.CgoFiles)+len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
		return nil
	}
	made := &unit{path: importPath, dir: dir, name: p.Name, files: append(p.GoFiles, p.CgoFiles...), home: u,
		imports: p.Imports, target: target}
	if target {
		made.tests, made.testImports = p.TestGoFiles, p.TestImports
		made.xtests, made.xtestImports = p.XTestGoFiles, p.XTestImports
	}
	if version != "" {
		made.goVersion = "go" + version
	}
	u.units[importPath] = made
	return made
}

var majorVersion = regexp.MustCompile(`/v[0-9]+(/|$)`)

// lookElsewhere searches the standard library, the vendor directories above the importer, the tree's own modules, and
// the given source roots.
func (u *universe) lookElsewhere(from *unit, importPath string) *unit {
	if strings.HasPrefix(importPath, ".") {
		return u.find(path.Join(from.path, importPath))
	}
	if u.loadStandard(); u.std[importPath] != nil {
		return u.std[importPath]
	}
	if !strings.Contains(strings.Split(importPath, "/")[0], ".") && len(u.tree.roots) == 0 {
		return nil
	}
	for dir := from.dir; inside(dir, u.tree.root); dir = filepath.Dir(dir) {
		if found := u.tryDir(filepath.Join(dir, "vendor", filepath.FromSlash(importPath)), importPath); found != nil {
			return found
		}
		if isFile(filepath.Join(dir, "go.mod")) && !isFile(filepath.Join(u.tree.root, "go.work")) {
			break // a module does not see what another one vendors
		}
	}
	for _, m := range u.tree.modules {
		if rest, found := strings.CutPrefix(importPath+"/", m.path+"/"); found {
			if found := u.tryDir(filepath.Join(m.dir, filepath.FromSlash(rest)), importPath); found != nil {
				return found
			}
		}
	}
	unversioned := strings.TrimSuffix(majorVersion.ReplaceAllString(importPath, "/"), "/")
	for _, root := range u.tree.roots {
		for _, candidate := range []string{importPath, unversioned} {
			if found := u.tryDir(filepath.Join(root, filepath.FromSlash(candidate)), importPath); found != nil {
				return found
			}
		}
	}
	return nil
}

func (u *universe) tryDir(dir, importPath string) *unit {
	if !isDir(dir) {
		return nil
	}
	return u.addDir(dir, importPath, "", false)
}

// loadStandard lists the whole standard library, once.
func (u *universe) loadStandard() {
	if u.tree.standardListed {
		return
	}
	u.tree.standardListed = true
	src := filepath.Join(u.tree.goroot, "src")
	out, _ := u.tree.run(src, []string{"GOWORK=off", "GOFLAGS="}, "list", "-e", listFields, "-deps", "std")
	u.take(out, true)
}
