/* SPDX-License-Identifier: Apache-2.0 */
/* Unix and TCP sockets by one name. */
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "scope.h"
#include "str.h"

static int parse_unix(const char *path, struct address *ret_address, struct err *e)
{
        struct sockaddr_un *un = (struct sockaddr_un *)&ret_address->storage;

        if (*path == '\0' || strlen(path) >= sizeof un->sun_path)
                return err_set(e, -ENAMETOOLONG,
                               "the socket path '%.120s' must have 1 to %zu characters", path,
                               sizeof un->sun_path - 1);
        memset(ret_address, 0, sizeof *ret_address);
        un->sun_family = AF_UNIX;
        str_copy(un->sun_path, sizeof un->sun_path, path);
        ret_address->length = sizeof *un;
        snprintf(ret_address->text, sizeof ret_address->text, "unix:%s", path);
        return 0;
}

int address_parse(const char *text, struct address *ret_address, struct err *e)
{
        const char *colon = strrchr(text, ':');
        const char *host = text;
        char name[128];
        size_t length;

        if (str_starts_with(text, "unix:"))
                return parse_unix(text + strlen("unix:"), ret_address, e);
        if (!colon)
                return err_set(e, -EINVAL,
                               "'%.100s' is not an address (examples: unix:/run/vgpu/node.sock, "
                               "127.0.0.1:8443, [::1]:8443)",
                               text);
        length = (size_t)(colon - text);
        if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
                host++;
                length -= 2;
        }
        if (length >= sizeof name)
                return err_set(e, -EINVAL, "the host in '%.100s' is too long", text);
        memcpy(name, host, length);
        name[length] = '\0';
        return address_of_host(length ? name : "::", colon + 1, ret_address, e);
}

bool address_is_unix(const struct address *address)
{
        return address->storage.ss_family == AF_UNIX;
}

bool address_is_local(const struct address *address)
{
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;

        if (address->storage.ss_family == AF_INET)
                return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
        return address_is_unix(address) ||
               (address->storage.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr));
}

const char *address_path(const struct address *address)
{
        return address_is_unix(address) ? ((const struct sockaddr_un *)&address->storage)->sun_path
                                        : NULL;
}

/* A socket file that nobody serves any more would make bind fail. Nothing else is removed. */
static void remove_stale(const struct address *address)
{
        const char *path = address_path(address);
        struct stat status;

        if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
                unlink(path);
}

static int socket_open(const struct address *address, int *ret_fd)
{
        const int on = 1;
        int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        if (!address_is_unix(address)) {
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        }
        *ret_fd = fd;
        return 0;
}

int address_listen(const struct address *address, mode_t mode, int *ret_fd, struct err *e)
{
        const struct sockaddr *to = (const struct sockaddr *)&address->storage;
        autoclose int fd = -1;
        int r = socket_open(address, &fd);

        if (r < 0)
                return err_set(e, r, "cannot make a socket: %s", strerror(-r));
        if (address_is_unix(address)) {
                remove_stale(address);
                fchmod(fd, mode); /* the file is born with the socket's mode */
        }
        if (bind(fd, to, address->length) < 0 || listen(fd, SOMAXCONN) < 0)
                return err_set(e, -errno, "cannot listen on %s: %s", address->text,
                               strerror(errno));
        if (address_is_unix(address) && chmod(address_path(address), mode) < 0)
                return err_set(e, -errno, "cannot set the mode of %s: %s", address->text,
                               strerror(errno));
        *ret_fd = steal_fd(fd);
        return 0;
}

int address_dial(const struct address *address, int *ret_fd, struct err *e)
{
        const struct sockaddr *to = (const struct sockaddr *)&address->storage;
        autoclose int fd = -1;
        int r = socket_open(address, &fd);

        if (r < 0)
                return err_set(e, r, "cannot make a socket: %s", strerror(-r));
        if (connect(fd, to, address->length) < 0 && errno != EINPROGRESS)
                return err_set(e, -errno, "cannot reach %s: %s", address->text, strerror(errno));
        *ret_fd = steal_fd(fd);
        return 0;
}
