/* A tenant as the arbiter sees it: its share and its pages. */
#pragma once

#include <stdbool.h>

#include "gpu_page.h"
#include "share.h"
#include "turns.h"

struct tenant {
        char path[SHARE_TEXT]; /* of its share */
        struct share share;
        struct gpu_grant_file *grants;
        struct gpu_want_file *wants;
        uint64_t inode;        /* of the want file: another file is another tenant */
        uint32_t bell_seen;    /* when its lanes were last read */
        unsigned device_count; /* pages that both files have */
        struct {
                int gpu, id;          /* its place among the arbiter's GPUs and their tenants */
                uint32_t number_base; /* numbers of turns go on where an earlier arbiter's ended */
                uint32_t told;        /* the word last written */
                uint64_t unsaid_ns;   /* GPU time that the driver saw and the tenant did not say */
        } places[SHARE_DEVICES];
};

int tenant_open(const char *share_path, struct tenant *ret_tenant, struct err *e);
void tenant_close(struct tenant *tenant);
/* True: the files at its path are no longer the ones that were opened. */
bool tenant_is_stale(const struct tenant *tenant);

/* Lets go of what was looked at, until it is looked at again. */
void tenant_rest(struct tenant *tenant);

void tenant_limits(const struct tenant *tenant, unsigned device, struct turns_limits *ret_limits);
/* Reads the lanes. Everything is the tenant's word, and bounded. */
void tenant_report(const struct tenant *tenant, unsigned device, struct turns_report *ret_report);

/* Writes what it is to know; true: something changed, and the lanes must be read again. */
bool tenant_tell(struct tenant *tenant, unsigned device, const struct turns_word *word);
/* Writes a sign of life and the figures for those who look. */
void tenant_beat(struct tenant *tenant, unsigned device, const struct turns *turns,
                 uint64_t now_ns);
/* What an earlier arbiter had counted goes on. */
void tenant_counts(const struct tenant *tenant, unsigned device, struct turns_tenant *ret_counts);
/* From now on nobody keeps turns for it. */
void tenant_let_go(struct tenant *tenant);
