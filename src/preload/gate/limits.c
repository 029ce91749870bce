/* SPDX-License-Identifier: Apache-2.0 */
/* Limits. The share is mapped, so that a change by its owner holds from the next call on. */
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "file_identity.h"
#include "limits_compute.h"
#include "limits_environment.h"
#include "limits_source.h"
#include "log.h"
#include "process.h"
#include "quantity.h"
#include "registry.h"
#include "setting.h"
#include "share_memory.h"

enum { DEVICE_UNNAMED = -1 };

static struct {
        struct limits_source source;
        _Atomic uint64_t tight_bytes[SHARE_DEVICES]; /* by device of the share; 0: nothing */
        bool is_set;
        bool is_numbered; /* some variable has a device's number */
        char region[SHARE_TEXT], path[SHARE_TEXT];
        uint64_t device_bytes[SHARE_DEVICES]; /* by device; 0: not known */
        bool is_refused;                      /* the program gets no GPU */
} limits;

/* The device's row as it is now; NULL: it has none. */
static const struct share_device *limits_device(unsigned device_index)
{
        return limits_source_device(&limits.source, device_index);
}

/* What shows where nobody says: the third of LOGGER_LEVEL's, which is its default. */
enum { LOG_DEFAULT = 1 << LOG_LEVEL_ERROR | 1 << LOG_LEVEL_WARN | 1 << LOG_LEVEL_INFO };

/* A log level never costs the GPU. */
static void log_start(void)
{
        struct setting_value value = { .number = LOG_DEFAULT };
        struct err e = { 0 };
        const int r = setting_read(SETTING_LOG, -1, &value, &e);

        log_show((unsigned)value.number);
        if (r < 0)
                log_warn("%s; using the default", e.text);
}

static int share_start(const char *path, struct err *e)
{
        char name[64];
        int r = share_open(path, false, &limits.source.share, e);

        if (r < 0)
                return r;
        limits.is_set = true;
        limits_compute_by_share(&limits.source);
        snprintf(limits.region, sizeof limits.region, "%s",
                 share_current(&limits.source.share)->region);
        snprintf(limits.path, sizeof limits.path, "%s", path);
        if (setting_get(SETTING_REGION, -1, name))
                log_info("%s has no effect: the region is the share's", name);
        return 0;
}

static int environment_start(struct err *e)
{
        struct variable_names names = { 0 };
        char text[VARIABLE_TEXT];
        const int r = limits_environment_read(&limits.source.environment, &names, e);

        limits.is_numbered = names.numbers != 0;
        if (r == 0 && names.unknown) {
                variable_unknown_text(&names, text);
                log_warn("%s", text);
        }
        if (r == 0 && names.rivals.text[0])
                log_warn("%s", names.rivals.text);
        return r;
}

/* Where there is something to count. */
static void region_start(void)
{
        struct err why = { 0 };

        if (limits.is_set && !limits_environment_region(limits.region, &why))
                log_warn("%s", why.text);
}

int limits_start(struct err *e)
{
        const char *path = SHARE_PATH;

        log_start();
        const int r = environment_start(e);
        if (r < 0)
                return r;
        /* In a container the mount decides; the variable is the tenant's to edit. */
        if (access(path, F_OK) < 0)
                path = getenv("VGPU_SHARE");
        if (path && *path)
                return share_start(path, e);
        limits.is_set = limits_environment_is_set(&limits.source.environment);
        limits_compute_by_environment(&limits.source);
        region_start();
        return 0;
}

bool limits_are_numbered(void)
{
        return limits.is_numbered;
}

int limits_check(const struct limits_gpu *gpus, unsigned count, struct err *e)
{
        const int r = limits.source.share.file ? 0 : limits_environment_list_check(false, e);

        return r < 0 ? r : limits_environment_check(&limits.source.environment, gpus, count, e);
}

void limits_refuse(void)
{
        limits.is_refused = true;
}

bool limits_are_refused(void)
{
        return limits.is_refused;
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
                return " (the GPU has too little free memory)";
        case -ERANGE:
                return " (it may not grow that far)";
        default:
                return " (this node lets no environment raise it)";
        }
}

