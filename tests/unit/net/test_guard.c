/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of looking at files that others cut short. */
#include "guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

enum { FILES = 600, PAGE = 4096 };

TEST(of_very_many_files_each_may_be_cut_short)
{
        static volatile char *mappings[FILES];
        int fd = memfd_create("guarded", MFD_CLOEXEC);

        CHECK_EQ(ftruncate(fd, PAGE), 0);
        for (unsigned i = 0; i < FILES; i++) {
                void *mapping = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

                CHECK(mapping != MAP_FAILED);
                CHECK_EQ(guard_add(mapping, PAGE), 0);
                mappings[i] = mapping;
        }
        CHECK_EQ(ftruncate(fd, 0), 0);
        for (unsigned i = 0; i < FILES; i++) {
                CHECK_EQ(*mappings[i], 0);
                guard_remove((void *)mappings[i]);
                munmap((void *)mappings[i], PAGE);
        }
        close(fd);
}

int main(void)
{
        return RUN(CASE(of_very_many_files_each_may_be_cut_short));
}
