/* SPDX-License-Identifier: Apache-2.0 */
/* worker: machine, contexts, clocks. */
#include "worker.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "region.h"
#include "timeline.h"

static const struct machine_kernel_time times[WORKER_KERNELS] = {
        [KERNEL_100US] = { "k100us", 100 },    [KERNEL_2MS] = { "k2ms", 2000 },
        [KERNEL_100MS] = { "k100ms", 100000 }, [KERNEL_2S] = { "k2s", 2000000 },
        [KERNEL_20MS] = { "k20ms", 20000 },
};

static const char source[] = ".version 7.0\n.target sm_60\n.address_size 64\n"
                             ".visible .entry k100us()\n{\nret;\n}\n"
                             ".visible .entry k2ms()\n{\nret;\n}\n"
                             ".visible .entry k100ms()\n{\nret;\n}\n"
                             ".visible .entry k2s()\n{\nret;\n}\n"
                             ".visible .entry k20ms()\n{\nret;\n}\n";

void worker_machine(const char *cores)
{
        struct machine_spec spec;
        char path[128];

        machine_spec_init(&spec);
        spec.gpu_count = WORKER_GPUS;
        spec.kernels = times;
        spec.kernel_count = WORKER_KERNELS;
        sim_machine_from(&spec);
        snprintf(path, sizeof path, "%s" SIM_REGION, getenv("VGPU_SIM"));
        setenv("VGPU_REGION", path, 1);
        if (cores)
                setenv("VGPU_CORES", cores, 1);
}

void worker_start(struct worker *worker)
{
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        for (int gpu = WORKER_GPUS - 1; gpu >= 0; gpu--) {
                CUmodule module;
                CHECK_EQ(cuDevicePrimaryCtxRetain(&worker->contexts[gpu], gpu), CUDA_SUCCESS);
                CHECK_EQ(cuCtxSetCurrent(worker->contexts[gpu]), CUDA_SUCCESS);
                CHECK_EQ(cuModuleLoadData(&module, source), CUDA_SUCCESS);
                for (unsigned i = 0; i < WORKER_KERNELS; i++)
                        CHECK_EQ(cuModuleGetFunction(&worker->kernels[gpu][i], module,
                                                     times[i].name),
                                 CUDA_SUCCESS);
        }
        CHECK_EQ(cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
}

static pid_t watched[WORKER_WATCHED];

void worker_watch(const pid_t *pids, unsigned count)
{
        for (unsigned i = 0; i < WORKER_WATCHED; i++)
                watched[i] = i < count ? pids[i] : 0;
}

/* A kernel that does not say counts as busy: it rises always. */
static uint64_t late_ns(pid_t pid)
{
        unsigned long long late = clock_now_ns();
        char path[64];

        snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%*u %llu", &late) != 1)
                late = clock_now_ns();
        if (file)
                fclose(file);
        return late;
}

uint64_t worker_late_ns(void)
{
        uint64_t sum = 0;

        for (unsigned i = 0; i < WORKER_WATCHED && watched[i]; i++)
                sum += late_ns(watched[i]);
        return watched[0] ? sum : late_ns(getpid());
}

void worker_hurry(void)
{
        const struct sched_param first = { .sched_priority = 1 };

        for (unsigned i = 0; i == 0 || (i < WORKER_WATCHED && watched[i]); i++)
                sched_setscheduler(watched[i], SCHED_RR, &first);
}

/* The kernel says it of the dead until somebody has waited for them. */
pid_t worker_reap(uint64_t *ret_late_ns)
{
        siginfo_t info = { 0 };

        if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) < 0)
                return 0;
        *ret_late_ns = late_ns(info.si_pid);
        waitpid(info.si_pid, NULL, 0);
        return info.si_pid;
}

struct worker_time worker_time(unsigned gpu)
{
        static struct machine *machine;
        const unsigned index = gpu * MACHINE_UNITS_PER_GPU;

        if (!machine)
                machine = sim_machine_open();
        const struct machine_unit *unit = machine_unit(machine, index);
        struct worker_time time;
        do {
                timeline_advance(machine, index);
                time = (struct worker_time){ unit->clock_ns, unit->engines[ENGINE_COMPUTE].busy_ns,
                                             0 };
        } while (time.clock_ns != unit->clock_ns);
        time.late_ns = worker_late_ns();
        return time;
}

struct load load_between(struct worker_time begin, struct worker_time end)
{
        const double passed_ns = (double)(end.clock_ns - begin.clock_ns);

        return (struct load){ (double)(end.busy_ns - begin.busy_ns) * 100 / passed_ns,
                              (double)(end.late_ns - begin.late_ns) * 100 / passed_ns };
}

struct load worker_load(unsigned gpu, struct worker_time since)
{
        return load_between(since, worker_time(gpu));
}

struct load worker_run(struct worker *worker, void (*round)(struct worker *worker), unsigned ms)
{
        struct worker_time begin = worker_time(0);

        while (worker_time(0).clock_ns - begin.clock_ns < ms * UINT64_C(1000000))
                round(worker);
        return worker_load(0, begin);
}

uint64_t worker_counted_ns(unsigned gpu)
{
        static struct region region;
        struct err e = { 0 };

        if (!region.file && region_open(getenv("VGPU_REGION"), 1, &region, &e) < 0)
                fail_msg("%s", e.text);
        return atomic_load(&region.file->computes[gpu].gpu_ns);
}
