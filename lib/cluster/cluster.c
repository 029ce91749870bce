/* SPDX-License-Identifier: Apache-2.0 */
/* Every node's GPUs and what pods hold of them. */
#include "cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_internal.h"
#include "cluster_nomination.h"
#include "cluster_number.h"
#include "list.h"
#include "scope.h"
#include "str.h"

static struct cluster_node *node_find(const struct cluster *cluster, const char *name)
{
        struct hash_link *link = hash_find(&cluster->nodes, name);

        return link ? container_of(link, struct cluster_node, link) : NULL;
}

/* A pod may be seen before its node: then the node is a name. */
struct cluster_node *cluster_node_take(struct cluster *cluster, const char *name)
{
        struct cluster_node *node = node_find(cluster, name);
        const size_t bytes = strlen(name) + 1;

        if (node)
                return node;
        node = calloc(1, sizeof *node + bytes);
        if (!node)
                return NULL;
        memcpy(node->name, name, bytes);
        node->devices = (struct vec)VEC_OF(struct node_device);
        /* The number is below the count of nodes, so it is given when the node is counted. */
        if (cluster_node_reserve(cluster) == 0 &&
            hash_add(&cluster->nodes, &node->link, node->name) == 0) {
                cluster_node_number(cluster, node);
                return node;
        }
        free(node);
        return NULL;
}

void cluster_node_free_if_unused(struct cluster *cluster, struct cluster_node *node)
{
        if (node->is_known || node->pods || node->nominations)
                return;
        cluster_node_unnumber(cluster, node);
        hash_remove(&cluster->nodes, &node->link);
        vec_done(&node->devices);
        free(node->placement_devices);
        free(node->links);
        free(node);
}

int cluster_device_find(const struct cluster_node *node, const char *uuid)
{
        for (size_t i = 0; i < node->devices.count; i++)
                if (strcmp(((struct node_device *)vec_at(&node->devices, i))->uuid, uuid) == 0)
                        return (int)i;
        return -1;
}

static void charges_add(const struct cluster_node *node, const struct cluster_pod *pod, int sign)
{
        for (unsigned i = 0; i < pod->charge_count; i++) {
                const struct placement_use *use = &pod->charges[i].use;
                const int device = cluster_device_find(node, pod->charges[i].uuid);
                struct placement_device *device_use =
                        device < 0 ? NULL : &node->placement_devices[device];

                if (!device_use)
                        continue; /* the GPU is gone; what was held of it went along */
                device_use->used.memory_mib += (uint64_t)sign * use->memory_mib;
                device_use->used.cores += (uint32_t)sign * use->cores;
                device_use->used.slots = (uint16_t)(device_use->used.slots + sign * use->slots);
                device_use->used.exclusive =
                        (uint16_t)(device_use->used.exclusive + sign * use->exclusive);
        }
}

static void placement_devices_fill(struct cluster_node *node)
{
        for (size_t i = 0; i < node->devices.count; i++) {
                const struct node_device *device = vec_at(&node->devices, i);

                node->placement_devices[i] = (struct placement_device){
                        .memory_mib = device->memory_mib,
                        .cores = device->cores,
                        .slots = device->slots,
                        .numa = device->numa,
                        .memory_factor = device->memory_factor,
                        .is_usable = device->is_healthy && !device->is_mig,
                };
        }
        for (const struct cluster_pod *pod = node->pods; pod; pod = pod->next)
                charges_add(node, pod, 1);
}

int cluster_node_set(struct cluster *cluster, const char *name, struct vec *devices)
{
        const size_t count =
                devices->count < PLACEMENT_DEVICES ? devices->count : PLACEMENT_DEVICES;
        struct placement_device *placement_devices =
                calloc(count ? count : 1, sizeof *placement_devices);
        struct cluster_node *node = placement_devices ? cluster_node_take(cluster, name) : NULL;

        if (!node) {
                free(placement_devices);
                return -ENOMEM;
        }
        vec_done(&node->devices);
        free(node->placement_devices);
        free(steal(node->links));
        node->said = 0;
        node->devices = *devices;
        node->devices.count = count;
        *devices = (struct vec){ .item_bytes = devices->item_bytes };
        node->placement_devices = placement_devices;
        node->is_known = true;
        placement_devices_fill(node);
        cluster_node_touch(cluster, node);
        return 0;
}

void cluster_node_set_volcano(struct cluster *cluster, const char *name, bool uses_volcano)
{
        struct hash_link *link = hash_find(&cluster->nodes, name);

        if (link)
                container_of(link, struct cluster_node, link)->uses_volcano = uses_volcano;
}

