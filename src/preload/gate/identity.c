/* SPDX-License-Identifier: Apache-2.0 */
/* identity: by registration, /proc, or the driver itself. */
#include "identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host_process.h"
#include "ledger.h"
#include "limits.h"
#include "log.h"
#include "process.h"
#include "registry.h"
#include "setting.h"
#include "share_layout.h"

enum { PIDS_MOST = 4096 };

static struct {
        struct identity_entry before[PIDS_MOST]; /* the driver's list before the first context */
        unsigned count;
        bool is_watched; /* once: when we are in the list already, a newcomer may be anybody */
        unsigned told;   /* our pid on the host, by the agent; the driver may call us so, or not */
} identity;

static _Atomic uint32_t *own_host_pid(void)
{
        struct region *region = ledger_region();

        return &region->file->slots[region->slot].host_pid;
}

static void text_copy(char to[REGISTRY_TEXT], const char *text)
{
        snprintf(to, REGISTRY_TEXT, "%s", text);
}

static unsigned pid_by_registration(const char *path)
{
        struct registry_request request = { .pid = (uint32_t)getpid(),
                                            .start_time = process_start_time(getpid()) };
        struct registry_reply reply = { 0 };
        struct err e = { 0 };

        process_name(request.program, sizeof request.program);
        text_copy(request.pod_uid, limits_pod_uid());
        text_copy(request.pod_namespace, limits_pod_namespace());
        text_copy(request.pod_name, limits_pod_name());
        text_copy(request.container, limits_container());
        if (registry_ask(path, &request, &reply, &e) < 0)
                log_warn("%s; nvidia-smi may not list this process", e.text);
        return reply.host_pid;
}

/* The agent's answer on our pid. Whether the driver speaks the host's pids, too, shows with our first
 * context: the open kernel modules do not. True: there is something to go by. */
static bool registered(const char *path)
{
        struct region *region = ledger_region();

        identity.told = path && *path ? pid_by_registration(path) : 0;
        atomic_store(&region->file->slots[region->slot].node_pid, identity.told);
        return identity.told != 0;
}

/* Unset: whatever there is to go by, the surest first. */
static unsigned pid_detected(void)
{
        const bool is_told = registered(limits_registry());
        unsigned pid = host_process_self();

        if (!pid && (host_process_is_initial() || host_process_driver_is_open()))
                pid = (unsigned)getpid();
        return is_told && pid != identity.told && !host_process_driver_is_open() ? 0 : pid;
}

static unsigned pid_find(void)
{
        int mode = limits_compatibility();
        const char *registry = limits_registry();
        unsigned pid = 0;

        if (mode < 0)
                return pid_detected();
        if (mode == COMPATIBILITY_HOST)
                return (unsigned)getpid();
        if (mode / COMPATIBILITY_OPEN_KERNEL & 1) {
                registered(
                        registry); /* the driver needs no agent, but the agent wants to know us */
                return (unsigned)getpid();
        }
        if (mode >= COMPATIBILITY_REGISTRATION) {
                if (registry && *registry && registered(registry))
                        return 0; /* shows with the first context */
                if (!registry || !*registry)
                        log_warn("registration is required, but there is no socket at %s",
                                 REGISTRY_PATH);
        }
        if (!pid && mode % COMPATIBILITY_OPEN_KERNEL)
                pid = host_process_visible_self();
        return pid;
}

int identity_open(struct err *e)
{
        if (ledger_is_open())
                return 0;
        int r = limits_region_check(e);
        if (r == 0)
                r = ledger_open(limits_region_path(), limits_device_count(), e);
        if (r < 0)
                return r;
        identity.is_watched = false;
        identity.told = 0;
        atomic_store(own_host_pid(), pid_find());
        log_debug("region '%s': this process has slot %u, and the driver's pid %u",
                  limits_region_path(), ledger_region()->slot, atomic_load(own_host_pid()));
        return 0;
}

