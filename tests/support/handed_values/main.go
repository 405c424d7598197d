// Prints, from the source of the standard library, the tables of graph/changes/standard_library.py:
//
//	knows P Q...   the packages Q that import P, which has interfaces, directly or by way of internal packages
//	open P F...    the functions and methods F of P that can be handed values with methods of their own
package main

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"sort"
	"strings"
)

func carries(t types.Type, depth int) bool {
	if depth > 4 {
		return false
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if _, ok := t.Underlying().(*types.Interface); ok {
			return true
		}
		if s, ok := t.Underlying().(*types.Struct); ok {
			for i := 0; i < s.NumFields(); i++ {
				if s.Field(i).Exported() && carries(s.Field(i).Type(), depth+1) {
					return true
				}
			}
			return false
		}
		return carries(t.Underlying(), depth+1)
	case *types.Interface, *types.TypeParam:
		return true
	case *types.Tuple:
		for i := 0; i < t.Len(); i++ {
			if carries(t.At(i).Type(), depth) {
				return true
			}
		}
	case *types.Signature:
		return carries(t.Results(), depth+1)
	case *types.Pointer:
		return carries(t.Elem(), depth+1)
	case *types.Slice:
		return carries(t.Elem(), depth+1)
	case *types.Array:
		return carries(t.Elem(), depth+1)
	case *types.Map:
		return carries(t.Elem(), depth+1) || carries(t.Key(), depth+1)
	case *types.Chan:
		return carries(t.Elem(), depth+1)
	case *types.Struct:
		for i := 0; i < t.NumFields(); i++ {
			if carries(t.Field(i).Type(), depth+1) {
				return true
			}
		}
	}
	return false
}

func takes(f *types.Func) bool {
	s := f.Signature()
	return carries(s.Params(), 0) || s.Recv() != nil && carries(s.Recv().Type(), 0)
}

func main() {
	out, err := exec.Command(os.Args[1], "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "std").Output()
	if err != nil {
		panic(err)
	}
	imports := map[string][]string{}
	var all []string
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		w := strings.Fields(line)
		imports[w[0]] = w[1:]
		all = append(all, w[0])
	}
	hidden := func(p string) bool {
		return strings.HasPrefix(p, "internal/") || strings.Contains(p, "/internal/") || strings.HasPrefix(p, "vendor/") || strings.HasSuffix(p, "/internal")
	}
	var reach func(p string, seen map[string]bool)
	reach = func(p string, seen map[string]bool) {
		for _, q := range imports[p] {
			if !seen[q] {
				seen[q] = true
				if hidden(q) {
					reach(q, seen)
				}
			}
		}
	}
	known := map[string][]string{}
	for _, p := range all {
		if hidden(p) {
			continue
		}
		seen := map[string]bool{}
		reach(p, seen)
		for q := range seen {
			known[q] = append(known[q], p)
		}
	}
	imp := importer.ForCompiler(token.NewFileSet(), "source", nil)
	for _, p := range all {
		if hidden(p) || p == "unsafe" {
			continue
		}
		pkg, err := imp.Import(p)
		if err != nil {
			fmt.Fprintln(os.Stderr, p, err)
			continue
		}
		has := false
		var open, closed []string
		for _, name := range pkg.Scope().Names() {
			o := pkg.Scope().Lookup(name)
			switch o := o.(type) {
			case *types.Func:
				if !o.Exported() {
					continue
				} else if takes(o) {
					open = append(open, name)
				} else {
					closed = append(closed, name)
				}
			case *types.TypeName:
				if i, ok := o.Type().Underlying().(*types.Interface); ok {
					if o.IsAlias() {
						continue
					}
					has = has || o.Exported() && i.NumMethods() > 0
					for j := 0; j < i.NumExplicitMethods(); j++ {
						if m := i.ExplicitMethod(j); m.Exported() {
							if s := m.Signature(); carries(s.Params(), 0) {
								open = append(open, name+"."+m.Name())
							} else {
								closed = append(closed, name+"."+m.Name())
							}
						}
					}
					continue
				}
				if n, ok := o.Type().(*types.Named); ok {
					for i := 0; i < n.NumMethods(); i++ {
						if m := n.Method(i); m.Exported() {
							if takes(m) {
								open = append(open, name+"."+m.Name())
							} else {
								closed = append(closed, name+"."+m.Name())
							}
						}
					}
				}
			}
		}
		sort.Strings(known[p])
		if has && len(known[p]) <= 40 {
			fmt.Println("knows", p, strings.Join(known[p], " "))
		}
		if len(open) <= len(closed) {
			fmt.Println("open", p, strings.Join(open, " "))
		}
	}
}
