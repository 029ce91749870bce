/* SPDX-License-Identifier: Apache-2.0 */
/* resolver_stub: replaces lib/net/address_host.c. The agent is a unix socket, and a static program has no
 * resolver of the C library. */
#include "address.h"

#include <errno.h>

int address_of_host(const char *host, const char *port, struct address *ret_address, struct err *e)
{
        (void)host, (void)port, (void)ret_address;
        return err_set(e, -ENOTSUP, "this program cannot resolve host names");
}
