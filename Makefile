# A thin front: which presets and scripts to call, in which order. The build itself is CMake's.
#
# `make build` must not need the test packages, and `make test` must not cost `make build` a rebuild: both
# share build/release. The first configure leaves the tests out; `make test` switches them on once and
# they stay on, while `make build` goes on to build only the program.
.DEFAULT_GOAL := build
.PHONY: build demo test bench testbed closed-loop asan tsan waits conan format lint tidy clean help packages-build packages-test packages-lint packages-bench packages-testbed packages-conan packages-browser browser

# quick or full: which scenarios `make bench` runs through SimGrid.
BENCH ?= quick
# CI says ON.
WERROR ?= OFF
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
RELEASE := build/release
# Written by the generate step, so they exist only after a configure that succeeded.
CONFIGURED := $(RELEASE)/build.ninja
WITH_TESTS := $(RELEASE)/tests/CTestTestfile.cmake

build: $(CONFIGURED) ## the program at build/release/twinrun
	@cmake --build $(RELEASE) -j $(JOBS) --target twinrun

demo: build ## build, then run the main job
	@cmake/demo.sh

test: $(WITH_TESTS) ## build everything in release and run every test
	@cmake --build $(RELEASE) -j $(JOBS)
	@ctest --preset release

bench: $(WITH_TESTS) packages-bench ## the benchmarks, then tables against SimGrid, Open MPI and Gloo; BENCH=full has the long runs too
	@cmake $(RELEASE) >/dev/null  # MPI and Gloo may be new
	@cmake --build $(RELEASE) -j $(JOBS) --target bench
	@tests/bench/compare_simgrid.py $(BENCH) --scenario $(RELEASE)/tests/sim_scenario --program $(RELEASE)/twinrun
	@tests/bench/compare_allreduce.py $(RELEASE)/tests

testbed: packages-testbed $(WITH_TESTS) ## server or ring, measured on hosts made of namespaces and simulated; needs root
	@cmake $(RELEASE) >/dev/null  # MPI may be new
	@cmake --build $(RELEASE) -j $(JOBS) --target twinrun mpi_probe
	@tests/testbed/server_or_ring.py --program $(RELEASE)/twinrun --probe $(RELEASE)/tests/testbed/mpi_probe

browser: packages-browser $(WITH_TESTS) ## the report's page in a real browser
	@cmake --build $(RELEASE) -j $(JOBS) --target twinrun
	@ctest --preset release -L browser

closed-loop: packages-testbed $(WITH_TESTS) ## measure this machine, predict runs it never saw, run them: the table of errors
	@cmake $(RELEASE) >/dev/null  # MPI may be new
	@cmake --build $(RELEASE) -j $(JOBS) --target twinrun
	@tests/closed_loop/closed_loop.py --program $(RELEASE)/twinrun --out build/closed-loop

asan: packages-test ## build with address and undefined-behaviour sanitizers, run every test
	@cmake --preset asan
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan

tsan: packages-test ## build what has threads with the thread sanitizer, run its tests; TSAN=all has the long ones too
	@cmake --preset tsan
	@cmake --build --preset tsan -j $(JOBS)
	@ctest --preset tsan$(addprefix -,$(TSAN))

waits: $(WITH_TESTS) ## every event wait of the CUDA backend left out in turn; ctest tries some of each strategy
	@cmake --build $(RELEASE) -j $(JOBS) --target conformance_waits_test
	@TWINRUN_ALL_WAITS=1 $(RELEASE)/tests/conformance/conformance_waits_test

conan: packages-conan ## the same build and tests with dependencies resolved by Conan
	@JOBS=$(JOBS) WERROR=$(WERROR) conan/build.sh

format: packages-lint ## rewrite our C++ files with clang-format
	@git ls-files -co --exclude-standard '*.h' '*.cc' '*.cu' | xargs clang-format -i

lint: packages-lint $(WITH_TESTS) ## formatting, include rules and the other quick checks
	@ctest --preset release -L lint

tidy: packages-lint $(CONFIGURED) ## each header compiled alone, then clang-tidy on the product's files
	@cmake --preset dev
	@cmake --build build/dev -j $(JOBS) --target all_verify_interface_header_sets
	@tests/lint/run_tidy.py -j $(JOBS) $(RELEASE)

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1 /p' Makefile | while read -r name what; do printf '  make %-8s %s\n' "$$name" "$$what"; done

$(CONFIGURED): | packages-build
	@cmake --preset release -DTWINRUN_BUILD_TESTS=OFF -DTWINRUN_BUILD_BENCH=OFF -DTWINRUN_WERROR=$(WERROR)

$(WITH_TESTS): | packages-test
	@cmake --preset release -DTWINRUN_BUILD_TESTS=ON -DTWINRUN_BUILD_BENCH=ON -DTWINRUN_WERROR=$(WERROR)

packages-build:
	@cmake/install-packages.sh build
packages-test:
	@cmake/install-packages.sh build test
packages-lint:
	@cmake/install-packages.sh build test lint
packages-bench:
	@cmake/install-packages.sh bench || echo 'going on without what is missing'
packages-testbed:
	@cmake/install-packages.sh testbed
packages-browser:
	@cmake/install-packages.sh build test browser
	@tests/browser/install.sh
packages-conan:
	@cmake/install-packages.sh build test conan
