/* SPDX-License-Identifier: Apache-2.0 */
/* A connection: connecting → handshake → open → closed. */
#include "conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "list.h"

enum {
        READS_PER_STEP = 4, /* the others of the loop want a turn too */
        WRITES_PER_STEP = 8,
};

enum state { CONNECTING, HANDSHAKE, OPEN, CLOSED };

struct conn {
        struct loop_watch watch;
        struct loop_task end;
        struct loop *loop;
        struct tls_session *tls;
        const struct conn_protocol *protocol;
        void *owner;
        const uint8_t *left; /* of what next_bytes gave last */
        size_t left_count;
        uint64_t heard_ns, stuck_ns;
        enum state state;
        struct err why;
};

bool conn_is_open(const struct conn *conn)
{
        return conn->state == OPEN;
}

bool conn_is_h2(const struct conn *conn)
{
        return conn->tls && tls_is_h2(conn->tls);
}

bool conn_has_tls(const struct conn *conn)
{
        return conn->tls;
}

int conn_fd(const struct conn *conn)
{
        return conn->watch.fd;
}

uint64_t conn_heard_ns(const struct conn *conn)
{
        return conn->heard_ns;
}

uint64_t conn_stuck_ns(const struct conn *conn)
{
        return conn->stuck_ns;
}

static void conn_end(struct loop_task *task)
{
        struct conn *conn = container_of(task, struct conn, end);
        int fd = conn->watch.fd;

        tls_session_free(conn->tls);
        close(fd);
        conn->protocol->on_close(conn->owner, &conn->why);
        free(conn);
}

void conn_close(struct conn *conn, int code, const char *why)
{
        if (conn->state == CLOSED)
                return;
        if (conn->state == OPEN && conn->tls && code == 0)
                tls_goodbye(conn->tls);
        conn->state = CLOSED;
        err_set(&conn->why, code, "%s", why);
        loop_watch_remove(&conn->watch);
        loop_defer(conn->loop, &conn->end);
}

void conn_wake(struct conn *conn)
{
        if (conn->state == OPEN)
                loop_watch_change(&conn->watch, EPOLLIN | EPOLLOUT);
}

static ssize_t conn_read(struct conn *conn, uint8_t *bytes, size_t count)
{
        ssize_t length;

        if (conn->tls)
                return tls_read(conn->tls, bytes, count);
        length = recv(conn->watch.fd, bytes, count, 0);
        return length < 0 ? -errno : length;
}

static ssize_t conn_write(struct conn *conn, const uint8_t *bytes, size_t count)
{
        ssize_t length;

        if (conn->tls)
                return tls_write(conn->tls, bytes, count);
        length = send(conn->watch.fd, bytes, count, MSG_NOSIGNAL);
        return length < 0 ? -errno : length;
}

/* true: the socket takes no more, or the turn is over. */
static bool write_left(struct conn *conn)
{
        while (conn->left_count) {
                ssize_t length = conn_write(conn, conn->left, conn->left_count);

                if (length == -EAGAIN || length == -EINTR) {
                        if (!conn->stuck_ns)
                                conn->stuck_ns = clock_now_ns();
                        return true;
                }
                if (length < 0) {
                        conn_close(conn, (int)length, strerror((int)-length));
                        return true;
                }
                conn->stuck_ns = 0;
                conn->left += length;
                conn->left_count -= (size_t)length;
        }
        return false;
}

static void conn_flush(struct conn *conn)
{
        for (unsigned i = 0; i < WRITES_PER_STEP; i++) {
                ssize_t count;

                if (write_left(conn))
                        break;
                count = conn->protocol->next_bytes(conn->owner, &conn->left);
                if (conn->state == CLOSED)
                        return;
                if (count < 0)
                        return conn_close(conn, (int)count, "the protocol was not kept");
                if (count == 0) {
                        loop_watch_change(&conn->watch, EPOLLIN);
                        if (conn->protocol->is_done(conn->owner))
                                conn_close(conn, 0, "done");
                        return;
                }
                conn->left_count = (size_t)count;
        }
        conn_wake(conn);
}

static void conn_receive(struct conn *conn)
{
        uint8_t *scratch = loop_scratch(conn->loop);

        for (unsigned i = 0; i < READS_PER_STEP && conn->state == OPEN; i++) {
                ssize_t length = conn_read(conn, scratch, LOOP_SCRATCH_BYTES);
                int r;

                if (length == -EAGAIN || length == -EINTR)
                        break;
                if (length <= 0)
                        return conn_close(conn, length ? (int)length : -ECONNRESET,
                                          length ? strerror((int)-length)
                                                 : "the peer closed the connection");
                conn->heard_ns = clock_now_ns();
                r = conn->protocol->on_bytes(conn->owner, scratch, (size_t)length);
                if (r < 0 && conn->state == OPEN)
                        return conn_close(conn, r, "the protocol was not kept");
                if (length < LOOP_SCRATCH_BYTES && !conn->tls)
                        break;
        }
}

static void conn_opened(struct conn *conn)
{
        int r;

        conn->state = OPEN;
        conn->heard_ns = clock_now_ns();
        r = conn->protocol->on_open(conn->owner);
        if (r < 0)
                return conn_close(conn, r, strerror(-r));
        conn_wake(conn);
}

static void conn_shake_hands(struct conn *conn)
{
        struct err e = { 0 };
        int r = tls_handshake(conn->tls, &e);

        if (r == -EAGAIN)
                loop_watch_change(&conn->watch, tls_wants_write(conn->tls) ? EPOLLOUT : EPOLLIN);
        else if (r < 0)
                conn_close(conn, r, e.text);
        else
                conn_opened(conn);
}

static void conn_connected(struct conn *conn)
{
        int error = 0;
        socklen_t length = sizeof error;

        getsockopt(conn->watch.fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error)
                return conn_close(conn, -error, strerror(error));
        if (!conn->tls)
                return conn_opened(conn);
        conn->state = HANDSHAKE;
        conn_shake_hands(conn);
}

static void on_event(struct loop_watch *watch, uint32_t events)
{
        struct conn *conn = container_of(watch, struct conn, watch);

        if (conn->state == CONNECTING)
                return conn_connected(conn);
        if (conn->state == HANDSHAKE)
                return conn_shake_hands(conn);
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                conn_receive(conn);
        if (conn->state == OPEN)
                conn_flush(conn);
}

int conn_new(struct loop *loop, int fd, struct tls_session *tls,
             const struct conn_protocol *protocol, void *owner, struct conn **ret_conn)
{
        struct conn *conn = calloc(1, sizeof *conn);
        int r = conn ? 0 : -ENOMEM;

        if (r == 0) {
                conn->loop = loop;
                conn->tls = tls;
                conn->protocol = protocol;
                conn->owner = owner;
                conn->heard_ns = clock_now_ns();
                conn->end.run = conn_end;
                conn->watch.on_event = on_event;
                /* A socket that was accepted is writable at once: the same way for both sides. */
                r = loop_watch_add(loop, &conn->watch, fd, EPOLLOUT);
        }
        if (r < 0) {
                tls_session_free(tls);
                close(fd);
                free(conn);
                return r;
        }
        *ret_conn = conn;
        return 0;
}
