# The front door. Data goes to stdout, everything else to stderr.
PREFIX = /usr/local
DESTDIR =
SECONDS = 60

SOURCES = $(shell find src python tests -name '*.[ch]' 2>/dev/null)
DEMO = build/demo/resnet18.pth

build: ## compile; leaves the program at build/torchoscope
	@tools/setup.sh run
	@tools/build.sh build/c
	@test ! -e build/c/torchoscope || ln -sfn c/torchoscope build/torchoscope

run: build ## compile, record a step of a small network and show it
	@tools/demo.sh

$(DEMO): tools/demo_model.py | build
	@echo "torchoscope: making $@" >&2
	@python3 tools/demo_model.py $@

test: ## run every test
	@tools/setup.sh compile
	@# pip and the compiler each have their own core.
	@tools/build.sh build/c -Dwerror=true & \
	    tools/setup.sh test; status=$$?; wait; exit $$status
	@tools/run_tests.py

check: ## the tests that a change most likely breaks, in under three minutes
	@tools/setup.sh test
	@tools/run_tests.py --quick

screens: build $(DEMO) ## rewrite the golden screens; then read the diff
	@python3 tests/python/screens_test.py --rewrite
	@tools/setup.sh test
	@PYTHONPATH=$(CURDIR)/build/c/python build/venv/bin/python3 \
	    tests/python/keys_test.py --rewrite
	@PYTHONPATH=tests/python python3 tests/python/readme_test.py --rewrite

pictures: build ## redraw the README's pictures: the explorer in a real terminal, networks, a report
	@tools/setup.sh test
	@tools/shot.py
	@build/venv/bin/python3 tools/draw.py

bench: build ## measure speed side by side with other tools
	@tools/setup.sh bench
	@status=0; for bench in tests/bench/*_bench.py; do \
	    TORCHOSCOPE=$(CURDIR)/build/torchoscope build/venv/bin/python3 "$$bench" || \
	    status=1; done; exit $$status

fuzz: ## look for inputs that break a reader, SECONDS=60 for each
	@tools/setup.sh test
	@tools/fuzz.sh $(SECONDS)

soak: ## press random keys in the explorer under ASan, SECONDS=60 for each kind of model; kill writers of histories and trainings; all producers of NaN; a long training
	@tools/setup.sh test
	@tools/run_tests.py gcc
	@KEYS_SECONDS=$(SECONDS) tools/run_tests.py random_keys
	@ALARMS_SOAK=1 tools/run_tests.py watch_alarms
	@WATCH_RANKS=4 tools/run_tests.py watch_ranks
	@HISTORY_ROUNDS=$$(($(SECONDS) * 10)) build/asan/src/test_history a_killed_writer
	@WATCH_KILLS=200 tools/run_tests.py watch_process
	@WATCH_STEPS=100000 tools/run_tests.py watch_promises

format: ## format all C files with clang-format
	@tools/setup.sh test
	@clang-format -i $(SOURCES)

install: build ## into PREFIX=/usr/local, below DESTDIR=
	@tools/install.sh "$(DESTDIR)$(PREFIX)"

wheel: ## build one wheel for every Python from 3.11 on, in build/wheel
	@tools/setup.sh run
	@tools/wheel.sh

test-wheel: wheel ## install the wheel into new venvs and use it
	@TORCHOSCOPE_WHEEL=$$(ls $(CURDIR)/build/wheel/*.whl) \
	    PYTHONPATH=tests/python python3 tests/python/wheel_test.py

clean: ## remove what was built; keep what was downloaded
	@tools/clean.sh

distclean: ## remove build and everything in it
	@tools/clean.sh all

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

.PHONY: build run test check screens pictures bench fuzz soak format install wheel test-wheel clean distclean \
    help
