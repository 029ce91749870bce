/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu run: runs a program on a simulated or real GPU, as if it had been started itself. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arbiter_process.h"
#include "arg_parser.h"
#include "command.h"
#include "machine_option.h"
#include "paths.h"
#include "quantity.h"
#include "run_environment.h"
#include "run_folder.h"
#include "run_machine.h"
#include "run_share.h"
#include "scope.h"
#include "watcher.h"

enum {
        SIM,
        MACHINE,
        MEMORY,
        MEMORY_RATIO,
        OVERSOLD,
        OVERSOLD_HOST_MEMORY,
        CONTEXT_MEMORY,
        NAME,
        KERNEL,
        CORES,
        CORES_MAX,
        PRIORITY,
        COPIES,
};

const struct cli_option run_options[] = {
        [SIM] = { "sim", "PRESET[:COUNT]", "on a simulated machine, removed afterwards", "preset" },
        [MACHINE] = { "machine", "PATH", "on this simulated machine (vgpu sim create)", "file" },
        [MEMORY] = { "memory", "SIZE", "GPU memory it may hold on each GPU, e.g. 200Mi", NULL },
        [MEMORY_RATIO] = { "memory-ratio", "R",
                           "only 1/R of --memory on the GPU, the rest on the host (virtual memory)",
                           NULL },
        [OVERSOLD] = { "oversold", NULL,
                       "spill to host memory beyond --memory, or when the GPU is full", NULL },
        [OVERSOLD_HOST_MEMORY] = { "oversold-host-memory", "SIZE",
                                   "how much may spill to host memory; default: the GPU's size",
                                   NULL },
        [CONTEXT_MEMORY] = { "context-memory", "count|exempt",
                             "whether contexts count towards --memory; default: count",
                             "count exempt" },
        [NAME] = { "name", "NAME", "the share's name; a second run of that name joins it",
                   "share" },
        [KERNEL] = { "kernel", "NAME=MICROSECONDS",
                     "this kernel takes exactly this long (simulated; repeatable)", NULL },
        [CORES] = { "cores", "PERCENT", "percentage of each GPU's time it may use; 0: no limit",
                    NULL },
        [CORES_MAX] = { "cores-max", "PERCENT",
                        "how much it may use while the GPU is otherwise idle", NULL },
        [PRIORITY] = { "priority", "high|low",
                       "high: shorter waits for its time slice; default: low", "high low" },
        [COPIES] = { "copies", "count|exempt",
                     "whether copies and fills count as GPU time, too; default: exempt",
                     "count exempt" },
        { 0 },
};

struct run_request {
        char *sim; /* PRESET[:COUNT] */
        const char *machine_path;
        struct run_limits limits;
        struct vec kernels;
        char **program;
        char machine[RUN_MACHINE_PATH_BYTES]; /* made for this run; "": none */
};

static int limit_option(struct run_limits *limits, int option, const char *value, struct err *e)
{
        switch (option) {
        case MEMORY:
                return share_memory_size(value, &limits->memory, e);
        case MEMORY_RATIO:
                return share_memory_ratio(value, &limits->memory, e);
        case OVERSOLD:
                limits->memory.is_oversold = SHARE_YES;
                return 0;
        case OVERSOLD_HOST_MEMORY:
                return share_memory_host(value, &limits->memory, e);
        case CONTEXT_MEMORY:
                limits->has_context = true;
                limits->is_context_exempt = strcmp(value, "exempt") == 0;
                if (!limits->is_context_exempt && strcmp(value, "count") != 0)
                        return err_set(e, -1,
                                       "invalid value '%.60s' of --context-memory (expected count "
                                       "or exempt)",
                                       value);
                return 0;
        case NAME:
                limits->name = value;
                return run_folder_check_name(value, e);
        case CORES:
                return share_compute_cores(value, &limits->compute, e);
        case CORES_MAX:
                return share_compute_most(value, &limits->compute, e);
        case COPIES:
                return share_compute_copies(value, &limits->compute, e);
        case PRIORITY:
                return share_compute_priority(value, &limits->compute, e);
        default: /* a row without its case */
                return err_set(e, -EINVAL, "internal error: option %d has no case", option);
        }
}

static int run_option(struct run_request *request, int option, char *value, struct err *e)
{
        switch (option) {
        case SIM:
                request->sim = value;
                return 0;
        case MACHINE:
                request->machine_path = value;
                return 0;
        case KERNEL:
                return machine_option_kernel(value, &request->kernels, e);
        default:
                return limit_option(&request->limits, option, value, e);
        }
}

/* "a100-40gb:2" */
static int sim_parse(char *text, struct machine_spec *spec, struct err *e)
{
        char *colon = strchr(text, ':');
        uint64_t count = 1;

        if (colon) {
                *colon = '\0';
                if (quantity_parse_whole(colon + 1, "the number of GPUs", 1, MACHINE_GPUS, &count,
                                         e) < 0)
                        return -1;
        }
        spec->preset = text;
        spec->gpu_count = (unsigned)count;
        return machine_option_check_preset(text, e);
}

/* Puts the simulated libraries before everything else that the program's loader would find. */
static int environment_set(const char *machine_path, struct err *e)
{
        const char *old = getenv("LD_LIBRARY_PATH");
        autofree char *library = paths_sim_library(e), *path = NULL;
        autofree char *machine = realpath(machine_path, NULL);

        if (!library)
                return -ENOENT;
        if (strchr(library, ':'))
                return err_set(e, -1,
                               "the folder '%s' of the simulated driver has a ':' in its "
                               "name, which LD_LIBRARY_PATH cannot hold",
                               library);
        if (asprintf(&path, "%s%s%s", library, old && *old ? ":" : "", old ? old : "") < 0) {
                path = NULL;
                return err_set(e, -1, "out of memory");
        }
        if (!machine || setenv("VGPU_SIM", machine, 1) < 0 ||
            setenv("LD_LIBRARY_PATH", path, 1) < 0)
                return err_set(e, -1, "cannot set the environment: %s", strerror(errno));
        return 0;
}

