/* SPDX-License-Identifier: Apache-2.0 */
/* One packet in, one out, then the connection closes. Peers are tenants: the server drops a silent peer
 * after a while, or when it needs the peer's slot. Each peer's requests are limited in rate, so a flood
 * takes a part of one core at most and delays no other peer. All connections wait in one short queue of
 * the kernel; clients over the limit are refused on accept, so the queue moves. */
#include "registry_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "kube_known.h"
#include "list.h"
#include "log.h"
#include "process.h"
#include "rate_limit.h"
#include "scope.h"
#include "socket_file.h"

enum {
        CONNECTIONS_MOST = 64,
        PATIENCE_MS = 2000, /* for a peer that is connected and says nothing */
        QUEUE = 128,        /* a second's patience is worth thousands of queued connections */
        MET_MOST = 1000,    /* at the door at once … */
        MET_PER_S = 10000,  /* … and every second after that */
        BREAK_MS = 5,       /* until the next try, when that was too much */
        SAID_S = 60,        /* between log lines about tenants over the limit */
        VERSION_1_BYTES = 344,
};

struct registry_server {
        struct loop *loop;
        struct loop_watch watch;
        struct timer sweep, resume;
        struct registry_service service;
        struct list connections; /* the oldest first */
        unsigned count;
        double tokens; /* how many connections may be accepted now */
        uint64_t tokens_ns;
        struct rate_limits tenants;
        uint64_t said_ns; /* when it was said that one asks too much */
        struct sockaddr_un address;
        struct file_identity file; /* of the socket */
        bool has_warned;           /* of pids that cannot be seen */
};

struct connection {
        struct list link;
        struct loop_watch watch;
        struct registry_server *server;
        uint64_t since_ns, since_ticks;
};

static void connection_end(struct connection *connection)
{
        loop_watch_remove(&connection->watch);
        close(connection->watch.fd);
        list_remove(&connection->link);
        connection->server->count--;
        free(connection);
}

static bool request_is_valid(const struct registry_request *request, size_t bytes)
{
        if (request->magic != REGISTRY_MAGIC || request->version < 1)
                return false;
        return request->version == 1 ? bytes == VERSION_1_BYTES : bytes == sizeof *request;
}

/* Texts are the peer's: an end is put where they have none. */
static void request_terminate(struct registry_request *request)
{
        char *const texts[] = { request->program, request->pod_uid, request->pod_namespace,
                                request->pod_name, request->container };

        for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
                texts[i][REGISTRY_TEXT - 1] = '\0';
        request->uuid[REGISTRY_UUID - 1] = '\0';
}

/* Whoever connected may be gone and its pid another container's: that process is younger than the
 * connection. What the peer says of its own start is checked too, but it may say nothing. */
static int group_find(pid_t pid, const struct connection *connection, uint64_t said_start,
                      struct control_group *ret_group)
{
        const uint64_t start = process_start_time(pid);

        if (!start || start > connection->since_ticks || (said_start && said_start != start))
                return -EACCES;
        if (control_group_of(pid, ret_group) < 0)
                return -EACCES;
        return process_start_time(pid) == start ? 0 : -EACCES;
}

static pid_t peer_pid(int fd)
{
        struct ucred credentials = { 0 };
        socklen_t length = sizeof credentials;

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0 ? -1
                                                                                  : credentials.pid;
}

static int peer_find(const struct connection *connection, const struct registry_request *request,
                     struct registry_peer *ret_peer)
{
        struct registry_server *server = connection->server;
        const pid_t pid = peer_pid(connection->watch.fd);

        if (pid <= 0) {
                if (!server->has_warned)
                        log_warn("the pid of a registering process is not visible: vgpu-node needs "
                                 "the host's pid namespace");
                server->has_warned = true;
                return -EACCES;
        }
        ret_peer->pid = pid;
        return group_find(pid, connection, request->start_time, &ret_peer->group);
}

