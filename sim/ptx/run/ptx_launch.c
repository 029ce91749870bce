/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a kernel: hands blocks to workers, keeps the launch's fate, budget and clock. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ptx_block.h"
#include "ptx_run.h"

#define WORKERS_LIMIT    64u
#define HELP_AFTER       400000u /* instructions: a short kernel is not worth a thread */
#define PATIENT_STEPS    64u     /* of a block before others are started beside it */
#define RESIDENT_LIMIT   4096u
#define FUEL             20000u
#define FUEL_COOPERATIVE 1000u /* blocks that wait for all others spin meanwhile */

struct run_state {
        pthread_mutex_t lock;
        struct ptx_outcome outcome;
        uint64_t wave, wave_base_ns, wave_longest_ns;
        uint32_t capacity; /* blocks of a wave */
        unsigned worker_count, helper_count;
        struct worker *workers;
        pthread_t helpers[WORKERS_LIMIT];
};

/* A worker's blocks: those it works on in turn, and spare ones. */
struct queue {
        struct block *head, *tail, *spare;
        uint32_t resident;
        bool is_dry; /* no further block to start */
};

static void run_stop(struct run *run, enum ptx_status status, uint64_t address, const char *reason)
{
        struct run_state *state = run->state;

        pthread_mutex_lock(&state->lock);
        if (!run_is_stopped(run)) {
                state->outcome.status = status;
                state->outcome.fault_address = address;
                snprintf(state->outcome.reason, sizeof state->outcome.reason, "%s", reason);
                __atomic_store_n(&run->is_stopped, true, __ATOMIC_RELAXED);
        }
        pthread_mutex_unlock(&state->lock);
}

void run_fault(struct warp *w, enum ptx_status status, uint64_t address, const char *format, ...)
{
        char reason[160];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(reason, sizeof reason, format, arguments);
        va_end(arguments);
        run_stop(w->block->run, status, address, reason);
        warp_reselect(w);
}

void run_print(struct run *run, const char *text, size_t length)
{
        if (!run->launch->print)
                return;
        pthread_mutex_lock(&run->state->lock);
        run->launch->print(run->launch->print_closure, text, length);
        pthread_mutex_unlock(&run->state->lock);
}

void run_complain(struct run *run, const char *text, size_t length)
{
        if (!run->launch->complain) {
                run_print(run, text, length);
                return;
        }
        pthread_mutex_lock(&run->state->lock);
        run->launch->complain(run->launch->print_closure, text, length);
        pthread_mutex_unlock(&run->state->lock);
}

void run_count(struct run *run, struct worker *worker, struct block *block)
{
        const struct ptx_launch *launch = run->launch;
        uint64_t total;

        (void)block;
        total = __atomic_add_fetch(&run->instructions, worker->instructions, __ATOMIC_RELAXED);
        worker->instructions = 0;
        if (launch->budget_instructions && total > launch->budget_instructions)
                run_stop(run, PTX_BUDGET, 0,
                         "the launch would take more instructions than its budget");
        if (launch->is_cancelled && __atomic_load_n(launch->is_cancelled, __ATOMIC_RELAXED))
                run_stop(run, PTX_CANCELLED, 0, "the launch was cancelled");
}

/* Blocks beyond what the device holds at once start when the wave before them has ended. */
static uint64_t wave_enter(struct run *run, uint64_t linear)
{
        struct run_state *state = run->state;
        uint64_t wave = linear / state->capacity, base;

        if (!run->kernel->footprint.reads_clock)
                return 0;
        pthread_mutex_lock(&state->lock);
        if (wave > state->wave) {
                state->wave_base_ns += state->wave_longest_ns;
                state->wave_longest_ns = 0;
                state->wave = wave;
        }
        base = state->wave_base_ns;
        pthread_mutex_unlock(&state->lock);
        return base;
}

