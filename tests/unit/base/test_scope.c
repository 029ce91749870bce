/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of scope: what is owned is released once, what is stolen is not. */
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "unit.h"

static int open_null(void)
{
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int closed_by_scope(void)
{
        autoclose int fd = open_null();

        return fd;
}

static int handed_on(void)
{
        autoclose int fd = open_null();

        return steal_fd(fd);
}

TEST(a_descriptor_closes_at_the_end_of_its_scope)
{
        int fd = closed_by_scope();

        CHECK_EQ(fcntl(fd, F_GETFD), -1);
        CHECK_EQ(errno, EBADF);
}

TEST(a_stolen_descriptor_stays_open)
{
        int fd = handed_on();

        CHECK(fcntl(fd, F_GETFD) >= 0);
        close(fd);
}

TEST(a_stolen_pointer_is_not_freed)
{
        char *kept = NULL;
        {
                autofree char *text = strdup("kept");
                kept = steal(text);
                CHECK(text == NULL);
        }
        CHECK_STR(kept, "kept");
        free(kept);
}

TEST(a_mutex_is_unlocked_at_the_end_of_its_scope)
{
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        {
                autounlock pthread_mutex_t *held = scope_lock(&mutex);
                CHECK_EQ(pthread_mutex_trylock(&mutex), EBUSY);
        }
        CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
        pthread_mutex_unlock(&mutex);
}

int main(void)
{
        return RUN(CASE(a_descriptor_closes_at_the_end_of_its_scope),
                   CASE(a_stolen_descriptor_stays_open), CASE(a_stolen_pointer_is_not_freed),
                   CASE(a_mutex_is_unlocked_at_the_end_of_its_scope));
}
