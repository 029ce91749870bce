/* SPDX-License-Identifier: Apache-2.0 */
/* reconcile: alone in the process, with pools as the driver has them. */
#include "reconcile.h"

#include "clock.h"
#include "devices.h"
#include "exported.h"
#include "graph_charge.h"
#include "limits.h"
#include "own_figure.h"
#include "pool_charge.h"
#include "presence.h"

enum { PAUSE_MS = 100 };

/* −1: none, or more than one: then a figure is not the device's. */
static int ordinal_of(unsigned device_index)
{
        int found = -1;

        for (int i = 0; i < devices_count(); i++) {
                if (devices_index(i) != (int)device_index)
                        continue;
                if (found >= 0)
                        return -1;
                found = i;
        }
        return found;
}

static bool compare(int ordinal, unsigned device_index)
{
        uint64_t figure;

        exported_check();
        pool_charge_refresh_all();
        graph_charge_refresh();
        /* 0: the process is not in the driver's list, which says nothing. */
        if (!own_figure(ordinal, &figure) || !figure)
                return false;
        uint64_t pools = pool_charge_reserved(ordinal) + graph_charge_reserved(ordinal);
        return ledger_compare(device_index, figure, pools, !limits_context_is_exempt(device_index));
}

bool reconcile(unsigned device_index)
{
        static _Atomic uint64_t last_ns;
        uint64_t now_ns = clock_now_ns();
        int ordinal = ordinal_of(device_index);

        if (ordinal < 0 || now_ns - atomic_load(&last_ns) < PAUSE_MS * NS_PER_MS)
                return false;
        atomic_store(&last_ns, now_ns);
        if (!presence_try_lock())
                return false; /* a call is in flight, and may take its time */
        bool has_given = ledger_is_open() && compare(ordinal, device_index);
        presence_unlock();
        return has_given;
}