static void wave_leave(struct run *run, const struct block *block)
{
        struct run_state *state = run->state;
        uint64_t spent = block_clock(block);

        if (!run->kernel->footprint.reads_clock)
                return;
        pthread_mutex_lock(&state->lock);
        if (spent > state->wave_longest_ns)
                state->wave_longest_ns = spent;
        pthread_mutex_unlock(&state->lock);
}

static void queue_push(struct queue *queue, struct block *block)
{
        block->next = NULL;
        if (queue->tail)
                queue->tail->next = block;
        else
                queue->head = block;
        queue->tail = block;
}

static struct block *queue_pop(struct queue *queue)
{
        struct block *block = queue->head;

        if (!block)
                return NULL;
        queue->head = block->next;
        if (!queue->head)
                queue->tail = NULL;
        return block;
}

/* Starts one more block of the grid; NULL when there is none, or no space for it now. */
static struct block *queue_start(struct queue *queue, struct run *run, struct worker *worker)
{
        struct block *block = queue->spare;
        uint64_t linear;

        if (queue->is_dry || (queue->resident >= RESIDENT_LIMIT && !run->launch->is_cooperative))
                return NULL;
        linear = __atomic_fetch_add(&run->next_block, 1, __ATOMIC_RELAXED);
        if (linear >= run->block_count) {
                queue->is_dry = true;
                return NULL;
        }
        if (block)
                queue->spare = block->next;
        else
                block = block_new(run);
        if (!block) {
                run_stop(run, PTX_LAUNCH_FAILURE, 0, "out of host memory for a block");
                return NULL;
        }
        block_start(block, worker, linear);
        block->clock_start_ns = wave_enter(run, linear);
        queue->resident++;
        return block;
}

static void block_advance(struct queue *queue, struct run *run, struct block *block)
{
        unsigned steps = run->launch->is_cooperative ? 1 : PATIENT_STEPS;
        enum block_state state = BLOCK_RUNNING;

        while (steps-- && state == BLOCK_RUNNING)
                state = block_step(block);
        if (state == BLOCK_RUNNING) {
                queue_push(queue, block);
                return;
        }
        if (state == BLOCK_STUCK)
                run_stop(run, PTX_LAUNCH_FAILURE, 0,
                         "threads of a block wait at different barriers for ever");
        wave_leave(run, block);
        queue->resident--;
        block->next = queue->spare;
        queue->spare = block;
}

static void queue_free(struct queue *queue)
{
        struct block *block;

        while ((block = queue_pop(queue)))
                block_free(block);
        while ((block = queue->spare)) {
                queue->spare = block->next;
                block_free(block);
        }
}

static void helpers_start(struct run *run);

static void work(struct run *run, struct worker *worker, bool is_first)
{
        struct queue queue = { 0 };

        if (is_first && run->launch->workers) {
                is_first = false;
                helpers_start(run); /* their number was asked for */
        }
        while (!run_is_stopped(run)) {
                struct block *block = queue_start(&queue, run, worker);

                if (!block)
                        block = queue_pop(&queue);
                if (!block)
                        break;
                block_advance(&queue, run, block);
                if (is_first &&
                    __atomic_load_n(&run->instructions, __ATOMIC_RELAXED) > HELP_AFTER) {
                        is_first = false;
                        helpers_start(run);
                }
        }
        queue_free(&queue);
}

static void *helper_main(void *argument)
{
        struct worker *worker = argument;

        work(worker->run, worker, false);
        return NULL;
}

