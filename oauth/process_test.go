package oauth_test

const roleEnv = "OAUTH_TEST_ROLE"

func child(string) int { return 1 }
