/* SPDX-License-Identifier: Apache-2.0 */
/* A machine for tests. */
#include "machine_fixture.h"

#include <stdio.h>
#include <unistd.h>

#include "timeline_internal.h"
#include "unit.h"
#include "unit_memory.h"

void fixture_open(struct machine *machine, uint64_t memory_bytes, unsigned gpu_count)
{
        static unsigned number;
        struct machine_spec spec;
        struct err e = { 0 };
        char path[64];

        snprintf(path, sizeof path, "/dev/shm/vgpu-test-%d-%u", getpid(), number++);
        machine_spec_init(&spec);
        spec.gpu_memory_bytes = memory_bytes;
        spec.gpu_count = gpu_count;
        spec.seed = 1;
        assert_int_equal(machine_create(path, &spec, &e), 0);
        assert_int_equal(machine_open(path, machine, &e), 0);
        unlink(path);
        machine->file->header.epoch_ns = UINT64_MAX / 2; /* now is 1, for ever */
}

static void *tenant_main(void *closure)
{
        struct tenant *tenant = closure;

        assert_int_equal(slot_attach(tenant->machine, &tenant->slot), 0);
        assert_int_equal(timeline_channel(tenant->machine, tenant->slot, 0, &tenant->channel), 0);
        sem_post(&tenant->is_ready);
        sem_wait(&tenant->may_die);
        return NULL;
}

void fixture_attach(struct machine *machine, struct tenant *tenant)
{
        tenant->machine = machine;
        sem_init(&tenant->is_ready, 0, 0);
        sem_init(&tenant->may_die, 0, 0);
        assert_int_equal(pthread_create(&tenant->thread, NULL, tenant_main, tenant), 0);
        sem_wait(&tenant->is_ready);
}

void fixture_kill(struct tenant *tenant)
{
        sem_post(&tenant->may_die);
        pthread_join(tenant->thread, NULL);
}

machine_ref fixture_submit(struct tenant *tenant, enum machine_engine engine, uint64_t duration_ns,
                           machine_ref after)
{
        struct timeline_op op = { .engine = engine, .duration_ns = duration_ns, .deps = { after } };
        machine_ref ref = 0;

        assert_int_equal(timeline_submit(tenant->machine, tenant->channel, &op, &ref), 0);
        return ref;
}

void fixture_move(struct machine *machine, uint64_t until_ns)
{
        timeline_lock(machine, 0);
        timeline_move(machine, 0, until_ns);
        timeline_unlock(machine, 0);
}
