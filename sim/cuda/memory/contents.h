/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of device memory. A page that nobody wrote is zero and costs nothing; one that was
 * filled with one value is a note; what else is written counts against the machine's budget, and
 * beyond it is dropped, counted and said. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page;

/* Bytes and the page they lie in. No page: ordinary memory of the process. */
struct view {
        char *bytes;
        struct page *page;
};

/* Copies; source and destination may be the same page but must not overlap. */
void contents_copy(struct view to, struct view from, size_t count);
/* Fills with a pattern of four bytes that begins at a multiple of its element's size. */
void contents_fill(struct view to, uint32_t pattern, size_t count);

/* Where to read or write [view, view + count), for someone who uses the address directly, and how
 * far before and behind it the same holds. Writing where nothing can be kept goes nowhere. */
void *contents_open(struct view view, size_t count, bool is_write, size_t *ret_before,
                    size_t *ret_after);

/* Pages that somebody writes without us: always read. */
enum contents_writer {
        WRITER_HOST,  /* the program, at this address */
        WRITER_TWIN,  /* the program, through another mapping of a file that is ours alone */
        WRITER_OTHER, /* another process: the file is not ours to empty */
};
void contents_make_direct(struct page *pages, size_t count, enum contents_writer writer);
/* Writes out the notes: afterwards the bytes themselves hold everything. */
void contents_settle(char *bytes, struct page *pages, size_t count);
/* Writes what pages hold to the same offset of a file. 0 or a negative errno. */
int contents_save(const char *bytes, struct page *pages, size_t count, int fd);
/* Gives back what whole pages hold; they are zero afterwards. */
void contents_drop(char *bytes, struct page *pages, size_t count);
/* The same for pages that were replaced by other memory already. */
void contents_disown(struct page *pages, size_t count);
