/* The registry: a process of a container asks the node's agent by which pid the host, and so the
 * driver, knows it. One packet each way on a unix socket; the agent has the answer from SO_PEERCRED,
 * which nobody can forge, and the container needs no /proc of the host's.
 *
 * Fixed-width packets instead of gRPC: libvgpu.so needs the C library alone, and asks one question. */
#pragma once

#include <assert.h>
#include <stdint.h>

#include "err.h"

enum { REGISTRY_VERSION = 1, REGISTRY_TEXT = 64 };
#define REGISTRY_MAGIC UINT64_C(0x7972747369676572) /* "registry" */
/* Where the socket (SOCK_SEQPACKET) lies in a container. */
#define REGISTRY_PATH "/etc/vgpu/registry"

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
};
static_assert(sizeof(struct registry_request) == 344, "read by other releases");

struct registry_reply {
        uint64_t magic;
        uint32_t version;
        int32_t status;    /* 0, or a negative errno: -EACCES, the process is not of a container
                            * that has a share */
        uint32_t host_pid; /* of the process that asked */
        uint32_t reserved;
};
static_assert(sizeof(struct registry_reply) == 24, "read by other releases");

/* Asks; magic and version are filled in. Waits a second at most: an agent that hangs stops nobody's
 * program. The agent's refusal, -EPROTO: not an answer, or what went wrong with the socket. */
int registry_ask(const char *path, struct registry_request *request, uint32_t *ret_host_pid,
                 struct err *e);
