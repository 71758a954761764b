package contract_test

import (
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fileshares"
)

const (
	deedFile     = "2d33d0fth3m1115h4r3db3ta12345"
	deedText     = "The mill belongs to its maker.\n"
	loanID       = "6214365870987654321"
	loanPassword = "0p3n s3sam3"
)

// lend puts a file into the scene, and a link to it.
func (w *world) lend() {
	ada := w.server.User().ID
	w.server.AddNode(fastiotest.Node{
		ID: deedFile, Profile: workspaceID, Name: "Deed.pdf", Content: deedText, Creator: ada,
	})
	w.server.AddFileShare(fastiotest.FileShare{
		ID: loanID, IDAlt: "q2d33d0fth3m111b3ta1234567890", Node: deedFile, Owner: ada, Title: "The deed",
		Access: "any_registered", CommentsEnabled: true, Password: loanPassword, Expires: keyEnd(),
		Grants: []fastiotest.Grant{{Email: "later@example.test", Capability: "view"}},
	})
}

func fileShareSteps() []step {
	unlocked := api.LinkPassword(api.NewSecret(loanPassword))
	upload := fileshares.CreateUploadRequest{
		FileShareID: loanID, FileID: deedFile, Name: "Deed.pdf", Size: int64(len(deedText)),
	}
	begun := func(w *world) api.OpaqueID { return w.upload }
	nobody := fileshares.Grantee{Email: "nobody@example.test"}
	return []step{
		between((*world).lend),
		makes("Create", workspaceID, fileshares.CreateRequest{
			NodeID: deedFile, Title: "For the notary", Access: fileshares.AccessAnyoneWithLink,
			Password: api.Set[api.Secret](api.NewSecret(loanPassword)), ExpiresIn: time.Hour,
		}),
		makes("Create", workspaceID, fileshares.CreateRequest{NodeID: "2n0such0fth3m111b3ta123456789"}),
		makes("List", workspaceID, &fileshares.ListOptions{Limit: 1}),
		{"Get", func(c call) (any, error) { return c.FileShares.Get(c, loanID, unlocked) }},
		{"Get", func(c call) (any, error) { // without the password
			return c.FileShares.Get(c, loanID)
		}},
		{"Get", func(c call) (any, error) { return c.FileShares.Get(c, "6999999999999999999", unlocked) }},
		makes("Update", loanID, fileshares.UpdateRequest{Title: api.Null[string](), ExpiresAt: api.Null[time.Time]()}),
		makes("Grants.Set", loanID, fileshares.Grantee{Email: "charles@example.test"}, fileshares.CapabilityEdit),
		makes("Grants.Set", loanID, nobody, fileshares.CapabilityDownload),
		makes("Grants.Set", loanID, fileshares.Grantee{User: "3999999999999999999"}, fileshares.CapabilityDownload),
		makes("Grants.List", loanID),
		{"Grants.Revoke", func(c call) (any, error) {
			return nil, c.FileShares.Grants.Revoke(c, loanID, nobody)
		}},
		{"Download", func(c call) (any, error) { return read(c.FileShares.Download(c, loanID, nil, unlocked)) }},
		{"Preview", func(c call) (any, error) {
			return read(c.FileShares.Preview(c, loanID, api.PreviewTypeThumbnail, unlocked))
		}},
		{"Preview", func(c call) (any, error) {
			return read(c.FileShares.Preview(c, loanID, api.PreviewTypeMP4, unlocked))
		}},
		{"Metadata", func(c call) (any, error) { return c.FileShares.Metadata(c, loanID, unlocked) }},
		learning("Uploads.Create",
			func(c call) (*fileshares.Upload, error) { return c.FileShares.Uploads.Create(c, upload, unlocked) },
			func(w *world, u *fileshares.Upload) { w.upload = u.ID }),
		{"Uploads.Chunk", func(c call) (any, error) {
			return nil, c.FileShares.Uploads.Chunk(c, c.upload, 1, []byte(deedText), unlocked)
		}},
		makes("Uploads.Complete", begun, unlocked),
		makes("Uploads.Get", begun, unlocked),
		learning("Uploads.Create",
			func(c call) (*fileshares.Upload, error) {
				at := upload // in one call, after a version that is not the current one
				at.Content, at.IfVersion = []byte(deedText), "v3r510n0fth3d33db3ta123456789"
				return c.FileShares.Uploads.Create(c, at, unlocked)
			},
			func(w *world, u *fileshares.Upload) { w.upload = u.ID }),
		between(func(*world) { time.Sleep(time.Minute) }),
		makes("Uploads.Get", begun, unlocked),
		{"Versions.List", func(c call) (any, error) {
			all, err := c.FileShares.Versions.List(c, loanID, unlocked)
			if err == nil && len(all) > 0 {
				c.version = all[len(all)-1].ID
			}
			return all, err
		}},
		{"Versions.Read", func(c call) (any, error) {
			return read(c.FileShares.Versions.Read(c, loanID, c.version, nil, unlocked))
		}},
		{"Delete", func(c call) (any, error) { return nil, c.FileShares.Delete(c, loanID, loanID) }},
	}
}
