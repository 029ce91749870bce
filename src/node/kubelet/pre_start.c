/* SPDX-License-Identifier: Apache-2.0 */
/* A call waits until kubelet's list and the book agree, or its time is up. */
#include "pre_start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "deviceplugin.pb-c.h"
#include "list.h"
#include "slot_owner.h"
#include "str.h"

enum {
        PAUSE_MS = 100,      /* until kubelet is asked again */
        FALLBACK_MS = 1000,  /* until vgpu-scheduler is asked */
        PATIENCE_MS = 10000, /* kubelet's own is 30 s; the pod may not have reached us yet */
};

struct pre_start {
        struct loop *loop;
        struct share_book *shares;
        struct pod_resources *pod_resources;
        struct scheduler_fallback *fallback;
        struct list calls;
};

struct waiting {
        struct list link;
        struct pre_start *owner;
        struct grpc_call *call;
        struct timer pause;
        uint64_t since_ns;
        bool has_asked; /* vgpu-scheduler */
        char resource[128];
        size_t id_count;
        char *ids[];
};

static void waiting_free(struct waiting *waiting)
{
        list_remove(&waiting->link);
        loop_timer_clear(waiting->owner->loop, &waiting->pause);
        pod_resources_forget(waiting->owner->pod_resources, waiting);
        for (size_t i = 0; i < waiting->id_count; i++)
                free(waiting->ids[i]);
        free(waiting);
}

static void on_gone(void *owner)
{
        waiting_free(owner);
}

static void allow(struct waiting *waiting)
{
        const V1beta1__PreStartContainerResponse answer =
                V1BETA1__PRE_START_CONTAINER_RESPONSE__INIT;

        grpc_answer(waiting->call, &answer.base);
        waiting_free(waiting);
}

/* What is searched for among the shares, and whether it is there. */
struct search {
        const V1__ListPodResourcesResponse *list;
        const V1__PodResources *pod; /* NULL: an init container that ends, of any pod */
        bool is_found;
};

static void match(void *owner, struct held_share *held)
{
        struct search *search = owner;

        if (held->is_going || search->is_found)
                return;
        search->is_found = search->pod
                                   ? strcmp(search->pod->namespace_, held->pod_namespace) == 0 &&
                                             strcmp(search->pod->name, held->pod) == 0
                                   : slot_owner_is_unlisted(search->list, held->pod_namespace,
                                                            held->pod, held->container);
}

static void ask(struct waiting *waiting);

static void on_pause(struct timer *timer)
{
        ask(container_of(timer, struct waiting, pause));
}

/* The watch lags, perhaps. */
static void fetch(struct waiting *waiting, const V1__PodResources *pod)
{
        const char *container =
                slot_owner_container(pod, waiting->resource, waiting->ids, waiting->id_count);

        if (waiting->has_asked || !container ||
            clock_now_ns() - waiting->since_ns < FALLBACK_MS * NS_PER_MS)
                return;
        waiting->has_asked = true;
        scheduler_fallback_fetch(waiting->owner->fallback, pod->namespace_, pod->name, container);
}

static void wait_or_refuse(struct waiting *waiting, const char *why)
{
        if (clock_now_ns() - waiting->since_ns < PATIENCE_MS * NS_PER_MS) {
                loop_timer_set(waiting->owner->loop, &waiting->pause, PAUSE_MS * NS_PER_MS);
                return;
        }
        grpc_finish(waiting->call, GRPC_FAILED_PRECONDITION, why);
        waiting_free(waiting);
}

static void on_list(void *owner, const V1__ListPodResourcesResponse *list, const char *text)
{
        struct waiting *waiting = owner;
        struct search search = { .list = list };
        char why[256];

        if (list) {
                search.pod =
                        slot_owner_find(list, waiting->resource, waiting->ids, waiting->id_count);
                share_book_each(waiting->owner->shares, match, &search);
        }
        if (search.is_found)
                return allow(waiting);
        if (search.pod)
                fetch(waiting, search.pod);
        if (!list)
                snprintf(why, sizeof why,
                         "cannot ask kubelet which container has these vGPUs: %.120s", text);
        else if (search.pod)
                snprintf(why, sizeof why,
                         "pod %.60s/%.60s has no share on this node: vgpu-scheduler may "
                         "not have placed it",
                         search.pod->namespace_, search.pod->name);
        else
                snprintf(why, sizeof why, "kubelet lists no container with these %.60s",
                         waiting->resource);
        wait_or_refuse(waiting, why);
}

static void ask(struct waiting *waiting)
{
        if (pod_resources_list(waiting->owner->pod_resources, on_list, waiting) < 0)
                wait_or_refuse(waiting, "out of memory");
}

void pre_start_serve(struct pre_start *pre_start, struct grpc_call *call, const char *resource,
                     char *const *ids, size_t id_count)
{
        struct waiting *waiting = calloc(1, sizeof *waiting + id_count * sizeof *waiting->ids);

        if (!waiting)
                return grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        waiting->owner = pre_start;
        waiting->call = call;
        waiting->since_ns = clock_now_ns();
        waiting->pause.on_due = on_pause;
        str_copy(waiting->resource, sizeof waiting->resource, resource);
        list_append(&pre_start->calls, &waiting->link);
        for (; waiting->id_count < id_count; waiting->id_count++) {
                waiting->ids[waiting->id_count] = strdup(ids[waiting->id_count]);
                if (!waiting->ids[waiting->id_count]) {
                        waiting_free(waiting);
                        return grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
                }
        }
        grpc_on_gone(call, on_gone, waiting);
        ask(waiting);
}

int pre_start_new(struct loop *loop, struct pod_resources *pod_resources, struct share_book *shares,
                  struct scheduler_fallback *fallback, struct pre_start **ret_pre_start)
{
        struct pre_start *pre_start = calloc(1, sizeof *pre_start);

        if (!pre_start)
                return -ENOMEM;
        pre_start->loop = loop;
        pre_start->shares = shares;
        pre_start->pod_resources = pod_resources;
        pre_start->fallback = fallback;
        list_init(&pre_start->calls);
        *ret_pre_start = pre_start;
        return 0;
}

void pre_start_free(struct pre_start *pre_start)
{
        if (!pre_start)
                return;
        LIST_EACH (item, &pre_start->calls)
                waiting_free(container_of(item, struct waiting, link));
        free(pre_start);
}
