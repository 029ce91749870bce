/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of device memory: which exist, which are only noted, and what they may cost. */
#include "contents.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"
#include "content_budget.h"
#include "driver.h"

/* A page's state: one bit per grain that holds bytes, and what the rest means. */
#define STATE_GRAINS  UINT64_C(0xffffffff)
#define STATE_UNIFORM (UINT64_C(1) << 32) /* all of it is page->pattern */
#define STATE_DIRECT  (UINT64_C(1) << 33) /* others write it too: read the bytes always */
#define STATE_SHARED  (UINT64_C(1) << 34) /* the bytes are a file's */
#define STATE_TWIN    (UINT64_C(1) << 35) /* the bytes are a file's that is ours alone */
#define GRAIN_BYTES   UINT64_C(65536)
#define GRAIN_MASK    (GRAIN_BYTES - 1)
enum { WINDOW_PAGES = 32 };

static struct {
        pthread_mutex_t lock;    /* guards notes that become bytes, and bytes that become notes */
        char nowhere[2 * 65536]; /* takes the writes that cannot be kept */
} contents = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void contents_lose(size_t count)
{
        machine_count(&driver.machine, COUNTER_CONTENT_DROPPED_BYTES, count);
        driver_say("device memory holds more than the machine's content budget: further bytes are "
                   "dropped");
}

static unsigned grains_in(uint64_t state)
{
        return (unsigned)__builtin_popcountll(state & STATE_GRAINS);
}

static char *page_bytes(char *at)
{
        return (char *)((uintptr_t)at & ~(uintptr_t)PAGE_MASK);
}

static void pattern_write(char *to, uint32_t pattern, size_t count)
{
        uint8_t first = (uint8_t)pattern;

        if (pattern == first * UINT32_C(0x01010101)) {
                memset(to, first, count);
                return;
        }
        /* The phase of the pattern follows the address. */
        unsigned phase = (unsigned)((uintptr_t)to & 3);
        uint32_t rotated = phase ? pattern >> 8 * phase | pattern << (32 - 8 * phase) : pattern;
        size_t done = 0;
        for (; done + sizeof rotated <= count; done += sizeof rotated)
                memcpy(to + done, &rotated, sizeof rotated);
        memcpy(to + done, &rotated, count - done);
}

/* Turns a note into bytes. False: the budget does not allow it, the note stays. */
static bool page_settle(struct page *page, char *start)
{
        bool is_done = true;

        if (!budget_take(PAGE_BYTES))
                return !(atomic_load(&page->state) & STATE_UNIFORM);
        pthread_mutex_lock(&contents.lock);
        uint64_t state = atomic_load(&page->state);
        if (state & STATE_UNIFORM) {
                pattern_write(start, page->pattern, PAGE_BYTES);
                atomic_store(&page->state, (state & ~STATE_UNIFORM) | STATE_GRAINS);
        } else {
                is_done = false;
        }
        pthread_mutex_unlock(&contents.lock);
        if (!is_done)
                budget_give(PAGE_BYTES);
        return true;
}

static uint64_t grain_bits(size_t offset, size_t count)
{
        size_t first = offset / GRAIN_BYTES;
        size_t last = (offset + count - 1) / GRAIN_BYTES;

        return (STATE_GRAINS >> (31 - (last - first))) << first;
}

/* Makes bytes of a page writable. False: they cannot be kept. */
static bool page_prepare(struct page *page, char *at, size_t count)
{
        uint64_t state = atomic_load_explicit(&page->state, memory_order_acquire);

        if (state & STATE_UNIFORM) {
                if (!page_settle(page, page_bytes(at)))
                        return false;
                state = atomic_load(&page->state);
        }
        uint64_t missing = grain_bits((uintptr_t)at & PAGE_MASK, count) & ~state;
        if (!missing)
                return true;
        if (!budget_take(grains_in(missing) * GRAIN_BYTES))
                return false;
        uint64_t before = atomic_fetch_or(&page->state, missing);
        uint64_t extra = missing & before;
        if (extra)
                budget_give(grains_in(extra) * GRAIN_BYTES);
        return true;
}

