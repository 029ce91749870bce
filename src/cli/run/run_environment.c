/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that `vgpu run` finds in its own environment: told before the program starts, not by its failure. */
#include "run_environment.h"

#include "command.h"
#include "gpus.h"

int run_environment_read(struct run_environment *ret_environment, struct err *e)
{
        const int r = limits_environment_read(&ret_environment->limits, &ret_environment->names, e);

        if (r < 0)
                return r;
        ret_environment->is_set = limits_environment_is_set(&ret_environment->limits);
        return 0;
}

void run_environment_warn(const struct run_environment *environment)
{
        char text[VARIABLE_TEXT];

        if (environment->names.rivals.text[0])
                complain(0, "warning: %s", environment->names.rivals.text);
        if (!environment->names.unknown)
                return;
        variable_unknown_text(&environment->names, text);
        complain(0, "warning: %s", text);
}

int run_environment_check(const struct run_environment *environment, const char *machine_path,
                          struct err *e)
{
        struct gpu_list gpus;

        if (!environment->is_set || !environment->names.numbers)
                return 0;
        int r = limits_environment_list_check(false, e);
        if (r == 0)
                r = machine_path ? gpus_simulated(machine_path, &gpus, e) : gpus_real(&gpus, e);
        return r < 0 ? r
                     : limits_environment_check(&environment->limits, gpus.seen, gpus.seen_count,
                                                e);
}
