/* SPDX-License-Identifier: Apache-2.0 */
/* What work.c and stream_pool.c share. */
#pragma once

#include <pthread.h>

struct stream;

/* Guards streams, marks' stamps and tasks. Never held while waiting for the GPU. */
extern pthread_mutex_t work_lock;

/* Forgets what the stream was told to wait for. The lock is held. */
void work_drop_waits(struct stream *stream);