/* Private bytes are forgotten, a file's must be taken out of it. */
static void bytes_drop(char *start, size_t count, uint64_t state)
{
        madvise(start, count, state & STATE_TWIN ? MADV_REMOVE : MADV_DONTNEED);
}

/* A whole page becomes one value: no bytes needed. */
static void page_note(struct page *page, char *start, uint32_t pattern)
{
        pthread_mutex_lock(&contents.lock);
        uint64_t state = atomic_load(&page->state);
        if (state & (STATE_GRAINS | STATE_DIRECT))
                bytes_drop(start, PAGE_BYTES, state);
        page->pattern = pattern;
        atomic_store(&page->state,
                     (state & ~(STATE_GRAINS | STATE_UNIFORM)) | (pattern ? STATE_UNIFORM : 0));
        pthread_mutex_unlock(&contents.lock);
        budget_give(grains_in(state) * GRAIN_BYTES);
}

/* Of the pages that the host reads too, only zero needs no bytes. */
static bool page_takes_note(struct view to, uint32_t pattern, size_t count)
{
        if (!to.page || count != PAGE_BYTES || (uintptr_t)to.bytes & PAGE_MASK)
                return false;
        uint64_t state = atomic_load(&to.page->state);
        return !(state & STATE_DIRECT) || (!pattern && !(state & STATE_SHARED));
}

/* What reading a piece of a page gives: its bytes (true), or one pattern. */
static bool view_has_bytes(struct view view, size_t count, uint32_t *ret_pattern)
{
        if (!view.page)
                return true;
        uint64_t state = atomic_load_explicit(&view.page->state, memory_order_acquire);
        *ret_pattern = state & STATE_UNIFORM ? view.page->pattern : 0;
        if (state & STATE_DIRECT)
                return true;
        return state & grain_bits((uintptr_t)view.bytes & PAGE_MASK, count);
}

/* Writing zeros where nothing is changes nothing. */
static bool view_is_blank(struct view view, size_t count)
{
        uint64_t state = view.page ? atomic_load(&view.page->state) : 0;

        return view.page && !(state & (STATE_UNIFORM | STATE_DIRECT)) &&
               !(state & grain_bits((uintptr_t)view.bytes & PAGE_MASK, count));
}

static bool is_zero(const char *bytes, size_t count)
{
        return !bytes[0] && !memcmp(bytes, bytes + 1, count - 1);
}

static void piece_fill(struct view to, uint32_t pattern, size_t count)
{
        if (page_takes_note(to, pattern, count))
                page_note(to.page, to.bytes, pattern);
        else if (!pattern && view_is_blank(to, count))
                return;
        else if (!to.page || page_prepare(to.page, to.bytes, count))
                pattern_write(to.bytes, pattern, count);
        else
                contents_lose(count);
}

static void piece_copy(struct view to, struct view from, size_t count)
{
        uint32_t pattern = 0;

        if (!view_has_bytes(from, count, &pattern)) {
                /* Patterns keep their phase: it follows the source's address. */
                unsigned shift = 8 * (unsigned)(((uintptr_t)from.bytes - (uintptr_t)to.bytes) & 3);
                piece_fill(to, shift ? pattern >> shift | pattern << (32 - shift) : pattern, count);
        } else if (view_is_blank(to, count) && is_zero(from.bytes, count)) {
                return;
        } else if (!to.page || page_prepare(to.page, to.bytes, count)) {
                memmove(to.bytes, from.bytes, count);
        } else {
                contents_lose(count);
        }
}

/* How much of `count` stays within the page, or the grain, of a view. */
static size_t view_reach(struct view view, size_t count, uint64_t mask)
{
        size_t left = mask + 1 - ((uintptr_t)view.bytes & mask);

        return view.page && left < count ? left : count;
}

