/* The rules. */
#include "tenant_check.h"

enum { CLEAN_LOOKS = 60, PERCENT_MORE = 5 };
#define BYTES_MORE (UINT64_C(64) << 20)

const char *const cheat_names[CHEATS] = {
        [CHEAT_MEMORY] = "memory",
        [CHEAT_STRANGER] = "stranger",
        [CHEAT_ACCOUNT] = "account",
        [CHEAT_COMPUTE] = "compute",
};

/* An account that does not add up needs no second opinion but one; utilisation is a mean of seconds. */
static const unsigned looks_needed[CHEATS] = {
        [CHEAT_MEMORY] = 3,
        [CHEAT_STRANGER] = 3,
        [CHEAT_ACCOUNT] = 2,
        [CHEAT_COMPUTE] = 5,
};

bool tenant_holds_more(uint64_t driver_bytes, uint64_t account_bytes, uint64_t exempt_bytes)
{
        const uint64_t slack = BYTES_MORE + account_bytes / 100 * PERCENT_MORE;

        return driver_bytes > account_bytes && driver_bytes - account_bytes > slack + exempt_bytes;
}

bool tenant_runs_more(double driver_ratio, double account_ratio)
{
        return driver_ratio > account_ratio + 0.10 && driver_ratio > account_ratio * 1.25;
}

unsigned tenant_check(struct tenant_record *record, unsigned seen)
{
        unsigned certain = 0;

        record->clean = seen ? 0 : record->clean + 1;
        for (unsigned i = 0; i < CHEATS; i++) {
                record->looks[i] = seen & 1u << i ? record->looks[i] + 1 : 0;
                if (record->looks[i] < looks_needed[i] || record->is_certain[i])
                        continue;
                record->is_certain[i] = true;
                record->counts[i]++;
                certain |= 1u << i;
        }
        return certain;
}

bool tenant_check_is_over(struct tenant_record *record)
{
        bool was_certain = record->is_held_back;

        if (record->clean != CLEAN_LOOKS)
                return false;
        record->is_held_back = false;
        for (unsigned i = 0; i < CHEATS; i++) {
                was_certain |= record->is_certain[i];
                record->is_certain[i] = false;
        }
        return was_certain;
}
