# Two commands do everything: `make run` and `make test`. Both install what is missing, then build.
.PHONY: run python test test-slow bench validate build format lint clean help

help:
	@echo "make run     set up, build, run the main job"
	@echo "make python  set up, build the Python package into build/python (put it on PYTHONPATH)"
	@echo "make test    set up, build, run all tests"
	@echo "make test-slow   run what takes long: every algorithm and mesh kernel with every number of ranks, long examples of the guides"
	@echo "make bench   set up, build, run the benchmarks beside their SimPy peers"
	@echo "make validate    compare with formulas, other simulators and published figures: writes docs/validation.md (minutes)"
	@echo "make lint    check format, layers and clang-tidy (LINT=--changed: of what changed)        make format   apply clang-format"

# A terminal shows one line that counts; a log only what fails.
quietly = $$(test -t 2 || echo -- --quiet)

build:
	@scripts/setup.sh build
	@cmake --preset release -DKERNBENCH_TESTS=OFF > /dev/null
	@echo "building build/release/kernbench (minutes if from nothing)"
	@cmake --build --preset release --target kernbench $(quietly)

run: build
	@build/release/kernbench run --bench ccl-allreduce --verify-data --report report.html

python:
	@scripts/setup.sh python
	@mkdir -p build; cmake --preset release > build/configure.log || { cat build/configure.log; exit 1; }
	@sed -n 's/^-- \(.*Python package: .*\)/\1/p' build/configure.log; ! grep -q 'No Python package' build/configure.log
	@echo "building build/python/kernbench (minutes if from nothing)"
	@cmake --build --preset release --target python kernbench $(quietly)
	@echo "built; now: export PYTHONPATH=$(CURDIR)/build/python"

test:
	@scripts/setup.sh test
	@cmake --preset release -DKERNBENCH_TESTS=ON > /dev/null
	@echo "building the program and its tests (minutes if from nothing)"
	@cmake --build --preset release $(quietly)
	@ctest --preset release -j2; failed=$$?; python3 scripts/skipped_tests.py build/release; exit $$failed

test-slow:
	@scripts/setup.sh test
	cmake --preset release -DKERNBENCH_TESTS=ON
	cmake --build --preset release --target slow_tests kernbench
	ctest --preset slow -j2

bench:
	@scripts/setup.sh bench
	@cmake --preset bench > /dev/null
	@echo "building the benchmarks (minutes if from nothing)"
	@cmake --build --preset bench $(quietly)
	@/usr/bin/python3 bench/run.py build/bench --table build/bench/table.txt
	@/usr/bin/python3 bench/performance.py build/bench/kernbench --table build/bench/table.txt --large
	@test ! -d build/bench/python || PYTHONPATH=build/bench/python /usr/bin/python3 bench/python_speed.py

validate: python
	@PYTHONPATH=build/python /usr/bin/python3 scripts/validate.py build/release/kernbench

sources = $(shell git ls-files '*.cpp' '*.hpp')
format:
	@clang-format -i $(sources)

# `make lint LINT=--changed` looks at what changed since the branch left main alone; that is what .ci/run does.
lint:
	@scripts/setup.sh lint
	@clang-format --dry-run -Werror $(sources)
	python3 scripts/check_layers.py
	@cmake --preset release -B build/lint -DKERNBENCH_TESTS=ON -DKERNBENCH_BENCH=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON > /dev/null
	@cmake --build build/lint --target generated_sources > /dev/null
	python3 scripts/lint.py build/lint $(LINT)

clean:
	rm -rf build
