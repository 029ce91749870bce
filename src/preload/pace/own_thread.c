/* SPDX-License-Identifier: Apache-2.0 */
/* own_thread: with no signal of the program's, and nobody who joins it. */
#include "own_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include "libc_lookup.h"
#include "log.h"

typedef int pthread_create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* Looked up, because it moved from one library to another between the releases of glibc that we run
 * with. The program's signals are its own threads'. */
bool own_thread_start(void *(*run)(void *), void *argument, const char *purpose)
{
        pthread_create_fn *create =
                (pthread_create_fn *)libc_dlsym()(RTLD_DEFAULT, "pthread_create");
        sigset_t all, before;
        pthread_attr_t detached;
        pthread_t thread;

        if (!create || pthread_attr_init(&detached) != 0)
                return false;
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &before);
        const int r = create(&thread, &detached, run, argument);
        sigprocmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&detached);
        if (r != 0)
                log_warn("no thread to %s: error %d", purpose, r);
        return r == 0;
}
