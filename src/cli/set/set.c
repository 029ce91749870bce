/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu set: changes the limits of a share while it is in use. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arbiter_process.h"
#include "arg_parser.h"
#include "command.h"
#include "node_shares.h"
#include "region_view.h"
#include "run_folder.h"
#include "scope.h"
#include "set_limits.h"
#include "share_option.h"
#include "snapshot.h"

enum {
        MEMORY,
        MEMORY_RATIO,
        OVERSOLD,
        NO_OVERSOLD,
        OVERSOLD_HOST_MEMORY,
        CORES,
        CORES_MAX,
        PRIORITY,
        COPIES,
        USER,
};

const struct cli_option set_options[] = {
        [MEMORY] = { "memory", "SIZE", "GPU memory it may hold on each GPU from now on", NULL },
        [MEMORY_RATIO] = { "memory-ratio", "R",
                           "only 1/R of it on the GPU, the rest on the host; 1: all on the GPU",
                           NULL },
        [OVERSOLD] = { "oversold", NULL,
                       "spill to host memory beyond --memory, or when the GPU is full", NULL },
        [NO_OVERSOLD] = { "no-oversold", NULL, "from now on refuse memory beyond the limit", NULL },
        [OVERSOLD_HOST_MEMORY] = { "oversold-host-memory", "SIZE",
                                   "how much may spill to host memory; default: the GPU's size",
                                   NULL },
        [CORES] = { "cores", "PERCENT", "percentage of each GPU's time it may use; 0: no limit",
                    NULL },
        [CORES_MAX] = { "cores-max", "PERCENT",
                        "how much it may use while the GPU is otherwise idle; 0: no more", NULL },
        [PRIORITY] = { "priority", "high|low", "high: shorter waits for its time slice",
                       "high low" },
        [COPIES] = { "copies", "count|exempt", "whether copies and fills count as GPU time, too",
                     "count exempt" },
        [USER] = { "user", "NAME", "owner of the share; for root", NULL },
        { 0 },
};

struct set_run {
        const char *name, *user;
        struct set_request request;
};

static int limits_set(const char *path, const struct set_request *request, struct err *e)
{
        struct region region = { 0 };
        struct share_copy copy;
        struct share share;
        autoclose int lock = -1;
        int r = run_folder_open(path, &share, &lock, e);

        if (r < 0)
                return r;
        r = share_read(&share, &copy, e);
        if (r == 0)
                r = set_limits_put(request, &copy, e);
        if (r == 0)
                r = share_update(&share, &copy, e);
        if (r == 0) {
                arbiter_process_ring(
                        path); /* others may have time slices to share now, or none any more */
                const bool is_open = run_folder_region(path, &region, NULL) == 0;

                set_limits_show(request, &copy, is_open ? &region : NULL);
                region_view_close(&region);
        }
        share_close(&share);
        return r;
}

static int set_option(struct set_request *request, int option, const char *value, struct err *e)
{
        struct share_memory *memory = &request->memory;

        switch (option) {
        case CORES:
                return share_compute_cores(value, &request->compute, e);
        case CORES_MAX:
                return share_compute_most(value, &request->compute, e);
        case PRIORITY:
                return share_compute_priority(value, &request->compute, e);
        case COPIES:
                return share_compute_copies(value, &request->compute, e);
        case MEMORY_RATIO:
                return share_memory_ratio(value, memory, e);
        case OVERSOLD:
        case NO_OVERSOLD:
                memory->is_oversold = option == OVERSOLD ? SHARE_YES : SHARE_NO;
                return 0;
        case OVERSOLD_HOST_MEMORY:
                memory->is_oversold = SHARE_YES;
                return share_memory_host(value, memory, e);
        case MEMORY:
                return share_memory_size(value, memory, e);
        default: /* a row without its case */
                return err_set(e, -EINVAL, "internal error: option %d has no case", option);
        }
}

/* "alice/train": whose, and which. */
static int name_split(struct set_run *run, char user[static 64])
{
        const char *slash = strchr(run->name, '/');

        if (!slash)
                return 0;
        if (run->user)
                return complain(EXIT_USAGE,
                                "cannot take both '%s' and --user %s: one user at a time",
                                run->name, run->user);
        snprintf(user, 64, "%.*s", (int)(slash - run->name), run->name);
        run->user = user;
        run->name = slash + 1;
        return 0;
}

static bool is_own_name(const char *user)
{
        char own[SNAPSHOT_USER];

        user_name_find(geteuid(), own);
        return !user || strcmp(user, own) == 0;
}

/* vgpu-node knows containers, and what users run where it looks for that. */
static int node_set(const struct set_run *run)
{
        struct share_view share = { .gpus = VEC_OF(struct share_gpu) };
        char name[160];

        snprintf(name, sizeof name, "%.64s%s%.64s", run->user ? run->user : "",
                 run->user ? "/" : "", run->name);
        const int code = node_shares_set(name, &run->request.memory, &run->request.compute, &share);

        if (code == EXIT_OK)
                set_limits_print(&run->request, &share);
        vec_done(&share.gpus);
        if (code >= 0)
                return code;
        return run->user ? complain(EXIT_FAILED, "user '%.60s' has no share '%.63s'; see 'vgpu ps'",
                                    run->user, run->name)
                         : complain_unknown_share(run->name);
}

/* One's own, else another user's for root, else the node's. */
static int set_run(struct set_run *run)
{
        char path[SHARE_TEXT], user[64];
        struct err e = { 0 };
        int code = name_split(run, user);

        if (code)
                return code;
        const bool is_own = is_own_name(run->user) && run_folder_find(run->name, path);

        code = is_own && run->user ? -1
                                   : set_other_user(run->name, run->user, is_own, &run->request);
        if (code >= 0)
                return code;
        if (!is_own)
                return node_set(run);
        if (limits_set(path, &run->request, &e) < 0)
                return complain(EXIT_FAILED, "%s", e.text);
        return EXIT_OK;
}

static int argument_take(void *owner, int option, const char *value)
{
        struct set_run *run = owner;
        struct err e = { 0 };

        if (option == ARG_PLAIN && run->name)
                return complain(EXIT_USAGE, "unexpected argument '%s' (one share at a time: '%s')",
                                value, run->name);
        if (option == ARG_PLAIN)
                run->name = value;
        else if (option == USER)
                run->user = value;
        else if (set_option(&run->request, option, value, &e) < 0)
                return complain(EXIT_USAGE, "%s", e.text);
        return 0;
}

int command_set(const struct command *command, int argc, char **argv)
{
        struct set_run run = { 0 };
        int code;

        if (!arg_parser_each(command, argc, argv, argument_take, &run, &code))
                return code;
        if (!run.name)
                return complain(EXIT_USAGE, "missing NAME: vgpu set NAME --memory SIZE");
        if (!share_memory_is_said(&run.request.memory) &&
            !share_compute_is_said(&run.request.compute))
                return complain(EXIT_USAGE,
                                "missing a limit: vgpu set %.63s --memory SIZE, or --cores PERCENT",
                                run.name);
        return set_run(&run);
}
