/* tenant_check: does a container hold more than it says? Pure: figures of one moment after the other in,
 * what is certain by now out. The driver's figures lag behind and round, and programs start and end
 * between two looks: only what shows several times in a row counts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum cheat {
        CHEAT_MEMORY,   /* the driver knows of more memory than its account */
        CHEAT_STRANGER, /* a process of its own is on the card and not in its account */
        CHEAT_ACCOUNT,  /* its account was written by hand */
        CHEAT_COMPUTE,  /* the driver knows of more GPU time */
        CHEATS,
};
extern const char *const cheat_names[CHEATS]; /* "memory" … */

/* Is the difference more than figures that are taken at two moments explain? `exempt_bytes` need not be
 * in the account. */
bool tenant_holds_more(uint64_t driver_bytes, uint64_t account_bytes, uint64_t exempt_bytes);
/* Ratios of a device's time. */
bool tenant_runs_more(double driver_ratio, double account_ratio);

/* Of one container. Zeroed. */
struct tenant_record {
        unsigned looks[CHEATS]; /* in a row */
        bool is_certain[CHEATS];
        bool is_held_back; /* for what was certain before this record began */
        unsigned clean;    /* looks in a row without any */
        uint64_t counts[CHEATS];
};

/* seen: a bit for each enum cheat. A bit for each that has become certain with this look. */
unsigned tenant_check(struct tenant_record *record, unsigned seen);
/* True with the look that ends all: it has been clean for a minute. */
bool tenant_check_is_over(struct tenant_record *record);
