# Doors to `cargo xtask`, where each step is a file: crates/xtask/src.

.PHONY: help run dev test check build bench audit fmt prepare

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-9s %s\n", $$1, $$2}' Makefile

run: ## build everything and start the demo: prints its address and a sign-in link
	@cargo xtask run

dev: ## the demo, built again after each change of a source; its pages reload
	@cargo xtask dev

test: ## everything CI checks, from scratch; ends with a summary
	@cargo xtask test

check: ## the fast inner loop: format, class names, unused dependencies, clippy
	@cargo xtask check

build: ## the one release binary, console inside: target/release/headgate
	@cargo xtask build

bench: ## what the engine costs on this machine, beside the floor: a table, and target/bench.json
	@cargo xtask bench

audit: ## licences, bans, sources and advisories of the dependencies
	@cargo xtask audit

fmt: ## format all code
	@cargo fmt --all

prepare: ## write .sqlx after a change of SQL
	@cargo xtask prepare
