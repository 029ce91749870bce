/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a multiprocessor: threads, blocks, registers and shared memory. */
#include "occupancy.h"

enum {
        REGISTERS_PER_UNIT = 256, /* registers are given to a warp in such pieces */
        PARTITIONS = 4,           /* each with a quarter of the registers */
        REGISTERS_MAX = 255,      /* per thread */
};

static size_t round_up(size_t value, size_t unit)
{
        return (value + unit - 1) / unit * unit;
}

static unsigned least(unsigned a, unsigned b)
{
        return a < b ? a : b;
}

static unsigned warps_of(unsigned threads)
{
        return (threads + OCCUPANCY_WARP - 1) / OCCUPANCY_WARP;
}

static unsigned registers_of_warp(unsigned registers)
{
        return (unsigned)round_up((size_t)registers * OCCUPANCY_WARP, REGISTERS_PER_UNIT);
}

/* Shared memory that the system itself takes from every block. */
static size_t occupancy_reserved_bytes(const struct machine_gpu *gpu)
{
        return gpu->capability_major >= 8 ? 1024 : 0;
}

static size_t shared_unit(const struct machine_gpu *gpu)
{
        return gpu->capability_major >= 8 ? 128 : 256;
}

unsigned occupancy_max_threads(unsigned registers)
{
        if (registers == 0)
                return OCCUPANCY_MAX_THREADS;
        if (registers > REGISTERS_MAX)
                return 0;

        unsigned per_partition = OCCUPANCY_REGISTERS / PARTITIONS / registers_of_warp(registers);

        return least(OCCUPANCY_MAX_THREADS, per_partition * PARTITIONS * OCCUPANCY_WARP);
}

static unsigned limit_by_registers(const struct occupancy_need *need)
{
        if (need->registers == 0)
                return ~0u;
        if (need->threads > occupancy_max_threads(need->registers))
                return 0;

        unsigned per_partition =
                OCCUPANCY_REGISTERS / PARTITIONS / registers_of_warp(need->registers);

        return per_partition * PARTITIONS / warps_of(need->threads);
}

static unsigned limit_by_shared(const struct machine_gpu *gpu, const struct occupancy_need *need)
{
        if (need->dynamic_bytes > need->max_dynamic_bytes)
                return 0;

        size_t taken =
                round_up(need->static_bytes + need->dynamic_bytes + occupancy_reserved_bytes(gpu),
                         shared_unit(gpu));

        return taken == 0 ? ~0u : (unsigned)(gpu->shared_per_sm_bytes / taken);
}

unsigned occupancy_blocks(const struct machine_gpu *gpu, const struct occupancy_need *need)
{
        unsigned max_threads = need->max_threads ? need->max_threads : OCCUPANCY_MAX_THREADS;

        if (need->threads == 0 || need->threads > max_threads)
                return 0;

        unsigned blocks = gpu->threads_per_sm / OCCUPANCY_WARP / warps_of(need->threads);

        blocks = least(blocks, gpu->blocks_per_sm);
        blocks = least(blocks, limit_by_registers(need));
        return least(blocks, limit_by_shared(gpu, need));
}

size_t occupancy_dynamic_bytes(const struct machine_gpu *gpu, const struct occupancy_need *need,
                               unsigned blocks)
{
        struct occupancy_need none = *need;

        none.dynamic_bytes = 0;
        if (blocks == 0 || blocks > occupancy_blocks(gpu, &none))
                return 0;

        size_t share = gpu->shared_per_sm_bytes / blocks / shared_unit(gpu) * shared_unit(gpu);
        size_t fixed = need->static_bytes + occupancy_reserved_bytes(gpu);
        size_t left = share > fixed ? share - fixed : 0;

        return left < need->max_dynamic_bytes ? left : need->max_dynamic_bytes;
}
