package main

// Calls: which declared function, method or interface method each call expression means.

import (
	"go/ast"
	"go/token"
	"go/types"
)

// judge checks a package with bodies and records its files, calls, uses and types.
func (c *checker) judge(u *unit, path string, files []*ast.File, from types.Importer) *types.Package {
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	errors := map[string][]string{}
	pkg := c.check(u, path, files, from, info, func(err error) {
		if err, ok := err.(types.Error); ok && !err.Soft {
			name := c.fset.PositionFor(err.Pos, false).Filename
			errors[name] = append(errors[name], err.Msg)
		}
	})
	w := &witness{c: c, path: path, info: info, counts: map[string]int{}}
	for _, file := range files {
		w.file(file, errors)
	}
	c.truth.add(path+" "+u.dir, w.lines, w.counts)
	c.truth.impl.addJudged(c, pkg)
	return pkg
}

// witness writes down what one package's files say.
type witness struct {
	c      *checker
	path   string
	info   *types.Info
	lines  record
	counts map[string]int

	name       string // of the file
	caller     string // of the declaration
	callerLine int
}

func (w *witness) file(file *ast.File, errors map[string][]string) {
	full := w.c.fset.PositionFor(file.Package, false).Filename
	w.name = w.c.tree.relative(full)
	w.lines.open("file").str("f", w.name).num("errors", len(errors[full]))
	if len(errors[full]) > 0 {
		w.lines.str("error", errors[full][0])
	}
	if _, broken := w.c.broken.Load(full); broken {
		w.lines.flag("broken", true)
	}
	w.lines.close()
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			owner := receiverName(decl)
			if owner != "" {
				owner += "."
			}
			w.declaration(owner, decl.Name, decl)
			w.uses(decl)
		case *ast.GenDecl:
			if decl.Tok == token.VAR {
				for _, spec := range decl.Specs {
					w.declaration("", spec.(*ast.ValueSpec).Names[0], spec)
				}
			}
		}
	}
}

func (w *witness) declaration(owner string, name *ast.Ident, node ast.Node) {
	w.caller = w.path + "." + owner + name.Name
	w.callerLine = w.c.fset.PositionFor(name.Pos(), false).Line
	ast.Inspect(node, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			w.call(call)
		}
		return true
	})
}

func (w *witness) call(call *ast.CallExpr) {
	name, object := w.callee(call.Fun)
	if name == nil {
		return
	}
	position := w.c.fset.PositionFor(name.Pos(), false)
	if object == nil {
		w.lines.open("open").str("f", w.name).num("l", position.Line).num("c", position.Column).str("name", name.Name).close()
		return
	}
	function, ok := object.(*types.Func)
	if !ok {
		return
	}
	function = function.Origin()
	qualified, kind := qualify(function)
	if qualified == "" {
		w.counts[kind]++
		w.lines.open("skip").str("f", w.name).num("l", position.Line).num("c", position.Column).str("name", name.Name).close()
		return
	}
	file, line := w.c.place(function)
	w.lines.open("call").str("f", w.name).num("l", position.Line).num("c", position.Column)
	w.lines.str("from", w.caller).num("fl", w.callerLine)
	w.lines.str("to", qualified).str("tf", file).num("tl", line).str("kind", kind).close()
}

// callee is the identifier that names what is called, and what it means: nil if the type checker could not tell.
func (w *witness) callee(fun ast.Expr) (*ast.Ident, types.Object) {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return fun, w.info.Uses[fun]
	case *ast.SelectorExpr:
		if selection := w.info.Selections[fun]; selection != nil {
			return fun.Sel, selection.Obj()
		}
		if w.isC(fun.X) {
			return nil, nil
		}
		return fun.Sel, w.info.Uses[fun.Sel]
	case *ast.IndexExpr:
		return w.instantiated(fun.X)
	case *ast.IndexListExpr:
		return w.instantiated(fun.X)
	}
	return nil, nil
}

// isC recognises the C of cgo, whose functions are nobody's declarations.
func (w *witness) isC(expr ast.Expr) bool {
	name, ok := expr.(*ast.Ident)
	if !ok {
		return false
	}
	imported, ok := w.info.Uses[name].(*types.PkgName)
	return ok && imported.Imported().Path() == "C"
}

// instantiated is the callee of F[T](x). What is indexed may as well be a slice of functions.
func (w *witness) instantiated(fun ast.Expr) (*ast.Ident, types.Object) {
	name, object := w.callee(fun)
	if _, ok := object.(*types.Func); !ok && object != nil {
		return nil, nil
	}
	return name, object
}

// qualify names a function as `go doc` would, and says of which kind it is. Methods of types without a package-level name
// have none; then the kind is what to count them as.
func qualify(function *types.Func) (name, kind string) {
	receiver := function.Type().(*types.Signature).Recv()
	if receiver == nil {
		return function.Pkg().Path() + "." + function.Name(), "static"
	}
	kind = "method"
	base := types.Unalias(receiver.Type())
	if pointer, ok := base.(*types.Pointer); ok {
		base = types.Unalias(pointer.Elem())
	}
	if types.IsInterface(base) {
		kind = "interface"
	}
	named, ok := base.(*types.Named)
	if !ok {
		return "", "calls of methods of unnamed types"
	}
	owner := named.Obj()
	if owner.Pkg() == nil {
		return owner.Name() + "." + function.Name(), kind
	}
	if owner.Parent() != owner.Pkg().Scope() {
		return "", "calls of methods of local types"
	}
	return owner.Pkg().Path() + "." + owner.Name() + "." + function.Name(), kind
}

// place is the file and line of a declared name, if it is in the tree.
func (c *checker) place(object types.Object) (string, int) {
	if !object.Pos().IsValid() {
		return "", 0
	}
	position := c.fset.PositionFor(object.Pos(), false)
	file := c.tree.relative(position.Filename)
	if file == "" {
		return "", 0
	}
	return file, position.Line
}