bool identity_is_known(void)
{
        return ledger_is_open() && atomic_load(own_host_pid()) != 0;
}

bool identity_is_self(unsigned driver_pid)
{
        return ledger_is_open() && driver_pid && driver_pid == atomic_load(own_host_pid());
}

bool identity_watch(identity_list_fn *list, int ordinal, bool is_absent)
{
        identity.count = PIDS_MOST;
        if (identity_is_known() || (identity.is_watched && !is_absent))
                return false;
        identity.is_watched = true;
        return list(ordinal, identity.before, &identity.count);
}

static bool was_there(unsigned pid)
{
        for (unsigned i = 0; i < identity.count; i++)
                if (identity.before[i].pid == pid)
                        return true;
        return false;
}

/* By the pid from the agent, or by our own. Without a pid from the agent it finds nothing. */
static bool self_find(const struct identity_entry *entries, unsigned count, uint64_t *ret_bytes)
{
        const unsigned pids[] = { identity.told, (unsigned)getpid() };

        for (unsigned i = 0; identity.told && i < sizeof pids / sizeof *pids; i++)
                for (unsigned j = 0; j < count; j++)
                        if (entries[j].pid == pids[i] && !was_there(pids[i])) {
                                atomic_store(own_host_pid(), pids[i]);
                                *ret_bytes = entries[j].bytes;
                                return true;
                        }
        return false;
}

uint64_t identity_learn(identity_list_fn *list, int ordinal)
{
        static struct identity_entry now[PIDS_MOST];
        unsigned count = PIDS_MOST, found = 0, pid = 0;
        uint64_t most_bytes = 0;

        if (!list(ordinal, now, &count))
                return 0;
        if (self_find(now, count, &most_bytes))
                return most_bytes;
        for (unsigned i = 0; i < count; i++) {
                if (was_there(now[i].pid) || identity_own_pid(now[i].pid))
                        continue;
                pid = now[i].pid;
                if (now[i].bytes > most_bytes)
                        most_bytes = now[i].bytes;
                found++;
        }
        if (found == 1)
                atomic_store(own_host_pid(), pid);
        else
                log_warn("several processes appeared on the device at once: this process cannot be "
                         "identified, its context counts as the largest, and nvidia-smi does not "
                         "list it (see VGPU_COMPAT)");
        return most_bytes;
}

/* The slot of a living process whose driver's or own pid this is; NULL: none. */
static const struct region_slot *slot_find(unsigned driver_pid, unsigned own_pid)
{
        const struct region *region = ledger_region();
        uint32_t high = region_slots_high(region);

        for (uint32_t i = 1; i <= high; i++) {
                const struct region_slot *slot = &region->file->slots[i];
                uint64_t state = atomic_load(&slot->state);
                if ((state & 0xff) != REGION_LIVE)
                        continue;
                if (driver_pid ? atomic_load(&slot->host_pid) == driver_pid
                               : state >> 32 == own_pid)
                        return slot;
        }
        return NULL;
}

/* Modes that name a control group go by it; the host's mode takes everybody. */
static bool goes_by_group(int mode)
{
        return mode > 0 && mode < COMPATIBILITY_OPEN_KERNEL;
}

unsigned identity_own_pid(unsigned driver_pid)
{
        int mode = limits_compatibility();

        if (!driver_pid || !ledger_is_open())
                return 0;
        if (mode == COMPATIBILITY_HOST)
                return driver_pid;
        const struct region_slot *slot = slot_find(driver_pid, 0);
        if (slot)
                return (unsigned)(atomic_load(&slot->state) >> 32);
        return goes_by_group(mode) ? host_process_of_group(driver_pid, mode) : 0;
}

unsigned identity_driver_pid(unsigned own_pid)
{
        if (!own_pid || !ledger_is_open())
                return 0;
        if (limits_compatibility() == COMPATIBILITY_HOST)
                return own_pid;
        const struct region_slot *slot = slot_find(0, own_pid);
        return slot ? atomic_load(&slot->host_pid) : 0;
}
