# SPDX-License-Identifier: Apache-2.0
# cache.sh, to be sourced: $cache, the folder of what is fetched and made once; tools/cache.py has the same rule.
cache=${VGPU_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/vgpu}
