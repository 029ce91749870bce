/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices a process sees. As on hardware: a list of indices, UUIDs, UUID prefixes or MIG
 * UUIDs; it ends at the first entry that names nothing; an entry named twice leaves no device. */
#include "visible.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

struct candidate {
        unsigned gpu, unit, compute_instance;
        const char *uuid;
};

enum { CANDIDATES = MACHINE_GPUS * (1 + 7 * 7) };

/* Whole GPUs first, so that an index finds them by position; then MIG devices. */
static unsigned candidates_list(struct candidate *list)
{
        struct machine_header *header = &driver.machine.file->header;
        unsigned count = 0;

        for (unsigned g = 0; g < header->gpu_count; g++)
                list[count++] = (struct candidate){ .gpu = g,
                                                    .unit = g * MACHINE_UNITS_PER_GPU,
                                                    .uuid = header->gpus[g].uuid };
        for (unsigned g = 0; g < header->gpu_count; g++) {
                for (unsigned i = 0; i < 7; i++) {
                        struct machine_gpu_instance *instance = &header->gpus[g].instances[i];
                        for (unsigned c = 0; instance->is_used && c < 7; c++)
                                if (instance->compute[c].is_used)
                                        list[count++] = (struct candidate){
                                                .gpu = g,
                                                .unit = instance->unit,
                                                .compute_instance = c,
                                                .uuid = instance->compute[c].uuid
                                        };
                }
        }
        return count;
}

static bool candidate_is_whole(const struct candidate *candidate)
{
        return candidate->unit % MACHINE_UNITS_PER_GPU == 0;
}

static bool candidate_is_usable(const struct candidate *candidate)
{
        const struct machine_gpu *gpu = machine_gpu(&driver.machine, candidate->gpu);

        return !atomic_load(&gpu->is_lost) && (gpu->mig_mode != 0) != candidate_is_whole(candidate);
}

static void device_add(const struct candidate *candidate)
{
        if (driver.device_count == DRIVER_DEVICES)
                return;
        struct device *device = &driver.devices[driver.device_count];
        *device = (struct device){
                .ordinal = driver.device_count++,
                .gpu = candidate->gpu,
                .unit = candidate->unit,
                .compute_instance = candidate->compute_instance,
                .channel = UINT32_MAX,
        };
}

/* Without a list: every GPU that is not split; if all are, the first MIG device alone. */
static void devices_default(const struct candidate *list, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                if (!candidate_is_usable(&list[i]))
                        continue;
                if (!candidate_is_whole(&list[i]) && driver.device_count)
                        return;
                device_add(&list[i]);
        }
}

static const struct candidate *entry_find(const struct candidate *list, unsigned count,
                                          const char *text, size_t length)
{
        const struct candidate *found = NULL;

        if (length && isdigit((unsigned char)*text)) {
                char *end;
                unsigned long index = strtoul(text, &end, 10);
                if (end != text + length || index >= driver.machine.file->header.gpu_count)
                        return NULL;
                return &list[index];
        }
        for (unsigned i = 0; length && i < count; i++) {
                if (strncasecmp(list[i].uuid, text, length) != 0)
                        continue;
                if (found)
                        return NULL; /* the prefix names several */
                found = &list[i];
        }
        return found;
}

static bool device_is_listed(const struct candidate *candidate)
{
        for (int i = 0; i < driver.device_count; i++)
                if (driver.devices[i].unit == candidate->unit &&
                    driver.devices[i].compute_instance == candidate->compute_instance)
                        return true;
        return false;
}

static void devices_listed(const struct candidate *list, unsigned count, const char *text)
{
        for (;;) {
                while (isspace((unsigned char)*text))
                        text++;
                size_t length = strcspn(text, ", \t\n");
                const struct candidate *found = entry_find(list, count, text, length);
                if (!found || !candidate_is_usable(found))
                        return;
                if (device_is_listed(found)) {
                        driver.device_count = 0;
                        return;
                }
                device_add(found);
                text += length;
                while (isspace((unsigned char)*text))
                        text++;
                if (*text++ != ',')
                        return;
        }
}

void visible_devices(void)
{
        struct candidate list[CANDIDATES];
        unsigned count = candidates_list(list);
        const char *text = getenv("CUDA_VISIBLE_DEVICES");

        driver.device_count = 0;
        if (text)
                devices_listed(list, count, text);
        else
                devices_default(list, count);
}
