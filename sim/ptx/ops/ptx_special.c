/* SPDX-License-Identifier: Apache-2.0 */
/* Special registers: where a thread is, and what time it is. */
#include "ptx_ops.h"

#define CLOCK_STEP_NS 1000u /* each read of the clock moves it on */

enum special {
        SPECIAL_TID,
        SPECIAL_NTID,
        SPECIAL_CTAID,
        SPECIAL_NCTAID,
        SPECIAL_LANEID,
        SPECIAL_WARPID,
        SPECIAL_NWARPID,
        SPECIAL_SMID,
        SPECIAL_NSMID,
        SPECIAL_GRIDID,
        SPECIAL_LANEMASK_EQ,
        SPECIAL_LANEMASK_LE,
        SPECIAL_LANEMASK_LT,
        SPECIAL_LANEMASK_GE,
        SPECIAL_LANEMASK_GT,
        SPECIAL_CLOCK,
        SPECIAL_CLOCK_HI,
        SPECIAL_CLOCK64,
        SPECIAL_TIMER,
        SPECIAL_TIMER_LO,
        SPECIAL_TIMER_HI,
        SPECIAL_DYNAMIC_SMEM,
        SPECIAL_TOTAL_SMEM,
        SPECIAL_ZERO,
        SPECIAL_ONE,
        SPECIAL_FALSE,
        SPECIAL_GRID_LOW,
        SPECIAL_GRID_HIGH,
};

static const struct {
        const char *name;
        enum special special;
        enum type type;
        bool is_vector;
} specials[] = {
        { "%tid", SPECIAL_TID, TYPE_U32, true },
        { "%ntid", SPECIAL_NTID, TYPE_U32, true },
        { "%ctaid", SPECIAL_CTAID, TYPE_U32, true },
        { "%nctaid", SPECIAL_NCTAID, TYPE_U32, true },
        { "%laneid", SPECIAL_LANEID, TYPE_U32, false },
        { "%warpid", SPECIAL_WARPID, TYPE_U32, false },
        { "%nwarpid", SPECIAL_NWARPID, TYPE_U32, false },
        { "%smid", SPECIAL_SMID, TYPE_U32, false },
        { "%nsmid", SPECIAL_NSMID, TYPE_U32, false },
        { "%gridid", SPECIAL_GRIDID, TYPE_U64, false },
        { "%lanemask_eq", SPECIAL_LANEMASK_EQ, TYPE_U32, false },
        { "%lanemask_le", SPECIAL_LANEMASK_LE, TYPE_U32, false },
        { "%lanemask_lt", SPECIAL_LANEMASK_LT, TYPE_U32, false },
        { "%lanemask_ge", SPECIAL_LANEMASK_GE, TYPE_U32, false },
        { "%lanemask_gt", SPECIAL_LANEMASK_GT, TYPE_U32, false },
        { "%clock", SPECIAL_CLOCK, TYPE_U32, false },
        { "%clock_hi", SPECIAL_CLOCK_HI, TYPE_U32, false },
        { "%clock64", SPECIAL_CLOCK64, TYPE_U64, false },
        { "%globaltimer", SPECIAL_TIMER, TYPE_U64, false },
        { "%globaltimer_lo", SPECIAL_TIMER_LO, TYPE_U32, false },
        { "%globaltimer_hi", SPECIAL_TIMER_HI, TYPE_U32, false },
        { "%dynamic_smem_size", SPECIAL_DYNAMIC_SMEM, TYPE_U32, false },
        { "%total_smem_size", SPECIAL_TOTAL_SMEM, TYPE_U32, false },
        { "%aggr_smem_size", SPECIAL_TOTAL_SMEM, TYPE_U32, false },
        { "%clusterid", SPECIAL_CTAID, TYPE_U32, true }, /* a cluster is one block here */
        { "%nclusterid", SPECIAL_NCTAID, TYPE_U32, true },
        { "%cluster_ctaid", SPECIAL_ZERO, TYPE_U32, true },
        { "%cluster_nctaid", SPECIAL_ONE, TYPE_U32, true },
        { "%cluster_ctarank", SPECIAL_ZERO, TYPE_U32, false },
        { "%cluster_nctarank", SPECIAL_ONE, TYPE_U32, false },
        { "%envreg1", SPECIAL_GRID_HIGH, TYPE_U32,
          false }, /* the grid's own memory, see cooperative */
        { "%envreg2", SPECIAL_GRID_LOW, TYPE_U32, false }, /* groups */
        { "%envreg0", SPECIAL_ZERO, TYPE_U32, false },
        { "%is_explicit_cluster", SPECIAL_FALSE, TYPE_PRED, false },
};

static const char *const axes[] = { "x", "y", "z", "w" };

