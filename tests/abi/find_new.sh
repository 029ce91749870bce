#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# find_new FIND_NEW_LIB LIBCUDA LIBNVML: what the table lacks is named, and only that; and build.sh beside it builds.
set -u
find_new=$1 libcuda=$2 libnvml=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
count=0 failed=0

check()         # sentence, what was found, what is wanted
{
        count=$((count + 1))
        if [ "$2" = "$3" ]; then
                echo "ok $count - $1"
        else
                failed=1
                printf 'not ok %s - %s\n# found: %s\n# wanted: %s\n' "$count" "$1" "$2" "$3"
        fi
}

check "a library of the table has nothing new" "$("$find_new" "$libcuda" "$libnvml" 2>/dev/null)" ""
echo 'int cuNewThing(void); int cuNewThing(void) { return 0; } int cuda_private; int cuInit(void) { return 0; }' |
        gcc -shared -fPIC -xc - -o "$folder/libcuda.so.1"
check "a new function is named, once, with its table" \
        "$("$find_new" "$folder/libcuda.so.1" "$libnvml" 2>/dev/null)" "cuda.tbl cuNewThing"
"$find_new" "$folder/absent" "$libnvml" >"$folder/out" 2>&1
check "a missing library is an error" "$?" 2
check "and one sentence" "$(cat "$folder/out")" "find_new_lib: cannot read '$folder/absent'"
"$find_new" /etc/passwd "$libnvml" >"$folder/out" 2>&1
check "what is no library is refused" "$? $(cat "$folder/out")" "2 find_new_lib: '/etc/passwd' is not a library"
"$find_new" >"$folder/out" 2>&1
check "so are missing arguments" "$?" 2
top=$(dirname "$find_new")
check "build.sh does what make does, wherever it is called" \
        "$(cd / && env -u MAKELEVEL MAKEFLAGS=n "$top/build.sh")" \
        "$(env -u MAKELEVEL MAKEFLAGS=n make -C "$top" --no-print-directory)"
echo "1..$count"
exit $failed
