package main

// Declarations of single files, by go/parser alone: no types, no other files.

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"strconv"
	"sync"
)

type fileDeclarations struct {
	File         string        `json:"file"`
	Package      string        `json:"package"`
	Error        string        `json:"error,omitempty"`
	Imports      []importSpec  `json:"imports"`
	Declarations []declaration `json:"declarations"`
}

type importSpec struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Line int    `json:"line"`
}

type declaration struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Receiver  string `json:"receiver,omitempty"`
	Owner     string `json:"owner,omitempty"`
	Line      int    `json:"line"`
	Start     int    `json:"start"`
	End       int    `json:"end"`
	Exported  bool   `json:"exported"`
	Embedded  bool   `json:"embedded,omitempty"`
	Doc       string `json:"doc,omitempty"`
	Signature string `json:"signature"`
	Tag       string `json:"tag,omitempty"`
}

// declareFiles writes one line per path, in the order given.
func declareFiles(w io.Writer, paths []string, workers int) error {
	lines := make([]chan []byte, len(paths))
	for i := range lines {
		lines[i] = make(chan []byte, 1)
	}
	next := make(chan int)
	var done sync.WaitGroup
	for range max(workers, 1) {
		done.Add(1)
		go func() {
			defer done.Done()
			for i := range next {
				line, _ := json.Marshal(declareFile(paths[i]))
				lines[i] <- append(line, '\n')
			}
		}()
	}
	go func() {
		defer close(next)
		for i := range paths {
			next <- i
		}
	}()
	var err error
	for i := range lines {
		if line := <-lines[i]; err == nil {
			_, err = w.Write(line)
		}
	}
	done.Wait()
	return err
}

func declareFile(path string) fileDeclarations {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	result := fileDeclarations{File: path, Imports: []importSpec{}, Declarations: []declaration{}}
	if err != nil {
		result.Error = err.Error()
	}
	if syntax == nil || syntax.Name == nil {
		return result
	}
	result.Package = syntax.Name.Name
	d := declarer{fset: fset}
	for _, spec := range syntax.Imports {
		result.Imports = append(result.Imports, d.importSpec(spec))
	}
	for _, decl := range syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			d.function(decl)
		case *ast.GenDecl:
			d.group(decl)
		}
	}
	result.Declarations = append(result.Declarations, d.found...)
	return result
}

type declarer struct {
	fset  *token.FileSet
	found []declaration
}

func (d *declarer) importSpec(spec *ast.ImportSpec) importSpec {
	path, _ := strconv.Unquote(spec.Path.Value)
	name := ""
	if spec.Name != nil {
		name = spec.Name.Name
	}
	return importSpec{Name: name, Path: path, Line: d.fset.PositionFor(spec.Path.Pos(), false).Line}
}

// add appends a declaration whose name stands at node.
func (d *declarer) add(node ast.Node, decl declaration) {
	start := d.fset.PositionFor(node.Pos(), false)
	decl.Line, decl.Start = start.Line, start.Offset
	decl.End = d.fset.PositionFor(node.End(), false).Offset
	decl.Exported = ast.IsExported(decl.Name)
	d.found = append(d.found, decl)
}

func (d *declarer) function(decl *ast.FuncDecl) {
	bare := *decl
	bare.Body, bare.Doc = nil, nil
	found := declaration{Kind: "func", Name: decl.Name.Name, Doc: decl.Doc.Text(), Signature: d.print(&bare)}
	if decl.Recv != nil {
		found.Kind = "method"
		found.Receiver = receiverName(decl)
	}
	d.add(decl.Name, found)
}

func (d *declarer) group(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			d.typeSpec(spec, docOf(decl, spec.Doc))
		case *ast.ValueSpec:
			for i, name := range spec.Names {
				d.add(name, declaration{Kind: decl.Tok.String(), Name: name.Name, Doc: docOf(decl, spec.Doc),
					Signature: d.valueSignature(decl.Tok, name, spec)})
				if decl.Tok == token.VAR {
					d.fields(name.Name, variableType(spec, i))
				}
			}
		}
	}
}

// docOf is a spec's own comment, or its declaration's when the declaration holds only that spec without parentheses.
func docOf(decl *ast.GenDecl, own *ast.CommentGroup) string {
	if own == nil && !decl.Lparen.IsValid() {
		own = decl.Doc
	}
	return own.Text()
}

func (d *declarer) valueSignature(tok token.Token, name *ast.Ident, spec *ast.ValueSpec) string {
	signature := tok.String() + " " + name.Name
	if spec.Type != nil {
		signature += " " + d.print(spec.Type)
	}
	return signature
}

