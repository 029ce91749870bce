/* SPDX-License-Identifier: Apache-2.0 */
/* The node's shares: asked for, and changed. */
#include "node_shares.h"

#include <string.h>
#include <unistd.h>

#include "command.h"
#include "message.h"
#include "node_client.h"
#include "str.h"
#include "vgpu.pb-c.h"

/* NULL: none. */
static Vgpu__V1__ListSharesResponse *list_ask(struct snapshot *snapshot)
{
        const Vgpu__V1__ListSharesRequest request = VGPU__V1__LIST_SHARES_REQUEST__INIT;
        struct grpc_reply reply = { 0 };
        struct err e = { 0 };

        if (!node_client_is_there())
                return NULL;
        if (node_client_ask("/vgpu.v1.Shares/List", &request.base,
                            &vgpu__v1__list_shares_response__descriptor, &reply, &e) < 0)
                snapshot_trouble(snapshot, "%s", e.text);
        else if (reply.status != GRPC_OK)
                snapshot_trouble(snapshot, "vgpu-node: %s", reply.text);
        return (Vgpu__V1__ListSharesResponse *)reply.message;
}

static unsigned cap_percent(const Vgpu__V1__DeviceShare *device)
{
        return device->cores_max_percent > device->cores_percent ? device->cores_max_percent
                                                                 : device->cores_percent;
}

static void gpu_read(const Vgpu__V1__DeviceShare *from, struct vec *gpus)
{
        struct share_gpu gpu = {
                .total_bytes = from->total_bytes,
                .limit_bytes = from->limit_bytes,
                .physical_limit_bytes = from->physical_limit_bytes,
                .virtual_limit_bytes = from->virtual_limit_bytes,
                .physical_bytes = from->physical_bytes,
                .virtual_bytes = from->virtual_bytes,
                .refusals = from->refusals,
                .cores_percent = from->cores_percent,
                .cores_max_percent = cap_percent(from),
                .cores_used_percent = from->cores_used_percent,
                .cores_lost_percent = from->cores_lost_percent,
                .throttled_percent = from->throttled_percent,
                .is_used_known = from->is_used_known,
                .is_lost_known = from->is_lost_known,
                .has_ended = true, /* vgpu-node knows how much that was */
                .cores_used_ns = from->is_used_known ? from->cores_used_ns : SNAPSHOT_UNKNOWN,
                .cores_lost_ns = from->is_lost_known ? from->cores_lost_ns : SNAPSHOT_UNKNOWN,
                .gpu_ns = from->gpu_ns,
                .throttled_ns = from->throttled_ns,
                .timeslices = from->timeslices,
                .timeslices_lapsed = from->timeslices_lapsed,
                .timeslice_held_ns = from->timeslice_held_ns,
                .timeslice_waited_ns = from->timeslice_waited_ns,
                .timeslice_quantum_ns = from->timeslice_quantum_ns,
                .timeslice_swap_ns = from->timeslice_swap_ns,
                .is_latency = from->is_latency,
                .is_oversold = from->is_oversold,
                .copies_count = from->copies_count,
        };

        str_copy(gpu.uuid, sizeof gpu.uuid, from->uuid);
        vec_push(gpus, &gpu);
}

static void process_read(const Vgpu__V1__Process *from, struct share_view *share)
{
        struct share_process process = { .pid = (pid_t)from->pid,
                                         .host_pid = (pid_t)from->host_pid,
                                         .gpus = VEC_OF(struct process_gpu) };

        str_copy(process.program, sizeof process.program, from->program);
        for (size_t i = 0; i < from->n_gpus; i++) {
                const Vgpu__V1__ProcessDevice *use = from->gpus[i];

                vec_push(&process.gpus,
                         &(struct process_gpu){ .gpu = use->index,
                                                .kinds = { [REGION_DEVICE] = use->device_bytes,
                                                           [REGION_MANAGED] = use->managed_bytes,
                                                           [REGION_CONTEXT] = use->context_bytes,
                                                           [REGION_OTHER] = use->other_bytes },
                                                .virtual_bytes = use->virtual_bytes,
                                                .gpu_ns = use->gpu_ns });
        }
        vec_push(&share->processes, &process);
}

static void share_read(struct snapshot *snapshot, const Vgpu__V1__Share *from)
{
        struct share_view *share = snapshot_share_add(snapshot);

        if (!share)
                return;
        str_copy(share->name, sizeof share->name, from->name);
        str_copy(share->user, sizeof share->user, from->user);
        str_copy(share->container_id, sizeof share->container_id, from->id);
        str_copy(share->fault, sizeof share->fault, from->fault);
        if (from->container) {
                str_copy(share->pod_namespace, sizeof share->pod_namespace,
                         from->container->namespace_);
                str_copy(share->pod, sizeof share->pod, from->container->pod);
                str_copy(share->container, sizeof share->container, from->container->container);
                str_copy(share->pod_uid, sizeof share->pod_uid, from->container->pod_uid);
        }
        for (size_t i = 0; i < from->n_gpus; i++)
                gpu_read(from->gpus[i], &share->gpus);
        for (size_t i = 0; i < from->n_processes; i++)
                process_read(from->processes[i], share);
        if (*from->fault)
                snapshot_trouble(snapshot, "the region of '%s' %s", from->name, from->fault);
}

