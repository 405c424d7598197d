// Judge tells what Go's own parser and type checker say about a source tree, as JSON lines.
//
// It answers two questions: which declarations files hold (`judge declarations`), and who calls and implements what
// (`judge edges`). It needs nothing but the standard library and the go command, changes nothing in the tree, and never
// touches the network. It does not build or run the code it reads.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

const usage = `usage:
  judge edges [-go PATH] [-gopath DIR]... [-workers N] [-o FILE] ROOT
  judge declarations [-workers N] [-o FILE] FILE... | -
`

func main() {
	// The program's go.mod asks for an old language version, which would turn alias types off in go/types.
	os.Setenv("GODEBUG", "gotypesalias=1")
	if len(os.Args) < 2 {
		fail(2, usage)
	}
	switch os.Args[1] {
	case "edges":
		edgesCommand(os.Args[2:])
	case "declarations":
		declarationsCommand(os.Args[2:])
	default:
		fail(2, usage)
	}
}

type listFlag []string

func (l *listFlag) String() string { return strings.Join(*l, string(os.PathListSeparator)) }

func (l *listFlag) Set(value string) error {
	*l = append(*l, strings.Split(value, string(os.PathListSeparator))...)
	return nil
}

func edgesCommand(args []string) {
	flags := flag.NewFlagSet("edges", flag.ExitOnError)
	goCommand := flags.String("go", "go", "the go command")
	workers := flags.Int("workers", runtime.NumCPU(), "packages checked at once")
	output := flags.String("o", "", "write to this file instead of standard output")
	var roots listFlag
	flags.Var(&roots, "gopath", "a source root to search for imports that are not found otherwise")
	flags.Parse(args)
	if flags.NArg() != 1 {
		fail(2, usage)
	}
	tree, err := openTree(flags.Arg(0), *goCommand, roots)
	if err != nil {
		fail(1, err.Error())
	}
	truth := judgeTree(tree, *workers)
	tree.close()
	write(*output, truth.writeTo)
}

func declarationsCommand(args []string) {
	flags := flag.NewFlagSet("declarations", flag.ExitOnError)
	workers := flags.Int("workers", runtime.NumCPU(), "files parsed at once")
	output := flags.String("o", "", "write to this file instead of standard output")
	flags.Parse(args)
	paths := flags.Args()
	if len(paths) == 0 {
		fail(2, usage)
	}
	if len(paths) == 1 && paths[0] == "-" {
		var err error
		if paths, err = readPaths(os.Stdin); err != nil {
			fail(1, err.Error())
		}
	}
	write(*output, func(w io.Writer) error { return declareFiles(w, paths, *workers) })
}

// readPaths reads paths separated by NUL, or by newlines when there is no NUL.
func readPaths(r io.Reader) ([]string, error) {
	text, err := io.ReadAll(r)
	separator := "\n"
	if strings.ContainsRune(string(text), 0) {
		separator = "\x00"
	}
	var paths []string
	for _, path := range strings.Split(string(text), separator) {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths, err
}

func write(path string, emit func(io.Writer) error) {
	out := os.Stdout
	if path != "" {
		var err error
		if out, err = os.Create(path); err != nil {
			fail(1, err.Error())
		}
	}
	buffered := bufio.NewWriterSize(out, 1<<20)
	err := emit(buffered)
	if flushed := buffered.Flush(); err == nil {
		err = flushed
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		fail(1, err.Error())
	}
}

func fail(code int, message string) {
	fmt.Fprintln(os.Stderr, strings.TrimSpace(message))
	os.Exit(code)
}
