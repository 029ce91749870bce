/* SPDX-License-Identifier: Apache-2.0 */
/* own_containers: containers without Kubernetes, whose shares vgpu-runtime makes of their variables: they
 * are taken into the book when they start and out of it when they are gone. The files stay the
 * runtime's. */
#pragma once

#include "folder_watch.h"
#include "share_book.h"

struct own_containers {
        const char *folder; /* the runtime's: in it a folder HASH-ID for each container */
        struct share_book *book;
        struct folder_watch watch;
        uint64_t checked_ns;
};

/* folder and book are set. Reads the folder at once. */
int own_containers_open(struct loop *loop, struct own_containers *containers);
/* A container may have started just now: reads the folder, if that was not done a moment ago. */
void own_containers_check(void *containers);
void own_containers_close(struct own_containers *containers);