static void answer(struct connection *connection, struct registry_request *request)
{
        struct registry_server *server = connection->server;
        struct registry_reply reply = { .magic = REGISTRY_MAGIC, .version = request->version };
        struct registry_peer peer = { 0 };
        int raised = 0;
        int r = peer_find(connection, request, &peer);

        request_terminate(request);
        if (r == 0)
                r = server->service.on_register(server->service.owner, &peer, request, &raised);
        reply.status = r;
        reply.host_pid = r == 0 ? (uint32_t)peer.pid : 0;
        reply.raised = raised;
        if (send(connection->watch.fd, &reply, sizeof reply, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                log_debug("registry: a peer disconnected before the reply");
}

static void on_packet(struct loop_watch *watch, uint32_t events)
{
        struct connection *connection = container_of(watch, struct connection, watch);
        struct registry_request request = { 0 };
        /* A byte more than there may be: MSG_TRUNC tells of longer ones. */
        const ssize_t length = recv(watch->fd, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);

        (void)events;
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (length > 0 && request_is_valid(&request, (size_t)length))
                answer(connection, &request);
        connection_end(connection);
}

static void connection_begin(struct registry_server *server, int fd)
{
        struct connection *connection = calloc(1, sizeof *connection);

        if (!connection) {
                close(fd);
                return;
        }
        connection->server = server;
        connection->since_ns = clock_now_ns();
        connection->since_ticks = process_ticks_now();
        connection->watch.on_event = on_packet;
        if (loop_watch_add(server->loop, &connection->watch, fd, EPOLLIN) < 0) {
                close(fd);
                free(connection);
                return;
        }
        list_append(&server->connections, &connection->link);
        server->count++;
        /* Most have said all by now: a crowd of those who have not does not push them out. */
        on_packet(&connection->watch, EPOLLIN);
        if (server->count > CONNECTIONS_MOST)
                connection_end(container_of(server->connections.next, struct connection, link));
        if (server->count > 0 && !server->sweep.is_set)
                loop_timer_set(server->loop, &server->sweep, PATIENCE_MS * NS_PER_MS);
}

static void on_sweep(struct timer *timer)
{
        struct registry_server *server = container_of(timer, struct registry_server, sweep);
        const uint64_t now_ns = clock_now_ns();

        LIST_EACH (link, &server->connections) {
                struct connection *connection = container_of(link, struct connection, link);

                if (now_ns - connection->since_ns >= PATIENCE_MS * NS_PER_MS)
                        connection_end(connection);
        }
        if (server->count > 0)
                loop_timer_set(server->loop, &server->sweep, PATIENCE_MS * NS_PER_MS / 2);
}

static bool budget_take(struct registry_server *server)
{
        const uint64_t now_ns = clock_now_ns();

        server->tokens +=
                (double)(now_ns - server->tokens_ns) * (double)MET_PER_S / (double)NS_PER_S;
        server->tokens_ns = now_ns;
        if (server->tokens > (double)MET_MOST)
                server->tokens = MET_MOST;
        if (server->tokens < 1)
                return false;
        server->tokens -= 1;
        return true;
}

static void listen_pause(struct registry_server *server)
{
        loop_watch_change(&server->watch, 0);
        loop_timer_set(server->loop, &server->resume, BREAK_MS * NS_PER_MS);
}

static void on_resume(struct timer *timer)
{
        struct registry_server *server = container_of(timer, struct registry_server, resume);

        loop_watch_change(&server->watch, EPOLLIN);
}

/* The pod is the tenant, or the container without one. All of whom nothing is known share one bucket: those
 * who have gone already, for the most part. */
static bool is_heard(struct registry_server *server, int fd)
{
        struct control_group group = { 0 };
        const char *name = "";
        const uint64_t now_ns = clock_now_ns();

        if (control_group_of(peer_pid(fd), &group) == 0)
                name = *group.pod_uid ? group.pod_uid : group.container_id;
        if (rate_limits_take(&server->tenants, kube_digest(name), now_ns))
                return true;
        if (!server->said_ns || now_ns - server->said_ns > SAID_S * NS_PER_S) {
                log_warn("%s '%s' registers processes too often: limited to %d per second",
                         *group.pod_uid ? "pod" : "container", name, RATE_LIMIT_PER_S);
                server->said_ns = now_ns;
        }
        return false;
}

static void on_connection(struct loop_watch *watch, uint32_t events)
{
        struct registry_server *server = container_of(watch, struct registry_server, watch);

        (void)events;
        if (!budget_take(server)) {
                listen_pause(server);
                return;
        }
        const int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0 && is_heard(server, fd))
                connection_begin(server, fd);
        else if (fd >= 0)
                close(fd);
        else if (errno != EAGAIN && errno != ECONNABORTED)
                listen_pause(server); /* no descriptors left: waiting helps */
}

/* Everybody may ask: containers run as any user. Who reaches the folder is decided above it. */
static int socket_listen(struct sockaddr_un *address, const char *folder, int *ret_fd)
{
        autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        char made[sizeof address->sun_path + 8];

        address->sun_family = AF_UNIX;
        if (fd < 0)
                return -errno;
        if (snprintf(address->sun_path, sizeof address->sun_path, "%s/socket", folder) >=
            (int)sizeof address->sun_path - 4)
                return -ENAMETOOLONG;
        if (mkdir(folder, 0755) < 0 && errno != EEXIST)
                return -errno;
        /* Born under another name: there is never a moment without a socket that answers. */
        snprintf(made, sizeof made, "%s.new", address->sun_path);
        struct sockaddr_un born = *address;
        memcpy(born.sun_path, made, strlen(made) + 1);
        if (unlink(made) < 0 && errno != ENOENT)
                return -errno;
        if (bind(fd, (struct sockaddr *)&born, sizeof born) < 0 || listen(fd, QUEUE) < 0 ||
            chmod(made, 0666) < 0 || chmod(folder, 0755) < 0 || rename(made, address->sun_path) < 0)
                return -errno;
        *ret_fd = steal_fd(fd);
        return 0;
}

int registry_server_new(struct loop *loop, const char *folder,
                        const struct registry_service *service, struct registry_server **ret_server,
                        struct err *e)
{
        autofree struct registry_server *server = calloc(1, sizeof *server);
        int fd = -1;

        if (!server)
                return err_set(e, -ENOMEM, "out of memory");
        int r = socket_listen(&server->address, folder, &fd);
        if (r < 0)
                return err_set(e, r, "cannot listen in '%.100s': %s", folder, strerror(-r));
        file_identity_at(server->address.sun_path, &server->file);
        server->loop = loop;
        server->service = *service;
        server->tokens = MET_MOST;
        server->tokens_ns = clock_now_ns();
        list_init(&server->connections);
        server->watch.on_event = on_connection;
        server->sweep.on_due = on_sweep;
        server->resume.on_due = on_resume;
        r = loop_watch_add(loop, &server->watch, fd, EPOLLIN);
        if (r < 0) {
                close(fd);
                return err_set(e, r, "cannot listen in '%.100s': %s", folder, strerror(-r));
        }
        *ret_server = steal(server);
        return 0;
}

void registry_server_free(struct registry_server *server)
{
        if (!server)
                return;
        LIST_EACH (link, &server->connections)
                connection_end(container_of(link, struct connection, link));
        loop_timer_clear(server->loop, &server->sweep);
        loop_timer_clear(server->loop, &server->resume);
        loop_watch_remove(&server->watch);
        socket_file_remove(server->address.sun_path, server->file);
        close(server->watch.fd);
        free(server);
}

unsigned registry_server_connections(const struct registry_server *server)
{
        return server->count;
}
