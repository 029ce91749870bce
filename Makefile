# SPDX-License-Identifier: Apache-2.0
# A front of short rules over meson; `make help` lists them.
BUILD ?= build
PREFIX ?= /usr/local

# On a terminal a line says how far it is.
ninja = ninja -C $(1) $(if $(V),-v,$(if $(MAKE_TERMOUT),,--quiet))
# Fewer packages for `make demo`, more for `make test`; the first build after a demo sets up the rest.
demo: needs = demo
test: needs = test
# A warning is an error with WERROR=1 alone: a compiler that is newer than we are finds more of them.
options = -Dwerror=$(if $(filter-out 0 no false,$(WERROR)),true,false)
# A folder that was made with other options, or for the demo alone, is brought up to date.
same = [ "$$(cat $(BUILD)/options 2>&1)" = "$(options)" ]
configure = $(call setup,$(BUILD),$(1) $(options)) && echo "$(options)" >$(BUILD)/options
setup = tools/setup $(needs) && mkdir -p $(1) && { meson setup $(1) -Dlibdir=lib $(2) >$(1)/setup.log 2>&1 || { cat $(1)/setup.log; exit 1; }; }

# Of ARCHES, those that are not this machine's own.
others = $(filter-out $(shell uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/'),$(ARCHES))
$(foreach other,$(filter-out arm64,$(others)),$(error cannot build for '$(other)' here: only arm64 is cross-built))

# A rule with a ## comment is a command, not a file.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*[#][#] .*/\1/p' $(firstword $(MAKEFILE_LIST)))
.DEFAULT_GOAL := build

build: $(BUILD)/build.ninja ## compile programs and libraries into build/bin and build/lib
	@{ grep -q lib/net $< && $(same); } || { $(call configure,--reconfigure); }
	@$(call ninja,$(BUILD)) placed

all: build ## and all that tests and measures them
	@$(call ninja,$(BUILD))

test: setup all build-asan/build.ninja build-tsan/build.ninja ## unit, sim and abi tests, also under ASan, UBSan and TSan
	@tools/test-report $(BUILD):unit,sim,net,abi build-asan:unit,sim,net,fuzz build-tsan:threads

test-unit: build ## the unit tests alone, without sanitizers
	@tools/test-report $(BUILD):unit

fresh: ## what README says, in bare roots of the distributions (FRESH=rows picks some, `tools/fresh --list` has them)
	@tools/setup fresh; exec env BUILD=$(BUILD) tools/fresh $(FRESH)

nightly: ## the rows that are too long for every change; the result stays in build/nightly.txt
	@tools/setup fresh; exec env BUILD=$(BUILD) tools/fresh nightly

fuzz: build-fuzz/build.ninja ## feed every parser, FUZZ_SECONDS (60) each, guided by coverage
	@meson configure build-fuzz -Dfuzz-seconds=$(or $(FUZZ_SECONDS),60)
	@tools/test-report build-fuzz:fuzz

test-clients: all ## real clients (nvidia-smi, CUDA samples, cuBLAS ...) on the simulated driver
	@tests/clients/run $(BUILD)

e2e: all ## a real Kubernetes: up, the cases (CASES=pattern picks some), down
	@tools/setup e2e && exec env BUILD=$(BUILD) tests/e2e/cluster test "$(CASES)"

cluster-up: all ## the same cluster, to stay (PROFILE=light: without a node that runs pods)
	@tools/setup e2e && exec env BUILD=$(BUILD) tests/e2e/cluster up $(PROFILE)

cluster-down: ## end it
	@BUILD=$(BUILD) tests/e2e/cluster down

cluster-shell: ## a shell in it, with kubectl
	@BUILD=$(BUILD) tests/e2e/cluster shell

demo: setup $(BUILD)/build.ninja ## a GPU program at work on a simulated machine, and nvidia-smi's view of it
	@$(same) || { $(call configure,--reconfigure); }
	@$(call ninja,$(BUILD)) placed
	@tools/demo $(BUILD)

bench: $(if $(CHECK),build,all) ## measure what calls cost and how exact shares of compute are; writes build/bench.json (CHECK=revision: are calls slower than there?)
	@bench/run $(BUILD) $(if $(CHECK),check "$(CHECK)")

bench-hot: all ## the cost of calls alone, with fewer rounds, in seconds
	@bench/run $(BUILD) hot

bench-scale: all ## the scheduler on thousands of nodes, with a real API server and kube-scheduler (SCALE=options of bench/scale/run)
	@tools/setup e2e && exec bench/scale/run $(BUILD) $(SCALE)

hunt: all ## for an hour (HUNT_SECONDS), programs made up at random: does each get the share that it was promised, of time and memory? (HUNT=options of bench/hunt.py)
	@bench/hunt.py $(BUILD) --seconds $(or $(HUNT_SECONDS),3600) $(HUNT)

soak: all ## kill ten thousand processes, race and crowd at the memory limit, kill and stop holders of time slices and of memory that moves, check what is left and charged; let every allocation fail, flip ten thousand bits; then pods on a real Kubernetes, and a storm of them
	@tools/setup e2e && STORM_SECONDS=$(STORM_SECONDS) exec tests/soak/run $(BUILD) 10000

storm: all ## ten minutes (STORM_SECONDS) in which pods and programs come and go at random on a real Kubernetes, and a judge
	@tools/setup e2e && exec env BUILD=$(BUILD) VGPU_STORM_SECONDS=$(or $(STORM_SECONDS),600) tests/e2e/cluster test test_storm

mutants: all ## let each intercepted function through, one at a time: some test must notice
	@tools/mutants $(BUILD)

setup: ## install the Debian packages that are missing
	@tools/setup $(needs)

docs: all ## bring sim/docs/unsupported.md and docs/reference/functions.md up to date; report long sentences
	@tools/unsupported $(BUILD)/lib/sim/libcuda.so.1 $(BUILD)/lib/sim/libnvidia-ml.so.1 >$(BUILD)/unsupported.md
	@mv $(BUILD)/unsupported.md sim/docs/unsupported.md
	@tools/functions >$(BUILD)/functions.md && mv $(BUILD)/functions.md docs/reference/functions.md
	@tools/sentences

format: ## clang-format the C files that differ from main
	@tools/format

tidy: all ## clang-tidy the whole tree
	@clang-tidy --quiet -p $(BUILD) $$(git ls-files '*.c') 2>/dev/null

arm64: build-arm64/build.ninja ## cross-build everything for arm64 into build-arm64, and look at its libraries
	@$(call ninja,build-arm64)
	@tools/arm64 check build-arm64

test-arm64: arm64 ## unit, sim and preload tests of that build under qemu; tests/arm64.tbl lists what qemu cannot do (ROWS=try: do the rows hold?)
	@tools/arm64 run tools/test-report --skips tests/arm64.tbl $(if $(ROWS),--try) --slow 5 build-arm64:unit,sim,emulated

install: all ## install below PREFIX (and DESTDIR)
	@meson configure $(BUILD) --prefix=$(PREFIX) && $(call ninja,$(BUILD)) >$(BUILD)/install.log
	@meson install -C $(BUILD) --no-rebuild --quiet

uninstall: build ## remove what `make install` put below the same PREFIX (and DESTDIR)
	@$(call ninja,$(BUILD)) completions && tools/uninstall $(BUILD) $(PREFIX)

image: build $(others) ## all programs as a container image, build/vgpu-image.tar (ARCHES="amd64 arm64": for both)
	@tools/image $(BUILD) $(others:%=build-%)

deb: build $(others) ## Debian packages, build/vgpu_*.deb (command line, library) and build/vgpu-node_*.deb; ARCHES as above
	@$(call ninja,$(BUILD)) completions && tools/deb $(BUILD)
	@for other in $(others); do tools/deb build-$$other || exit 1; done

release: ## all files of a release into build/release: the above, sources, SBOM, checksums; built twice, and equal (ROOT=debian-12: the second time in a bare root); ARCHES as above
	@tools/setup build && tools/release $(if $(ROOT),--root $(ROOT)) $(BUILD) $(ARCHES)

manifests: ## deploy/manifests from the chart, deploy/helm/vgpu
	@tools/manifests

clean: ## remove what was built
	rm -rf build build-asan build-tsan build-fuzz build-arm64

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

$(BUILD)/build.ninja:
	@$(call configure)

build-arm64/build.ninja: needs = arm64
build-arm64/build.ninja: tools/arm64
	@tools/setup arm64 && tools/arm64 root >/dev/null && tools/arm64 cross build-arm64
	@$(call setup,build-arm64,--cross-file build-arm64/cross.ini $(if $(wildcard build-arm64/build.ninja),--reconfigure))

build-asan/build.ninja:
	@$(call setup,build-asan,-Db_sanitize=address$(comma)undefined -Db_lundef=false -Doptimization=1)

build-tsan/build.ninja:
	@$(call setup,build-tsan,-Db_sanitize=thread -Db_lundef=false -Doptimization=1)

build-fuzz/build.ninja:
	@$(call setup,build-fuzz,-Db_sanitize=address$(comma)undefined -Db_lundef=false -Dfuzz-guided=true)

comma := ,