/* Other cores join once the launch has proven long. They take no signals of the program. */
static void helpers_start(struct run *run)
{
        struct run_state *state = run->state;
        sigset_t all, before;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        while (state->helper_count + 1 < state->worker_count &&
               __atomic_load_n(&run->next_block, __ATOMIC_RELAXED) < run->block_count) {
                struct worker *worker = &state->workers[state->helper_count + 1];

                worker->run = run;
                if (pthread_create(&state->helpers[state->helper_count], NULL, helper_main, worker))
                        break;
                state->helper_count++;
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static unsigned worker_count(const struct run *run)
{
        unsigned count = run->launch->workers;
        long cores = count ? 0 : sysconf(_SC_NPROCESSORS_ONLN);

        if (!count)
                count = cores > 0 ? (unsigned)cores : 1;
        if (count > run->block_count)
                count = (unsigned)run->block_count;
        return count > WORKERS_LIMIT ? WORKERS_LIMIT : count;
}

static int launch_check(const struct ptx_launch *launch)
{
        uint64_t threads = 1;

        for (int axis = 0; axis < 3; axis++) {
                if (!launch->grid[axis] || !launch->block[axis] || launch->block[axis] > 1024 ||
                    launch->grid[axis] > INT32_MAX)
                        return -EINVAL;
                threads *= launch->block[axis];
        }
        if (threads > 1024 || launch->grid[1] > 65535 || launch->grid[2] > 65535)
                return -EINVAL;
        return 0;
}

static int run_init(struct run *run, struct run_state *state, const struct ptx_launch *launch)
{
        const struct ptx_footprint *footprint = &launch->kernel->footprint;
        uint64_t shared =
                (uint64_t)((footprint->shared_bytes + 15) & ~15u) + launch->dynamic_shared_bytes;

        if (shared > (1u << 24))
                return -EINVAL;
        *run = (struct run){ .launch = launch,
                             .kernel = launch->kernel,
                             .state = state,
                             .shared_bytes = (uint32_t)shared,
                             .fuel = launch->is_cooperative ? FUEL_COOPERATIVE : FUEL,
                             .stack_bytes = launch->kernel->stack_bytes };
        run->threads = launch->block[0] * launch->block[1] * launch->block[2];
        run->warps_per_block = (run->threads + LANES - 1) / LANES;
        run->block_count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
        state->capacity = (launch->sm_count ? launch->sm_count : 1) *
                          (launch->blocks_per_sm ? launch->blocks_per_sm : 1);
        state->worker_count = worker_count(run);
        state->workers = calloc(state->worker_count, sizeof *state->workers);
        run->params = calloc(1, (size_t)footprint->param_bytes + 64);
        if (!state->workers || !run->params)
                return -ENOMEM;
        if (launch->params)
                memcpy(run->params, launch->params,
                       launch->params_size < footprint->param_bytes ? launch->params_size
                                                                    : footprint->param_bytes);
        return 0;
}

/* Why the launch cannot be computed, or NULL. */
static const char *launch_refusal(const struct ptx_launch *launch)
{
        uint64_t blocks = 1;

        for (int axis = 0; axis < 3; axis++)
                blocks *= launch->cluster[axis] ? launch->cluster[axis] : 1;
        if (blocks > 1 && launch->kernel->uses_cluster)
                return "clusters of more than one block";
        return launch->kernel->footprint.reason;
}

int ptx_launch(const struct ptx_launch *launch, struct ptx_outcome *ret_outcome)
{
        struct run_state state = { .lock = PTHREAD_MUTEX_INITIALIZER };
        struct run run = { 0 };
        int r = launch_check(launch);

        if (r == 0 && launch_refusal(launch)) {
                *ret_outcome = (struct ptx_outcome){ .status = PTX_UNSUPPORTED };
                snprintf(ret_outcome->reason, sizeof ret_outcome->reason, "%s",
                         launch_refusal(launch));
                return 0;
        }
        if (r == 0)
                r = run_init(&run, &state, launch);
        if (r == 0) {
                state.workers[0].run = &run;
                work(&run, &state.workers[0], true);
                for (unsigned n = 0; n < state.helper_count; n++)
                        pthread_join(state.helpers[n], NULL);
                state.outcome.instructions = run.instructions;
                state.outcome.clock_spent_ns = state.wave_base_ns + state.wave_longest_ns;
                *ret_outcome = state.outcome;
        }
        free(run.params);
        free(state.workers);
        return r;
}
