/* SPDX-License-Identifier: Apache-2.0 */
/* The share file: make, change, read. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "share_layout.h"

struct share {
        struct share_file *file;
        bool is_writable;
};

/* Makes the file with this content. -EEXIST. Nothing is left behind on failure. */
int share_create(const char *path, const struct share_copy *content, struct err *e);
/* Maps it. -EPROTO: no share file, another release's, or damaged. The caller closes it. */
int share_open(const char *path, bool is_writable, struct share *ret_share, struct err *e);
void share_close(struct share *share);

/* The copy in use. Its words change under a reader only when the owner changes the share twice
 * meanwhile; each word is whole at any time. */
const struct share_copy *share_current(const struct share *share);

/* The content, read once into the caller's memory and checked there: for files that others than their
 * reader may write to, and for all that is decided by more than one read. -EPROTO: it is not right, or
 * does not hold still. */
int share_read(const struct share *share, struct share_copy *ret_copy, struct err *e);
/* Which generation is in use: another content has another. */
uint64_t share_generation(const struct share *share);
/* How many devices there are to read, never more than there can be: read once, whoever writes. */
unsigned share_device_count(const struct share_copy *copy);

/* Replaces the content; holders see it at once. The owner alone calls it, one thread at a time. The
 * generation is set by this call. */
int share_update(struct share *share, const struct share_copy *content, struct err *e);

/* What no checksum covers is made right: which copy is in use, and whether compute is limited. An owner that was killed
 * amid a change, or a bit that flipped, has left it otherwise. The owner calls it when it opens the share. true: it was
 * not right. */
bool share_mend(struct share *share);

/* Whether its processes are to take time slices like other containers, though nothing limits them. Nothing
 * happens to a share that is not writable. */
void share_set_timeslices(struct share *share, bool takes_timeslices);

/* Position of the device in the copy, −1: not in the share. */
int share_find_device(const struct share_copy *copy, const char *uuid);

/* 0, or why the content cannot be right (a sentence in e). */
int share_check(const struct share_copy *copy, struct err *e);

/* Percent of the device's time that it may use at most; 0: no limit. */
unsigned share_cap_percent(const struct share_device *device);
/* Is compute limited, or lent and taken back, on any of its devices, and of which kind of work? A set of
 * enum share_limits. */
uint32_t share_limits_compute(const struct share_copy *copy);

/* What the container's variables said when the share was made of them; 0: nothing. */
void share_note_said(struct share_device *device, uint64_t limit_bytes, unsigned cores_percent);
uint64_t share_said_bytes(const struct share_device *device);
unsigned share_said_cores(const struct share_device *device);
