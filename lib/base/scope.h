/* SPDX-License-Identifier: Apache-2.0 */
/* scope: what a variable owns is released when it goes out of scope; steal() hands it on. */
#pragma once

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static inline void scope_free(void *pointer)
{
        free(*(void **)pointer);
}

static inline void scope_close(int *fd)
{
        if (*fd >= 0)
                close(*fd);
}

static inline void scope_unlock(pthread_mutex_t **mutex)
{
        if (*mutex)
                pthread_mutex_unlock(*mutex);
}

static inline pthread_mutex_t *scope_lock(pthread_mutex_t *mutex)
{
        pthread_mutex_lock(mutex);
        return mutex;
}

static inline int scope_steal_fd(int *fd)
{
        int stolen = *fd;
        *fd = -1;
        return stolen;
}

#define autofree  __attribute__((cleanup(scope_free)))
#define autoclose __attribute__((cleanup(scope_close)))

/* autounlock pthread_mutex_t *held = scope_lock(&mutex); */
#define autounlock __attribute__((cleanup(scope_unlock), unused))

#define steal(pointer)                           \
        ({                                       \
                __auto_type stolen_ = (pointer); \
                (pointer) = NULL;                \
                stolen_;                         \
        })
#define steal_fd(fd) scope_steal_fd(&(fd))
