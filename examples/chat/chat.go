package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
)

// chat is one thread in a terminal.
type chat struct {
	client *fastio.Client
	scope  api.Profile
	thread api.OpaqueID // "" until the first question is asked
	in     io.Reader
	out    io.Writer

	// interruptible returns a context that the user can end.
	interruptible func(ctx context.Context) (context.Context, context.CancelFunc)
}

// run prints the turns of the thread to continue, if there is one, and then asks each line that is typed.
func (c *chat) run(ctx context.Context) error {
	if c.thread != "" {
		if err := c.recall(ctx); err != nil {
			return err
		}
	}
	lines := bufio.NewScanner(c.in)
	for c.prompt(); lines.Scan(); c.prompt() {
		question := strings.TrimSpace(lines.Text())
		if question == "" {
			continue
		}
		if err := c.ask(ctx, question); err != nil {
			return err
		}
	}
	fmt.Fprintln(c.out)
	if c.thread != "" {
		fmt.Fprintf(c.out, "Continue with -thread %s\n", c.thread)
	}
	return lines.Err()
}

func (c *chat) prompt() { fmt.Fprint(c.out, "> ") }

// recall prints the turns of the thread that is continued, and waits for an answer that
// is not complete.
func (c *chat) recall(ctx context.Context) error {
	for turn, err := range c.client.AI.Turns.All(ctx, c.scope, c.thread, nil) {
		if err != nil {
			return err
		}
		fmt.Fprintln(c.out, ">", turn.Question)
		ctx, stop := c.interruptible(ctx)
		answered, err := c.client.AI.Resume(ctx, c.scope, c.thread, turn.ID, c.options())
		stop()
		if err := c.finish(answered, err); err != nil {
			return err
		}
	}
	return nil
}

// ask asks one question and shows the answer while it is written.
func (c *chat) ask(ctx context.Context, question string) error {
	ctx, stop := c.interruptible(ctx)
	defer stop()
	options := c.options()
	options.Thread = c.thread
	options.OnTurn = func(_ context.Context, t *ai.Turn) { c.thread = t.ThreadID }
	turn, err := c.client.AI.Ask(ctx, c.scope, ai.Question{Text: question}, options)
	return c.finish(turn, err)
}

func (c *chat) options() *ai.AskOptions { return &ai.AskOptions{Text: c.out, CancelTurn: true} }

// finish prints the sources of an answer, or why there is none.
func (c *chat) finish(turn *ai.Turn, err error) error {
	failed, isTurnError := errors.AsType[*ai.TurnError](err)
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprint(c.out, "\n(cancelled)\n\n")
	case isTurnError && failed.Err == nil: // the turn itself failed
		fmt.Fprintf(c.out, "\n(%s)\n\n", failed.Status())
	case errors.Is(err, ai.ErrThreadTooLarge):
		fmt.Fprint(c.out, "(This conversation has become too long. The next question begins another.)\n\n")
		c.thread = ""
	case err != nil:
		return err
	default:
		c.footnotes(turn)
	}
	return nil
}

// footnotes prints what comes after an answer: a question for more details, whether the
// answer was cut short, and its sources.
func (c *chat) footnotes(turn *ai.Turn) {
	if turn.Clarification != nil {
		fmt.Fprint(c.out, turn.Clarification.Question)
	}
	if turn.Truncated {
		fmt.Fprint(c.out, " (cut short)")
	}
	fmt.Fprint(c.out, "\n\n")
	for i, cited := range turn.Citations {
		fmt.Fprintf(c.out, "  [%d] %s", i+1, cited.Name)
		if cited.Page > 0 {
			fmt.Fprintf(c.out, ", page %d", cited.Page)
		}
		if cited.Snippet != "" {
			fmt.Fprintf(c.out, ": %q", cited.Snippet)
		}
		fmt.Fprintln(c.out)
	}
	if len(turn.Citations) > 0 {
		fmt.Fprintln(c.out)
	}
}
