/* Managed memory that a program asked for by name, and hints about it. */
#include "virtual_case.h"

/* Managed memory by name: 30 MiB of it are the card's, 50 the host's. */
static CUdeviceptr begin_managed(void)
{
        CUdeviceptr there;

        begin("100m", "2");
        GOOD(cuMemAllocManaged(&there, 80 * MIB, CU_MEM_ATTACH_GLOBAL));
        CHECK_EQ(guest_held(), 80 * MIB);
        return there;
}

SIM_TEST(managed_memory_by_name_may_be_virtual_too)
{
        CUdeviceptr there = begin_managed(), more;
        char is_managed = 0;

        GOOD(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, there));
        CHECK_EQ(is_managed, 1);
        kernels_load();
        kernels_run(kernels.fill, there, 1, 80 * MIB, NULL);
        GOOD(cuCtxSynchronize());
        CHECK(guest_card_bytes(0) <= 50 * MIB);
        CHECK(guest_card_bytes(0) >= 30 * MIB);
        CHECK_EQ(((unsigned *)(uintptr_t)there)[4 * 79], 80); /* the host reads it, too */
        FULL(cuMemAllocManaged(&more, 40 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemFree_v2(there));
        CHECK(guest_held() < 10 * MIB);
}

static const CUmemLocation card_0 = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };

/* After each: a kernel comes by, and what is the host's is still there. */
static void card_check(CUdeviceptr there)
{
        kernels_run(kernels.fill, there, 1, 80 * MIB, NULL);
        GOOD(cuCtxSynchronize());
        CHECK(guest_card_bytes(0) <= 50 * MIB);
}

SIM_TEST(no_advice_brings_the_host_s_part_onto_the_card)
{
        static const CUmem_advise inviting[] = { CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                                 CU_MEM_ADVISE_UNSET_ACCESSED_BY,
                                                 CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
                                                 CU_MEM_ADVISE_SET_READ_MOSTLY };
        CUdeviceptr there = begin_managed();

        kernels_load();
        for (unsigned i = 0; i < 4; i++)
                GOOD(cuMemAdvise_v2(there, 80 * MIB, inviting[i], card_0));
        card_check(there);
        for (unsigned i = 0; i < 4; i++)
                GOOD(cuMemAdvise(there, 80 * MIB, inviting[i], 0));
        card_check(there);
}

SIM_TEST(no_prefetch_brings_the_host_s_part_onto_the_card)
{
        CUdeviceptr there = begin_managed(), parts[2] = { there, there + 40 * MIB };
        size_t sizes[2] = { 20 * MIB, 40 * MIB }, start = 0;
        CUmemLocation to = card_0;

        GOOD(cuMemPrefetchAsync(there, 80 * MIB, 0, NULL));
        GOOD(cuMemPrefetchAsync_v2(there, 80 * MIB, card_0, 0, NULL));
        GOOD(cuMemPrefetchAsync_ptsz(there, 80 * MIB, 0, NULL));
        GOOD(cuMemPrefetchAsync_v2_ptsz(there, 80 * MIB, card_0, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_card_bytes(0), 0);
        /* Of a batch, the part that is the card's comes. */
        GOOD(cuMemPrefetchBatchAsync(parts, sizes, 2, &to, &start, 1, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_card_bytes(0), 20 * MIB);
        GOOD(cuMemPrefetchAsync(there, 80 * MIB, CU_DEVICE_CPU, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_card_bytes(0), 0);
        GOOD(cuMemDiscardAndPrefetchBatchAsync(parts, sizes, 2, &to, &start, 1, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_card_bytes(0), 20 * MIB);
}

int main(void)
{
        return RUN(CASE(managed_memory_by_name_may_be_virtual_too),
                   CASE(no_advice_brings_the_host_s_part_onto_the_card),
                   CASE(no_prefetch_brings_the_host_s_part_onto_the_card));
}
