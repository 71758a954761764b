package pdf_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/internal/emulator/pdf"
)

func TestTextIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# Offer\n\nTwo looms (used) \\ one new.\nSigned.": "Offer\n\nTwo looms (used) \\ one new.\nSigned.",
		"One\fTwo\n":                "One\fTwo",
		"Na\u00efve":                "Na?ve",
		strings.Repeat("loom ", 30): strings.Repeat("loom ", 15) + "loom\n" + strings.Repeat("loom ", 14),
	} {
		content := string(pdf.Write(text))
		if got := pdf.Text(content); !pdf.Is(content) || got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if pages := strings.Count(pdf.Text(string(pdf.Write(strings.Repeat("loom\n", 100)))), "\f"); pages != 2 {
		t.Errorf("a hundred lines are on %d pages", pages+1)
	}
}

// A reader finds the table of objects by its place, and each object by its own.
func TestWriteGivesThePlaceOfEachObject(t *testing.T) {
	t.Parallel()
	content := string(pdf.Write("One\fTwo"))
	at := func(pattern, in string) int {
		m := regexp.MustCompile(pattern).FindStringSubmatch(in)
		if m == nil {
			t.Fatalf("no %s in %s", pattern, in)
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	table := content[at(`startxref\n(\d+)\n%%EOF\n$`, content):]
	rows := regexp.MustCompile(`(\d{10}) 00000 n \n`).FindAllString(table, -1)
	if !strings.HasPrefix(table, "xref\n0 9\n") || len(rows) != 8 {
		t.Fatal(table)
	}
	for i, row := range rows {
		object := content[at(`^0*(\d+) `, row):]
		if !strings.HasPrefix(object, fmt.Sprintf("%d 0 obj\n", i+1)) {
			t.Errorf("object %d: %.20q", i+1, object)
		}
		if length, stream, is := strings.Cut(object, ">>\nstream\n"); is && strings.Count(length, "obj") == 1 {
			if end := stream[at(`/Length (\d+) $`, length):]; !strings.HasPrefix(end, "\nendstream") {
				t.Errorf("object %d ends with %.20q", i+1, end)
			}
		}
	}
}

func TestTextOfOtherPrograms(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	fmt.Fprint(w, "BT /F1 9 Tf [(Two) -250 ( l\\157oms)] TJ 0 -12 Td <0041> Tj (next \\\n\\(line\\)) ' ET")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := pdf.Text("%PDF-1.7\n4 0 obj\n<< /Filter /FlateDecode >>\nstream\n" + packed.String() + "\nendstream\nendobj\n" +
		"5 0 obj\n<< /Filter /FlateDecode >>\nstream\nnone\nendstream\nendobj\n" +
		"6 0 obj\n<< >>\nstream\na font with the bytes TJ\nendstream\nendobj\n")
	if got != "Two looms\n\nnext (line)" {
		t.Errorf("%q", got)
	}
}
