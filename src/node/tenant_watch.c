/* A look: processes are given to their containers, then each container is held against its account. */
#include "tenant_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "metric_text.h"
#include "process.h"
#include "registrar.h"
#include "scope.h"
#include "tenant_look.h"
#include "tenant_throttle.h"

enum {
        LOOK_MS = 1000,
        SUMS_MS = 100, /* of it, for all accounts' sums: the loop has others to serve */
};
struct tenant_watch {
        struct loop *loop;
        struct tenant_watch_options options;
        struct timer look;
        struct share_listener listener;
        struct list states; /* of struct tenant_state */
        struct vec owned;   /* of struct tenant_process, of the look under way */
        struct vec told;    /* of uint32_t: pids without a share that were told of */
        uint64_t looked_ns;
};

static void state_add(struct tenant_watch *watch, struct held_share *held)
{
        const unsigned count = share_current(&held->share)->device_count;
        struct tenant_state *state = calloc(1, sizeof *state + count * sizeof *state->devices);

        if (!state) {
                log_warn("out of memory: share '%s' is not checked", held->name);
                return;
        }
        state->held = held;
        state->is_first = true;
        /* By the vgpu-node before this one: to be given back like any other. */
        state->record.is_held_back = tenant_is_throttled(share_current(&held->share));
        list_append(&watch->states, &state->link);
}

static void state_remove(struct tenant_state *state)
{
        list_remove(&state->link);
        free(state);
}

static void on_share(struct share_listener *listener, enum share_change change,
                     struct held_share *held)
{
        struct tenant_watch *watch = container_of(listener, struct tenant_watch, listener);

        if (change == SHARE_MADE)
                state_add(watch, held);
        if (change != SHARE_GONE)
                return;
        LIST_EACH(link, &watch->states)
        {
                struct tenant_state *state = container_of(link, struct tenant_state, link);

                if (state->held == held)
                        state_remove(state);
        }
}

/* Processes of containers that have no share are on the GPUs by other ways: told once each. */
static void stranger_tell(struct tenant_watch *watch, const struct gpu_process *process,
                          const struct control_group *group)
{
        for (size_t i = 0; i < watch->told.count; i++)
                if (*(uint32_t *)vec_at(&watch->told, i) == process->pid)
                        return;
        if (vec_push(&watch->told, &process->pid) == 0)
                log_warn("process %u of container %.12s (pod %s) uses GPU %s without a share",
                         process->pid, group->container_id,
                         group->pod_uid[0] ? group->pod_uid : "none", process->uuid);
}

static void told_forget(struct tenant_watch *watch)
{
        for (size_t i = watch->told.count; i-- > 0;)
                if (!process_is_alive((pid_t) * (uint32_t *)vec_at(&watch->told, i), 0))
                        vec_remove(&watch->told, i);
}

static void processes_own(struct tenant_watch *watch)
{
        struct vec processes = VEC_OF(struct gpu_process);

        vec_done(&watch->owned);
        gpu_watch_processes(watch->options.gpus, &processes);
        for (size_t i = 0; i < processes.count; i++) {
                struct tenant_process owned = { .process = *(const struct gpu_process *)vec_at(
                                                        &processes, i) };
                struct control_group group = { 0 };

                if (control_group_of((pid_t)owned.process.pid, &group) < 0)
                        continue; /* the host's own, or gone */
                owned.held = registrar_find(watch->options.book, &group);
                if (owned.held)
                        vec_push(&watch->owned, &owned);
                else if (group.pod_uid[0] || strlen(group.container_id) == 64)
                        stranger_tell(watch, &owned.process, &group);
        }
        vec_done(&processes);
        told_forget(watch);
}

static void processes_kill(struct tenant_watch *watch, const struct held_share *held)
{
        for (size_t i = 0; i < watch->owned.count; i++) {
                const struct tenant_process *owned = vec_at(&watch->owned, i);
                struct control_group group;

                if (owned->held != held)
                        continue;
                /* Through a descriptor, and looked at again: the number may be another's by now. */
                autoclose int fd = (int)syscall(SYS_pidfd_open, owned->process.pid, 0);
                if (fd >= 0 && control_group_of((pid_t)owned->process.pid, &group) == 0 &&
                    registrar_find(watch->options.book, &group) == held)
                        syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
        }
}

static void state_judge(struct tenant_watch *watch, struct tenant_state *state, unsigned certain,
                        const struct tenant_finding *finding)
{
        const struct tenant_watch_options *options = &watch->options;
        const char *sentence = "";

        for (unsigned i = 0; i < CHEATS; i++) {
                if (!(certain & 1u << i))
                        continue;
                sentence = finding->sentences[i];
                log_warn("share '%s' cheats (%s): %s", state->held->name, cheat_names[i], sentence);
                if (options->on_cheat)
                        options->on_cheat(options->owner, state->held, i, sentence);
        }
        if (options->policy == CHEAT_THROTTLE)
                tenant_throttle(options->book, state->held);
        if (options->policy == CHEAT_EVICT && options->on_evict)
                options->on_evict(options->owner, state->held, sentence);
        else if (options->policy == CHEAT_EVICT)
                processes_kill(watch, state->held);
}

