#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# find_new_lib.sh LIBCUDA LIBNVML: prints what these driver libraries have that the tables lack.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

complain()
{
        echo "find_new_lib: $*" >&2
        exit 2
}

new()           # table, prefix, library
{
        [ -r "$3" ] || complain "cannot read '$3'"
        nm -D --defined-only "$3" >"$work/nm" 2>/dev/null || complain "'$3' is not a library"
        python3 "$here/api/generate.py" symbols "$here/api/$1" | sort -u >"$work/known"
        sed -n "s/^.* \($2[A-Z][A-Za-z0-9_]*\)\(@.*\)\{0,1\}$/\1/p" "$work/nm" | sort -u |
                comm -23 - "$work/known" | sed "s/^/$1 /"
}

[ $# -eq 2 ] || complain "usage: find_new_lib.sh LIBCUDA LIBNVML"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
new cuda.tbl cu "$1" >"$work/new"
new nvml.tbl nvml "$2" >>"$work/new"
cat "$work/new"
[ -s "$work/new" ] || echo "find_new_lib: nothing new" >&2
