/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu sim create: makes a simulated machine. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arg_parser.h"
#include "command.h"
#include "machine_option.h"
#include "quantity.h"
#include "scope.h"
#include "str.h"

enum {
        MACHINE,
        PRESET,
        GPUS,
        SEED,
        GPU_MEMORY,
        CONTEXT_MEMORY,
        TIME_SCALE,
        NOISE,
        SLICE,
        LAUNCH_LATENCY,
        CONTENT_BUDGET,
        INSTRUCTION_BUDGET,
        DRIVER_VERSION,
        KERNEL,
        IF_MISSING
};

/* More than any GPU has; beyond, addresses would not fit what a process can reserve. */
static const uint64_t GPU_MEMORY_MOST_BYTES = UINT64_C(1) << 40;

const struct cli_option sim_create_options[] = {
        [MACHINE] = { "machine", "PATH", "the file to create; default: VGPU_SIM", "file" },
        [PRESET] = { "preset", "NAME", "the GPU model (vgpu sim list); default a100-40gb",
                     "preset" },
        [GPUS] = { "gpus", "N", "number of GPUs, 1 to 16; default 1", NULL },
        [SEED] = { "seed", "N", "fixes the UUIDs; default: random", NULL },
        [GPU_MEMORY] = { "gpu-memory", "SIZE", "memory that programs can allocate per GPU", NULL },
        [CONTEXT_MEMORY] = { "context-memory", "SIZE", "memory that a context takes, 0 or more",
                             NULL },
        [TIME_SCALE] = { "time-scale", "X", "simulated seconds per second; default 1", NULL },
        [NOISE] = { "noise", "SIGMA", "log-normal noise of kernel times, e.g. 0.1; default 0",
                    NULL },
        [SLICE] = { "slice", "MICROSECONDS", "time slice of a process; default 2000", NULL },
        [LAUNCH_LATENCY] = { "launch-latency", "MICROSECONDS",
                             "time from launch to start; default 2.5", NULL },
        [CONTENT_BUDGET] = { "content-budget", "SIZE", "host memory for contents; default 2Gi",
                             NULL },
        [INSTRUCTION_BUDGET] = { "instruction-budget", "N",
                                 "instructions interpreted per launch; default 300000000", NULL },
        [DRIVER_VERSION] = { "driver-version", "VERSION", "CUDA version, e.g. 12.4; default 13.0",
                             "11.8 12.0 12.2 12.4 12.8 13.0" },
        [KERNEL] = { "kernel", "NAME=MICROSECONDS",
                     "this kernel takes exactly this long (repeatable)", NULL },
        [IF_MISSING] = { "if-missing", NULL, "leave an existing machine unchanged", NULL },
        { 0 },
};

/* "12.4" or 12040. */
static int driver_version_parse(const char *text, unsigned *ret_version, struct err *e)
{
        unsigned major, minor;
        char remainder;

        if (sscanf(text, "%2u.%1u%c", &major, &minor, &remainder) != 2) {
                unsigned version;

                if (sscanf(text, "%5u%c", &version, &remainder) != 1)
                        return err_set(e, -1, "'%.40s' is not a CUDA version (example: 12.4)",
                                       text);
                major = version / 1000;
                minor = version % 1000 / 10;
        }
        if (major < 11 || major > 13)
                return err_set(e, -1, "the driver version must be from 11.0 to 13.9, not %.40s",
                               text);
        *ret_version = major * 1000 + minor * 10;
        return 0;
}

static int span_parse(const char *text, const char *what, double most_us, uint64_t *ret_ns,
                      struct err *e)
{
        double microseconds = 0;
        int r = quantity_parse_number(text, what, 0, most_us, &microseconds, e);

        if (r == 0)
                *ret_ns = (uint64_t)(microseconds * 1000 + 0.5);
        return r;
}

static int size_parse(const char *text, const char *option, uint64_t *ret_bytes, struct err *e)
{
        const int r = quantity_parse_bytes(text, ret_bytes, e);

        return r < 0 ? err_context(e, r, option) : 0;
}

struct create_request {
        const char *path;
        struct machine_spec spec;
        struct vec kernels;
        bool is_if_missing;
};