static struct view view_forward(struct view view, size_t count)
{
        uintptr_t next = (uintptr_t)view.bytes + count;
        uintptr_t page = next / PAGE_BYTES - (uintptr_t)view.bytes / PAGE_BYTES;

        return (struct view){ (char *)next, view.page ? view.page + page : NULL };
}

static bool view_is_aligned(struct view view)
{
        return !view.page || !((uintptr_t)view.bytes & PAGE_MASK);
}

void contents_copy(struct view to, struct view from, size_t count)
{
        while (count) {
                /* Whole pages at once where both sides allow it, else grains. */
                uint64_t mask = count >= PAGE_BYTES && view_is_aligned(to) &&
                                                view_is_aligned(from) && from.page &&
                                                atomic_load(&from.page->state) & STATE_UNIFORM
                                        ? PAGE_MASK
                                        : GRAIN_MASK;
                if (mask == GRAIN_MASK && count >= PAGE_BYTES && view_is_aligned(to) &&
                    view_is_aligned(from) && from.page &&
                    !(atomic_load(&from.page->state) & (STATE_GRAINS | STATE_DIRECT)))
                        mask = PAGE_MASK;
                size_t step = view_reach(to, view_reach(from, count, mask), mask);
                if (!to.page && !from.page)
                        step = count;
                piece_copy(to, from, step);
                to = view_forward(to, step);
                from = view_forward(from, step);
                count -= step;
        }
}

void contents_fill(struct view to, uint32_t pattern, size_t count)
{
        while (count) {
                size_t step = view_reach(to, count, PAGE_MASK);
                if (step < PAGE_BYTES)
                        step = view_reach(to, step, GRAIN_MASK);
                piece_fill(to, pattern, step);
                to = view_forward(to, step);
                count -= step;
        }
}

/* The run of set bits around [first, last]: how many before and after. */
static void grain_run(uint64_t bits, size_t first, size_t last, size_t *ret_before,
                      size_t *ret_after)
{
        size_t low = first, high = last;

        while (low && bits & UINT64_C(1) << (low - 1))
                low--;
        while (high < 31 && bits & UINT64_C(1) << (high + 1))
                high++;
        *ret_before = first - low;
        *ret_after = high - last;
}

/* Whether the address of the page can be used without asking again. */
static bool page_is_open(const struct page *page, bool is_write)
{
        uint64_t state = atomic_load_explicit(&page->state, memory_order_acquire);

        return is_write ? (state & STATE_GRAINS) == STATE_GRAINS : !(state & STATE_UNIFORM);
}

/* How far the view's neighbourhood is usable as it is. */
static void view_window(struct view view, size_t count, bool is_write, size_t *before,
                        size_t *after)
{
        size_t offset = (uintptr_t)view.bytes & PAGE_MASK;
        struct page *last = view_forward(view, count - 1).page;
        size_t end = ((uintptr_t)view.bytes + count - 1) & PAGE_MASK;

        if (!page_is_open(view.page, is_write) || !page_is_open(last, is_write)) {
                size_t grains_before = 0, grains_after = 0;
                if (last == view.page)
                        grain_run(atomic_load(&view.page->state) & STATE_GRAINS,
                                  offset / GRAIN_BYTES, end / GRAIN_BYTES, &grains_before,
                                  &grains_after);
                *before = (offset & GRAIN_MASK) + grains_before * GRAIN_BYTES;
                *after = GRAIN_BYTES - 1 - (end & GRAIN_MASK) + grains_after * GRAIN_BYTES;
                return;
        }
        *before = offset;
        *after = PAGE_BYTES - 1 - end;
}

/* Extends the window over whole neighbouring pages, within the bounds the caller knows. */
static void window_extend(struct view view, size_t count, bool is_write, size_t limit_before,
                          size_t limit_after, size_t *before, size_t *after)
{
        struct page *last = view_forward(view, count - 1).page;

        if (!page_is_open(view.page, is_write) || !page_is_open(last, is_write))
                return;
        for (int i = 1; i <= WINDOW_PAGES && *before < limit_before; i++) {
                if (!page_is_open(view.page - i, is_write))
                        break;
                *before += PAGE_BYTES;
        }
        for (int i = 1; i <= WINDOW_PAGES && *after < limit_after; i++) {
                if (!page_is_open(last + i, is_write))
                        break;
                *after += PAGE_BYTES;
        }
}

