/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses by name. A file of its own: a program without names does without the resolver. */
#include "address.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

int address_of_host(const char *host, const char *port, struct address *ret_address, struct err *e)
{
        const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
        struct addrinfo *found = NULL;
        int r = getaddrinfo(host, port, &hints, &found);

        if (r != 0)
                return err_set(e, -EINVAL, "cannot find '%.100s' port '%.20s': %s", host, port,
                               gai_strerror(r));
        memset(ret_address, 0, sizeof *ret_address);
        memcpy(&ret_address->storage, found->ai_addr, found->ai_addrlen);
        ret_address->length = found->ai_addrlen;
        freeaddrinfo(found);
        snprintf(ret_address->text, sizeof ret_address->text,
                 strchr(host, ':') ? "[%.100s]:%.20s" : "%.100s:%.20s", host, port);
        return 0;
}
