# Every check has a target, and CI calls the targets: what passes here passes there.
#
#   make all          everything that a change must pass and that needs only Go
#   make conformance  against a browser and programs of others; needs Chromium, npm and pytest
#   make rclone       the backend for rclone with its command, which takes minutes to compile
#   make soak         the long tests, which all leaves out
#   make fuzz         a search for new inputs; all runs the ones that are known
#   make site         the pages of docs as a site in .bin/site; needs Python 3
#   make release-all  what a release must pass besides all; RELEASING.md says when
#   make size         lines, packages and methods, counted
#   make mutants      whether tests notice wrong names on the wire
#   make bench        benchmarks; compare two outputs with .bin/benchstat

# The modules of this repository but for tools, which requires other versions than these.
MODULES := . examples examples/relay examples/saas keyring otelfastio relay internal/conformance
# Those whose tests need nothing but Go.
PLAIN := $(filter-out internal/conformance,$(MODULES))
# Those with programs, whose tests start processes, and a NATS server that takes long to compile.
PROGRAMS := examples examples/relay examples/saas relay
PEER := internal/conformance/peer

FUZZTIME  ?= 5s
BENCHTIME ?= 1s
BENCHRUNS ?= 6

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := all

# Every module is tested alone, as its users get it. In the workspace runs readme-test, as
# a reader of the README does; vet and lint have one of their own.
export GOWORK := off
# Those that others install, which require their siblings at the next version; a release has them
# in this order.
export INSTALLED := keyring otelfastio relay rclone examples examples/relay examples/saas
# A clone that belongs to somebody else has no version control status to stamp.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

BIN := $(CURDIR)/.bin

# $(call each,command) runs a command in every module, $(call each,command,modules) in some.
each = for module in $(or $(2),$(MODULES)); do \
	echo "[$$module] "$(call quote,$(1)); (cd "$$module" && $(alone) && $(1)); done
quote = '$(subst ','\'',$(1))'
# The go command reads the copy of the go.mod of $$module that has replaces, if there is one.
alone = export GOFLAGS="$(GOFLAGS) $$(ls $(BIN)/alone/$$module/go.mod 2>/dev/null | sed s/^/-modfile=/)"

# A module alone needs what go.work has for the workspace: folders in place of the next version
# of its siblings. They are in copies of go.mod, because an installed module has no replaces, and
# because go mod tidy reads no go.work. The copies of go.sum lack the sums that a release adds.
include $(BIN)/alone/.made
$(BIN)/alone/.made: Makefile go.work $(INSTALLED:%=%/go.mod) $(INSTALLED:%=%/go.sum)
	@for module in $(INSTALLED); do \
		copy=$(@D)/$$module; mkdir -p $$copy; cp $$module/go.mod $$copy; \
		sed '\#^github.com/fastio-go/fastio#d' $$module/go.sum >$$copy/go.sum; \
		go mod edit $$(awk -v self=./$$module '$$3 == "=>" && $$4 != self { sub("/$$", "", $$4); \
			print "-replace=" $$1 "@" $$2 "=$(CURDIR)" substr($$4, 2) }' go.work) $$copy/go.mod; \
	done
	@touch $@

# Two at a time, so that a step that waits or links leaves no core idle: the tests of programs,
# which mostly wait, beside the linters, and the race detector beside what is short.
CHECKS = test-programs fmt-check vet lint test-race api tidy-check bench-check $(ALSO)

.PHONY: all
all: generate-check readme-test compile # which write files that the others read
	@$(MAKE) --no-print-directory -j2 --output-sync=target $(CHECKS)

# Compiles packages with their tests: with less CPU than go test, which collects garbage, because
# tests measure memory. Its arguments are packages.
COMPILE = GOGC=off GOMEMLIMIT=1GiB go list -export -test -deps >/dev/null

.PHONY: compile
compile: $(BIN)/go.work # all modules, once: no other target does, since they require the same versions of others
	GOWORK=$(BIN)/go.work $(COMPILE) $(MODULES:%=./%/...)

# One build serves all tools and all modules.
$(BIN)/.built: tools/go.mod tools/go.sum tools/vet/main.go tools/vet/style.go
	GOGC=off GOMEMLIMIT=1GiB go -C tools build -ldflags="-s -w" -o $(BIN)/ tool ./vet
	touch $@

