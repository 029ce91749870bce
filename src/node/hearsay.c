/* Asked, and told on. */
#include "hearsay.h"

#include <stdlib.h>

#include "log.h"

struct fetch {
        struct hearsay *hearsay;
        struct allocation_question *question;
};

static void on_answer(void *owner, const struct allocation_answer *answer)
{
        struct fetch *fetch = owner;

        if (answer->pod && fetch->hearsay->pods)
                pod_watch_hear(fetch->hearsay->pods, answer->pod);
        else if (answer->status != GRPC_NOT_FOUND)
                log_warn("vgpu-scheduler does not tell what it decided: %s", answer->text);
        free(fetch);
}

void hearsay_fetch(struct hearsay *hearsay, const char *pod_namespace, const char *pod,
                   const char *container)
{
        const struct allocation_wanted wanted = {
                .pod_uid = "", .namespace_name = pod_namespace, .pod = pod, .container = container
        };
        struct fetch *fetch = hearsay->fallback && hearsay->pods ? malloc(sizeof *fetch) : NULL;
        struct err e = { 0 };

        if (!fetch)
                return;
        fetch->hearsay = hearsay;
        if (allocation_fallback_ask(hearsay->fallback, &wanted, on_answer, fetch, &fetch->question,
                                    &e) == 0)
                return;
        log_warn("vgpu-scheduler cannot be asked: %s", e.text);
        free(fetch);
}
