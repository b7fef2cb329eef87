# `make` does the main job; `make help` lists the rest.

# What is built is looked for in target/, so cargo is to put it there.
unexport CARGO_TARGET_DIR

.PHONY: all programs elf kit report peers deps test bench fuzz clean help

all: report ## Sets up what is missing, builds, and compares the programs with their peers

programs: ## Builds the programs only, into target/bare/NAME
	cargo build --profile bare -p bins

elf: ## Builds the programs as ordinary files with symbols, for gdb and objdump, into target/elf/NAME
	cargo build --profile elf -p bins

kit: ## Builds the command, target/release/barest
	cargo build --release -p barest

report: peers programs kit ## Measures all, prints it in short, and makes the page target/report/index.html
	target/release/barest report

peers: ## Installs what the comparison needs, where it is missing
	@sh tests/deps.sh

deps: ## Installs what the peers and the tests need, where it is missing
	@sh tests/deps.sh test

test: deps ## Sets up what is missing and passes the tests: format, lints, docs, all tests
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps
	cargo test --workspace

bench: programs ## Measures what the kit and the launchers must reach, beside what is asked and other launchers
	@sh tests/deps.sh bench
	cargo bench --no-fail-fast --bench kit --bench launchers --bench who --bench survey --bench report

fuzz: deps programs ## Feeds damaged files and memory to all that reads them, ten minutes for each kind
	FUZZ_SECONDS=600 cargo test -p barest --test fuzz_start --test fuzz_who --test fuzz_survey -- --nocapture --test-threads 1

clean: ## Removes all that was built, target/
	cargo clean

help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
