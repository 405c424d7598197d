package main

// Implements: which declared types have the methods of which declared interfaces.
//
// Types are compared by their written form with full package paths, not by identity: the two sides may come from
// different variants of a package, or from modules that do not know each other.

import (
	"go/types"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// declared is a named type and the methods it has, as numbers of interned method keys.
type declared struct {
	name    string
	file    string
	line    int
	value   []int // methods of T; of an interface, all its methods
	pointer []int // methods of *T
	// partial: something in it could not be checked, so an absent method proves nothing.
	partial bool
}

type implementations struct {
	mu         *sync.Mutex
	keys       map[string]int
	types      map[string]declared
	interfaces map[string]declared
}

func newImplementations() implementations {
	return implementations{mu: &sync.Mutex{}, keys: map[string]int{}, types: map[string]declared{}, interfaces: map[string]declared{}}
}

// universe adds the predeclared `error`.
func (s *implementations) universe() {
	iface := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	s.addInterface("error", "", 0, iface)
}

// addStandard adds the exported interfaces of a standard package outside the tree that users can import.
func (s *implementations) addStandard(pkg *types.Package) {
	for _, part := range strings.Split(pkg.Path(), "/") {
		if part == "internal" || strings.Contains(part, ".") {
			return
		}
	}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		object, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || !object.Exported() {
			continue
		}
		if iface := plainInterface(object); iface != nil {
			s.addInterface(pkg.Path()+"."+name, "", 0, iface)
		}
	}
}

// addJudged adds the types and interfaces that a package of the tree declares.
func (s *implementations) addJudged(c *checker, pkg *types.Package) {
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		object, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || object.IsAlias() {
			continue
		}
		file, line := c.place(object)
		if file == "" {
			continue
		}
		if iface := plainInterface(object); iface != nil {
			s.addInterface(pkg.Path()+"."+name, file, line, iface)
		} else if named, ok := object.Type().(*types.Named); ok && named.TypeParams().Len() == 0 && !types.IsInterface(named) {
			s.addType(pkg.Path()+"."+name, file, line, named)
		}
	}
}

// plainInterface is the interface a name declares, if it has methods, no type set and no type parameters.
func plainInterface(object *types.TypeName) *types.Interface {
	named, ok := object.Type().(*types.Named)
	if !ok || object.IsAlias() || named.TypeParams().Len() > 0 {
		return nil
	}
	iface, ok := named.Underlying().(*types.Interface)
	if !ok || iface.NumMethods() == 0 || !iface.IsMethodSet() {
		return nil
	}
	return iface
}

func (s *implementations) addInterface(name, file string, line int, iface *types.Interface) {
	entry := declared{name: name, file: file, line: line, partial: brokenInterface(iface)}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range iface.NumMethods() {
		entry.value = append(entry.value, s.key(iface.Method(i), &entry.partial))
	}
	keep(s.interfaces, entry)
}

func (s *implementations) addType(name, file string, line int, named *types.Named) {
	entry := declared{name: name, file: file, line: line, partial: brokenEmbedding(named, map[types.Type]bool{})}
	value, pointer := types.NewMethodSet(named), types.NewMethodSet(types.NewPointer(named))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range value.Len() {
		entry.value = append(entry.value, s.key(value.At(i).Obj().(*types.Func), new(bool)))
	}
	for i := range pointer.Len() {
		entry.pointer = append(entry.pointer, s.key(pointer.At(i).Obj().(*types.Func), &entry.partial))
	}
	keep(s.types, entry)
}

// keep adds what is declared. A package may be checked once for a module that has what it needs and once for one that
// has not; then the whole one counts.
func keep(known map[string]declared, entry declared) {
	id := entry.name + " " + entry.file
	if last, seen := known[id]; !seen || last.partial || !entry.partial {
		known[id] = entry
	}
}

// key numbers a method by its name, seen from its package if unexported, and its signature.
func (s *implementations) key(method *types.Func, partial *bool) int {
	w := typeWriter{}
	w.text.WriteString(method.Id())
	w.write(method.Type())
	text := w.text.String()
	if w.invalid {
		*partial = true
		text += " " + strconv.Itoa(len(s.keys)) // equal to no other
	}
	number, known := s.keys[text]
	if !known {
		number = len(s.keys)
		s.keys[text] = number
	}
	return number
}

func brokenInterface(iface *types.Interface) bool {
	for i := range iface.NumEmbeddeds() {
		embedded := iface.EmbeddedType(i).Underlying()
		if inner, ok := embedded.(*types.Interface); embedded == types.Typ[types.Invalid] || ok && brokenInterface(inner) {
			return true
		}
	}
	return false
}

// brokenEmbedding says whether a type embeds, at any depth, one that could not be checked.
func brokenEmbedding(t types.Type, seen map[types.Type]bool) bool {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch under := t.Underlying().(type) {
	case *types.Basic:
		return under.Kind() == types.Invalid
	case *types.Interface:
		return brokenInterface(under)
	case *types.Struct:
		for i := range under.NumFields() {
			if field := under.Field(i); field.Embedded() && brokenEmbedding(field.Type(), seen) {
				return true
			}
		}
	}
	return false
}