/* GPU time that its processes used and did not say, once it is certain: the arbiter charges it. */
static void unsaid_tell(struct tenant_watch *watch, struct tenant_state *state,
                        const struct tenant_finding *finding)
{
        if (!watch->options.arbiter || !state->record.is_certain[CHEAT_COMPUTE])
                return;
        for (unsigned i = 0; i < share_current(&state->held->share)->device_count; i++) {
                if (!finding->unsaid_ns[i])
                        continue;
                state->devices[i].unsaid_ns += finding->unsaid_ns[i];
                node_arbiter_observe(watch->options.arbiter, state->held->path, i,
                                     state->devices[i].unsaid_ns);
        }
}

/* Whoever makes its sum take long is not always before the same others. */
static void first_last(struct list *states)
{
        struct list *first = states->next;

        if (first == states)
                return;
        list_remove(first);
        list_append(states, first);
}

static void on_look(struct timer *timer)
{
        struct tenant_watch *watch = container_of(timer, struct tenant_watch, look);
        const uint64_t now_ns = clock_now_ns();
        const uint64_t passed_ns = watch->looked_ns ? now_ns - watch->looked_ns : 0;

        const uint64_t until_ns = now_ns + SUMS_MS * NS_PER_MS;

        watch->looked_ns = now_ns;
        if (share_book_count(watch->options.book))
                processes_own(watch);
        LIST_EACH(link, &watch->states)
        {
                struct tenant_state *state = container_of(link, struct tenant_state, link);
                struct tenant_finding finding = { 0 };

                tenant_look(state, &watch->owned, passed_ns, until_ns, &finding);
                unsaid_tell(watch, state, &finding);
                const unsigned certain = tenant_check(&state->record, finding.seen);
                if (certain)
                        state_judge(watch, state, certain, &finding);
                if (tenant_check_is_over(&state->record)) {
                        log_info("share '%s' is as it says again", state->held->name);
                        tenant_release(watch->options.book, state->held);
                }
                share_book_rest_share(state->held);
        }
        first_last(&watch->states);
        loop_timer_set(watch->loop, &watch->look, LOOK_MS * NS_PER_MS);
}

static void add_held(void *owner, struct held_share *held)
{
        state_add(owner, held);
}

int tenant_watch_new(struct loop *loop, const struct tenant_watch_options *options,
                     struct tenant_watch **ret_watch)
{
        struct tenant_watch *watch = calloc(1, sizeof *watch);

        if (!watch)
                return -ENOMEM;
        watch->loop = loop;
        watch->options = *options;
        watch->owned = (struct vec)VEC_OF(struct tenant_process);
        watch->told = (struct vec)VEC_OF(uint32_t);
        list_init(&watch->states);
        watch->look.on_due = on_look;
        watch->listener.on_share = on_share;
        share_book_listen(options->book, &watch->listener);
        share_book_each(options->book, add_held, watch);
        loop_timer_set(loop, &watch->look, LOOK_MS * NS_PER_MS);
        *ret_watch = watch;
        return 0;
}

void tenant_watch_free(struct tenant_watch *watch)
{
        if (!watch)
                return;
        share_book_unlisten(&watch->listener);
        loop_timer_clear(watch->loop, &watch->look);
        LIST_EACH(link, &watch->states)
        state_remove(container_of(link, struct tenant_state, link));
        vec_done(&watch->owned);
        vec_done(&watch->told);
        free(watch);
}

int tenant_watch_print(const struct tenant_watch *watch, const char *node, struct str *out)
{
        static const char name[] = "vgpu_container_cheats_total";
        int r = metric_head(out, name, METRIC_COUNTER,
                            "how often a container was found to hold more than it says, by kind");

        LIST_EACH(link, &watch->states)
        {
                const struct tenant_state *state = container_of(link, struct tenant_state, link);

                for (unsigned i = 0; i < CHEATS && r == 0; i++) {
                        const struct metric_label labels[] = {
                                { "node", node },
                                { "namespace", state->held->pod_namespace },
                                { "pod", state->held->pod },
                                { "container", state->held->container },
                                { "kind", cheat_names[i] },
                                { 0 },
                        };

                        if (state->record.counts[i])
                                r = metric_sample(out, name, labels,
                                                  (double)state->record.counts[i]);
                }
        }
        return r;
}