void cluster_node_set_away(struct cluster *cluster, const char *name, bool is_away)
{
        struct cluster_node *node = node_find(cluster, name);

        if (!node || node->is_away == is_away)
                return;
        node->is_away = is_away;
        cluster_node_touch(cluster, node);
}

void cluster_node_set_links(struct cluster *cluster, const char *name, uint8_t *links)
{
        struct cluster_node *node = node_find(cluster, name);

        if (!node || !node->is_known) {
                free(links);
                return;
        }
        free(node->links);
        node->links = links;
        cluster_node_touch(cluster, node);
}

void cluster_node_note(struct cluster *cluster, const char *name, uint64_t said)
{
        struct cluster_node *node = node_find(cluster, name);

        if (node)
                node->said = said;
}

void cluster_node_remove(struct cluster *cluster, const char *name)
{
        struct cluster_node *node = node_find(cluster, name);

        if (!node)
                return;
        node->is_known = false;
        node->said = 0;
        vec_done(&node->devices);
        cluster_node_touch(cluster, node);
        cluster_node_free_if_unused(cluster, node);
}

const struct cluster_node *cluster_node_find(const struct cluster *cluster, const char *name)
{
        const struct cluster_node *node = node_find(cluster, name);

        return node && node->is_known ? node : NULL;
}

const struct cluster_node *cluster_node_find_bytes(const struct cluster *cluster, const char *name,
                                                   size_t count)
{
        const struct hash_link *link = hash_find_bytes(&cluster->nodes, name, count);
        const struct cluster_node *node =
                link ? container_of(link, struct cluster_node, link) : NULL;

        return node && node->is_known ? node : NULL;
}

static struct cluster_pod *pod_find(const struct cluster *cluster, const char *uid)
{
        struct hash_link *link = hash_find(&cluster->pods, uid);

        return link ? container_of(link, struct cluster_pod, link) : NULL;
}

const struct cluster_pod *cluster_pod_find(const struct cluster *cluster, const char *uid)
{
        return pod_find(cluster, uid);
}

struct cluster_pod *cluster_pod_change(struct cluster *cluster, const char *uid)
{
        return pod_find(cluster, uid);
}

/* It is in no table any more. */
static void pod_remove(struct cluster *cluster, struct cluster_pod *pod)
{
        charges_add(pod->node, pod, -1);
        cluster_node_touch(cluster, pod->node);
        *pod->before = pod->next;
        if (pod->next)
                pod->next->before = pod->before;
        cluster_node_free_if_unused(cluster, pod->node);
        free(pod->names);
        free(pod);
}

void cluster_pod_release(struct cluster *cluster, const char *uid)
{
        struct cluster_pod *pod = pod_find(cluster, uid);

        if (!pod)
                return;
        hash_remove(&cluster->pods, &pod->link);
        pod_remove(cluster, pod);
}

static struct placement_use use_of(const struct allocation_part *part)
{
        return (struct placement_use){
                .memory_mib = part->memory_mib,
                .cores = part->cores,
                .slots = 1,
                .exclusive = part->cores == 100,
        };
}

/* What a pod takes of one GPU at its peak. */
static struct placement_use peak_of(const struct allocation *allocation,
                                    const struct gpu_request *gpu_request, const char *uuid)
{
        struct placement_sum sum = { 0 };

        for (unsigned need = 0; need < gpu_request->pod.need_count; need++) {
                for (size_t i = 0; i < allocation->parts.count; i++) {
                        const struct allocation_part *part = vec_at(&allocation->parts, i);
                        const struct placement_use use = use_of(part);

                        if (strcmp(part->uuid, uuid) == 0 &&
                            strcmp(part->container, gpu_request->containers[need]) == 0)
                                placement_sum_add(&sum, gpu_request->pod.needs[need].phase, &use);
                }
        }
        return placement_sum_peak(&sum);
}

/* One charge per GPU that is named. */
static void charges_make(struct cluster_pod *pod, const struct allocation *allocation,
                         const struct gpu_request *gpu_request)
{
        for (size_t i = 0; i < allocation->parts.count; i++) {
                const struct allocation_part *part = vec_at(&allocation->parts, i);
                unsigned c = 0;

                while (c < pod->charge_count && strcmp(pod->charges[c].uuid, part->uuid) != 0)
                        c++;
                if (c < pod->charge_count)
                        continue;
                str_copy(pod->charges[c].uuid, sizeof pod->charges[c].uuid, part->uuid);
                pod->charges[c].use = peak_of(allocation, gpu_request, part->uuid);
                pod->charge_count++;
        }
}