.PHONY: fmt-check
fmt-check: $(BIN)/.built
	@found=$$($(BIN)/gofumpt -extra=group_params,clothe_returns -l .); \
	[ -z "$$found" ] || { echo "$$found"; exit 1; }

# A workspace of all modules, so that vet and lint read once what these share. go.work leaves
# internal/conformance out: a reader who runs tests needs no library for a browser.
$(BIN)/go.work: Makefile go.work go.work.sum | $(BIN)/.built
	sed -E 's#^\t\.$$#\t..#; s#(^\t|=> )\./#\1../#' go.work >$@
	go work edit -use=../internal/conformance $@
	cp go.work.sum $(BIN)

WINDOWS := GOOS=windows GOARCH=386 GOFLAGS="$(GOFLAGS) -tags=soak"
.PHONY: vet
vet: $(BIN)/.built $(BIN)/go.work # for other systems: Windows, where int has 32 bits here, with the long tests, and a browser
	GOWORK=$(BIN)/go.work $(WINDOWS) $(BIN)/vet work # all modules at once, with one copy of what they import
	GOOS=js GOARCH=wasm $(BIN)/vet -tests=false ./... # tests of sockets do not compile for it
	$(BIN)/vet -style # the rules of this project, in all files of all modules
	go -C tools test ./vet ./learn

LINT := GOGC=400 GOMEMLIMIT=4GiB $(BIN)/golangci-lint run --allow-parallel-runners
.PHONY: lint
lint: $(BIN)/.built $(BIN)/go.work $(BIN)/actionlint # with all analyzers of go vet and go fix
	$(BIN)/actionlint
	GOWORK=$(BIN)/go.work $(LINT) $(patsubst %,./%/...,$(MODULES)) # at once
	cd tools && $(LINT) ./...

# It is in a module of its own, because golangci-lint requires a version of a library that it cannot use.
$(BIN)/actionlint: tools/actionlint/go.mod tools/actionlint/go.sum
	go -C tools/actionlint build -ldflags="-s -w" -o $(BIN)/ tool

.PHONY: tidy-check
tidy-check:
	@$(call each,go mod tidy -diff)
	@awk '{ sub("^require ", "") } $$1 !~ "/fastio-go/" && $$2 ~ "^v" { if (v[$$1] == "") v[$$1] = $$2; \
		else if (v[$$1] != $$2) { print "two versions, so that what imports them is compiled twice:", $$0; bad = 1 } } \
		END { exit bad }' $(MODULES:%=%/go.mod)
	go -C tools mod tidy -diff
	go -C tools/actionlint mod tidy -diff

.PHONY: tidy
tidy: # go mod tidy, whose results come back without the replaces
	@$(call each,go mod tidy,$(MODULES) rclone)
	@for module in $(INSTALLED); do \
		cp $(BIN)/alone/$$module/go.{mod,sum} $$module; \
		go mod edit $$(awk '$$3 == "=>" { print "-dropreplace=" $$1 "@" $$2 }' go.work) $$module/go.mod; \
	done
	go -C tools mod tidy

.PHONY: generate-check
generate-check:
	@state() { git ls-files --cached --others --exclude-standard -z | xargs -0 cksum 2>/dev/null || true; }; \
	before=$$(state); \
	$(call each,go generate ./...); \
	diff <(echo "$$before") <(state) || { echo "generated files were stale" >&2; exit 1; }

.PHONY: test
test: # side by side: the tests of programs wait for processes most of the time
	@$(MAKE) --no-print-directory -j2 test-race test-programs

.PHONY: test-race
test-race: # soak has the races of all packages
	@$(call each,packages=$(RACED); $(COMPILE) -race $$packages && go test -race -vet=off -shuffle=on $$packages,$(filter-out $(PROGRAMS),$(PLAIN)))

# The packages that start goroutines or share what several use, without commands, whose tests
# start processes. In this order, none that takes long runs alone at the end.
RACED = $$(go list -f '{{range .GoFiles}}{{$$.Dir}}/{{.}} {{end}}' ./... | xargs grep -lE '"sync(/atomic)?"|^\s+go ' | \
	xargs -r -n1 dirname | grep -v /cmd/ | sort -ur)

