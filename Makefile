# A front of short rules over meson; `make help` lists them.
BUILD ?= build

.PHONY: all build help clean
.DEFAULT_GOAL := build

build: $(BUILD)/build.ninja ## compile everything into build/
	@ninja -C $(BUILD) $(if $(V),-v,--quiet)

$(BUILD)/build.ninja:
	@tools/setup
	@meson setup $(BUILD) >$(BUILD).log 2>&1 && mv $(BUILD).log $(BUILD)/setup.log || { cat $(BUILD).log; exit 1; }

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

clean: ## remove what was built
	rm -rf build build-asan build-tsan build.log
