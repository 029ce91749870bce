/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu sim inject: faults on demand. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arg_parser.h"
#include "command.h"
#include "event.h"
#include "machine_option.h"
#include "names.h"
#include "nearest.h"
#include "quantity.h"
#include "unit_memory.h"

enum { MACHINE, RESULT, TIMES };

const struct cli_option sim_inject_options[] = {
        [MACHINE] = { "machine", "PATH", "the machine; default: VGPU_SIM", "file" },
        [RESULT] = { "result", "CODE|NAME", "what a failing call returns; default 999 (unknown)",
                     "CUDA_ERROR_OUT_OF_MEMORY CUDA_ERROR_UNKNOWN CUDA_ERROR_ILLEGAL_ADDRESS "
                     "NVML_ERROR_UNKNOWN NVML_ERROR_GPU_IS_LOST" },
        [TIMES] = { "times", "N", "how often; default: until cleared (ecc: once)", NULL },
        { 0 },
};

/* The bits of nvmlEventType that hardware reports. */
enum { EVENT_ECC_SINGLE = 1, EVENT_ECC_DOUBLE = 2, EVENT_XID = 8 };
enum { XID_DOUBLE_BIT_ECC = 48 };

struct injection {
        struct machine machine;
        const char *path; /* of the machine; NULL: not given */
        const char *arguments[4];
        int count; /* of words */
        int32_t result;
        uint32_t times; /* UINT32_MAX: not given */
};

static int result_parse(const char *text, int32_t *ret_result, struct err *e)
{
        struct nearest nearest = { 0 };
        uint64_t code;
        char hint[96];

        for (size_t i = 0; i < sizeof result_names / sizeof result_names[0]; i++) {
                if (strcmp(result_names[i].name, text) == 0) {
                        *ret_result = result_names[i].code;
                        return 0;
                }
                nearest_offer(&nearest, text, result_names[i].name);
        }
        if (text[0] < '0' || text[0] > '9')
                return err_set(e, -1, "there is no result '%.60s'%s", text,
                               nearest_text(&nearest, "", hint, sizeof hint));
        if (quantity_parse_whole(text, "a result", 1, 9999, &code, e) < 0)
                return -1;
        *ret_result = (int32_t)code;
        return 0;
}

/* True for the name itself, and for the versions and stream twins of a bare name: programs that ask
 * for cuMemAlloc get cuMemAlloc_v2. */
static bool is_version_of(const char *function, const char *name)
{
        const size_t length = strlen(name);

        if (strncmp(function, name, length) != 0)
                return false;
        function += length;
        if (strncmp(function, "_v", 2) == 0)
                function += 2 + strspn(function + 2, "0123456789");
        return *function == '\0' || strcmp(function, "_ptsz") == 0 ||
               strcmp(function, "_ptds") == 0;
}

static int fault_each(struct injection *injection, bool is_hang, struct err *e)
{
        const char *name = injection->arguments[1];
        struct nearest nearest = { 0 };
        unsigned found = strcmp(name, "*") == 0;
        char hint[96];
        int r = 0;

        if (found)
                r = is_hang ? fault_hang(&injection->machine, name)
                            : fault_fail(&injection->machine, name, injection->result,
                                         injection->times);
        for (size_t i = 0; i < sizeof function_names / sizeof function_names[0] && r == 0; i++) {
                nearest_offer(&nearest, name, function_names[i]);
                if (!is_version_of(function_names[i], name))
                        continue;
                found++;
                r = is_hang ? fault_hang(&injection->machine, function_names[i])
                            : fault_fail(&injection->machine, function_names[i], injection->result,
                                         injection->times);
        }
        if (r < 0)
                return err_set(e, r,
                               "the machine cannot hold more faults (at most %d); "
                               "'vgpu sim inject clear' removes them",
                               MACHINE_FAULTS);
        if (!found)
                return err_set(e, -EINVAL, "the driver has no function '%.60s'%s", name,
                               nearest_text(&nearest, "", hint, sizeof hint));
        return 0;
}

static int inject_fail(struct injection *injection, unsigned gpu, struct err *e)
{
        (void)gpu;
        return fault_each(injection, false, e);
}

static int inject_hang(struct injection *injection, unsigned gpu, struct err *e)
{
        (void)gpu;
        return fault_each(injection, true, e);
}

static int inject_xid(struct injection *injection, unsigned gpu, struct err *e)
{
        uint64_t number;

        if (quantity_parse_whole(injection->arguments[2], "an Xid", 1, 999, &number, e) < 0)
                return -EINVAL;
        event_post(&injection->machine, gpu, EVENT_XID, number);
        return 0;
}

static int inject_ecc(struct injection *injection, unsigned gpu, struct err *e)
{
        struct machine_gpu *target = machine_gpu(&injection->machine, gpu);
        const uint64_t times = injection->times == UINT32_MAX ? 1 : injection->times;

        if (!target->has_ecc)
                return err_set(e, -ENOTSUP, "GPU %u (%s) has no ECC memory", gpu, target->name);
        if (strcmp(injection->arguments[2], "corrected") == 0) {
                atomic_fetch_add(&target->ecc_corrected, times);
                event_post(&injection->machine, gpu, EVENT_ECC_SINGLE, 0);
        } else if (strcmp(injection->arguments[2], "uncorrected") == 0) {
                atomic_fetch_add(&target->ecc_uncorrected, times);
                event_post(&injection->machine, gpu, EVENT_ECC_DOUBLE, 0);
                event_post(&injection->machine, gpu, EVENT_XID, XID_DOUBLE_BIT_ECC);
        } else {
                return err_set(
                        e, -EINVAL,
                        "invalid kind '%.40s' of ECC error (expected corrected or uncorrected)",
                        injection->arguments[2]);
        }
        return 0;
}

