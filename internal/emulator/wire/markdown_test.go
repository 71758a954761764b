package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for response, want := range map[string]string{
		`{"result":true}`:                                "**Result:** success\n",
		`{"result":"yes","b":null,"a":[],"c":""}`:        "**Result:** success\n\n# b\n—\n\n# a\n—\n\n# c\n",
		`{"result":false,"error":{"code":7,"text":"a"}}`: "**Result:** failure\n\n# Error\n- **code:** 7\n- **text:** a\n",
		`{"result":"no","error":"a"}`:                    "**Result:** failure\n\n# error\na\n",
		`{"a":{"b":{"c":[1,true],"d":[]},"e":1.50}}`: "# a\n- **b:**\n  - **c:**\n    - 1\n    - true\n" +
			"  - **d:** —\n- **e:** 1.50\n",
		`{"a":[{"b":1},{"c":"x|y\\z` + "`" + `","b":null},{"b":{"d":[]}}]}`: "# a\n| b | c |\n| --- | --- |\n| 1 | — |\n" +
			"| — | x\\|y\\\\z\\` |\n| {\"d\":[]} | — |\n",
		`{"a":["b",{"c":1,"d":null},{"e":[2]}]}`: "# a\n- b\n- **c:** 1; **d:** —\n- **e:** `[2]`\n",
		`{"1.a":{"22.b":{"c.3":1}}}`:             "# 1\\.a\n- **22\\.b:**\n  - **c.3:** 1\n",
		`{"a":"b\nc","d":"<e>","f":"1 < 2 *g*"}`: "# a\n```\nb\nc\n```\n\n# d\n```\n<e>\n```\n\n# f\n1 < 2 *g*\n",
		"{\"a\":{\"b\":\"c\\nd\",\"e\":\"`<f>\",\"g\":[{\"h\":\"<i|j>\"}]}}": "# a\n- **b:** `c d`\n- **e:** `` `<f> ``\n" +
			"- **g:**\n| h |\n| --- |\n| `<i\\|j>` |\n",
		`{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":1}}}}}}}}`: "# a\n- **b:**\n  - **c:**\n    - **d:**\n" +
			"      - **e:**\n        - **f:**\n          - **g:**\n```json\n{\n  \"h\": 1\n}\n```\n",
	} {
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(wire.Markdown([]byte(response))), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", response, diff)
		}
	}
}
