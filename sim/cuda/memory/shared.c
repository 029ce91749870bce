/* SPDX-License-Identifier: Apache-2.0 */
/* Contents in a file, so that another process can have them too. */
#include "shared.h"

#include <errno.h>
#include <sys/mman.h>

#include "contents.h"

static int map_over(struct piece *run, int flags, int fd)
{
        void *at = mmap(run_bytes(run), run->count * PAGE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_FIXED | flags, fd, 0);

        return at == MAP_FAILED ? -errno : 0;
}

int shared_map(struct piece *run, int fd)
{
        int r = map_over(run, MAP_SHARED | MAP_NORESERVE, fd);

        if (r == 0)
                contents_make_direct(run_pages(run), run->count, WRITER_OTHER);
        return r;
}

int shared_make(struct piece *run, int fd)
{
        contents_settle(run_bytes(run), run_pages(run), run->count);
        int r = contents_save(run_bytes(run), run_pages(run), run->count, fd);
        return r < 0 ? r : shared_map(run, fd);
}

void shared_unmap(struct piece *run)
{
        contents_disown(run_pages(run), run->count);
        if (map_over(run, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1) == 0)
                madvise(run_bytes(run), run->count * PAGE_BYTES, MADV_NOHUGEPAGE);
}
