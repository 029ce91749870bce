/* SPDX-License-Identifier: Apache-2.0 */
/* preload_library: where libvgpu.so is on this node. */
#include "preload_library.h"

#include "nearby.h"
#include "scope.h"
#include "str.h"

bool preload_library_find(char ret_path[static PATH_MAX])
{
        autofree char *path = nearby_find(NEARBY_PRELOAD);

        if (path)
                str_copy(ret_path, PATH_MAX, path);
        return path != NULL;
}
