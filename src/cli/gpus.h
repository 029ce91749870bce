/* The GPUs of this machine, real or simulated, by UUID. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "gpu_page.h"
#include "share_layout.h"

struct gpu_list {
        unsigned count;
        char uuids[SHARE_DEVICES][SHARE_UUID];
        struct gpu_card cards[SHARE_DEVICES];
        char machine[GPU_PAGE_MACHINE]; /* two machines may have GPUs of the same UUIDs */
        bool has_mig;                   /* one of them is cut into instances */
};

/* From a machine file. */
int gpus_simulated(const char *machine_path, struct gpu_list *ret_list, struct err *e);
/* From the libnvidia-ml.so.1 that a program would find. */
int gpus_real(struct gpu_list *ret_list, struct err *e);
