/* Limits. The share is mapped, so that a change by its owner holds from the next call on. */
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "file_identity.h"
#include "limits_compute.h"
#include "limits_environment.h"
#include "log.h"
#include "process.h"
#include "quantity.h"
#include "registry.h"
#include "setting.h"

static struct {
        struct share share;            /* file ≠ NULL: the authority */
        struct share_copy environment; /* otherwise; and what it tightens of the share */
        _Atomic uint64_t tight_bytes[SHARE_DEVICES]; /* by account of the share; 0: nothing */
        bool is_set;
        char region[SHARE_TEXT], path[SHARE_TEXT];
        uint64_t card_bytes[SHARE_DEVICES]; /* by account; 0: not known */
} limits;

const struct share_device *limits_device(unsigned account)
{
        const struct share_copy *copy =
                limits.share.file ? share_current(&limits.share) : &limits.environment;

        return account < copy->device_count ? &copy->devices[account] : NULL;
}

static int log_start(struct err *e)
{
        struct setting_value value;
        int r = setting_read(SETTING_LOG, -1, &value, e);

        if (r > 0)
                log_show((unsigned)value.number);
        return r;
}

static int share_start(const char *path, struct err *e)
{
        char name[64];
        int r = share_open(path, false, &limits.share, e);

        if (r < 0)
                return r;
        limits.is_set = true;
        limits_compute_by_share(limits.share.file, &limits.environment);
        snprintf(limits.region, sizeof limits.region, "%s", share_current(&limits.share)->region);
        snprintf(limits.path, sizeof limits.path, "%s", path);
        if (setting_get(SETTING_REGION, -1, name))
                log_info("%s has no effect: the account is the share's", name);
        return 0;
}

int limits_start(struct err *e)
{
        const char *path = SHARE_PATH;
        int r = log_start(e);

        if (r >= 0)
                r = limits_environment_read(&limits.environment, e);
        if (r < 0)
                return r;
        /* In a container the mount decides; the variable is the tenant's to edit. */
        if (access(path, F_OK) < 0)
                path = getenv("VGPU_SHARE");
        if (path && *path)
                return share_start(path, e);
        limits.is_set = limits_environment_is_set(&limits.environment);
        limits_compute_by_environment(&limits.environment);
        limits_environment_region(limits.region);
        return 0;
}

bool limits_are_set(void)
{
        return limits.is_set;
}

const char *limits_registry(void)
{
        /* In a container the mounts decide; the variable is for bare machines. */
        if (access(REGISTRY_PATH, F_OK) == 0)
                return REGISTRY_PATH;
        return access(SHARE_PATH, F_OK) == 0 ? NULL : getenv("VGPU_REGISTRY");
}

/* NULL: the agent has raised the share; otherwise why not. */
static const char *share_raise(const struct share_device *device, uint64_t bytes, unsigned cores)
{
        struct registry_request request = { .pid = (uint32_t)getpid(),
                                            .start_time = process_start_time(getpid()),
                                            .limit_bytes = bytes,
                                            .cores_percent = cores };
        const char *registry = limits_registry();
        struct registry_reply reply = { 0 };

        if (!registry || !*registry)
                return "";
        process_name(request.program, sizeof request.program);
        snprintf(request.uuid, sizeof request.uuid, "%.47s", device->uuid);
        if (registry_ask(registry, &request, &reply, NULL) < 0)
                return " (the node's agent does not answer)";
        switch (reply.raised) {
        case 0:
                return NULL;
        case -ENOSPC:
                return " (the GPU has no room for more)";
        case -ERANGE:
                return " (it may not grow that far)";
        default:
                return " (this node lets no environment raise it)";
        }
}

static void memory_complain(uint64_t wanted, uint64_t given, unsigned position, const char *why)
{
        char wanted_text[QUANTITY_TEXT_BYTES], given_text[QUANTITY_TEXT_BYTES];

        quantity_format_bytes(wanted, wanted_text);
        quantity_format_bytes(given, given_text);
        log_warn("the environment asks for %s on device %u, the share gives %s: the share holds%s",
                 wanted_text, position, given_text, why);
}

/* Under a share the environment may take away; to add, the node's agent is asked. */
static void account_tighten(unsigned account, unsigned position)
{
        struct share_device *row = &limits.environment.devices[position];
        const struct share_device *device = limits_device(account);

        if (row->limit_bytes == share_said_bytes(device))
                row->limit_bytes =
                        SHARE_UNLIMITED; /* what the share was made of: it may have changed */
        if (share_cap_percent(row) == share_said_cores(device))
                row->cores_percent = row->cores_max_percent = 0;
        const uint64_t wanted = row->limit_bytes, given = device->limit_bytes;
        const unsigned cores = share_cap_percent(row), cap = share_cap_percent(device);
        const bool is_first = !atomic_exchange(&limits.tight_bytes[account], wanted);

        limits_compute_tighten(account, row);
        if (!is_first)
                return;
        const bool is_larger = wanted != SHARE_UNLIMITED && wanted > given;
        const bool is_faster = cap && cores > cap;
        const char *why = is_larger || is_faster ? share_raise(device, is_larger ? wanted : 0,
                                                               is_faster ? cores : 0)
                                                 : NULL;
        if (why && is_larger)
                memory_complain(wanted, given, position, why);
        if (why && is_faster)
                log_warn("the environment asks for %u %% of the time of device %u, the share gives "
                         "%u %%: the share holds%s",
                         cores, position, cap, why);
}

