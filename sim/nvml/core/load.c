/* SPDX-License-Identifier: Apache-2.0 */
/* load: from busy time to the figures a GPU's sensors would show. */
#include "load.h"

#include "board.h"
#include "mig.h"
#include "timeline.h"

enum { HEAT_C = 34, HEAT_MEMORY_C = 26 };

/* Busy share of one unit's engine over the window. */
static double load_of_unit(struct machine *machine, unsigned unit, enum machine_engine engine,
                           uint64_t window_ns)
{
        timeline_advance(machine, unit);
        double share = timeline_unit_load(machine, unit, engine, window_ns);

        return share < 0 ? 0 : share > 1 ? 1 : share;
}

unsigned load_percent(double share)
{
        unsigned percent = (unsigned)(share * 100 + 0.5);

        return share > 0 && percent == 0 ? 1 : percent;
}

unsigned load_memory_percent(const struct load *load)
{
        /* Kernels keep the memory less busy than the processors; copies add a little. */
        double share = load->compute * 0.4 + (load->in + load->out) * 0.05;

        return load_percent(share > 1 ? 1 : share);
}

static void load_add(struct machine *machine, unsigned unit, double weight, struct load *load)
{
        load->compute += weight * load_of_unit(machine, unit, ENGINE_COMPUTE, LOAD_WINDOW_NS);
        load->in += weight * load_of_unit(machine, unit, ENGINE_IN, LOAD_WINDOW_NS);
        load->out += weight * load_of_unit(machine, unit, ENGINE_OUT, LOAD_WINDOW_NS);
        load->is_held |= mig_unit_is_busy(machine, unit);
}

static unsigned between(unsigned idle, unsigned busy, double share)
{
        return (unsigned)(idle + ((double)busy - idle) * share + 0.5);
}

static void load_sense(const struct machine_gpu *gpu, struct load *load)
{
        const struct board *board = board_of(gpu);
        bool is_awake = load->is_held || load->compute > 0 || load->in > 0 || load->out > 0;
        unsigned top_mhz = gpu->application_sm_mhz ? gpu->application_sm_mhz : gpu->sm_clock_mhz;
        /* A context alone keeps the clocks up, and that costs. */
        double effort = load->compute * 0.9 + (load->in + load->out) * 0.03 + (is_awake ? 0.04 : 0);

        if (gpu->locked_sm_mhz)
                top_mhz = gpu->locked_sm_mhz;
        load->sm_mhz = is_awake || gpu->locked_sm_mhz ? top_mhz : board->idle_sm_mhz;
        load->memory_mhz = is_awake ? gpu->memory_clock_mhz : board->idle_memory_mhz;
        load->video_mhz = is_awake ? gpu->video_clock_mhz : board->idle_video_mhz;
        load->pstate = is_awake ? 0 : board->idle_pstate;
        load->power_mw = between(gpu->power_idle_mw, gpu->power_limit_mw, effort);
        load->temperature_c = gpu->temperature_c + between(0, HEAT_C, load->compute);
        load->memory_temperature_c =
                gpu->temperature_c + 2 + between(0, HEAT_MEMORY_C, load->compute);
}

void load_of_gpu(const struct target *target, struct load *ret_load)
{
        const struct machine_gpu *gpu = target->gpu;
        const struct mig_model *model = gpu->mig_mode ? mig_model(gpu) : NULL;

        *ret_load = (struct load){ 0 };
        if (!model)
                load_add(target->machine, target->index * MACHINE_UNITS_PER_GPU, 1, ret_load);
        for (unsigned i = 0; model && i < TARGET_INSTANCES; i++)
                if (gpu->instances[i].is_used)
                        load_add(target->machine, gpu->instances[i].unit,
                                 (double)gpu->instances[i].slices / model->slices, ret_load);
        load_sense(gpu, ret_load);
}

uint64_t load_energy_mj(const struct target *target)
{
        const struct machine_gpu *gpu = target->gpu;
        double joules = (double)machine_now_ns(target->machine) / 1e9 * gpu->power_idle_mw / 1e3;

        for (unsigned k = 0; k < MACHINE_UNITS_PER_GPU; k++) {
                unsigned unit = target->index * MACHINE_UNITS_PER_GPU + k;
                uint64_t busy_ns =
                        machine_unit(target->machine, unit)->engines[ENGINE_COMPUTE].busy_ns;
                double effort_w = 0.9 * (gpu->power_limit_mw - gpu->power_idle_mw) / 1e3;
                joules += (double)busy_ns / 1e9 * effort_w;
        }
        return (uint64_t)(joules * 1e3);
}
