package emulator

import "net/http"

func (s *Server) memberRoutes() []*route {
	const get = http.MethodGet
	const share = "/current/share/{share_id}/"
	return []*route{
		{op: "shares.Members.List", method: get, pattern: share + "members/list/", params: listParams("share_id"), handle: s.shareMembers},
	}
}

// shareMembers lists the members of a share.
func (s *Server) shareMembers(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.memberedShare(c)
	if refusal != nil {
		return *refusal
	}
	return s.memberList(c, id)
}

// memberedShare finds the share of a call by id or custom name. The caller must belong to it.
func (s *Server) memberedShare(c *call) (string, *answer) {
	id := s.state.shareNamed(c.segment("share_id"))
	if id == "" {
		return "", noSuch(codeNotFound, kindShare)
	}
	return id, s.state.mayLook(c.key, venue{profile: id})
}
