package relay

import (
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// apply records an entry of the bucket. An entry without a value was deleted or has expired. A value
// that cannot be decoded counts as none, except that of an account, which keeps its last record, as it
// does in the replicas. A key whose name cannot be decoded is of another program, and is left out.
func (b *board) apply(e *ledgerEntry) {
	kind, rest, _ := strings.Cut(e.key, ".")
	switch prefix := kind + "."; prefix {
	case accountPrefix:
		name, record, err := decodeRecord(e.key, e.value) // no record if there is no value
		if err == nil {
			b.setAccount(name, record)
		}
	case accountStatusPrefix:
		name, err := untoken(rest)
		if err == nil {
			b.setStatus(name, e.value)
		}
	case heartbeatPrefix:
		name, err := untoken(strings.TrimPrefix(rest, accountsGroup+"."))
		if err == nil {
			b.setBeat(name, e.value)
		}
	case viewPrefix:
		b.setView(e)
	}
}

// setView records the view and who holds which slot in it. Without a value that can be read, it has no
// members.
func (b *board) setView(e *ledgerEntry) {
	b.view = &view{number: e.revision}
	if e.value == nil || jsonv2.Unmarshal(e.value, b.view) != nil {
		b.view = &view{number: e.revision} // Unmarshal may have set a part
	}
	b.holders = b.view.divideSlots()
}

// setAccount records an account, and keeps its record without the API key. A nil record means that
// the account was removed.
func (b *board) setAccount(name string, record *accountRecord) {
	before, known := b.accounts[name]
	slot := slotOf(name)
	switch {
	case record == nil && known:
		b.byState[before.state].remove(name)
		b.names.remove(name)
		b.inSlot[slot]--
		delete(b.accounts, name)
		return
	case record == nil:
		return
	case !known:
		b.names.add(name)
		b.inSlot[slot]++
	}
	if !record.isSignIn() {
		record.Sealed = []byte{} // the API key is not kept; with nil, isSignIn would become true
	}
	b.updateState(name, boardAccount{record: record, state: before.state}) // "" if the account was not known
}

// setStatus records what a replica has written for an account; nil means that it is deleted.
func (b *board) setStatus(name string, value []byte) {
	var s accountStatusRecord
	if value == nil || jsonv2.Unmarshal(value, &s) != nil {
		delete(b.written, name)
	} else {
		b.written[name] = s
	}
	if a, known := b.accounts[name]; known {
		b.updateState(name, a)
	}
}

// updateState records an account with its present state, which follows from its record and from what a
// replica has written. The state of a is the one before, "" for a new account.
func (b *board) updateState(name string, a boardAccount) {
	state := a.record.status(b.written[name]).State
	if a.state != state {
		if a.state != "" {
			b.byState[a.state].remove(name)
		}
		if b.byState[state] == nil {
			b.byState[state] = &index{}
		}
		b.byState[state].add(name)
		a.state = state
	}
	b.accounts[name] = a
}

// setBeat records the heartbeat of a replica; nil means that it has ended.
func (b *board) setBeat(name string, value []byte) {
	beat := boardBeat{heard: time.Now()}
	if value == nil || jsonv2.Unmarshal(value, &beat.heartbeat) != nil {
		delete(b.beats, name)
		return
	}
	b.beats[name] = beat
}

// holder returns the replica that has an account in its share, "" if there is none.
func (b *board) holder(account string) string {
	if b.holders == nil || b.holders[slotOf(account)] < 0 {
		return ""
	}
	return b.view.Members[b.holders[slotOf(account)]].Name
}

// replicas returns the members of the view, and those that wait for the next one, by name.
func (b *board) replicas() (all []ReplicaState) {
	for i, p := range b.view.Members {
		r := ReplicaState{Name: p.Name, Waiting: true}
		if beat, ok := b.beats[p.Name]; ok {
			hasAdopted := beat.Token == p.Token && beat.View == b.view.number
			r.Seen, r.Waiting = beat.heard, !hasAdopted
		}
		for slot, holder := range b.holders {
			if holder == i {
				r.Slots++
				r.Accounts += b.inSlot[slot]
			}
		}
		all = append(all, r)
	}
	for name, beat := range b.beats {
		if !slices.ContainsFunc(b.view.Members, func(p peer) bool { return p.Name == name }) {
			all = append(all, ReplicaState{Name: name, Seen: beat.heard, Waiting: true})
		}
	}
	slices.SortFunc(all, func(a, b ReplicaState) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// find returns a page of accounts. It stops when the page is full, or when it has looked at
// mostScanned names for a text: then the page is short, although there may be more.
func (b *board) find(q AccountQuery) *AccountPage {
	names := &b.names
	if q.State != "" {
		names = b.byState[q.State]
	}
	page := &AccountPage{}
	if names == nil {
		return page
	}
	text, last := strings.ToLower(q.Text), q.After
	for _, name := range names.after(q.After) {
		if len(page.Accounts) == q.Limit || page.Scanned == mostScanned {
			page.Next = last
			break
		}
		page.Scanned++
		last = name
		if text != "" && !strings.Contains(strings.ToLower(name), text) {
			continue
		}
		row := AccountRow{AccountStatus: b.accounts[name].record.status(b.written[name]), Holder: b.holder(name)}
		row.Reason = strings.ToValidUTF8(row.Reason[:min(len(row.Reason), maxReason)], "")
		page.Accounts = append(page.Accounts, row)
	}
	return page
}