static int inject_lose(struct injection *injection, unsigned gpu, struct err *e)
{
        (void)e;
        gpu_lose(&injection->machine, gpu);
        return 0;
}

static int inject_restore(struct injection *injection, unsigned gpu, struct err *e)
{
        (void)e;
        gpu_restore(&injection->machine, gpu);
        return 0;
}

static int inject_outsider(struct injection *injection, unsigned gpu, struct err *e)
{
        struct unit_memory memory;
        uint64_t bytes;

        if (quantity_parse_bytes(injection->arguments[2], &bytes, e) < 0)
                return -EINVAL;
        if (unit_set_outsider(&injection->machine, gpu * MACHINE_UNITS_PER_GPU, bytes) == 0)
                return 0;
        unit_memory(&injection->machine, gpu * MACHINE_UNITS_PER_GPU, &memory);
        return err_set(e, -ENOSPC, "GPU %u has only %lluMiB free for an outsider", gpu,
                       (unsigned long long)(memory.free_bytes >> 20));
}

static int inject_clear(struct injection *injection, unsigned gpu, struct err *e)
{
        (void)e;
        fault_clear(&injection->machine);
        for (gpu = 0; gpu < injection->machine.file->header.gpu_count; gpu++) {
                gpu_restore(&injection->machine, gpu);
                unit_set_outsider(&injection->machine, gpu * MACHINE_UNITS_PER_GPU, 0);
        }
        return 0;
}

static const struct {
        const char *name, *usage;
        int arguments; /* that follow the name */
        bool has_gpu;  /* the first of them is a GPU */
        int (*run)(struct injection *injection, unsigned gpu, struct err *e);
        const char *completion[2]; /* of the words that follow */
} actions[] = {
        { "fail",
          "fail FUNCTION [--result CODE|NAME] [--times N]",
          1,
          false,
          inject_fail,
          { "function" } },
        { "hang", "hang FUNCTION", 1, false, inject_hang, { "function" } },
        { "xid", "xid GPU NUMBER", 2, true, inject_xid, { NULL } },
        { "ecc",
          "ecc GPU corrected|uncorrected [--times N]",
          2,
          true,
          inject_ecc,
          { NULL, "corrected uncorrected" } },
        { "lose", "lose GPU", 1, true, inject_lose, { NULL } },
        { "restore", "restore GPU", 1, true, inject_restore, { NULL } },
        { "outsider", "outsider GPU SIZE", 2, true, inject_outsider, { NULL } },
        { "clear", "clear", 0, false, inject_clear, { NULL } },
};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

bool command_action_at(size_t index, struct command_action *ret_action)
{
        if (index >= ACTIONS)
                return false;
        *ret_action = (struct command_action){
                .name = actions[index].name,
                .completion = { actions[index].completion[0], actions[index].completion[1] },
        };
        return true;
}

void command_action_print_functions(void)
{
        for (size_t i = 0; i < sizeof function_names / sizeof function_names[0]; i++)
                puts(function_names[i]);
}

static int action_find(const struct injection *injection, int argument_count, struct err *e)
{
        struct nearest nearest = { 0 };
        char hint[96];

        if (argument_count == 0)
                return err_set(e, -1, "missing ACTION; see 'vgpu help sim inject'");
        for (int i = 0; i < ACTIONS; i++) {
                nearest_offer(&nearest, injection->arguments[0], actions[i].name);
                if (strcmp(actions[i].name, injection->arguments[0]) != 0)
                        continue;
                if (actions[i].arguments != argument_count - 1)
                        return err_set(e, -1, "use: vgpu sim inject %s", actions[i].usage);
                return i;
        }
        return err_set(e, -1, "there is no fault '%.40s'%s; see 'vgpu help sim inject'",
                       injection->arguments[0], nearest_text(&nearest, "", hint, sizeof hint));
}

static int inject_run(struct injection *injection, const char *path, int argument_count)
{
        struct err e = { 0 };
        unsigned gpu = 0;
        int r;
        const int action = action_find(injection, argument_count, &e);

        if (action < 0)
                return complain(EXIT_USAGE, "%s", e.text);
        const int code = machine_option_open(path, &injection->machine);

        if (code)
                return code;
        r = actions[action].has_gpu
                    ? machine_option_gpu(&injection->machine, injection->arguments[1], &gpu, &e)
                    : 0;
        if (r == 0)
                r = actions[action].run(injection, gpu, &e);
        machine_close(&injection->machine);
        if (r < 0) /* a word that is wrong on every machine, or one that this machine refuses */
                return complain(r == -EINVAL ? EXIT_USAGE : EXIT_FAILED, "%s", e.text);
        return EXIT_OK;
}

static int option_take(void *owner, int option, const char *value)
{
        struct injection *injection = owner;
        struct err e = { 0 };
        uint64_t times;
        int r = 0;

        if (option == ARG_PLAIN && injection->count == 4)
                return complain_unexpected(value);
        if (option == ARG_PLAIN)
                injection->arguments[injection->count++] = value;
        if (option == MACHINE)
                injection->path = value;
        if (option == RESULT)
                r = result_parse(value, &injection->result, &e);
        if (option == TIMES) {
                r = quantity_parse_whole(value, "the number of times", 1, UINT32_MAX - 1, &times,
                                         &e);
                injection->times = r < 0 ? 0 : (uint32_t)times;
        }
        return r < 0 ? complain(EXIT_USAGE, "%s", e.text) : 0;
}

int command_sim_inject(const struct command *command, int argc, char **argv)
{
        struct injection injection = { .result = 999, .times = UINT32_MAX };
        int code;

        if (!arg_parser_each(command, argc, argv, option_take, &injection, &code))
                return code;
        return inject_run(&injection, injection.path, injection.count);
}
