/* SPDX-License-Identifier: Apache-2.0 */
/* entry: the slow path of a call into a simulated library. */
#include "entry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "call_log.h"
#include "log.h"

static const _Atomic uint32_t entry_calm;

struct entry entry = { .local = ENTRY_NOT_INITIALISED, .shared = &entry_calm };
_Thread_local bool entry_per_thread_default;

static bool entry_has(enum entry_bit bit)
{
        return atomic_load_explicit(&entry.local, memory_order_relaxed) & bit;
}

/* A child shares nothing with the device its parent initialised; the driver refuses it. */
static void entry_forked(void)
{
        if (!entry_has(ENTRY_NOT_INITIALISED) && entry_library.forked != ENTRY_GO)
                atomic_fetch_or(&entry.local, ENTRY_FORKED);
}

static void entry_configure(void)
{
        const char *strict = getenv("VGPU_SIM_STRICT");

        if (call_log_open(getenv("VGPU_SIM_LOG")))
                atomic_fetch_or(&entry.local, ENTRY_LOG);
        if (strict && *strict == '1')
                atomic_fetch_or(&entry.local, ENTRY_STRICT);
        pthread_atfork(NULL, NULL, entry_forked);
}

/* Before initialisation no call is quiet, so the first one always comes through here. */
static void entry_configure_once(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, entry_configure);
}

static int entry_before_initialisation(const struct entry_function *function, bool are_zero)
{
        if (function->is_early)
                return ENTRY_GO;
        return are_zero ? function->preinit : entry_library.not_initialised;
}

static int entry_ask_machine(const char *function)
{
        const struct entry_machine *machine = atomic_load(&entry.machine);
        int result;

        if (machine && machine->fault && machine->attention && atomic_load(machine->attention) &&
            machine->fault(function, &result))
                return result;
        return ENTRY_GO;
}

int entry_begin(unsigned function, bool are_arguments_zero)
{
        const struct entry_function *row = &entry_library.functions[function];
        int result = ENTRY_GO;

        entry_configure_once();
        if (entry_has(ENTRY_FORKED))
                return row->is_early ? ENTRY_GO : entry_library.forked;
        if (entry_has(ENTRY_NOT_INITIALISED))
                result = entry_before_initialisation(row, are_arguments_zero);
        return result == ENTRY_GO ? entry_ask_machine(row->name) : result;
}

int entry_end(unsigned function, int result)
{
        if (entry_has(ENTRY_LOG))
                call_log_write(entry_library.functions[function].name, result);
        return result;
}

void entry_note(unsigned function)
{
        if (entry_is_quiet())
                return;
        entry_configure_once();
        entry_end(function, 0);
}

bool entry_is_admin(void)
{
        const struct entry_machine *machine = atomic_load(&entry.machine);

        return !machine || !machine->is_admin || machine->is_admin();
}

int entry_unsupported(unsigned function)
{
        const char *name = entry_library.functions[function].name;
        const struct entry_machine *machine = atomic_load(&entry.machine);

        if (machine && machine->unsupported)
                machine->unsupported(name);
        log_debug("%s is not simulated", name);
        if (entry_has(ENTRY_STRICT)) {
                fprintf(stderr, "vgpu-sim: %s is not simulated (VGPU_SIM_STRICT)\n", name);
                abort();
        }
        return entry_library.not_supported;
}

void entry_set_initialised(bool is_initialised)
{
        entry_configure_once();
        if (is_initialised)
                atomic_fetch_and(&entry.local, ~(uint32_t)ENTRY_NOT_INITIALISED);
        else
                atomic_fetch_or(&entry.local, ENTRY_NOT_INITIALISED);
}

void entry_attach(const struct entry_machine *machine)
{
        atomic_store(&entry.machine, machine);
        atomic_store(&entry.shared,
                     machine && machine->attention ? machine->attention : &entry_calm);
}