int limits_account(const char *uuid, unsigned position)
{
        position = limits_environment_position(&limits.environment, uuid, position);
        if (!limits.share.file)
                return position < SHARE_DEVICES ? (int)position : -1;
        int account = share_find_device(share_current(&limits.share), uuid);
        if (account >= 0 && position < SHARE_DEVICES)
                account_tighten((unsigned)account, position);
        return account;
}

unsigned limits_device_count(void)
{
        return SHARE_DEVICES;
}

const char *limits_share_path(void)
{
        return limits.share.file ? limits.path : NULL;
}

const char *limits_region_path(void)
{
        return limits.region;
}

int limits_region_check(struct err *e)
{
        uint64_t wanted = limits.share.file ? share_current(&limits.share)->region_inode : 0;
        struct file_identity found;

        if (!wanted)
                return 0;
        if (file_identity_at(limits.region, &found) < 0)
                return err_set(e, -EUCLEAN, "account '%s' was deleted", limits.region);
        if (found.inode != wanted)
                return err_set(e, -EUCLEAN, "account '%s' is not the one that the share was given",
                               limits.region);
        return 0;
}

static uint64_t whole_bytes(const struct share_device *device, unsigned account)
{
        uint64_t given = atomic_load_explicit(&device->limit_bytes, memory_order_relaxed);
        uint64_t tight = atomic_load_explicit(&limits.tight_bytes[account], memory_order_relaxed);

        /* A whole card that is oversold: the card is its limit. */
        if (given == SHARE_UNLIMITED && device->flags & SHARE_OVERSOLD &&
            limits.card_bytes[account])
                given = limits.card_bytes[account];
        return tight && tight < given ? tight : given;
}

struct limits_memory limits_memory(unsigned account)
{
        const struct share_device *device = limits_device(account);
        struct limits_memory memory = { 0 };

        if (!device)
                return memory;
        memory.bytes = whole_bytes(device, account);
        memory.physical_bytes = memory.bytes;
        if (device->physical_bytes < memory.bytes) {
                memory.physical_bytes = device->physical_bytes;
                memory.virtual_bytes = memory.bytes - device->physical_bytes;
        }
        if (device->flags & SHARE_OVERSOLD)
                memory.virtual_bytes +=
                        device->host_bytes ? device->host_bytes : limits.card_bytes[account];
        return memory;
}

uint64_t limits_bytes(unsigned account)
{
        const struct share_device *device = limits_device(account);

        return device ? whole_bytes(device, account) : 0;
}

uint64_t limits_physical_bytes(unsigned account)
{
        return limits_memory(account).physical_bytes;
}

uint64_t limits_virtual_bytes(unsigned account)
{
        return limits_memory(account).virtual_bytes;
}

void limits_card(unsigned account, uint64_t bytes)
{
        if (account >= SHARE_DEVICES || !limits.is_set || limits.card_bytes[account])
                return;
        limits.card_bytes[account] = bytes;
        if (!limits.share.file)
                limits_environment_card(&limits.environment, account, bytes);
}

bool limits_context_is_exempt(unsigned account)
{
        const struct share_device *device = limits_device(account);

        return device && (device->flags & SHARE_CONTEXT_EXEMPT);
}

int limits_compatibility(void)
{
        int wanted = (int)limits.environment.compatibility - 1;

        if (!limits.share.file)
                return wanted;
        uint32_t given = share_current(&limits.share)->compatibility;
        if (given)
                return (int)given - 1;
        /* Everybody's processes are not for the environment to ask for. */
        return wanted == COMPATIBILITY_HOST ? -1 : wanted;
}

static const char *identity_text(size_t offset, enum setting setting)
{
        char name[64];
        const char *text = limits.share.file ? (const char *)share_current(&limits.share) + offset
                                             : setting_get(setting, -1, name);

        return text ? text : "";
}

const char *limits_pod_uid(void)
{
        return identity_text(offsetof(struct share_copy, pod_uid), SETTING_POD_UID);
}

const char *limits_pod_namespace(void)
{
        return identity_text(offsetof(struct share_copy, pod_namespace), SETTING_POD_NAMESPACE);
}

const char *limits_pod_name(void)
{
        return identity_text(offsetof(struct share_copy, pod_name), SETTING_POD_NAME);
}

const char *limits_container(void)
{
        return identity_text(offsetof(struct share_copy, container), SETTING_CONTAINER_NAME);
}