int special_find(struct slice name, struct slice component)
{
        for (int n = 0; n < (int)(sizeof specials / sizeof *specials); n++) {
                if (!slice_is(name, specials[n].name))
                        continue;
                if (!specials[n].is_vector)
                        return component.length ? -1 : 4 * n;
                for (int axis = 0; axis < 4; axis++)
                        if (slice_is(component, axes[axis]))
                                return 4 * n + axis;
                return -1;
        }
        return -1;
}

bool special_reads_clock(int special)
{
        enum special is = specials[special / 4].special;

        return is >= SPECIAL_CLOCK && is <= SPECIAL_TIMER_HI;
}

bool special_uses_cluster(int special)
{
        return strstr(specials[special / 4].name, "cluster") != NULL;
}

enum type special_type(int special)
{
        return specials[special / 4].type;
}

static uint64_t clock_read(struct warp *w, enum special special)
{
        const struct ptx_launch *launch = w->block->run->launch;
        uint64_t now, cycles;

        w->clock_ns += CLOCK_STEP_NS;
        now = launch->clock_base_ns + w->block->clock_start_ns + w->clock_ns;
        cycles = (uint64_t)((unsigned __int128)now *
                            (launch->clock_mhz ? launch->clock_mhz : 1000) / 1000);
        /* Looking costs a cycle too: who waits for N cycles sees a little more, never N exactly. */
        cycles += w->clock_ns / CLOCK_STEP_NS;
        switch (special) {
        case SPECIAL_CLOCK:
        case SPECIAL_CLOCK64:
                return cycles;
        case SPECIAL_CLOCK_HI:
                return cycles >> 32;
        case SPECIAL_TIMER_HI:
                return now >> 32;
        default:
                return now;
        }
}

/* What all lanes of the warp agree on. */
static uint64_t special_uniform(struct warp *w, enum special special, unsigned axis)
{
        const struct block *block = w->block;
        const struct ptx_launch *launch = block->run->launch;

        switch (special) {
        case SPECIAL_NTID:
                return axis < 3 ? launch->block[axis] : 0;
        case SPECIAL_CTAID:
                return axis < 3 ? block->index[axis] : 0;
        case SPECIAL_NCTAID:
                return axis < 3 ? launch->grid[axis] : 0;
        case SPECIAL_WARPID:
                return w->index;
        case SPECIAL_NWARPID:
                return 64;
        case SPECIAL_SMID:
                return block->linear % (launch->sm_count ? launch->sm_count : 1);
        case SPECIAL_NSMID:
                return launch->sm_count ? launch->sm_count : 1;
        case SPECIAL_GRIDID:
                return launch->grid_id;
        case SPECIAL_DYNAMIC_SMEM:
                return launch->dynamic_shared_bytes;
        case SPECIAL_TOTAL_SMEM:
                return block->shared_bytes;
        case SPECIAL_ONE:
                return 1;
        case SPECIAL_GRID_LOW:
                return launch->is_cooperative ? WINDOW_GRID & UINT32_MAX : 0;
        case SPECIAL_GRID_HIGH:
                return launch->is_cooperative ? WINDOW_GRID >> 32 : 0;
        default:
                return 0;
        }
}

static uint64_t special_lane(const struct warp *w, enum special special, unsigned axis,
                             uint32_t lane)
{
        const uint32_t *size = w->block->run->launch->block;
        uint32_t thread = w->index * LANES + lane, bit = 1u << lane;

        switch (special) {
        case SPECIAL_TID:
                return axis == 0   ? thread % size[0]
                       : axis == 1 ? thread / size[0] % size[1]
                       : axis == 2 ? thread / size[0] / size[1]
                                   : 0;
        case SPECIAL_LANEID:
                return lane;
        case SPECIAL_LANEMASK_EQ:
                return bit;
        case SPECIAL_LANEMASK_LE:
                return bit | (bit - 1);
        case SPECIAL_LANEMASK_LT:
                return bit - 1;
        case SPECIAL_LANEMASK_GE:
                return ~(bit - 1);
        default:
                return ~(bit | (bit - 1));
        }
}

void special_run(struct warp *w, const struct insn *i)
{
        enum special special = specials[i->target / 4].special;
        unsigned axis = i->target % 4;
        uint32_t mask = w->exec;
        uint64_t value;

        if (special == SPECIAL_TID || special == SPECIAL_LANEID ||
            (special >= SPECIAL_LANEMASK_EQ && special <= SPECIAL_LANEMASK_GT)) {
                while (mask) {
                        uint32_t l = lane_next(&mask);

                        lane_put(w, i->d, l, special_lane(w, special, axis, l));
                }
                return;
        }
        value = special >= SPECIAL_CLOCK && special <= SPECIAL_TIMER_HI
                        ? clock_read(w, special)
                        : special_uniform(w, special, axis);
        while (mask)
                lane_put(w, i->d, lane_next(&mask), value);
}
