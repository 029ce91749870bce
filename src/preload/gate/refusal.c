/* SPDX-License-Identifier: Apache-2.0 */
/* refusal: a program sees OUT_OF_MEMORY; its user wants to know whose. */
#include "refusal.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "ledger.h"
#include "limits.h"
#include "log.h"
#include "quantity.h"

static void virtual_text(unsigned device_index, char text[96])
{
        char held[QUANTITY_TEXT_BYTES], limit[QUANTITY_TEXT_BYTES];
        const uint64_t bytes = limits_virtual_bytes(device_index);

        text[0] = '\0';
        if (!bytes)
                return;
        quantity_format_bytes(ledger_virtual_bytes(device_index), held);
        quantity_format_bytes(bytes, limit);
        snprintf(text, 96, ", and %s of %s on the host", held, limit);
}

static void held_tell(enum log_level level, unsigned device_index, const char *asked,
                      enum refusal_by by, uint64_t taken)
{
        const uint64_t limit = limits_physical_bytes(device_index);
        char held_text[QUANTITY_TEXT_BYTES], limit_text[QUANTITY_TEXT_BYTES];
        char more[96], name[64], source[72] = "";

        ledger_reap_to_refuse(); /* what the dead held is held no more, whoever refuses */
        const uint64_t held = ledger_used_bytes(device_index);
        quantity_format_bytes(held > taken ? held - taken : 0, held_text);
        if (limit == UINT64_MAX) {
                log_write(level,
                          "%s refused on device %u by the driver: the GPU is full; %s are held, "
                          "and there is no memory limit",
                          asked, device_index, held_text);
                return;
        }
        quantity_format_bytes(limit, limit_text);
        virtual_text(device_index, more);
        limits_memory_name(device_index, name);
        if (name[0])
                snprintf(source, sizeof source, " (%s)", name);
        if (by == REFUSAL_LIMIT)
                log_write(level, "%s refused on device %u by the limit%s: %s of %s are held%s",
                          asked, device_index, source, held_text, limit_text, more);
        else
                log_write(level,
                          "%s refused on device %u by the driver, not by the limit: the GPU is "
                          "full; of the limit%s %s of %s are held%s",
                          asked, device_index, source, held_text, limit_text, more);
}

static void tell(int device_index, uint64_t bytes, enum refusal_by by, uint64_t taken)
{
        static atomic_bool is_told[REFUSALS];
        const bool is_first = !atomic_load_explicit(&is_told[by], memory_order_relaxed) &&
                              !atomic_exchange(&is_told[by], true);
        const enum log_level level = is_first ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
        char asked[QUANTITY_TEXT_BYTES];

        if (by == REFUSAL_LIMIT && device_index >= 0)
                ledger_count_refusal((unsigned)device_index);
        if (!log_shows(level))
                return;
        quantity_format_bytes(bytes, asked);
        if (!bytes) /* how much contexts and code take only the driver knows */
                snprintf(asked, sizeof asked, "memory");
        if (device_index < 0)
                log_write(level, "%s refused: the share has no part of this GPU", asked);
        else
                held_tell(level, (unsigned)device_index, asked, by, taken);
}

void refusal_tell(int device_index, uint64_t bytes, enum refusal_by by)
{
        tell(device_index, bytes, by, 0);
}

void refusal_tell_taken(int device_index, uint64_t bytes)
{
        tell(device_index, bytes, REFUSAL_LIMIT, bytes);
}
