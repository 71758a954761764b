package api

// Pagination tells where a page of an offset list stands.
type Pagination struct {
	Total   int  `json:"total"`
	Limit   int  `json:"limit"` // rows asked for; a page may hold fewer
	Offset  int  `json:"offset"`
	HasMore bool `json:"has_more"` // the one sign that there is another page
}