static int prepare_sim(struct run_request *request, struct err *e)
{
        struct machine_spec spec;

        machine_spec_init(&spec);
        if (sim_parse(request->sim, &spec, e) < 0)
                return -1;
        spec.kernels = request->kernels.items;
        spec.kernel_count = request->kernels.count;
        spec.is_ephemeral = true;
        if (run_machine_create(&spec, request->machine, e) < 0) {
                request->machine[0] = '\0';
                return -1;
        }
        return environment_set(request->machine, e);
}

static int prepare_machine(struct run_request *request, struct err *e)
{
        struct machine machine;
        int r = machine_open(request->machine_path, &machine, e);

        if (r < 0)
                return r;
        r = machine_option_set_kernels(&machine, &request->kernels, e);
        machine_close(&machine);
        return r < 0 ? r : environment_set(request->machine_path, e);
}

static int prepare_real(const struct run_request *request, struct err *e)
{
        void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

        if (!driver)
                return err_set(e, -1,
                               "there is no GPU driver here (libcuda.so.1); run it on a "
                               "simulated GPU with --sim=a100-40gb");
        if (request->kernels.count > 0)
                return err_set(e, -1,
                               "--kernel is for simulated GPUs; add --sim=PRESET or "
                               "--machine PATH");
        return 0;
}

static int prepare_driver(struct run_request *request, struct err *e)
{
        const char *named = getenv("VGPU_SIM");

        if (!request->sim && !request->machine_path && named && *named)
                request->machine_path = named;
        if (request->sim)
                return prepare_sim(request, e);
        if (request->machine_path)
                return prepare_machine(request, e);
        return prepare_real(request, e);
}

/* What was made for the program goes with it. */
static int prepare_watcher(const struct run_request *request, const char *share, int argc,
                           char **argv, struct err *e)
{
        struct watch watches[2];
        size_t count = 0;

        if (request->machine[0])
                watches[count++] = (struct watch){ request->machine, run_machine_remove };
        if (share[0])
                watches[count++] = (struct watch){ share, run_folder_remove };
        const struct companion arbiter = { share[0] ? arbiter_process_run : NULL, share };
        return count ? watcher_start(watches, count, &arbiter, argc, argv, e) : 0;
}

static int run_prepare(struct run_request *request, int argc, char **argv, struct err *e)
{
        const char *const machine = request->sim ? request->machine : NULL;
        struct run_environment environment = { 0 };
        char share[SHARE_TEXT] = "";
        int r = run_share_check(&request->limits, e);

        if (r == 0)
                r = run_environment_read(&environment, e);
        if (r < 0)
                return r;
        if (request->sim && request->machine_path)
                return err_set(e, -1,
                               "--sim makes a machine and --machine uses one; give one of "
                               "them");
        if (!request->program)
                return err_set(e, -1, "missing PROGRAM: vgpu run [OPTION]… -- PROGRAM [ARGUMENT]…");
        r = prepare_driver(request, e);
        if (r == 0)
                r = run_environment_check(&environment, machine ? machine : request->machine_path,
                                          e);
        if (r == 0 && run_share_is_wanted(&request->limits))
                r = run_share_take(&request->limits, machine ? machine : request->machine_path,
                                   request->program[0], share, e);
        else if (r == 0 && environment.is_set)
                r = run_share_preload(e); /* limits by environment hold under it, too */
        else if (r == 0)
                run_environment_warn(&environment);
        if (r == 0)
                r = prepare_watcher(request, share, argc, argv, e);
        if (r < 0 && request->machine[0])
                unlink(request->machine);
        return r;
}

/* vgpu-burn comes with vgpu and is found where vgpu is, in PATH or not. */
static void run_beside(struct run_request *request)
{
        autofree char *path =
                strchr(request->program[0], '/') ? NULL : paths_beside(request->program[0]);

        if (path)
                execv(path, request->program);
}

static int run_program(struct run_request *request, int argc, char **argv)
{
        struct err e = { 0 };
        void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
        const int r = run_prepare(request, argc, argv, &e);

        /* What we ignore, the program would ignore too. */
        signal(SIGXFSZ, old);
        if (r < 0)
                return complain(EXIT_RUN_FAILED, "%s", e.text);
        execvp(request->program[0], request->program);
        if (errno == ENOENT)
                run_beside(request);
        return complain(errno == ENOENT ? EXIT_RUN_NOT_FOUND : EXIT_RUN_NOT_EXECUTABLE,
                        "cannot run '%s': %s", request->program[0], strerror(errno));
}

int command_run(const struct command *command, int argc, char **argv)
{
        struct run_request request = { .kernels = VEC_OF(struct machine_kernel_time) };
        struct err e = { 0 };
        struct arg_parser parser;
        int option, code;

        arg_parser_init(&parser, command, argc, argv);
        while ((option = arg_parser_next(&parser)) != ARG_END) {
                if (option == ARG_BAD || option == ARG_HELP) {
                        code = arg_parser_exit(&parser, option);
                        goto done;
                }
                if (option == ARG_PLAIN) { /* everything from here on is the program's */
                        request.program = argv + parser.scan.index - 1;
                        break;
                }
                if (run_option(&request, option, (char *)parser.value, &e) < 0) {
                        code = complain(EXIT_RUN_FAILED, "%s", e.text);
                        goto done;
                }
        }
        code = run_program(&request, argc, argv);
done:
        vec_done(&request.kernels);
        return code;
}
