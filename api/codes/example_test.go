package codes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/fastiotest"
)

// The kind of an error comes first, its code refines it.
func Example() {
	s := fastiotest.New() // a fake of the platform
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	for range 6 {
		_, err = client.OAuth.SignIn(context.Background(), s.User().Email, api.NewSecret("a guess"))
	}
	e, ok := errors.AsType[*api.Error](err)
	if ok && errors.Is(err, api.ErrRateLimited) && e.Code == codes.AccountLocked {
		fmt.Println("locked: try again in", e.Rate.RetryAfter.Round(time.Minute))
	}
	// Output:
	// locked: try again in 30m0s
}