/* Makes each page of the view usable. */
static bool view_prepare(struct view view, size_t count, bool is_write)
{
        while (count) {
                size_t step = view_reach(view, count, PAGE_MASK);
                uint64_t state = atomic_load(&view.page->state);
                if (is_write ? !page_prepare(view.page, view.bytes, step)
                             : state & STATE_UNIFORM &&
                                       !page_settle(view.page, page_bytes(view.bytes)))
                        return false;
                view = view_forward(view, step);
                count -= step;
        }
        return true;
}

void *contents_open(struct view view, size_t count, bool is_write, size_t *ret_before,
                    size_t *ret_after)
{
        size_t limit_before = *ret_before, limit_after = *ret_after;

        if (!view.page)
                return view.bytes;
        if (!view_prepare(view, count, is_write)) {
                contents_lose(count);
                *ret_before = *ret_after = 0;
                return count <= sizeof contents.nowhere ? contents.nowhere : NULL;
        }
        view_window(view, count, is_write, ret_before, ret_after);
        window_extend(view, count, is_write, limit_before, limit_after, ret_before, ret_after);
        if (*ret_before > limit_before)
                *ret_before = limit_before;
        if (*ret_after > limit_after)
                *ret_after = limit_after;
        return view.bytes;
}

void contents_make_direct(struct page *pages, size_t count, enum contents_writer writer)
{
        uint64_t state = STATE_DIRECT | (writer == WRITER_TWIN    ? STATE_TWIN
                                         : writer == WRITER_OTHER ? STATE_SHARED
                                                                  : 0);

        for (size_t i = 0; i < count; i++)
                atomic_fetch_or(&pages[i].state, state);
}

void contents_settle(char *bytes, struct page *pages, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (atomic_load(&pages[i].state) & STATE_UNIFORM &&
                    !page_settle(&pages[i], bytes + i * PAGE_BYTES))
                        contents_lose(PAGE_BYTES);
}

static int grain_save(const char *bytes, size_t offset, int fd)
{
        for (size_t done = 0; done < GRAIN_BYTES;) {
                ssize_t n = pwrite(fd, bytes + offset + done, GRAIN_BYTES - done,
                                   (off_t)(offset + done));
                if (n < 0)
                        return -errno;
                done += (size_t)n;
        }
        return 0;
}

int contents_save(const char *bytes, struct page *pages, size_t count, int fd)
{
        int r = 0;

        for (size_t i = 0; r == 0 && i < count; i++) {
                uint64_t state = atomic_load(&pages[i].state);
                for (unsigned g = 0; r == 0 && g < 32; g++)
                        if (state & UINT64_C(1) << g)
                                r = grain_save(bytes, i * PAGE_BYTES + g * GRAIN_BYTES, fd);
        }
        return r;
}

void contents_disown(struct page *pages, size_t count)
{
        uint64_t given = 0;

        for (size_t i = 0; i < count; i++)
                if (atomic_load_explicit(&pages[i].state, memory_order_relaxed))
                        given += grains_in(atomic_exchange(&pages[i].state, 0)) * GRAIN_BYTES;
        if (given)
                budget_give(given);
}

void contents_drop(char *bytes, struct page *pages, size_t count)
{
        size_t run = 0;

        for (size_t i = 0; i <= count; i++) {
                if (i < count && atomic_load(&pages[i].state) & (STATE_GRAINS | STATE_DIRECT)) {
                        run++;
                        continue;
                }
                if (run)
                        bytes_drop(bytes + (i - run) * PAGE_BYTES, run * PAGE_BYTES,
                                   atomic_load(&pages[i - run].state));
                run = 0;
        }
        contents_disown(pages, count);
}
