/* SPDX-License-Identifier: Apache-2.0 */
/* arbiter_bench: tenants are folders below /tmp, with the files that a container has. */
#include "arbiter_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"
#include "futex_set.h"
#include "unit.h"

void path_in(const struct bench *bench, int tenant, const char *name, char ret_path[128])
{
        snprintf(ret_path, 128, "%s/%s", bench->folders[tenant], name);
}

void tenant_make(struct bench *bench, int tenant)
{
        char share[128], grant[128], want[128];
        struct share_copy copy = { .device_count = 1, .name = "test" };
        const struct gpu_device gpu_device = { 0 };
        struct err e = { 0 };

        bench->count = tenant + 1;
        snprintf(bench->folders[tenant], sizeof bench->folders[tenant], "/tmp/vgpu-arbiter-XXXXXX");
        assert_non_null(mkdtemp(bench->folders[tenant]));
        path_in(bench, tenant, "share", share);
        path_in(bench, tenant, "grant", grant);
        path_in(bench, tenant, "want", want);
        path_in(bench, tenant, "region", copy.region);
        strcpy(copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = SHARE_UNLIMITED;
        assert_int_equal(gpu_page_create(grant, want, "here", &gpu_device, 1, &e), 0);
        assert_int_equal(share_create(share, &copy, &e), 0);
        assert_int_equal(gpu_timeslice_open(grant, want, 0, &bench->timeslices[tenant], &e), 0);
        assert_int_equal(arbiter_add(bench->arbiter, share, &e), 0);
}

void *arbitrate(void *argument)
{
        struct bench *bench = argument;

        while (atomic_load(&bench->members) == 0)
                arbiter_wait(bench->arbiter, arbiter_step(bench->arbiter), 0);
        return NULL;
}

void bench_open_with(struct bench *bench, int count)
{
        memset(bench, 0, sizeof *bench);
        bench->arbiter = arbiter_new(&bench->members);
        for (int i = 0; i < count; i++)
                tenant_make(bench, i);
        arbiter_step(bench->arbiter);
        assert_int_equal(pthread_create(&bench->thread, NULL, arbitrate, bench), 0);
}

void bench_open(struct bench *bench)
{
        bench_open_with(bench, TENANTS);
}

void bench_remove(struct bench *bench)
{
        static const char *const names[] = { "share", "grant", "want" };
        char path[128];

        arbiter_free(bench->arbiter);
        futex_set_forget(&bench->members);
        for (int i = 0; i < bench->count; i++) {
                gpu_timeslice_close(&bench->timeslices[i]);
                for (int j = 0; j < 3; j++) {
                        path_in(bench, i, names[j], path);
                        unlink(path);
                }
                rmdir(bench->folders[i]);
        }
}

void bench_close(struct bench *bench)
{
        futex_ring(&bench->members);
        pthread_join(bench->thread, NULL);
        bench_remove(bench);
}

void timeslices_take(struct bench *bench, int first, int beyond)
{
        for (int i = first; i < beyond; i++) {
                struct gpu_timeslice *timeslice = &bench->timeslices[i % bench->count];

                gpu_timeslice_begin(timeslice);
                /* A machine that is busy answers late; one that does not hear a doorbell, never. */
                for (int again = 0; timeslice->until_ns && again < 20; again++) {
                        gpu_timeslice_end(timeslice, false);
                        gpu_timeslice_begin(timeslice);
                }
                CHECK_EQ(timeslice->until_ns, 0);
                CHECK_EQ(timeslice->number & GPU_STATE_MASK, GPU_OPEN);
                gpu_timeslice_end(timeslice, false);
        }
}

void limits_set(struct share *share, unsigned percent, uint32_t weight)
{
        struct share_copy copy;
        struct err e = { 0 };

        memcpy(&copy, share_current(share), sizeof copy);
        copy.devices[0].cores_percent = percent;
        copy.devices[0].weight = weight;
        assert_int_equal(share_update(share, &copy, &e), 0);
}

void cores_set(struct share *share, unsigned percent)
{
        limits_set(share, percent, 0);
}

void folder_give(struct bench *bench, int tenant, uid_t user)
{
        char share[128];
        struct err e = { 0 };

        path_in(bench, tenant, "share", share);
        arbiter_remove(bench->arbiter, share);
        CHECK_EQ(chown(bench->folders[tenant], user, user), 0);
        CHECK_EQ(arbiter_add(bench->arbiter, share, &e), 0);
}
