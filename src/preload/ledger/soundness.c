/* soundness: the file, our own part, and the sums of the device that is asked for. */
#include "soundness.h"

#include <stdio.h>

#include "clock.h"
#include "log.h"
#include "region_check.h"
#include "share_layout.h"

enum {
        PAUSE_MS = 500,     /* between two looks */
        PAUSE_TIMES = 1000, /* and so many times what a look takes: in a crowd it takes a while */
        PAUSE_MOST_MS = 10000,
};

static struct {
        char path[SHARE_TEXT];
        _Atomic int fault; /* enum region_fault */
        _Atomic uint64_t next_ns;
} soundness;

void soundness_start(const char *path)
{
        snprintf(soundness.path, sizeof soundness.path, "%s", path);
}

static enum region_fault look(struct region *region, unsigned account)
{
        /* What one process has found holds for all, also for those that come later. */
        uint32_t told = atomic_load(&region->file->fault);
        enum region_fault fault =
                told ? (enum region_fault)(told < REGION_UNEVEN ? told : REGION_UNEVEN)
                     : region_check_file(region, soundness.path);

        if (fault == REGION_SOUND)
                fault = region_check_own(region);
        if (fault == REGION_SOUND)
                fault = region_check_sum(region, account);
        return fault == REGION_SOUND ? region_check_sum(region, region_virtual(account)) : fault;
}

static void tell(struct region *region, enum region_fault fault)
{
        int sound = REGION_SOUND;

        if (!atomic_compare_exchange_strong(&soundness.fault, &sound, (int)fault))
                return;
        atomic_store(&region->file->fault, fault);
        log_error("account '%s' %s; no more memory", soundness.path, region_fault_text(fault));
}

static uint64_t pause_ns(uint64_t took_ns)
{
        uint64_t wanted_ns = took_ns * PAUSE_TIMES;

        if (wanted_ns < PAUSE_MS * NS_PER_MS)
                return PAUSE_MS * NS_PER_MS;
        return wanted_ns < PAUSE_MOST_MS * NS_PER_MS ? wanted_ns : PAUSE_MOST_MS * NS_PER_MS;
}

bool soundness_holds(struct region *region, unsigned account, _Atomic bool *ret_has_looked)
{
        if (clock_about_ns() >= atomic_load_explicit(&soundness.next_ns, memory_order_relaxed)) {
                uint64_t begin_ns = clock_now_ns();
                enum region_fault fault = look(region, account);
                uint64_t end_ns = clock_now_ns();
                atomic_store(&soundness.next_ns, end_ns + pause_ns(end_ns - begin_ns));
                atomic_store(ret_has_looked, true);
                if (fault != REGION_SOUND)
                        tell(region, fault);
        }
        return atomic_load_explicit(&soundness.fault, memory_order_relaxed) == REGION_SOUND;
}