static int create_option(struct create_request *request, int option, char *value, struct err *e)
{
        struct machine_spec *spec = &request->spec;
        uint64_t number = 0;
        int r = 0;

        switch (option) {
        case MACHINE:
                request->path = value;
                break;
        case PRESET:
                spec->preset = value;
                return machine_option_check_preset(value, e);
        case GPUS:
                r = quantity_parse_whole(value, "the number of GPUs", 1, MACHINE_GPUS, &number, e);
                spec->gpu_count = (unsigned)number;
                break;
        case SEED:
                return quantity_parse_whole(value, "the seed", 1, UINT64_MAX, &spec->seed, e);
        case GPU_MEMORY:
                r = size_parse(value, "--gpu-memory", &spec->gpu_memory_bytes, e);
                if (r == 0 && (spec->gpu_memory_bytes < MACHINE_GRANULE_BYTES ||
                               spec->gpu_memory_bytes > GPU_MEMORY_MOST_BYTES))
                        return err_set(e, -1, "a GPU has 2Mi to 1Ti of memory, not %s", value);
                break;
        case CONTEXT_MEMORY:
                r = size_parse(value, "--context-memory", &number, e);
                spec->context_bytes = (int64_t)number;
                break;
        case TIME_SCALE:
                return quantity_parse_number(value, "the time scale", 1e-3, 1e6, &spec->time_scale,
                                             e);
        case NOISE:
                return quantity_parse_number(value, "the noise", 0, 2, &spec->noise, e);
        case SLICE:
                return span_parse(value, "the slice in microseconds", 1e7, &spec->slice_ns, e);
        case LAUNCH_LATENCY:
                return span_parse(value, "the launch latency in microseconds", 1e6,
                                  &spec->launch_ns, e);
        case CONTENT_BUDGET:
                return size_parse(value, "--content-budget", &spec->content_budget_bytes, e);
        case INSTRUCTION_BUDGET:
                return quantity_parse_whole(value, "the instruction budget", 0, UINT64_MAX,
                                            &spec->interpret_budget, e);
        case DRIVER_VERSION:
                return driver_version_parse(value, &spec->driver_version, e);
        case KERNEL:
                return machine_option_kernel(value, &request->kernels, e);
        case IF_MISSING:
                request->is_if_missing = true;
                break;
        default: /* a row without its case */
                return err_set(e, -EINVAL, "internal error: option %d has no case", option);
        }
        return r;
}

/* As a terminal may show it. NULL: out of memory. */
static char *path_tamed(const char *path)
{
        char *shown = strdup(path);

        if (shown)
                str_tame(shown);
        return shown;
}

/* A file that is no machine is not left: whoever asked for one would find none. */
static int machine_keep(const char *path)
{
        struct machine_view view;
        struct err e = { 0 };

        if (machine_view_open(path, &view, &e) < 0)
                return complain(EXIT_FAILED, "%s", e.text);
        machine_view_close(&view);
        autofree char *shown = path_tamed(path);
        printf("%s is there already\n", shown ? shown : "it");
        return EXIT_OK;
}

static int create_machine(struct create_request *request)
{
        struct err e = { 0 };

        request->path = machine_option_path(request->path);
        if (!request->path)
                return EXIT_USAGE;
        request->spec.kernels = request->kernels.items;
        request->spec.kernel_count = request->kernels.count;
        /* A file-size limit is an error to report, not a signal to die of. */
        signal(SIGXFSZ, SIG_IGN);
        const int r = machine_create(request->path, &request->spec, &e);

        if (r == -EEXIST && request->is_if_missing)
                return machine_keep(request->path);
        if (r < 0)
                return complain(EXIT_FAILED, "%s", e.text);
        autofree char *shown = path_tamed(request->path);
        printf("made %s: %u × %s\n", shown ? shown : "it", request->spec.gpu_count,
               request->spec.preset);
        return EXIT_OK;
}

static int option_take(void *owner, int option, const char *value)
{
        struct err e = { 0 };

        if (option == ARG_PLAIN)
                return complain(EXIT_USAGE,
                                "unexpected argument '%s' (give the path with --machine PATH)",
                                value);
        if (create_option(owner, option, (char *)value, &e) < 0)
                return complain(EXIT_USAGE, "%s", e.text);
        return 0;
}

int command_sim_create(const struct command *command, int argc, char **argv)
{
        struct create_request request = { .kernels = VEC_OF(struct machine_kernel_time) };
        int code;

        machine_spec_init(&request.spec);
        if (arg_parser_each(command, argc, argv, option_take, &request, &code))
                code = create_machine(&request);
        vec_done(&request.kernels);
        return code;
}
