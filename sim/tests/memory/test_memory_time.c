/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how long copies take. */
#include "memory_fixture.h"

SIM_TEST(copies_take_the_time_of_the_link)
{
        enum { BYTES = 64 << 20 };
        struct machine_spec spec;
        CUdeviceptr a;
        void *pinned;
        CUevent start, end;
        float ms = 0;

        machine_spec_init(&spec);
        spec.preset = "a100-40gb";
        spec.context_bytes = 0;
        sim_machine_from(&spec);
        GOOD(cuInit(0));
        context_on(0);
        double rate = (double)machine_gpu(sim_machine_open(), 0)->in_bytes_per_s;
        GOOD(cuMemAlloc_v2(&a, BYTES));
        GOOD(cuMemHostAlloc(&pinned, BYTES, 0));
        GOOD(cuEventCreate(&start, 0));
        GOOD(cuEventCreate(&end, 0));
        /* A first copy keeps the stream busy while the rest is submitted. */
        GOOD(cuMemcpyHtoDAsync_v2(a, pinned, BYTES, NULL));
        GOOD(cuEventRecord(start, NULL));
        GOOD(cuMemcpyHtoDAsync_v2(a, pinned, BYTES, NULL));
        GOOD(cuEventRecord(end, NULL));
        GOOD(cuEventSynchronize(end));
        GOOD(cuEventElapsedTime(&ms, start, end));
        double model = BYTES * 1e3 / rate + 0.002;
        CHECK(ms > model * 0.99 && ms < model * 1.01);
}

int main(void)
{
        return RUN(CASE(copies_take_the_time_of_the_link));
}