func (d *declarer) typeSpec(spec *ast.TypeSpec, doc string) {
	found := declaration{Kind: "type", Name: spec.Name.Name, Doc: doc}
	head := ast.TypeSpec{Name: spec.Name, TypeParams: spec.TypeParams, Assign: spec.Assign, Type: spec.Type}
	underlying := ast.Unparen(spec.Type)
	switch underlying.(type) {
	case *ast.StructType:
		found.Kind, head.Type = "struct", ast.NewIdent("struct")
	case *ast.InterfaceType:
		found.Kind, head.Type = "interface", ast.NewIdent("interface")
	}
	if spec.Assign.IsValid() {
		found.Kind, head.Type = "alias", spec.Type
	}
	found.Signature = d.print(&ast.GenDecl{Tok: token.TYPE, Specs: []ast.Spec{&head}})
	d.add(spec.Name, found)
	if interfaceType, ok := underlying.(*ast.InterfaceType); ok {
		d.elements(spec.Name.Name, interfaceType)
	} else {
		d.fields(spec.Name.Name, underlying)
	}
}

// variableType is the type that a variable is declared with, or that of the literal that it is set to.
func variableType(spec *ast.ValueSpec, i int) ast.Expr {
	if spec.Type == nil && i < len(spec.Values) {
		if literal, ok := spec.Values[i].(*ast.CompositeLit); ok {
			return literal.Type
		}
	}
	return spec.Type
}

// structWithin is the unnamed struct that a type is made of, nil if there is none.
func structWithin(expr ast.Expr) *ast.StructType {
	switch expr := expr.(type) {
	case *ast.StructType:
		return expr
	case *ast.ParenExpr:
		return structWithin(expr.X)
	case *ast.StarExpr:
		return structWithin(expr.X)
	case *ast.ArrayType:
		return structWithin(expr.Elt)
	case *ast.MapType:
		return structWithin(expr.Value)
	case *ast.ChanType:
		return structWithin(expr.Value)
	}
	return nil
}

func (d *declarer) fields(owner string, expr ast.Expr) {
	structure := structWithin(expr)
	if structure == nil {
		return
	}
	for _, field := range structure.Fields.List {
		found := declaration{Kind: "field", Owner: owner, Doc: field.Doc.Text()}
		if field.Tag != nil {
			found.Tag = field.Tag.Value
		}
		typeText := d.print(field.Type)
		if len(field.Names) == 0 {
			name := embeddedName(field.Type)
			if name == nil {
				continue
			}
			found.Name, found.Embedded, found.Signature = name.Name, true, typeText
			d.add(name, found)
		}
		for _, name := range field.Names {
			found.Name, found.Signature = name.Name, name.Name+" "+typeText
			d.add(name, found)
			d.fields(owner+"."+name.Name, field.Type)
		}
	}
}

func (d *declarer) elements(owner string, iface *ast.InterfaceType) {
	for _, element := range iface.Methods.List {
		found := declaration{Kind: "embed", Owner: owner, Doc: element.Doc.Text(), Embedded: true}
		signature, isMethod := element.Type.(*ast.FuncType)
		if len(element.Names) == 0 || !isMethod {
			found.Name = d.print(element.Type)
			found.Signature = found.Name
			d.add(element.Type, found)
			continue
		}
		name := element.Names[0]
		bare := &ast.FuncDecl{Name: name, Type: signature}
		text := d.print(bare)
		found.Kind, found.Embedded, found.Name = "imethod", false, name.Name
		found.Signature = text[len("func "):]
		d.add(name, found)
	}
}

func (d *declarer) print(node any) string {
	var text bytes.Buffer
	if err := printer.Fprint(&text, d.fset, node); err != nil {
		return ""
	}
	return text.String()
}

// embeddedName is the identifier that names an embedded field: T of *pkg.T[int].
func embeddedName(expr ast.Expr) *ast.Ident {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr
	case *ast.StarExpr:
		return embeddedName(expr.X)
	case *ast.ParenExpr:
		return embeddedName(expr.X)
	case *ast.SelectorExpr:
		return expr.Sel
	case *ast.IndexExpr:
		return embeddedName(expr.X)
	case *ast.IndexListExpr:
		return embeddedName(expr.X)
	}
	return nil
}

// receiverName is the base type's name of a method's receiver, "" for a function or a receiver that is no name.
func receiverName(decl *ast.FuncDecl) string {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return ""
	}
	if name := embeddedName(decl.Recv.List[0].Type); name != nil {
		return name.Name
	}
	return ""
}
