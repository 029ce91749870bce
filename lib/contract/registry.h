/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: a process of a container asks the node's agent by which pid the host, and so the
 * driver, knows it. One packet each way on a unix socket; the agent has the answer from SO_PEERCRED,
 * which nobody can forge, and the container needs no /proc of the host's. With the same packet it may ask
 * for more than its share of one device, as its environment says; whether it gets it is the agent's to
 * decide, and what it gets stands in the share.
 *
 * Fixed-width packets instead of gRPC: libvgpu.so needs the C library alone, and asks two questions. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { REGISTRY_VERSION = 2, REGISTRY_TEXT = 64, REGISTRY_UUID = 48 };
#define REGISTRY_MAGIC UINT64_C(0x7972747369676572) /* "registry" */
/* Where the socket (SOCK_SEQPACKET) lies in a container. The folder is what is mounted: an agent that
 * starts again makes another socket, and a mounted file would stay the old one. */
#define REGISTRY_FOLDER "/etc/vgpu/registry"
#define REGISTRY_PATH   REGISTRY_FOLDER "/socket"

struct registry_request {
        uint64_t magic;
        uint32_t version;
        uint32_t pid;        /* as the process sees itself */
        uint64_t start_time; /* of the process, clock ticks since boot; 0: not known */
        char program[REGISTRY_TEXT];
        /* Whose it says it is; the agent goes by the peer's control group. */
        char pod_uid[REGISTRY_TEXT];
        char pod_namespace[REGISTRY_TEXT];
        char pod_name[REGISTRY_TEXT];
        char container[REGISTRY_TEXT];
        /* Since version 2: more of this device than the share has. */
        char uuid[REGISTRY_UUID]; /* "": nothing is asked for */
        uint64_t limit_bytes;     /* 0: not asked for, in these two */
        uint32_t cores_percent;
        uint32_t reserved;
};
static_assert(offsetof(struct registry_request, uuid) == 344, "the whole of version 1");
static_assert(sizeof(struct registry_request) == 408, "read by other releases");

struct registry_reply {
        uint64_t magic;
        uint32_t version;
        int32_t status;    /* 0, or a negative errno: -EACCES, the process is not of a container
                            * that has a share */
        uint32_t host_pid; /* of the process that asked */
        int32_t raised;    /* 0: the share has what was asked for. -EPERM: the node lets no
                            * environment raise it; -ENOSPC: the GPU is full; -ERANGE: beyond
                            * what the share may grow to */
};
static_assert(sizeof(struct registry_reply) == 24, "read by other releases");

/* Asks; magic and version are filled in. Waits a second at most: an agent that hangs stops nobody's
 * program. The agent's refusal, -EPROTO: not an answer, or what went wrong with the socket. */
int registry_ask(const char *path, struct registry_request *request,
                 struct registry_reply *ret_reply, struct err *e);