/* Only vgpu-node looks all the time: what it has counted, its share says here, too. */
static void share_count(struct share_view *share, const Vgpu__V1__Share *from)
{
        for (size_t i = 0; i < share->gpus.count; i++) {
                struct share_gpu *gpu = vec_at(&share->gpus, i);

                for (size_t j = 0; j < from->n_gpus; j++) {
                        if (strcmp(from->gpus[j]->uuid, gpu->uuid) != 0)
                                continue;
                        if (from->gpus[j]->is_used_known)
                                gpu->cores_used_ns = from->gpus[j]->cores_used_ns;
                        if (from->gpus[j]->is_lost_known)
                                gpu->cores_lost_ns = from->gpus[j]->cores_lost_ns;
                }
        }
}

/* What users run is in their own folders, where root and they themselves may have read it. */
static bool is_read_already(const struct snapshot *snapshot, const Vgpu__V1__Share *from)
{
        for (size_t i = 0; *from->user && i < snapshot->shares.count; i++) {
                struct share_view *share = vec_at(&snapshot->shares, i);

                if (strcmp(share->name, from->name) != 0 || strcmp(share->user, from->user) != 0)
                        continue;
                share_count(share, from);
                return true;
        }
        return *from->user && from->uid == geteuid();
}

static void gpu_count(struct snapshot *snapshot, const Vgpu__V1__Gpu *from)
{
        struct gpu_count count = {
                .cores_used_ns = from->cores_used_ns,
                .outside_ns = from->is_split_told ? from->outside_ns : SNAPSHOT_UNKNOWN,
        };

        str_copy(count.uuid, sizeof count.uuid, from->uuid);
        vec_push(&snapshot->counts, &count);
}

void node_shares_add(struct snapshot *snapshot)
{
        Vgpu__V1__ListSharesResponse *list = list_ask(snapshot);

        for (size_t i = 0; list && i < list->n_shares; i++)
                if (!is_read_already(snapshot, list->shares[i]))
                        share_read(snapshot, list->shares[i]);
        for (size_t i = 0; list && i < list->n_gpus; i++)
                gpu_count(snapshot, list->gpus[i]);
        message_free((ProtobufCMessage *)list);
}

static Vgpu__V1__Tristate tristate_of(enum share_tristate flag)
{
        switch (flag) {
        case SHARE_YES:
                return VGPU__V1__TRISTATE__YES;
        case SHARE_NO:
                return VGPU__V1__TRISTATE__NO;
        case SHARE_UNSET:
                break;
        }
        return VGPU__V1__TRISTATE__UNSET;
}

int node_shares_set(const char *name, const struct share_memory *memory,
                    const struct share_compute *compute, struct share_view *ret_share)
{
        Vgpu__V1__SetShareRequest request = VGPU__V1__SET_SHARE_REQUEST__INIT;
        Vgpu__V1__DeviceShare row = VGPU__V1__DEVICE_SHARE__INIT;
        Vgpu__V1__DeviceShare *rows[] = { &row };
        struct grpc_reply reply = { 0 };
        struct err e = { 0 };
        int code = EXIT_OK;

        if (!node_client_is_there())
                return -1;
        request.name = (char *)name;
        request.n_gpus = 1;
        request.gpus = rows;
        row.limit_bytes = memory->bytes;
        request.memory_ratio = memory->ratio;
        request.oversold = tristate_of(memory->is_oversold);
        request.oversold_host_bytes = memory->host_bytes;
        request.has_cores = compute->has_cores;
        row.cores_percent = compute->cores_percent;
        request.has_cores_max = compute->has_most;
        row.cores_max_percent = compute->most_percent;
        request.latency = tristate_of(compute->is_latency);
        request.copies_count = tristate_of(compute->copies_count);
        if (node_client_ask("/vgpu.v1.Shares/Set", &request.base,
                            &vgpu__v1__set_share_response__descriptor, &reply, &e) < 0)
                return complain(EXIT_FAILED, "%s", e.text);
        const Vgpu__V1__SetShareResponse *answer =
                (const Vgpu__V1__SetShareResponse *)reply.message;
        if (reply.status == GRPC_NOT_FOUND)
                code = -1;
        else if (reply.status != GRPC_OK)
                code = complain(EXIT_FAILED, "%s", reply.text);
        if (code == EXIT_OK && answer && answer->share) {
                str_copy(ret_share->name, sizeof ret_share->name, answer->share->name);
                for (size_t i = 0; i < answer->share->n_gpus; i++)
                        gpu_read(answer->share->gpus[i], &ret_share->gpus);
        }
        message_free(reply.message);
        return code;
}
