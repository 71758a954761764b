//go:build all

package main

import _ "github.com/rclone/rclone/backend/all"
