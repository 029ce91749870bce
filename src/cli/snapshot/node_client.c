/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's socket: NODE_SOCKET_PATH, or where VGPU_NODE_SOCKET says. */
#include "node_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "container_paths.h"
#include "scope.h"
#include "str.h"

enum { WAIT_MS = 5000, ANSWER_BYTES = 16 << 20 };

static const char *socket_path(void)
{
        const char *chosen = getenv("VGPU_NODE_SOCKET");

        return chosen && *chosen ? chosen : NODE_SOCKET_PATH;
}

/* An agent that was killed leaves its socket behind, at which nobody listens. */
bool node_client_is_there(void)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 || strlen(socket_path()) >= sizeof address.sun_path)
                return access(socket_path(), W_OK) == 0;
        str_copy(address.sun_path, sizeof address.sun_path, socket_path());
        return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN;
}

int node_client_ask(const char *method, const ProtobufCMessage *request,
                    const ProtobufCMessageDescriptor *answer, struct grpc_reply *ret_reply,
                    struct err *e)
{
        const struct grpc_request_options options = { .path = method,
                                                      .message = request,
                                                      .answer = answer,
                                                      .timeout_ms = WAIT_MS,
                                                      .limit_bytes = ANSWER_BYTES };
        struct http_client_options where = { 0 };
        struct http_client *client = NULL;
        struct loop *loop = NULL;
        char address[160];

        snprintf(address, sizeof address, "unix:%s", socket_path());
        int r = address_parse(address, &where.address, e);
        if (r < 0)
                return r;
        r = loop_new(&loop);
        if (r == 0)
                r = http_client_new(loop, &where, &client);
        if (r == 0)
                r = grpc_ask(loop, client, &options, ret_reply);
        http_client_free(client);
        loop_free(loop);
        if (r < 0)
                return err_set(e, r, "cannot ask vgpu-node: %s", strerror(-r));
        if (ret_reply->status == GRPC_UNAVAILABLE || ret_reply->status == GRPC_DEADLINE_EXCEEDED)
                return err_set(e, -EAGAIN, "vgpu-node at '%.80s' does not answer (%.100s)",
                               socket_path(), ret_reply->text);
        return 0;
}
