/* SPDX-License-Identifier: Apache-2.0 */
/* allocations_service: vgpu.v1.Allocations, by which vgpu-runtime asks which share a container has and what
 * completes it. Root alone is answered. */
#pragma once

#include "grpc_server.h"
#include "mig_starts.h"
#include "pod_resources.h"
#include "pod_watch.h"
#include "scheduler_fallback.h"
#include "share_book.h"

struct allocations_service {
        struct share_book *shares;
        struct pod_watch *pods;                    /* NULL: the GPUs are not known yet */
        const struct scheduler_fallback *fallback; /* NULL: vgpu-scheduler is not asked */
        struct pod_resources *pod_resources;       /* says which MIG devices a container has */
        struct mig_starts *starts;                 /* and an init container, which is starting */
        const struct gpu_set *gpus;                /* as they are now */
        bool speaks_own_pids;                      /* as share_content.h has it */
        const char *run_folder;                    /* in it the registry of processes */
        const char *machine, *driver; /* of a simulated machine, for its containers; NULL: none */
};

extern const struct grpc_method
        allocations_service_methods[]; /* their owner is a struct allocations_service */