.PHONY: test-programs
test-programs: # soak has their races; they wait most of the time, so that more can run at once
	@$(call each,go test -vet=off -shuffle=on -parallel=4 ./...,$(PROGRAMS))

.PHONY: test-jsonv2
test-jsonv2: # where the JSON package is the standard library's, as it will be everywhere one day
	GOEXPERIMENT=jsonv2 go test -vet=off ./api ./account ./members ./orgs ./workspaces ./internal/call ./internal/decode ./internal/transport

.PHONY: conformance
conformance: $(PEER)/node_modules/.package-lock.json # without the race detector, for which the browser's library compiles long
	go -C internal/conformance test $(RACE) -shuffle=on -count=1 ./...

$(PEER)/node_modules/.package-lock.json: $(PEER)/package-lock.json
	if command -v npm >/dev/null; then npm --prefix $(PEER) ci; fi # without npm the tests say what they miss

.PHONY: rclone-test
rclone-test: # the tests that rclone has for every backend, and those of the backend
	@$(call each,$(COMPILE) . && go test -vet=off -count=1 .,rclone)

.PHONY: rclone
rclone: $(BIN)/.built rclone-test # a module with versions of its own: in the workspace it would raise those of others
	@$(call each,go mod tidy -diff && go vet ./...,rclone)
	cd rclone && GOWORK=$(CURDIR)/rclone/go.work $(LINT) ./... # which reads no -modfile

.PHONY: rclone-soak
rclone-soak: # its long tests, with their figures: RUN=TestCPU selects some
	@$(call each,go test -tags=soak -count=1 -timeout=60m -v -run '$(RUN)' ./cmd/...,rclone)

.PHONY: rclone-suites
rclone-suites: # the suites of rclone for sync, operations, the virtual file system and bisync
	rclone/suites

.PHONY: readme-test
readme-test: # the first test command that the README shows in a code block
	@command=$$(sed -n '/^```/,/^```/ s/^\(\$$ \)\{0,1\}\(go test.*\)/\2/p' README.md | head -n 1); \
	[ -n "$$command" ] || { echo "README.md shows no test command" >&2; exit 1; }; \
	echo "$$command"; env -u GOWORK bash -euo pipefail -c "$$command"

.PHONY: fuzz
fuzz: # every target of every module, each for a moment
	@tests='{{range .TestGoFiles}}{{$$.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$.Dir}}/{{.}} {{end}}'; \
	for module in $(MODULES); do (cd "$$module"; for file in $$(go list -f "$$tests" ./...); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file"); do \
			echo "[$$module] $$target in $$file"; \
			go test -run='^$$' -fuzz="^$$target$$" -fuzztime=$(FUZZTIME) "$$(dirname "$$file")"; \
		done; \
	done); done

.PHONY: bench
bench:
	@$(call each,go test -run='^$$' -bench=. -benchmem -benchtime=$(BENCHTIME) -count=$(BENCHRUNS) ./...)

.PHONY: bench-check
bench-check: # that every benchmark still runs; its numbers mean nothing
	@for dir in $$(git grep -l --untracked '^func Benchmark' | xargs -n1 dirname | sort -u); do \
		module=$$dir; until [ -e $$module/go.mod ]; do module=$$(dirname $$module); done; \
		(cd $$dir && $(alone) && go test -short -vet=off -run='^$$' -bench=. -benchtime=1x); done

.PHONY: soak
soak:
	@$(call each,GOOS=darwin go vet ./...,. keyring)
	@$(MAKE) --no-print-directory test-jsonv2
	@$(call each,go test -race -tags=soak -timeout=2h ./...,$(PLAIN))
	@$(MAKE) --no-print-directory conformance RACE=-race
	@$(call each,go test -tags=soak -timeout=60m ./...,rclone)

.PHONY: size
size: # how large the repository is, by kind of lines and by package
	@go build -C tools -o $(BIN)/ ./size
	@$(BIN)/size

.PHONY: api
api: # that no exported declaration was removed or changed since api/*.txt
	@go build -C tools -o $(BIN)/ ./api
	@$(BIN)/api

.PHONY: api-accept
api-accept: # writes api/*.txt
	@go build -C tools -o $(BIN)/ ./api
	@$(BIN)/api -accept

.PHONY: release
release: # the commit and the tags of VERSION; it pushes nothing. RELEASING.md has the steps around it
	@tools/release/tag $(VERSION)

.PHONY: release-check
release-check: # installs and runs what the tags of HEAD publish, or a release of HEAD would
	@tools/release/check

.PHONY: release-next
release-next: # the first commit after a release: VERSION is the next one
	@tools/release/next $(VERSION)

$(BIN)/goreleaser: tools/release/go.mod tools/release/go.sum
	go -C tools/release build -ldflags="-s -w" -o $(BIN)/ tool

RELEASER = ALONE=$(BIN)/alone $(BIN)/goreleaser

.PHONY: release-build
release-build: $(BIN)/goreleaser # the commands: for this system as a release has them, and for some others
	$(RELEASER) check
	$(RELEASER) build --clean --snapshot --single-target
	@for system in linux/arm64 darwin/arm64 windows/amd64; do \
		export CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/}; echo "$$system"; \
		$(call each,go build -o /dev/null ./cmd/...,. relay rclone); \
	done

