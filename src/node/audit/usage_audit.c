/* SPDX-License-Identifier: Apache-2.0 */
/* A sample: maps processes to their containers, then compares each container with its region. */
#include "usage_audit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "group_share.h"
#include "log.h"
#include "metric_text.h"
#include "process.h"
#include "scope.h"
#include "tenant_throttle.h"
#include "usage_sample.h"

enum {
        SAMPLE_MS = 1000,
        SUMS_MS = 100, /* of it, to check all regions: the loop has others to serve */
};
struct usage_audit {
        struct loop *loop;
        struct usage_audit_options options;
        struct timer timer;
        struct share_listener listener;
        struct tenant_watch files;
        struct list states; /* of struct usage_state */
        struct vec owned;   /* of struct usage_process, of the sample under way */
        struct vec logged;  /* of uint32_t: pids without a share that were logged */
        uint64_t sampled_ns;
};

static void state_add(struct usage_audit *audit, struct held_share *held)
{
        const unsigned count = share_current(&held->share)->device_count;
        struct usage_state *state = calloc(1, sizeof *state + count * sizeof *state->devices);

        if (!state) {
                log_warn("out of memory: share '%s' is not checked", held->name);
                return;
        }
        state->held = held;
        state->is_first = true;
        /* By the vgpu-node before this one: to be given back like any other. */
        state->record.is_held_back = tenant_is_throttled(share_current(&held->share));
        list_append(&audit->states, &state->link);
        const int r = tenant_watch_add(&audit->files, &state->files, held->path);
        if (r < 0)
                log_warn("cannot watch the files of share '%s': %s; they are cut once a second",
                         held->name, strerror(-r));
}

static void state_remove(struct usage_audit *audit, struct usage_state *state)
{
        tenant_watch_remove(&audit->files, &state->files);
        list_remove(&state->link);
        free(state);
}

static void on_share(struct share_listener *listener, enum share_change change,
                     struct held_share *held)
{
        struct usage_audit *audit = container_of(listener, struct usage_audit, listener);

        if (change == SHARE_MADE)
                state_add(audit, held);
        if (change != SHARE_GONE)
                return;
        LIST_EACH (link, &audit->states) {
                struct usage_state *state = container_of(link, struct usage_state, link);

                if (state->held == held)
                        state_remove(audit, state);
        }
}

/* Processes of containers that have no share are on the GPUs by other ways: logged once each. */
static void stranger_log(struct usage_audit *audit, const struct gpu_process *process,
                         const struct control_group *group)
{
        for (size_t i = 0; i < audit->logged.count; i++)
                if (*(uint32_t *)vec_at(&audit->logged, i) == process->pid)
                        return;
        if (vec_push(&audit->logged, &process->pid) == 0)
                log_warn("process %u of container %.12s (pod %s) uses GPU %s without a share",
                         process->pid, group->container_id,
                         group->pod_uid[0] ? group->pod_uid : "none", process->uuid);
}

static void logged_forget(struct usage_audit *audit)
{
        for (size_t i = audit->logged.count; i-- > 0;)
                if (!process_is_alive((pid_t) * (uint32_t *)vec_at(&audit->logged, i), 0))
                        vec_remove(&audit->logged, i);
}

static void processes_own(struct usage_audit *audit)
{
        struct vec processes = VEC_OF(struct gpu_process);

        vec_done(&audit->owned);
        gpu_watch_processes(audit->options.gpus, &processes);
        for (size_t i = 0; i < processes.count; i++) {
                struct usage_process owned = { .process = *(const struct gpu_process *)vec_at(
                                                       &processes, i) };
                struct control_group group = { 0 };

                if (control_group_of((pid_t)owned.process.pid, &group) < 0)
                        continue; /* the host's own, or gone */
                owned.held = group_share_find(audit->options.book, &group);
                if (owned.held)
                        vec_push(&audit->owned, &owned);
                else if (group.pod_uid[0] || strlen(group.container_id) == 64)
                        stranger_log(audit, &owned.process, &group);
        }
        vec_done(&processes);
        logged_forget(audit);
}

static void processes_kill(struct usage_audit *audit, const struct held_share *held)
{
        for (size_t i = 0; i < audit->owned.count; i++) {
                const struct usage_process *owned = vec_at(&audit->owned, i);
                struct control_group group;

                if (owned->held != held)
                        continue;
                /* Through a descriptor, and checked again: the number may be another's by now. */
                autoclose int fd = (int)syscall(SYS_pidfd_open, owned->process.pid, 0);
                if (fd >= 0 && control_group_of((pid_t)owned->process.pid, &group) == 0 &&
                    group_share_find(audit->options.book, &group) == held)
                        syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
        }
}