static void memory_complain(uint64_t wanted, uint64_t given, unsigned position, const char *why)
{
        char wanted_text[QUANTITY_TEXT_BYTES], given_text[QUANTITY_TEXT_BYTES], name[64];

        quantity_format_bytes(wanted, wanted_text);
        quantity_format_bytes(given, given_text);
        limits_environment_memory_name(position, name);
        log_warn("%s asks for %s on device %u, the share gives %s: the share holds%s", name,
                 wanted_text, position, given_text, why);
}

static void cores_complain(unsigned wanted, unsigned given, unsigned position, const char *why)
{
        char name[64] = "";

        if (!setting_get(SETTING_CORES_MAX, (int)position, name))
                setting_get(SETTING_CORES, (int)position, name);
        log_warn("%s asks for %u %% of the time of device %u, the share gives %u %%: the share "
                 "holds%s",
                 name, wanted, position, given, why);
}

/* Of a share without a memory limit, beside which the environment has one. */
static void excess_complain(const struct share_device *wanted, const struct share_device *device,
                            unsigned position)
{
        char text[SHARE_EXCESS_TEXT], name[64];
        struct share_device row = *wanted;

        row.device_bytes = device->device_bytes;
        if (!share_memory_excess(&row, position, text))
                return;
        limits_environment_memory_name(position, name);
        log_warn("%s: %s", name, text);
}

/* Under a share the environment may take away; to add, the node's agent is asked. */
static void device_tighten(unsigned device_index, unsigned position)
{
        struct share_device *row = &limits.source.environment.devices[position];
        const struct share_device *device = limits_device(device_index);

        if (row->limit_bytes == share_said_bytes(device))
                row->limit_bytes =
                        SHARE_UNLIMITED; /* what the share was made of: it may have changed */
        if (share_cap_percent(row) == share_said_cores(device))
                row->cores_percent = row->cores_max_percent = 0;
        const uint64_t wanted = row->limit_bytes, given = device->limit_bytes;
        const unsigned cores = share_cap_percent(row), cap = share_cap_percent(device);
        const bool is_first = !atomic_exchange(&limits.tight_bytes[device_index], wanted);

        limits_compute_tighten(device_index, row);
        if (!is_first)
                return;
        if (given == SHARE_UNLIMITED)
                excess_complain(row, device, position);
        const bool is_larger = wanted != SHARE_UNLIMITED && wanted > given;
        const bool is_faster = cap && cores > cap;
        const char *why = is_larger || is_faster ? share_raise(device, is_larger ? wanted : 0,
                                                               is_faster ? cores : 0)
                                                 : NULL;
        if (why && is_larger)
                memory_complain(wanted, given, position, why);
        if (why && is_faster)
                cores_complain(cores, cap, position, why);
}

int limits_device_index(const char *uuid, unsigned position)
{
        position = limits_environment_position(&limits.source.environment, uuid, position);
        if (!limits.source.share.file)
                return position < SHARE_DEVICES ? (int)position : -1;
        int device_index = share_find_device(share_current(&limits.source.share), uuid);
        if (device_index >= 0 && position < SHARE_DEVICES)
                device_tighten((unsigned)device_index, position);
        return device_index;
}

int limits_device_index_within(const char *uuid, const char *gpu_uuid, unsigned position)
{
        const bool is_named = limits_environment_names(&limits.source.environment, uuid);
        int device_index = DEVICE_UNNAMED;

        /* A list of devices that has the GPU alone means what it is cut into, too. */
        if (limits.source.share.file || is_named ||
            !limits_environment_names(&limits.source.environment, gpu_uuid))
                device_index = limits_device_index(uuid, position);
        return device_index == DEVICE_UNNAMED ? limits_device_index(gpu_uuid, position)
                                              : device_index;
}

unsigned limits_device_count(void)
{
        return SHARE_DEVICES;
}

const char *limits_share_path(void)
{
        return limits.source.share.file ? limits.path : NULL;
}

const char *limits_region_path(void)
{
        return limits.region;
}

int limits_region_check(struct err *e)
{
        uint64_t wanted =
                limits.source.share.file ? share_current(&limits.source.share)->region_inode : 0;
        struct file_identity found;

        if (!wanted)
                return 0;
        if (file_identity_at(limits.region, &found) < 0)
                return err_set(e, -EUCLEAN, "region '%s' was deleted", limits.region);
        if (found.inode != wanted)
                return err_set(e, -EUCLEAN, "region '%s' is not the region of the share",
                               limits.region);
        return 0;
}

