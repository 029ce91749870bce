/* entry: the slow path of a call into a simulated library. */
#include "entry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "call_log.h"
#include "log.h"

static const _Atomic uint32_t entry_calm;
static const struct entry_machine *entry_machine;

struct entry entry = { .local = ENTRY_NOT_INITIALISED, .shared = &entry_calm };
_Thread_local bool entry_per_thread_default;

/* A child shares nothing with the device its parent initialised; the driver refuses it. */
static void entry_forked(void)
{
        if (!(entry.local & ENTRY_NOT_INITIALISED) && entry_library.forked != ENTRY_GO)
                entry.local |= ENTRY_FORKED;
}

/* Before initialisation no call is quiet, so the first one always comes through here. */
static void entry_configure(void)
{
        const char *strict = getenv("VGPU_SIM_STRICT");

        if (call_log_open(getenv("VGPU_SIM_LOG")))
                entry.local |= ENTRY_LOG;
        if (strict && *strict == '1')
                entry.local |= ENTRY_STRICT;
        pthread_atfork(NULL, NULL, entry_forked);
}

static void entry_configure_once(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, entry_configure);
}

static int entry_before_initialisation(const struct entry_function *function, bool are_zero)
{
        if (function->is_early)
                return ENTRY_GO;
        if (!are_zero)
                return entry_library.not_initialised;
        return function->preinit ? function->preinit : ENTRY_GO;
}

int entry_begin(unsigned function, bool are_arguments_zero)
{
        const struct entry_function *row = &entry_library.functions[function];
        int result;

        entry_configure_once();
        if (entry.local & ENTRY_FORKED)
                return row->is_early ? ENTRY_GO : entry_library.forked;
        if (entry.local & ENTRY_NOT_INITIALISED) {
                result = entry_before_initialisation(row, are_arguments_zero);
                if (result != ENTRY_GO)
                        return result;
        }
        if (entry_machine && entry_machine->fault && atomic_load(entry.shared) &&
            entry_machine->fault(row->name, &result))
                return result;
        return ENTRY_GO;
}

int entry_end(unsigned function, int result)
{
        if (entry.local & ENTRY_LOG)
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

int entry_unsupported(unsigned function)
{
        const char *name = entry_library.functions[function].name;

        if (entry_machine && entry_machine->unsupported)
                entry_machine->unsupported(name);
        log_debug("%s is not simulated", name);
        if (entry.local & ENTRY_STRICT) {
                fprintf(stderr, "vgpu-sim: %s is not simulated (VGPU_SIM_STRICT)\n", name);
                abort();
        }
        return entry_library.not_supported;
}

void entry_set_initialised(bool is_initialised)
{
        entry_configure_once();
        if (is_initialised)
                entry.local &= ~(uint32_t)ENTRY_NOT_INITIALISED;
        else
                entry.local |= ENTRY_NOT_INITIALISED;
}

void entry_attach(const struct entry_machine *machine)
{
        entry_machine = machine;
        entry.shared = machine && machine->attention ? machine->attention : &entry_calm;
}
