package main

// Uses: which package-level declaration, method or field each name in a function means, if it is not called.

import (
	"go/ast"
	"go/token"
	"go/types"
)

// uses records what the signature and the body of a function refer to.
func (w *witness) uses(decl *ast.FuncDecl) {
	called := map[*ast.Ident]bool{}
	access := map[ast.Expr]string{}
	visit := func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			if name, object := w.callee(node.Fun); name != nil {
				if _, ok := object.(*types.Func); ok {
					called[name] = true
				}
			}
		case *ast.AssignStmt:
			for _, target := range node.Lhs {
				access[ast.Unparen(target)] = "write"
			}
		case *ast.IncDecStmt:
			access[ast.Unparen(node.X)] = "write"
		case *ast.RangeStmt:
			for _, target := range []ast.Expr{node.Key, node.Value} {
				if target != nil {
					access[ast.Unparen(target)] = "write"
				}
			}
		case *ast.UnaryExpr:
			if node.Op == token.AND {
				access[ast.Unparen(node.X)] = "address"
			}
		case *ast.CompositeLit:
			w.literal(node)
		case *ast.SelectorExpr:
			if selection := w.info.Selections[node]; selection != nil && selection.Kind() == types.FieldVal {
				how := access[node]
				if how == "" {
					how = "read"
				}
				w.field(selection.Obj().(*types.Var), node.Sel.Pos(), how)
			}
		case *ast.Ident:
			if object := w.info.Uses[node]; object != nil && !called[node] {
				w.reference(object, node)
			} else if object == nil && w.isUnchecked(node) {
				position := w.c.fset.PositionFor(node.Pos(), false)
				w.lines.open("open").str("f", w.name).num("l", position.Line).num("c", position.Column)
				w.lines.str("name", node.Name).close()
			}
		}
		return true
	}
	ast.Inspect(decl.Type, visit)
	if decl.Body != nil {
		ast.Inspect(decl.Body, visit)
	}
}

// isUnchecked tells names that the type checker gave no meaning, because of an error in or around them.
func (w *witness) isUnchecked(name *ast.Ident) bool {
	_, used := w.info.Uses[name]
	_, defined := w.info.Defs[name]
	return !used && !defined && name.Name != "_"
}

// literal records the fields that a struct literal sets.
func (w *witness) literal(literal *ast.CompositeLit) {
	structure, ok := underlyingStruct(w.info.TypeOf(literal))
	if !ok {
		return
	}
	for i, element := range literal.Elts {
		if keyed, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := keyed.Key.(*ast.Ident); ok {
				if field, ok := w.info.Uses[key].(*types.Var); ok && field.IsField() {
					w.field(field, key.Pos(), "literal")
				}
			}
		} else if i < structure.NumFields() {
			w.field(structure.Field(i), literal.Lbrace, "literal")
		}
	}
}

// underlyingStruct is the struct of a literal's type, which is a pointer where &T is left out.
func underlyingStruct(t types.Type) (*types.Struct, bool) {
	if t == nil {
		return nil, false
	}
	if param, ok := types.Unalias(t).(*types.TypeParam); ok {
		t = param.Underlying()
	}
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem()
	}
	structure, ok := t.Underlying().(*types.Struct)
	return structure, ok
}

func (w *witness) field(field *types.Var, at token.Pos, access string) {
	field = field.Origin()
	name := w.c.fieldName(field)
	if name == "" {
		w.counts["uses of fields of structs in functions"]++
		return
	}
	w.use(field, name, at, "field", access)
}

func (w *witness) reference(object types.Object, at *ast.Ident) {
	if object.Pkg() == nil {
		return
	}
	kind := ""
	name := object.Pkg().Path() + "." + object.Name()
	switch object := object.(type) {
	case *types.TypeName:
		kind = "type"
	case *types.Const:
		kind = "const"
	case *types.Var:
		kind = "var"
		if object.IsField() {
			return
		}
	case *types.Func:
		name, kind = qualify(object.Origin())
		if name == "" {
			return
		}
		switch kind {
		case "static":
			kind = "func"
		case "interface":
			kind = "imethod"
		}
		w.use(object.Origin(), name, at.Pos(), kind, "")
		return
	default:
		return
	}
	if object.Parent() == object.Pkg().Scope() {
		w.use(object, name, at.Pos(), kind, "")
	}
}

func (w *witness) use(object types.Object, name string, at token.Pos, kind, access string) {
	file, line := w.c.place(object)
	w.lines.open("use").str("f", w.name).num("l", w.c.fset.PositionFor(at, false).Line)
	w.lines.str("from", w.caller).num("fl", w.callerLine)
	w.lines.str("to", name).str("tf", file).num("tl", line).str("kind", kind).str("access", access).close()
}

// fieldName names a field after the package-level declaration whose type it is written in: pkg.T.a, and pkg.T.a.b for
// a field of the unnamed struct that a is made of. It is empty for fields of structs inside functions.
func (c *checker) fieldName(field *types.Var) string {
	pkg := field.Pkg()
	if pkg == nil {
		return ""
	}
	c.fieldsLock.Lock()
	defer c.fieldsLock.Unlock()
	names := c.fields[pkg]
	if names == nil {
		names = map[token.Pos]string{}
		named := map[token.Pos]token.Pos{}
		scope := pkg.Scope()
		for _, name := range scope.Names() {
			switch object := scope.Lookup(name).(type) {
			case *types.TypeName, *types.Var:
				nameFields(names, named, object.Pos(), pkg.Path()+"."+name, declaredType(object))
			}
		}
		c.fields[pkg] = names
	}
	return names[field.Pos()]
}

func declaredType(object types.Object) types.Type {
	t := types.Unalias(object.Type())
	if _, ok := object.(*types.TypeName); ok {
		if named, ok := t.(*types.Named); ok && named.Obj() == object {
			return named.Origin().Underlying()
		}
	}
	return t
}

// nameFields names the fields of an unnamed struct, which may be behind pointers, slices, arrays, maps and channels. Of
// several declarations that share a struct, such as type A B, the fields belong to the nearest one before them.
func nameFields(names map[token.Pos]string, named map[token.Pos]token.Pos, at token.Pos, prefix string, t types.Type) {
	for {
		switch inner := t.(type) {
		case *types.Pointer:
			t = inner.Elem()
		case *types.Slice:
			t = inner.Elem()
		case *types.Array:
			t = inner.Elem()
		case *types.Map:
			t = inner.Elem()
		case *types.Chan:
			t = inner.Elem()
		case *types.Struct:
			for i := range inner.NumFields() {
				field := inner.Field(i)
				if field.Pos() < at || named[field.Pos()] > at {
					continue
				}
				named[field.Pos()] = at
				names[field.Pos()] = prefix + "." + field.Name()
				nameFields(names, named, at, prefix+"."+field.Name(), field.Type())
			}
			return
		default:
			return
		}
	}
}
