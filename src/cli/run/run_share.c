/* SPDX-License-Identifier: Apache-2.0 */
/* The share of a program under `vgpu run --memory` or `--cores`. */
#include "run_share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "command.h"
#include "gpus.h"
#include "paths.h"
#include "run_folder.h"
#include "scope.h"
#include "share_option.h"
#include "unlimited_functions.h"

/* --cores 0, and nothing else, is no limit: the program runs as without it. */
static bool is_without_limit(const struct share_compute *compute)
{
        return !compute->cores_percent && !compute->most_percent &&
               compute->is_latency == SHARE_UNSET && compute->copies_count == SHARE_UNSET;
}

bool run_share_is_wanted(const struct run_limits *limits)
{
        return share_memory_is_said(&limits->memory) || limits->name ||
               !is_without_limit(&limits->compute);
}

int run_share_check(const struct run_limits *limits, struct err *e)
{
        const char *outer = getenv("VGPU_SHARE");

        if (limits->memory.host_bytes && limits->memory.is_oversold != SHARE_YES)
                return err_set(e, -EINVAL, "--oversold-host-memory needs --oversold");
        if (limits->has_context && !share_memory_is_said(&limits->memory))
                return err_set(e, -EINVAL, "--context-memory needs --memory SIZE");
        if (limits->compute.copies_count == SHARE_YES && !limits->compute.has_cores &&
            !limits->compute.has_most)
                return err_set(e, -EINVAL, "--copies needs --cores PERCENT");
        if (!run_share_is_wanted(limits))
                return 0;
        if (access(SHARE_PATH, F_OK) == 0)
                return err_set(e, -EBUSY,
                               "this container already has the limits in '%s'; run the program "
                               "without those of vgpu run",
                               SHARE_PATH);
        if (outer && *outer)
                return err_set(e, -EBUSY,
                               "this program already has a share (VGPU_SHARE=%.120s), and shares "
                               "do not nest",
                               outer);
        return 0;
}

/* "python3-5f0a": two runs of one program do not share by accident. */
static void name_make(const char *program, char ret_name[64])
{
        const char *slash = strrchr(program, '/');
        unsigned short number = 0;
        char base[40];

        if (getrandom(&number, sizeof number, 0) < 0)
                number = (unsigned short)getpid();
        snprintf(base, sizeof base, "%s", slash ? slash + 1 : program);
        for (char *p = base; *p; p++) {
                const char one[2] = { *p, '\0' };

                if (run_folder_check_name(one, NULL) < 0 && (p == base || (*p != '-' && *p != '.')))
                        *p = '_';
        }
        snprintf(ret_name, 64, "%s-%04x", *base ? base : "program", number);
}

static int share_describe(const struct run_limits *limits, const struct gpu_list *gpus,
                          const char *program, struct share_copy *ret_copy, struct err *e)
{
        int r = 0;

        *ret_copy = (struct share_copy){ .device_count = gpus->count };
        if (limits->name)
                snprintf(ret_copy->name, sizeof ret_copy->name, "%s", limits->name);
        else
                name_make(program, ret_copy->name);
        snprintf(ret_copy->container, sizeof ret_copy->container, "%s", program);
        for (unsigned i = 0; i < gpus->count; i++) {
                struct share_device *device = &ret_copy->devices[i];

                memcpy(device->uuid, gpus->uuids[i], sizeof device->uuid);
                device->limit_bytes = device->physical_bytes = SHARE_UNLIMITED;
                device->flags = limits->is_context_exempt ? SHARE_CONTEXT_EXEMPT : 0;
                device->device_bytes = gpus->devices[i].memory_bytes;
                share_memory_put(&limits->memory, device);
                if (r == 0)
                        r = share_compute_put(&limits->compute, device, e);
        }
        return r;
}

/* Ours comes first: whoever stands behind it is reached through it. */
int run_share_preload(struct err *e)
{
        const char *old = getenv("LD_PRELOAD");
        autofree char *library = paths_preload_library(e), *preload = NULL;

        if (!library)
                return -ENOENT;
        /* A container's are under it already, and so is what runs under another vgpu run. */
        if (access(SHARE_PATH, F_OK) == 0 || (old && strstr(old, library)))
                return 0;
        if (strpbrk(library, ": "))
                return err_set(e, -EINVAL,
                               "the path '%.150s' of libvgpu.so has a ':' or a space, "
                               "which LD_PRELOAD cannot hold",
                               library);
        if (asprintf(&preload, "%s%s%s", library, old && *old ? ":" : "", old ? old : "") < 0) {
                preload = NULL;
                return err_set(e, -ENOMEM, "out of memory");
        }
        if (setenv("LD_PRELOAD", preload, 1) < 0)
                return err_set(e, -errno, "cannot set the environment: %s", strerror(errno));
        return 0;
}

int run_share_take(const struct run_limits *limits, const char *machine_path, const char *program,
                   char ret_path[SHARE_TEXT], struct err *e)
{
        struct share_copy copy;
        struct gpu_list gpus;
        int r = machine_path ? gpus_simulated(machine_path, &gpus, e) : gpus_real(&gpus, e);

        if (r < 0)
                return r;
        r = run_share_preload(e);
        if (r < 0)
                return r;
        r = share_describe(limits, &gpus, program, &copy, e);
        if (r == 0 && !limits->name && !run_folder_limits(&copy))
                return err_set(e, -EINVAL,
                               "nothing would be limited; give --memory SIZE or --cores PERCENT, "
                               "from 1 to 100");
        if (r == 0)
                complain_excesses(&limits->memory, &copy);
        if (r == 0)
                r = run_folder_take(&copy, &gpus, ret_path, e);
        if (r < 0)
                return r;
        if (setenv("VGPU_SHARE", ret_path, 1) < 0)
                return err_set(e, -errno, "cannot set the environment: %s", strerror(errno));
        if (UNLIMITED_FUNCTIONS[0])
                complain(0, "note: not limited: %s", UNLIMITED_FUNCTIONS);
        return 0;
}
