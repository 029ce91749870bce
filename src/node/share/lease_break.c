/* SPDX-License-Identifier: Apache-2.0 */
/* One thread for each share, and few at a time. */
#include "lease_break.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "share_folder.h"
#include "str.h"

enum { SHARES_MOST = 16, KEPT_S = 2, STACK_BYTES = 256 << 10 };

static struct {
        pthread_mutex_t lock;
        char paths[SHARES_MOST][SHARE_TEXT]; /* "": free */
} lease_breaks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *files_await(void *argument)
{
        static const char *const names[] = { "share", "region", "grant", "want" };
        enum { FILES = sizeof names / sizeof *names };
        char *share_path = argument, path[SHARE_TEXT];
        int fds[FILES];

        for (unsigned i = 0; i < FILES; i++) {
                share_folder_beside(share_path, names[i], path);
                fds[i] = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        }
        sleep(KEPT_S);
        for (unsigned i = 0; i < FILES; i++)
                if (fds[i] >= 0)
                        close(fds[i]);
        pthread_mutex_lock(&lease_breaks.lock);
        *share_path = '\0';
        pthread_mutex_unlock(&lease_breaks.lock);
        return NULL;
}

static void thread_start(char *share_path)
{
        pthread_attr_t attributes;
        sigset_t set, before;
        pthread_t thread;

        sigfillset(&set);
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        pthread_sigmask(SIG_SETMASK, &set, &before);
        if (pthread_create(&thread, &attributes, files_await, share_path) != 0)
                *share_path = '\0';
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
}

/* Under the lock. NULL: somebody waits already, or too many do. */
static char *path_keep(const char *share_path)
{
        char *free = NULL;

        for (unsigned i = 0; i < SHARES_MOST; i++) {
                if (strcmp(lease_breaks.paths[i], share_path) == 0)
                        return NULL;
                if (!lease_breaks.paths[i][0])
                        free = lease_breaks.paths[i];
        }
        if (free)
                str_copy(free, SHARE_TEXT, share_path);
        return free;
}

void lease_break(const char *share_path)
{
        if (str_starts_with(share_path, "/proc/"))
                return;
        pthread_mutex_lock(&lease_breaks.lock);
        char *kept = path_keep(share_path);
        if (kept)
                thread_start(kept);
        pthread_mutex_unlock(&lease_breaks.lock);
}
