/* reconcile: alone in the process, with pools as the driver has them. */
#include "reconcile.h"

#include "clock.h"
#include "devices.h"
#include "graph_account.h"
#include "limits.h"
#include "own_figure.h"
#include "pool_account.h"
#include "presence.h"

enum { PAUSE_MS = 100 };

/* −1: none, or more than one: then a figure is not the account's. */
static int ordinal_of(unsigned account)
{
        int found = -1;

        for (int i = 0; i < devices_count(); i++) {
                if (devices_account(i) != (int)account)
                        continue;
                if (found >= 0)
                        return -1;
                found = i;
        }
        return found;
}

static bool compare(int ordinal, unsigned account)
{
        uint64_t figure;

        pool_account_refresh_all();
        graph_account_refresh();
        /* 0: the process is not in the driver's list, which says nothing. */
        if (!own_figure(ordinal, &figure) || !figure)
                return false;
        uint64_t pools = pool_account_reserved(ordinal) + graph_account_reserved(ordinal);
        return ledger_compare(account, figure, pools, !limits_context_is_exempt(account));
}

bool reconcile(unsigned account)
{
        static _Atomic uint64_t last_ns;
        uint64_t now_ns = clock_now_ns();
        int ordinal = ordinal_of(account);

        if (ordinal < 0 || now_ns - atomic_load(&last_ns) < PAUSE_MS * NS_PER_MS)
                return false;
        atomic_store(&last_ns, now_ns);
        if (!presence_try_lock())
                return false; /* a call is in flight, and may take its time */
        bool has_given = ledger_is_open() && compare(ordinal, account);
        presence_unlock();
        return has_given;
}
