/* SPDX-License-Identifier: Apache-2.0 */
/* Events, faults on demand and lost GPUs. */
#include "event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "futex.h"

enum { XID_FELL_OFF_THE_BUS = 79 };
#define EVENT_XID UINT64_C(8) /* nvmlEventTypeXidCriticalError */

void event_post(struct machine *machine, unsigned gpu, uint64_t type, uint64_t detail)
{
        struct machine_header *header = &machine->file->header;

        machine_lock(&header->lock);
        uint64_t number = atomic_load(&header->events_next);
        header->events[number % MACHINE_EVENTS] = (struct machine_event){
                .type = type,
                .detail = detail,
                .gpu = gpu,
                .gpu_instance = UINT32_MAX,
                .compute_instance = UINT32_MAX,
                .time_ns = machine_now_ns(machine),
        };
        atomic_store(&header->events_next, number + 1);
        machine_unlock(&header->lock);
        futex_ring(&header->events_futex);
}

/* The next event that matters, if it is there already. */
static bool event_take(struct machine *machine, const uint64_t types[MACHINE_GPUS],
                       uint64_t *cursor, struct machine_event *ret_event)
{
        struct machine_header *header = &machine->file->header;
        bool is_found = false;

        machine_lock(&header->lock);
        uint64_t next = atomic_load(&header->events_next);
        /* Who waits too long loses the oldest. */
        if (*cursor + MACHINE_EVENTS < next)
                *cursor = next - MACHINE_EVENTS;
        while (!is_found && *cursor < next) {
                struct machine_event event = header->events[(*cursor)++ % MACHINE_EVENTS];
                if (event.gpu >= MACHINE_GPUS || !(types[event.gpu] & event.type))
                        continue;
                *ret_event = event;
                is_found = true;
        }
        machine_unlock(&header->lock);
        return is_found;
}

int event_wait(struct machine *machine, const uint64_t types[MACHINE_GPUS], uint64_t *cursor,
               int timeout_ms, struct machine_event *ret_event)
{
        _Atomic uint32_t *futex = &machine->file->header.events_futex;
        uint64_t end_ns = UINT64_MAX;

        if (timeout_ms >= 0)
                end_ns = clock_now_ns() + (unsigned)timeout_ms * NS_PER_MS;
        for (;;) {
                uint32_t seen = atomic_load(futex);
                if (event_take(machine, types, cursor, ret_event))
                        return 0;
                uint64_t now_ns = clock_now_ns();
                if (now_ns >= end_ns)
                        return -ETIMEDOUT;
                /* A poster may die between its event and its wake: look again every second. */
                uint64_t wait_ns = end_ns - now_ns;
                futex_wait(futex, seen, wait_ns < NS_PER_S ? wait_ns : NS_PER_S);
        }
}

/* The caller holds the machine's lock. */
static void attention_update(struct machine_header *header)
{
        uint32_t attention = 0;

        for (unsigned i = 0; i < MACHINE_FAULTS; i++)
                attention |= atomic_load(&header->faults[i].kind) != FAULT_NONE;
        for (unsigned i = 0; i < header->gpu_count; i++)
                attention |= atomic_load(&header->gpus[i].is_lost) != 0;
        atomic_store(&header->attention, attention);
}

static int fault_add(struct machine *machine, const char *function, uint32_t kind, int32_t result,
                     uint32_t times)
{
        struct machine_header *header = &machine->file->header;
        struct machine_fault *chosen = NULL;

        if (!*function || strlen(function) >= sizeof chosen->function || !times)
                return -EINVAL;
        machine_lock(&header->lock);
        for (unsigned i = 0; i < MACHINE_FAULTS; i++) {
                struct machine_fault *fault = &header->faults[i];
                bool is_free = atomic_load(&fault->kind) == FAULT_NONE;
                if (!is_free && strcmp(fault->function, function) == 0) {
                        chosen = fault;
                        break;
                }
                if (is_free && !chosen)
                        chosen = fault;
        }
        if (chosen) {
                atomic_store(&chosen->kind, FAULT_NONE);
                snprintf(chosen->function, sizeof chosen->function, "%s", function);
                chosen->result = result;
                atomic_store(&chosen->remaining, times);
                atomic_store(&chosen->kind, kind);
                attention_update(header);
        }
        machine_unlock(&header->lock);
        return chosen ? 0 : -ENOSPC;
}

int fault_fail(struct machine *machine, const char *function, int32_t result, uint32_t times)
{
        return fault_add(machine, function, FAULT_FAIL, result, times);
}

int fault_hang(struct machine *machine, const char *function)
{
        return fault_add(machine, function, FAULT_HANG, 0, UINT32_MAX);
}

void fault_clear(struct machine *machine)
{
        struct machine_header *header = &machine->file->header;

        machine_lock(&header->lock);
        for (unsigned i = 0; i < MACHINE_FAULTS; i++)
                atomic_store(&header->faults[i].kind, FAULT_NONE);
        attention_update(header);
        machine_unlock(&header->lock);
        futex_ring(&header->events_futex);
}

/* One of the calls the fault was given; false when others used them up. */
static bool fault_use(struct machine *machine, struct machine_fault *fault)
{
        uint32_t left = atomic_load(&fault->remaining);

        do {
                if (left == UINT32_MAX)
                        return true;
                if (!left)
                        return false;
        } while (!atomic_compare_exchange_weak(&fault->remaining, &left, left - 1));
        if (left == 1) {
                machine_lock(&machine->file->header.lock);
                atomic_store(&fault->kind, FAULT_NONE);
                attention_update(&machine->file->header);
                machine_unlock(&machine->file->header.lock);
        }
        return true;
}

static void fault_sleep(struct machine *machine, const struct machine_fault *fault)
{
        _Atomic uint32_t *futex = &machine->file->header.events_futex;

        for (;;) {
                uint32_t seen = atomic_load(futex);
                if (atomic_load(&fault->kind) != FAULT_HANG)
                        return;
                futex_wait(futex, seen, NS_PER_S);
        }
}

bool fault_strikes(struct machine *machine, const char *function, int32_t *ret_result)
{
        for (unsigned i = 0; i < MACHINE_FAULTS; i++) {
                struct machine_fault *fault = &machine->file->header.faults[i];
                uint32_t kind = atomic_load(&fault->kind);
                if (kind == FAULT_NONE ||
                    (strcmp(fault->function, "*") != 0 && strcmp(fault->function, function) != 0))
                        continue;
                if (kind == FAULT_HANG) {
                        fault_sleep(machine, fault);
                } else if (fault_use(machine, fault)) {
                        *ret_result = fault->result;
                        return true;
                }
        }
        return false;
}

static void gpu_set_lost(struct machine *machine, unsigned gpu, uint32_t is_lost)
{
        struct machine_header *header = &machine->file->header;

        machine_lock(&header->lock);
        atomic_store(&header->gpus[gpu].is_lost, is_lost);
        attention_update(header);
        machine_unlock(&header->lock);
}

void gpu_lose(struct machine *machine, unsigned gpu)
{
        gpu_set_lost(machine, gpu, 1);
        event_post(machine, gpu, EVENT_XID, XID_FELL_OFF_THE_BUS);
}

void gpu_restore(struct machine *machine, unsigned gpu)
{
        gpu_set_lost(machine, gpu, 0);
}
