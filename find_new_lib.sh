#!/bin/sh
# find_new_lib.sh LIBCUDA LIBNVML: prints what these driver libraries have that the tables lack.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ne 2 ]; then
        echo "usage: find_new_lib.sh LIBCUDA LIBNVML" >&2
        exit 2
fi

new()           # table, prefix, library
{
        [ -r "$3" ] || { echo "find_new_lib: cannot read '$3'" >&2; exit 2; }
        nm -D --defined-only "$3" | sed -n "s/^.* \($2[A-Z][A-Za-z0-9_]*\)\(@.*\)\{0,1\}$/\1/p" | sort -u |
                comm -23 - "$known" | sed "s/^/$1 /"
}

known=$(mktemp)
trap 'rm -f "$known"' EXIT
for table in cuda nvml; do
        python3 "$here/api/generate.py" symbols "$here/api/$table.tbl" | sort -u >"$known"
        case $table in
        cuda) new cuda.tbl cu "$1" ;;
        nvml) new nvml.tbl nvml "$2" ;;
        esac
done
