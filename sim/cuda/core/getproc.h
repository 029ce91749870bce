/* SPDX-License-Identifier: Apache-2.0 */
/* getproc: the rows of cuGetProcAddress; the generator writes them from api/cuda.tbl. */
#pragma once

struct getproc_row {
        const char *name; /* what a program asks for: "cuMemAlloc" */
        int version;      /* the first CUDA version that answers with this function */
        int flag;         /* 0, or 2: for the per-thread default stream */
        const char *symbol;
        void (*function)(void);
};

extern const struct getproc_row getproc_rows[]; /* sorted by name, flag, version */
extern const unsigned getproc_row_count;

/* The version the driver says it has, before cuInit too. Functions newer than it do not exist. */
unsigned driver_version(void);
