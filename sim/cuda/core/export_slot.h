/* SPDX-License-Identifier: Apache-2.0 */
/* export_slot: what the tables of cuGetExportTable are made of. */
#pragma once

#include "sim_cuda.h"

struct context;

typedef void (*table_slot)(void);

enum {
        RUNTIME_SLOTS = 20, /* 535 has 11; runtimes since 13.4 use slot 12 */
};

/* Success, and nothing else. */
CUresult export_slot_unused(void);

extern const table_slot export_runtime_table[RUNTIME_SLOTS];
extern const table_slot export_storage_table[4];
extern const table_slot export_integrity_table[3];

/* The context goes: destroys what runtimes keep with it. */
void export_storage_context_done(struct context *context);
