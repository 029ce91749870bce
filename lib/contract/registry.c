/* SPDX-License-Identifier: Apache-2.0 */
/* The registry, asked from inside a container. */
#include "registry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "scope.h"

static int socket_connect(const char *path, int *ret_fd)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct timeval patience = { .tv_sec = 1 };
        autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        if (strlen(path) >= sizeof address.sun_path)
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
                return -errno;
        *ret_fd = steal_fd(fd);
        return 0;
}

static int socket_ask(int fd, const struct registry_request *request,
                      struct registry_reply *ret_reply)
{
        if (send(fd, request, sizeof *request, MSG_NOSIGNAL) != (ssize_t)sizeof *request)
                return -errno;
        ssize_t length = recv(fd, ret_reply, sizeof *ret_reply, 0);
        if (length < 0)
                return errno == EAGAIN ? -ETIMEDOUT : -errno;
        if (length != (ssize_t)sizeof *ret_reply || ret_reply->magic != REGISTRY_MAGIC ||
            ret_reply->version != REGISTRY_VERSION)
                return -EPROTO;
        return 0;
}

int registry_ask(const char *path, struct registry_request *request,
                 struct registry_reply *ret_reply, struct err *e)
{
        struct registry_reply reply = { 0 };
        autoclose int fd = -1;
        int r = socket_connect(path, &fd);

        request->magic = REGISTRY_MAGIC;
        request->version = REGISTRY_VERSION;
        if (r == 0)
                r = socket_ask(fd, request, &reply);
        if (r < 0)
                return err_set(e, r, "no answer from the node's agent at '%.80s': %s", path,
                               strerror(-r));
        if (reply.status < 0)
                return err_set(e, reply.status, "the node's agent at '%.80s' refuses: %s", path,
                               strerror(-reply.status));
        *ret_reply = reply;
        return 0;
}
