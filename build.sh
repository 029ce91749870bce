#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh: builds everything; the same as `make`.
set -eu
cd "$(dirname "$0")"
exec make build
