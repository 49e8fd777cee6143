# Every target is one line; the work is in tools/.
PREFIX ?= /usr/local

.PHONY: all setup build demo test test-vm bench check format package install clean

all: build
setup: ; @tools/setup build test
build: ; @tools/setup build && tools/build release overdue overdue-timerlat demos manual
demo: build ; @tools/demo
test: ; @tools/setup build test && tools/test
test-vm: ; @tools/setup build test vm && tools/build release && tests/vm/run all --build build/release
bench: build ; @tools/setup build test bench && tools/build release && tools/as_root /usr/bin/python3 bench/run.py
check: ; @tools/setup build test check vm && tools/check
format: ; @tools/setup check && tools/format
package: ; @tools/setup build && tools/build release portable && cpack --config build/release/CPackConfig.cmake -B build/packages
install: build ; @$(if $(DESTDIR),,tools/as_root) cmake --install build/release --prefix $(PREFIX)
clean: ; @rm -rf build
