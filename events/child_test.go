package events_test

const childEnv = "FASTIO_EVENTS_CHILD"

func child() int { return 0 }
