package page

import (
	"strconv"

	"github.com/fastio-go/fastio/api"
)

// AfterOffset returns the offset that follows a page of an offset list, as a
// cursor; "" when it was the last.
//
// Rows the caller may not see are dropped after the server has cut its page, so
// a page steps by the rows asked for, not by those that came. A server that
// tells nothing of its pages is asked until one is empty.
func AfterOffset(p *api.Pagination, offset, rows int) string {
	step := rows
	if p != nil {
		if !p.HasMore {
			return ""
		}
		step = max(p.Limit, rows)
	}
	if step == 0 {
		return ""
	}
	return strconv.Itoa(offset + step)
}

// Offset reads back what AfterOffset wrote; start is what "" stands for.
func Offset(cursor string, start int) int {
	if n, err := strconv.Atoi(cursor); err == nil {
		return n
	}
	return start
}