static void state_judge(struct usage_audit *audit, struct usage_state *state, unsigned certain,
                        const struct usage_finding *finding)
{
        const struct usage_audit_options *options = &audit->options;
        const char *sentence = "";

        for (unsigned i = 0; i < VIOLATIONS; i++) {
                if (!(certain & 1u << i))
                        continue;
                sentence = finding->sentences[i];
                log_warn("violation by share '%s' (%s): %s", state->held->name, violation_names[i],
                         sentence);
                if (options->on_violation)
                        options->on_violation(options->owner, state->held, i, sentence);
        }
        if (options->policy == VIOLATION_POLICY_THROTTLE)
                tenant_throttle(options->book, state->held);
        if (options->policy == VIOLATION_POLICY_EVICT && options->on_evict)
                options->on_evict(options->owner, state->held, sentence);
        else if (options->policy == VIOLATION_POLICY_EVICT)
                processes_kill(audit, state->held);
}

/* GPU time that its processes used and did not report, once it is certain: the arbiter charges it. */
static void unreported_charge(struct usage_audit *audit, struct usage_state *state,
                              const struct usage_finding *finding)
{
        if (!audit->options.arbiter || !state->record.is_certain[VIOLATION_COMPUTE])
                return;
        for (unsigned i = 0; i < share_current(&state->held->share)->device_count; i++) {
                if (!finding->unreported_ns[i])
                        continue;
                state->devices[i].unreported_ns += finding->unreported_ns[i];
                node_arbiter_observe(audit->options.arbiter, state->held->path, i,
                                     state->devices[i].unreported_ns);
        }
}

/* A container whose check takes long is not always before the same others. */
static void first_last(struct list *states)
{
        struct list *first = states->next;

        if (first == states)
                return;
        list_remove(first);
        list_append(states, first);
}

static void on_sample(struct timer *timer)
{
        struct usage_audit *audit = container_of(timer, struct usage_audit, timer);
        const uint64_t now_ns = clock_now_ns();
        const uint64_t passed_ns = audit->sampled_ns ? now_ns - audit->sampled_ns : 0;

        const uint64_t until_ns = now_ns + SUMS_MS * NS_PER_MS;

        audit->sampled_ns = now_ns;
        if (audit->options.arbiter)
                node_arbiter_catch_up(audit->options.arbiter);
        if (share_book_count(audit->options.book))
                processes_own(audit);
        LIST_EACH (link, &audit->states) {
                struct usage_state *state = container_of(link, struct usage_state, link);
                struct usage_finding finding = { 0 };

                usage_sample(state, &audit->owned, passed_ns, until_ns, &finding);
                unreported_charge(audit, state, &finding);
                const unsigned certain = violation_record_add(&state->record, finding.seen);
                if (certain)
                        state_judge(audit, state, certain, &finding);
                if (violation_record_is_over(&state->record)) {
                        log_info("share '%s': no violation for a minute", state->held->name);
                        tenant_release(audit->options.book, state->held);
                }
                share_book_trim_share(state->held);
        }
        first_last(&audit->states);
        loop_timer_set(audit->loop, &audit->timer, SAMPLE_MS * NS_PER_MS);
}

static void add_held(void *owner, struct held_share *held)
{
        state_add(owner, held);
}

int usage_audit_new(struct loop *loop, const struct usage_audit_options *options,
                    struct usage_audit **ret_audit)
{
        struct usage_audit *audit = calloc(1, sizeof *audit);

        if (!audit)
                return -ENOMEM;
        audit->loop = loop;
        audit->options = *options;
        audit->owned = (struct vec)VEC_OF(struct usage_process);
        audit->logged = (struct vec)VEC_OF(uint32_t);
        list_init(&audit->states);
        /* Where it cannot be had, each share says so. */
        tenant_watch_open(loop, &audit->files);
        audit->timer.on_due = on_sample;
        audit->listener.on_share = on_share;
        share_book_listen(options->book, &audit->listener);
        share_book_each(options->book, add_held, audit);
        loop_timer_set(loop, &audit->timer, SAMPLE_MS * NS_PER_MS);
        *ret_audit = audit;
        return 0;
}

void usage_audit_free(struct usage_audit *audit)
{
        if (!audit)
                return;
        share_book_unlisten(&audit->listener);
        loop_timer_clear(audit->loop, &audit->timer);
        LIST_EACH (link, &audit->states)
                state_remove(audit, container_of(link, struct usage_state, link));
        tenant_watch_close(&audit->files);
        vec_done(&audit->owned);
        vec_done(&audit->logged);
        free(audit);
}

int usage_audit_print(const struct usage_audit *audit, const char *node, struct str *out)
{
        static const char name[] = "vgpu_container_violations_total";
        int r = metric_head(
                out, name, METRIC_COUNTER,
                "violations by a container: it used more than its region records, by kind");

        LIST_EACH (link, &audit->states) {
                const struct usage_state *state = container_of(link, struct usage_state, link);

                for (unsigned i = 0; i < VIOLATIONS && r == 0; i++) {
                        const struct metric_label labels[] = {
                                { "node", node },
                                { "namespace", state->held->pod_namespace },
                                { "pod", state->held->pod },
                                { "container", state->held->container },
                                { "kind", violation_names[i] },
                                { 0 },
                        };

                        if (state->record.counts[i])
                                r = metric_sample(out, name, labels,
                                                  (double)state->record.counts[i]);
                }
        }
        return r;
}
