/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a packet from a container's process, and the agent's answer to it. Whoever sends nonsense hears
 * nothing or a refusal; what is taken for an answer is one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "registry.h"
#include "registry_server.h"

const char *const fuzz_words[] = { "registry", "GPU-", "\1", "\2", NULL };

static struct {
        char folder[64];
        struct sockaddr_un address;
        struct loop *loop;
} hall;

static void hall_remove(void)
{
        unlink(hall.address.sun_path);
        rmdir(hall.folder);
}

static void hall_make(void)
{
        snprintf(hall.folder, sizeof hall.folder, "/tmp/vgpu-fuzz-registry-%d", (int)getpid());
        hall.address.sun_family = AF_UNIX;
        snprintf(hall.address.sun_path, sizeof hall.address.sun_path, "%.60s/socket", hall.folder);
        if (loop_new(&hall.loop) < 0)
                abort();
        atexit(hall_remove);
}

static int on_register(void *owner, const struct registry_peer *peer,
                       const struct registry_request *request, int *ret_raised)
{
        (void)owner;
        (void)peer;
        if (!memchr(request->pod_uid, '\0', sizeof request->pod_uid) ||
            !memchr(request->container, '\0', sizeof request->container) ||
            !memchr(request->uuid, '\0', sizeof request->uuid))
                abort();
        *ret_raised = 0;
        return 0;
}

/* Half of them get the mark of a request, or nothing would come past it. */
static void try_request(const uint8_t *bytes, size_t count)
{
        const struct registry_service service = { .on_register = on_register };
        struct registry_request request = { .magic = REGISTRY_MAGIC, .version = REGISTRY_VERSION };
        struct registry_server *server;
        struct registry_reply reply;
        struct err e = { 0 };
        const size_t head = offsetof(struct registry_request, pid);

        if (registry_server_new(hall.loop, hall.folder, &service, &server, &e) < 0)
                abort();
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&hall.address, sizeof hall.address) < 0)
                abort();
        if (count % 2) {
                memcpy((char *)&request + head, bytes,
                       count < sizeof request - head ? count : sizeof request - head);
                send(fd, &request, sizeof request, MSG_NOSIGNAL);
        } else {
                send(fd, bytes, count, MSG_NOSIGNAL);
        }
        for (unsigned i = 0; i < 4; i++)
                loop_step(hall.loop, 0);
        const ssize_t length = recv(fd, &reply, sizeof reply, 0);
        if (length > 0 && (length != sizeof reply || reply.magic != REGISTRY_MAGIC))
                abort();
        close(fd);
        registry_server_free(server);
}

struct agent {
        int listener;
        const uint8_t *bytes;
        size_t count;
};

static void *agent_answer(void *argument)
{
        const struct agent *agent = argument;
        struct registry_request request;
        int fd = accept(agent->listener, NULL, NULL);

        if (fd >= 0 && recv(fd, &request, sizeof request, 0) == sizeof request)
                send(fd, agent->bytes, agent->count, MSG_NOSIGNAL);
        if (fd >= 0)
                close(fd);
        return NULL;
}

static void try_reply(const uint8_t *bytes, size_t count)
{
        struct registry_request request = { 0 };
        struct registry_reply reply = { .status = 1 };
        struct agent agent = { .bytes = bytes, .count = count };
        struct err e = { 0 };
        pthread_t thread;
        char path[96];

        snprintf(path, sizeof path, "%s-reply", hall.folder);
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
        unlink(path);
        agent.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (bind(agent.listener, (struct sockaddr *)&address, sizeof address) < 0 ||
            listen(agent.listener, 1) < 0 ||
            pthread_create(&thread, NULL, agent_answer, &agent) != 0)
                abort();
        const int r = registry_ask(path, &request, &reply, &e);
        pthread_join(thread, NULL);
        close(agent.listener);
        unlink(path);
        if (r < 0 ? !e.text[0] || reply.status != 1 : reply.status < 0)
                abort();
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        if (!hall.loop)
                hall_make();
        if (count == 0)
                return;
        if (bytes[0] % 4)
                try_request(bytes + 1, count - 1);
        else
                try_reply(bytes + 1, count - 1);
}
