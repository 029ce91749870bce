/* preload_library: where libvgpu.so is on this node. */
#include "preload_library.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool preload_library_find(char ret_path[static PATH_MAX])
{
        static const char *const relative[] = { "../lib/libvgpu.so", "../lib/vgpu/libvgpu.so",
                                                "../" VGPU_LIBDIR "/vgpu/libvgpu.so" };
        char self[PATH_MAX], path[PATH_MAX + 64];
        const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

        if (length <= 0)
                return false;
        self[length] = '\0';
        dirname(self);
        for (size_t i = 0; i < sizeof relative / sizeof *relative; i++) {
                snprintf(path, sizeof path, "%s/%s", self, relative[i]);
                if (access(path, R_OK) == 0 && realpath(path, ret_path))
                        return true;
        }
        return false;
}
