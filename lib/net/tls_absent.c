/* SPDX-License-Identifier: Apache-2.0 */
/* tls_absent: no TLS, in the place of tls.c, for programs that speak with the agent over its unix socket
 * alone: loading GnuTLS takes longer than all else that a start of vgpu-runtime, or `vgpu ps`, does. */
#include "tls.h"

#include <errno.h>

int tls_session_new(struct tls_context *context, int fd, const char *server_name,
                    struct tls_session **ret_session, struct err *e)
{
        (void)context, (void)fd, (void)server_name, (void)ret_session;
        return err_set(e, -ENOTSUP, "this program has no TLS");
}

/* There is no session that these could be called with. */
void tls_session_free(struct tls_session *session)
{
        (void)session;
}

int tls_handshake(struct tls_session *session, struct err *e)
{
        (void)session, (void)e;
        return -ENOTSUP;
}

bool tls_wants_write(const struct tls_session *session)
{
        (void)session;
        return false;
}

bool tls_is_h2(const struct tls_session *session)
{
        (void)session;
        return false;
}

ssize_t tls_read(struct tls_session *session, void *bytes, size_t count)
{
        (void)session, (void)bytes, (void)count;
        return -ENOTSUP;
}

ssize_t tls_write(struct tls_session *session, const void *bytes, size_t count)
{
        (void)session, (void)bytes, (void)count;
        return -ENOTSUP;
}

void tls_goodbye(struct tls_session *session)
{
        (void)session;
}
