/* The GPUs of this machine, real or simulated, by UUID. One that is cut into MIG devices is not among them:
 * they are, each for itself. */
#pragma once

#include "err.h"
#include "gpu_page.h"
#include "share_layout.h"

struct gpu_list {
        unsigned count;
        char uuids[SHARE_DEVICES][SHARE_UUID];
        struct gpu_card cards[SHARE_DEVICES];
        char machine[GPU_PAGE_MACHINE]; /* two machines may have GPUs of the same UUIDs */
};

/* From a machine file. */
int gpus_simulated(const char *machine_path, struct gpu_list *ret_list, struct err *e);
/* From the libnvidia-ml.so.1 that a program would find. */
int gpus_real(struct gpu_list *ret_list, struct err *e);
