/* SPDX-License-Identifier: Apache-2.0 */
/* A listening socket of the HTTP server. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "http_internal.h"
#include "socket_file.h"

enum {
        ACCEPTS_PER_STEP = 16,
        BREAK_MS = 100, /* when the process has no descriptors left: waiting helps, spinning not */
};

struct http_listener {
        struct loop_watch watch;
        struct timer resume;
        struct loop *loop;
        struct http_server *server;
        struct tls_context *tls;
        struct address address;
        struct file_identity file; /* of a unix socket */
};

static void on_resume(struct timer *timer)
{
        struct http_listener *listener = container_of(timer, struct http_listener, resume);

        loop_watch_change(&listener->watch, EPOLLIN);
}

static void on_connection(struct loop_watch *watch, uint32_t events)
{
        struct http_listener *listener = container_of(watch, struct http_listener, watch);

        (void)events;
        for (unsigned i = 0; i < ACCEPTS_PER_STEP; i++) {
                int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (fd >= 0) {
                        http_server_accept(listener->server, fd, listener->tls,
                                           address_is_unix(&listener->address));
                        continue;
                }
                if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                        loop_watch_change(watch, 0);
                        loop_timer_set(listener->loop, &listener->resume, BREAK_MS * NS_PER_MS);
                }
                return;
        }
}

int http_listener_new(struct loop *loop, struct http_server *server, const struct address *address,
                      mode_t mode, struct tls_context *tls, struct http_listener **ret_listener,
                      struct err *e)
{
        struct http_listener *listener = calloc(1, sizeof *listener);
        int fd = -1;
        int r = listener ? address_listen(address, mode, &fd, e)
                         : err_set(e, -ENOMEM, "out of memory");

        if (r == 0) {
                listener->loop = loop;
                listener->server = server;
                listener->tls = tls;
                listener->address = *address;
                if (address_is_unix(address))
                        file_identity_at(address_path(address), &listener->file);
                listener->resume.on_due = on_resume;
                listener->watch.on_event = on_connection;
                r = loop_watch_add(loop, &listener->watch, fd, EPOLLIN);
                if (r < 0) {
                        close(fd);
                        err_set(e, r, "cannot listen on '%.100s': %s", address->text, strerror(-r));
                }
        }
        if (r < 0)
                free(listener);
        else
                *ret_listener = listener;
        return r;
}

unsigned http_listener_port(const struct http_listener *listener)
{
        struct sockaddr_storage bound = { 0 };
        socklen_t length = sizeof bound;

        getsockname(listener->watch.fd, (struct sockaddr *)&bound, &length);
        if (bound.ss_family == AF_INET)
                return ntohs(((struct sockaddr_in *)&bound)->sin_port);
        if (bound.ss_family == AF_INET6)
                return ntohs(((struct sockaddr_in6 *)&bound)->sin6_port);
        return 0;
}

void http_listener_free(struct http_listener *listener)
{
        loop_timer_clear(listener->loop, &listener->resume);
        loop_watch_remove(&listener->watch);
        if (address_is_unix(&listener->address))
                socket_file_remove(address_path(&listener->address), listener->file);
        close(listener->watch.fd);
        free(listener);
}
