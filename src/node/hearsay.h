/* hearsay: a pod that the watch has not told of is heard of from vgpu-scheduler. */
#pragma once

#include "allocation_fallback.h"
#include "pod_watch.h"

struct hearsay {
        const struct allocation_fallback *fallback; /* NULL: nobody is asked */
        struct pod_watch *pods;                     /* NULL: not yet */
};

/* Asks for one container; what comes is as if the watch had told it. Begun and forgotten. */
void hearsay_fetch(struct hearsay *hearsay, const char *pod_namespace, const char *pod,
                   const char *container);
