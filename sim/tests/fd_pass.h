/* SPDX-License-Identifier: Apache-2.0 */
/* fd_pass: a descriptor goes over a socket to another process. */
#pragma once

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static inline struct msghdr fd_message(struct iovec *part, char *control, size_t size)
{
        return (struct msghdr){
                .msg_iov = part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = size
        };
}

static inline void fd_send(int socket, int fd)
{
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = { 0 };
        char byte = 1;
        struct iovec part = { &byte, 1 };
        struct msghdr message = fd_message(&part, control, sizeof control);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
        if (sendmsg(socket, &message, 0) != 1)
                abort();
}

/* −1: the other end is closed. */
static inline int fd_receive(int socket)
{
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
        char byte;
        struct iovec part = { &byte, 1 };
        struct msghdr message = fd_message(&part, control, sizeof control);
        int fd = -1;

        if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
                memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
        return fd;
}