int cluster_pod_hold(struct cluster *cluster, const char *uid, const struct allocation *allocation,
                     const struct gpu_request *gpu_request, bool is_assumed)
{
        struct cluster_node *node = cluster_node_take(cluster, allocation->node);
        struct cluster_pod *pod =
                calloc(1, sizeof *pod + allocation->parts.count * sizeof pod->charges[0]);

        if (!node || !pod) {
                if (node)
                        cluster_node_free_if_unused(cluster, node);
                free(pod);
                return -ENOMEM;
        }
        str_copy(pod->uid, sizeof pod->uid, uid);
        pod->is_assumed = is_assumed;
        cluster_pod_inherit(pod, cluster_pod_find(cluster, uid));
        pod->node = node;
        charges_make(pod, allocation, gpu_request);
        /* The new one is on the node before the old one goes, so that the node stays. */
        pod->next = node->pods;
        pod->before = &node->pods;
        if (pod->next)
                pod->next->before = &pod->next;
        node->pods = pod;
        charges_add(node, pod, 1);
        cluster_node_touch(cluster, node);
        cluster_pod_release(cluster, uid);
        const int r = hash_add(&cluster->pods, &pod->link, pod->uid);
        if (r < 0)
                pod_remove(cluster, pod);
        return r;
}

uint64_t cluster_allowed(const struct cluster_node *node, const struct gpu_request *gpu_request)
{
        uint64_t allowed = 0;

        for (unsigned i = 0; i < node->devices.count; i++) {
                const struct node_device *device = vec_at(&node->devices, i);

                if (gpu_request_allows(gpu_request, device->type, device->uuid))
                        allowed |= UINT64_C(1) << i;
        }
        return allowed;
}

int cluster_place(const struct cluster_node *node, const struct gpu_request *gpu_request,
                  const char *uid, struct placement *ret_placement, struct err *e)
{
        struct placement_device devices[PLACEMENT_DEVICES];
        struct placement_node target = {
                .devices = node->placement_devices,
                .device_count = (unsigned)node->devices.count,
                .allowed = cluster_allowed(node, gpu_request),
                .links = node->links,
        };

        if (node->devices.count == 0)
                return err_set(e, -ENOENT, "no GPU is registered");
        if (node->is_away)
                return err_set(e, -ENOENT, "vgpu-node is away: its kubelet takes no GPU pod");
        if (!target.allowed)
                return err_set(e, -ENOSPC, "none of its GPUs is of the wanted type or UUID");
        if (node->nominations) {
                memcpy(devices, node->placement_devices, target.device_count * sizeof devices[0]);
                cluster_nominations_add(node, gpu_request->priority, uid, devices);
                target.devices = devices;
        }
        return placement_find(&target, &gpu_request->pod, ret_placement, e);
}

int cluster_allocation(const struct cluster_node *node, const struct gpu_request *gpu_request,
                       const struct placement *placement, const char *pod_uid,
                       struct allocation *ret_allocation)
{
        *ret_allocation = (struct allocation){ .parts = VEC_OF(struct allocation_part) };
        str_copy(ret_allocation->pod_uid, sizeof ret_allocation->pod_uid, pod_uid);
        str_copy(ret_allocation->node, sizeof ret_allocation->node, node->name);
        for (unsigned need = 0; need < gpu_request->pod.need_count; need++) {
                for (uint64_t left = placement->chosen[need]; left; left &= left - 1) {
                        const unsigned i = (unsigned)__builtin_ctzll(left);
                        const struct node_device *device = vec_at(&node->devices, i);
                        const struct placement_use use = placement_use_of(
                                &gpu_request->pod.needs[need], &node->placement_devices[i]);
                        struct allocation_part part = {
                                .memory_mib = use.memory_mib,
                                .cores = use.cores,
                        };

                        str_copy(part.container, sizeof part.container,
                                 gpu_request->containers[need]);
                        str_copy(part.uuid, sizeof part.uuid, device->uuid);
                        if (vec_push(&ret_allocation->parts, &part) < 0) {
                                allocation_done(ret_allocation);
                                return -ENOMEM;
                        }
                }
        }
        return 0;
}

void cluster_done(struct cluster *cluster)
{
        struct hash_link *link;

        while ((link = hash_any(&cluster->nominations)))
                cluster_nomination_drop(cluster, link->key);
        while ((link = hash_any(&cluster->pods)))
                cluster_pod_release(cluster, container_of(link, struct cluster_pod, link)->uid);
        while ((link = hash_any(&cluster->nodes)))
                cluster_node_remove(cluster, link->key);
        hash_done(&cluster->nominations);
        hash_done(&cluster->pods);
        hash_done(&cluster->nodes);
        free(cluster->numbered);
        cluster->numbered = NULL;
        cluster->numbered_capacity = 0;
}