.PHONY: release-publish
release-publish: $(BIN)/goreleaser # a draft on GitHub of the tag of HEAD, and images; needs syft, cosign and docker
	$(RELEASER) release --clean
	@version=$$(git describe --exact-match --match 'v*'); for command in cmd/fastio-emulator relay/cmd/fastio-relay; do \
		image=ghcr.io/fastio-go/$${command##*/}:$$version; \
		docker build -t $$image -f $$command/Dockerfile .; docker push $$image; \
	done

.PHONY: licences
licences: # of all modules that the commands and packages link, on three systems
	go -C tools/release test ./licences
	go -C tools/release build -o $(BIN)/ ./licences
	@for module in . $(INSTALLED); do (cd $$module; $(alone); for system in linux darwin windows; do \
		GOOS=$$system go list -deps -f '{{with .Module}}{{.Path}} {{.Dir}}{{end}}' ./...; \
	done); done | grep -v '^github.com/fastio-go/fastio' | sort -u | $(BIN)/licences

# In a module of its own: no other tool needs its 200 modules. Without service discovery, which no rule needs.
$(BIN)/promtool: tools/promtool/go.mod tools/promtool/go.sum
	go -C tools/promtool build -tags=remove_all_sd -ldflags="-s -w" -o $(BIN)/ tool

.PHONY: alerts
alerts: $(BIN)/promtool # that the alert rules are valid and do what their tests expect
	go -C tools/promtool mod tidy -diff
	@for rules in $$(git ls-files '*alerts.yml'); do \
		$(BIN)/promtool check rules $$rules; $(BIN)/promtool test rules $${rules%.yml}_test.yml; \
	done

.PHONY: release-all
release-all: # what a release must pass besides all and conformance, and what takes too long for a change
	@$(MAKE) --no-print-directory licences release-build release-check alerts rclone rclone-suites site-check

.PHONY: callpath
callpath: # the functions that one call on a warm client runs
	@go build -cover -covermode=atomic -coverpkg=./... -o $(BIN)/callpath ./internal/callpath
	@go build -C tools -o $(BIN)/functions ./callpath
	@rm -rf $(BIN)/coverage; mkdir -p $(BIN)/coverage/call $(BIN)/coverage/exit
	@GOCOVERDIR=$(BIN)/coverage/exit $(BIN)/callpath $(BIN)/coverage/call
	@go tool covdata textfmt -i=$(BIN)/coverage/call -o $(BIN)/coverage.txt
	@$(BIN)/functions $(BIN)/coverage.txt

.PHONY: mutants
mutants: # renames names on the wire, one at a time, and counts the changes that tests notice
	@go build -C tools -o $(BIN)/ ./mutants
	@$(BIN)/mutants ./AREA . ./internal/contract

.PHONY: clean
clean:
	rm -rf $(BIN)

.PHONY: site
site: # with the versions and hashes of requirements.txt, from PyPI
	test -d $(BIN)/python || python3 -m venv $(BIN)/python
	$(BIN)/python/bin/pip install -q --require-hashes -r tools/site/requirements.txt
	NO_MKDOCS_2_WARNING=1 $(BIN)/python/bin/mkdocs build -q

.PHONY: site-check
site-check: site $(PEER)/node_modules/.package-lock.json # in a browser, with the rules of axe-core
	go -C internal/conformance test -count=1 -run='^TestSite$$' .