static uint64_t whole_bytes(const struct share_device *device, unsigned device_index)
{
        uint64_t given = atomic_load_explicit(&device->limit_bytes, memory_order_relaxed);
        uint64_t tight =
                atomic_load_explicit(&limits.tight_bytes[device_index], memory_order_relaxed);

        /* A whole GPU that is oversold: the GPU is its limit. */
        if (given == SHARE_UNLIMITED && device->flags & SHARE_OVERSOLD &&
            limits.device_bytes[device_index])
                given = limits.device_bytes[device_index];
        return tight && tight < given ? tight : given;
}

void limits_memory_name(unsigned device_index, char ret_name[64])
{
        const struct share_device *device = limits_device(device_index);
        const uint64_t tight = atomic_load(&limits.tight_bytes[device_index]);

        if (limits.source.share.file && device && (!tight || tight >= device->limit_bytes))
                snprintf(ret_name, 64, "the share's");
        else
                limits_environment_memory_name(device_index, ret_name);
}

struct limits_memory limits_memory(unsigned device_index)
{
        const struct share_device *device = limits_device(device_index);
        struct limits_memory memory = { 0 };

        if (!device)
                return memory;
        memory.bytes = whole_bytes(device, device_index);
        memory.physical_bytes = memory.bytes;
        if (device->physical_bytes < memory.bytes) {
                memory.physical_bytes = device->physical_bytes;
                memory.virtual_bytes = memory.bytes - device->physical_bytes;
        }
        if (device->flags & SHARE_OVERSOLD)
                memory.virtual_bytes +=
                        device->host_bytes ? device->host_bytes : limits.device_bytes[device_index];
        return memory;
}

uint64_t limits_bytes(unsigned device_index)
{
        const struct share_device *device = limits_device(device_index);

        return device ? whole_bytes(device, device_index) : 0;
}

uint64_t limits_physical_bytes(unsigned device_index)
{
        return limits_memory(device_index).physical_bytes;
}

uint64_t limits_virtual_bytes(unsigned device_index)
{
        return limits_memory(device_index).virtual_bytes;
}

/* Whoever sets a limit that nothing reaches meant another. A share's owner was told when it was made,
 * unless it was made of the container's own variables. */
static void device_size_compare(unsigned device_index, uint64_t bytes)
{
        const struct share_device *device = limits_device(device_index);
        char limit_text[QUANTITY_TEXT_BYTES], device_text[QUANTITY_TEXT_BYTES], name[64] = "";

        if (!device || device->limit_bytes == SHARE_UNLIMITED || device->physical_bytes <= bytes ||
            (limits.source.share.file && share_said_bytes(device) != device->limit_bytes))
                return;
        quantity_format_bytes(device->limit_bytes, limit_text);
        quantity_format_bytes(bytes, device_text);
        limits_environment_memory_name(device_index, name);
        log_warn("%s%s%s is more than GPU %u has, %s: it limits nothing", name, *name ? ": " : "",
                 limit_text, device_index, device_text);
}

void limits_device_size(unsigned device_index, uint64_t bytes)
{
        if (device_index >= SHARE_DEVICES || !limits.is_set || limits.device_bytes[device_index])
                return;
        limits.device_bytes[device_index] = bytes;
        if (!limits.source.share.file)
                limits_environment_device_size(&limits.source.environment, device_index, bytes);
        device_size_compare(device_index, bytes);
}

bool limits_context_is_exempt(unsigned device_index)
{
        const struct share_device *device = limits_device(device_index);

        return device && (device->flags & SHARE_CONTEXT_EXEMPT);
}

int limits_compatibility(void)
{
        int wanted = (int)limits.source.environment.compatibility - 1;

        if (!limits.source.share.file)
                return wanted;
        uint32_t given = share_current(&limits.source.share)->compatibility;
        if (given)
                return (int)given - 1;
        /* Everybody's processes are not for the environment to ask for. */
        return wanted == COMPATIBILITY_HOST ? -1 : wanted;
}

static const char *identity_text(size_t offset, enum setting setting)
{
        char name[64];
        const char *text = limits.source.share.file
                                   ? (const char *)share_current(&limits.source.share) + offset
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
