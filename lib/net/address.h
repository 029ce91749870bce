/* SPDX-License-Identifier: Apache-2.0 */
/* address: where to listen and whom to call: "unix:/run/x.sock", "127.0.0.1:443", "[::1]:443". */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "err.h"

struct address {
        struct sockaddr_storage storage;
        socklen_t length;
        char text[128]; /* for people */
};

/* A name instead of a number is looked up, which may take its time: numbers in daemons. */
int address_parse(const char *text, struct address *ret_address, struct err *e);
int address_of_host(const char *host, const char *port, struct address *ret_address, struct err *e);
bool address_is_unix(const struct address *address);
/* A unix socket, 127.0.0.0/8 or ::1: what is sent there leaves the machine, or the pod, by nobody's wire. */
bool address_is_local(const struct address *address);

/* A listening socket, close-on-exec and non-blocking. A unix socket that is left from before is
 * replaced; its file gets the mode. */
int address_listen(const struct address *address, mode_t mode, int *ret_fd, struct err *e);

/* The path of a unix socket; NULL: it is none. */
const char *address_path(const struct address *address);

/* A socket that is connected or about to be. */
int address_dial(const struct address *address, int *ret_fd, struct err *e);