func (s *implementations) writeTo(w io.Writer) error {
	var r record
	typesHaving := s.typesByMethod()
	for _, id := range sortedKeys(s.interfaces) {
		iface := s.interfaces[id]
		r.open("iface").str("i", iface.name).str("if", iface.file).num("il", iface.line).flag("partial", iface.partial).close()
	}
	for _, id := range sortedKeys(s.types) {
		t := s.types[id]
		r.open("type").str("t", t.name).str("tf", t.file).num("tl", t.line).flag("partial", t.partial).close()
	}
	for _, id := range sortedKeys(s.interfaces) {
		iface := s.interfaces[id]
		if iface.partial {
			continue // it asks for more than is known of it
		}
		rarest := iface.value[0]
		for _, key := range iface.value {
			if len(typesHaving[key]) < len(typesHaving[rarest]) {
				rarest = key
			}
		}
		for _, candidate := range typesHaving[rarest] {
			if t := s.types[candidate]; hasAll(t.pointer, iface.value) {
				r.open("impl").str("t", t.name).str("tf", t.file).num("tl", t.line)
				r.str("i", iface.name).str("if", iface.file).num("il", iface.line)
				r.flag("pointer", !hasAll(t.value, iface.value)).close()
			}
		}
	}
	_, err := w.Write(r)
	return err
}

// typesByMethod lists, by method key, the types whose pointers have that method.
func (s *implementations) typesByMethod() map[int][]string {
	having := map[int][]string{}
	for _, id := range sortedKeys(s.types) {
		for _, key := range s.types[id].pointer {
			having[key] = append(having[key], id)
		}
	}
	return having
}

func hasAll(keys, wanted []int) bool {
	for _, want := range wanted {
		found := false
		for _, key := range keys {
			if key == want {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// typeWriter writes a type so that identical types, and only those, read the same.
type typeWriter struct {
	text    strings.Builder
	invalid bool
	within  []*types.Interface // those being written; in `type I interface{ m() interface{ I } }` one is within itself
}

func (w *typeWriter) write(t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		w.invalid = w.invalid || t.Kind() == types.Invalid
		w.basic(t)
	case *types.Named:
		w.named(t)
	case *types.Pointer:
		w.prefixed("*", t.Elem())
	case *types.Slice:
		w.prefixed("[]", t.Elem())
	case *types.Array:
		w.prefixed("["+strconv.FormatInt(t.Len(), 10)+"]", t.Elem())
	case *types.Chan:
		w.prefixed("chan"+strconv.Itoa(int(t.Dir()))+" ", t.Elem())
	case *types.Map:
		w.prefixed("map[", t.Key())
		w.prefixed("]", t.Elem())
	case *types.Signature:
		w.signature(t)
	case *types.Struct:
		w.structure(t)
	case *types.Interface:
		w.iface(t)
	case *types.TypeParam:
		w.text.WriteString("$" + strconv.Itoa(t.Index()))
	case *types.Union:
		for i := range t.Len() {
			w.prefixed("|"+strconv.FormatBool(t.Term(i).Tilde()), t.Term(i).Type())
		}
	}
}

func (w *typeWriter) prefixed(prefix string, t types.Type) {
	w.text.WriteString(prefix)
	w.write(t)
}

// basic writes byte and rune, which go/types keeps as types of their own, as what they are.
func (w *typeWriter) basic(t *types.Basic) {
	if t.Kind() != types.UnsafePointer && int(t.Kind()) < len(types.Typ) {
		t = types.Typ[t.Kind()]
	}
	w.text.WriteString(t.Name())
}

func (w *typeWriter) named(t *types.Named) {
	object := t.Obj()
	if object.Pkg() != nil {
		w.text.WriteString(object.Pkg().Path() + ".")
		if object.Parent() != object.Pkg().Scope() {
			w.text.WriteString("@" + strconv.Itoa(int(object.Pos())) + ".")
		}
	}
	w.text.WriteString(object.Name())
	for i := range t.TypeArgs().Len() {
		w.prefixed("[", t.TypeArgs().At(i))
	}
}

func (w *typeWriter) signature(t *types.Signature) {
	w.text.WriteString("func")
	if n := t.TypeParams().Len(); n > 0 {
		// A generic method satisfies no interface, whatever its parameters.
		w.text.WriteString("[" + strconv.Itoa(n) + "]")
	}
	if t.Variadic() {
		w.text.WriteString("...")
	}
	for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
		w.text.WriteString("(")
		for i := range tuple.Len() {
			w.write(tuple.At(i).Type())
			w.text.WriteString(",")
		}
		w.text.WriteString(")")
	}
}

func (w *typeWriter) structure(t *types.Struct) {
	w.text.WriteString("struct{")
	for i := range t.NumFields() {
		field := t.Field(i)
		w.text.WriteString(field.Id() + strconv.FormatBool(field.Embedded()) + strconv.Quote(t.Tag(i)))
		w.prefixed(" ", field.Type())
		w.text.WriteString(";")
	}
	w.text.WriteString("}")
}

func (w *typeWriter) iface(t *types.Interface) {
	if slices.Contains(w.within, t) {
		w.text.WriteString("interface{..}")
		return
	}
	within := append(slices.Clip(w.within), t)
	var parts []string
	part := func(head string, t types.Type) {
		inner := typeWriter{within: within}
		inner.prefixed(head, t)
		w.invalid = w.invalid || inner.invalid
		parts = append(parts, inner.text.String())
	}
	for i := range t.NumMethods() {
		part(t.Method(i).Id(), t.Method(i).Type())
	}
	if !t.IsMethodSet() {
		for i := range t.NumEmbeddeds() {
			part("~", t.EmbeddedType(i))
		}
	}
	sort.Strings(parts)
	w.text.WriteString("interface{" + strings.Join(parts, ";") + "}")
}
