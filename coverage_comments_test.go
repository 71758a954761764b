package fastio_test

import (
	"context"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
)

func commentDrivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	workspace := api.Workspace(coverWorkspace)
	return []driver{
		{"comments.List", []string{"workspace", coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Comments.List(ctx, workspace, nil)
		}, nil},
		{"comments.ListOnNode", []string{"workspace", coverWorkspace, coverNode}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Comments.ListOnNode(ctx, workspace, coverNode, nil)
		}, nil},
		{"comments.ListOnFileShare", []string{coverFileShare, coverNode}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Comments.ListOnFileShare(ctx, coverFileShare, coverNode, &comments.ListOptions{Password: api.NewSecret(coverPassword)})
		}, nil},
		{"comments.Create", []string{"workspace", coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Comments.Create(ctx, workspace, comments.CreateRequest{Body: "Shall we begin?", Targets: []api.OpaqueID{coverNode}})
		}, nil},
		{"comments.CreateOnNode", []string{"workspace", coverWorkspace, coverNode}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Comments.CreateOnNode(ctx, workspace, coverNode, comments.CreateRequest{
				Body: "Brass?", ParentID: coverComment, Targets: []api.OpaqueID{coverNode, coverWorkspace},
			})
		}, nil},
		{"comments.CreateOnFileShare", []string{coverFileShare, coverNode}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Comments.CreateOnFileShare(ctx, coverFileShare, coverNode, comments.CreateRequest{
				Body: "Steam?", Password: api.NewSecret(coverPassword), Targets: []api.OpaqueID{coverNode},
			})
		}, nil},
		{"comments.Update", []string{coverComment}, func(ctx ctx, c cl, w world) (any, error) {
			if _, err := c.Comments.Update(ctx, coverComment, comments.UpdateRequest{Body: "Big numbers."}); err != nil {
				return nil, err
			}
			return w.aside.Comments.Get(ctx, coverComment)
		}, nil},
		{"comments.Get", []string{coverComment}, func(ctx ctx, c cl, _ world) (any, error) { return c.Comments.Get(ctx, coverComment) }, nil},
		{"comments.Delete", []string{coverComment}, func(ctx ctx, c cl, _ world) (any, error) {
			deleted, err := c.Comments.Delete(ctx, coverComment)
			if err != nil {
				return nil, err
			}
			return deleted.Comment.Deleted, nil
		}, nil},
		{"comments.DeleteMany", nil, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Comments.DeleteMany(ctx, []api.OpaqueID{coverComment})
		}, nil},
		{"comments.React", []string{coverComment}, func(ctx ctx, c cl, _ world) (any, error) { return c.Comments.React(ctx, coverComment, "🦉") }, nil},
		{"comments.Unreact", []string{coverComment}, func(ctx ctx, c cl, _ world) (any, error) {
			left, err := c.Comments.Unreact(ctx, coverComment)
			if err != nil {
				return nil, err
			}
			return len(left.Counts) == 0, nil
		}, nil},
		{"comments.Attachments.List", []string{coverComment}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Comments.Attachments.List(ctx, coverComment)
		}, nil},
		{"comments.Attachments.Attach", []string{coverComment}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Comments.Attachments.Attach(ctx, coverComment, []api.OpaqueID{coverFileShare})
		}, nil},
		{"comments.Attachments.Detach", []string{coverComment}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Comments.Attachments.Detach(ctx, coverComment, coverNode)
		}, nil},
		{"comments.Unlink", []string{coverComment}, func(ctx ctx, c cl, _ world) (any, error) {
			free, err := c.Comments.Unlink(ctx, coverComment)
			if err != nil {
				return nil, err
			}
			return free.ID != "" && free.LinkedEntityType == "", nil
		}, nil},
	}
}
