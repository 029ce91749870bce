/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant as the arbiter sees it: its share and its pages. The files may be a user's who has no rights and
 * writes to them while we read: each value is copied once into here, checked here, used from here. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "gpu_page.h"
#include "share.h"
#include "timeslices.h"

struct tenant {
        char path[SHARE_TEXT]; /* of its share */
        struct share share;
        struct gpu_grant_file *grants;
        struct gpu_want_file *wants;
        uint64_t charged_ns;   /* when its region was last read */
        uint64_t said_ns;      /* when what it says it holds last changed */
        uint64_t inode;        /* of the want file: another file is another tenant */
        uint32_t bell_seen;    /* when its process slots were last read */
        unsigned device_count; /* pages that both files have */
        /* Whose folder its files are in. Other users' are bounded together, and not believed in what concerns all. */
        uid_t owner;
        bool is_foreign;     /* of a user, and not of ours */
        uint64_t generation; /* of the share's content that the limits below are from */
        char machine[GPU_PAGE_MACHINE];
        struct {
                char uuid[SHARE_UUID];
                struct timeslices_limits limits;
                uint64_t limit_bytes;
                uint64_t charged_bytes; /* by its region, at charged_ns */
                uint64_t said_bytes;    /* by itself, at said_ns */
                int gpu, id; /* its index among the arbiter's GPUs, and among that GPU's tenants */
                uint32_t number_base; /* time slices are numbered on from an earlier arbiter's */
                uint32_t weight_sum;  /* of all its owner's tenants on that GPU */
                uint32_t granted;     /* the grant's atomic word, as last written */
                uint64_t
                        unreported_ns; /* GPU time that the driver saw and the tenant did not report */
        } devices[SHARE_DEVICES];
};

int tenant_open(const char *share_path, struct tenant *ret_tenant, struct err *e);
void tenant_close(struct tenant *tenant);
/* True: the files at its path are no longer the ones that were opened. */
bool tenant_is_stale(const struct tenant *tenant);

/* Gives the pages of its files back to the kernel, until they are read again. */
void tenant_trim(struct tenant *tenant);

/* Reads its limits again if the share was changed; true: it was. What cannot be right changes nothing. */
bool tenant_limits_refresh(struct tenant *tenant);
/* Its limits beside the other tenants of its owner: users who are not ours have one weight for all they run. */
struct timeslices_limits tenant_limits(const struct tenant *tenant, unsigned device);
/* Reads what its region charges it with, at most once a second: so much can its work touch. Sooner where it
 * has just said more: it may have been charged since. */
void tenant_charges_refresh(struct tenant *tenant, uint64_t now_ns);
/* When to do so though nobody rings; UINT64_MAX: need not. */
uint64_t tenant_charges_due_ns(const struct tenant *tenant);
/* Reads the process slots. The tenant may write anything there: every value is bounded. */
void tenant_report(const struct tenant *tenant, unsigned device,
                   struct timeslices_report *ret_report);

/* Writes what it is to know; true: something changed, and the process slots must be read again. */
bool tenant_tell(struct tenant *tenant, unsigned device, const struct timeslices_grant *decided);
/* Writes the heartbeat and the statistics. */
void tenant_beat(struct tenant *tenant, unsigned device, const struct timeslices *timeslices,
                 uint64_t now_ns);
/* What an earlier arbiter had counted goes on. */
void tenant_counts(const struct tenant *tenant, unsigned device,
                   struct timeslices_tenant *ret_counts);
/* The arbiter schedules it no longer. */
void tenant_let_go(struct tenant *tenant);
