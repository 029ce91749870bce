/* SPDX-License-Identifier: Apache-2.0 */
/* The resource names by which a pod asks for GPUs. */
#include "resource.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128, DOMAIN_MOST = 80 };

struct resource_row resource_rows[] = {
        { "nvidia.com/vgpu-number", RESOURCE_COUNT, RESOURCE_NUMBERED, false },
        { "nvidia.com/vgpu-memory", RESOURCE_MEMORY, RESOURCE_NUMBERED, false },
        { "nvidia.com/vgpu-cores", RESOURCE_CORES, RESOURCE_NUMBERED, false },
        { "nvidia.com/vgpu", RESOURCE_COUNT, RESOURCE_PLAIN, false },
        { "nvidia.com/gpumem", RESOURCE_MEMORY, RESOURCE_PLAIN, false },
        { "nvidia.com/gpumem-percentage", RESOURCE_MEMORY_PERCENT, RESOURCE_PLAIN, false },
        { "nvidia.com/gpucores", RESOURCE_CORES, RESOURCE_PLAIN, false },
        { "nvidia.com/priority", RESOURCE_PRIORITY, RESOURCE_PLAIN, false },
        { "nvidia.com/gpu", RESOURCE_COUNT, RESOURCE_PLAIN, true },
        { "volcano.sh/vgpu-number", RESOURCE_COUNT, RESOURCE_VOLCANO, false },
        { "volcano.sh/vgpu-memory", RESOURCE_MEMORY, RESOURCE_VOLCANO, false },
        { "volcano.sh/vgpu-memory-percentage", RESOURCE_MEMORY_PERCENT, RESOURCE_VOLCANO, false },
        { "volcano.sh/vgpu-cores", RESOURCE_CORES, RESOURCE_VOLCANO, false },
        { "gpu.das.com/mem", RESOURCE_MEMORY_UNITS, RESOURCE_SLICED, false },
};
const size_t resource_row_count = sizeof resource_rows / sizeof resource_rows[0];

/* What a domain of the operator's takes the place of. */
static const char usual[] = "nvidia.com/";

/* The names with the operator's domain; unused while it is the usual one. */
static struct {
        char texts[sizeof resource_rows / sizeof *resource_rows][NAME_BYTES];
        char mig[NAME_BYTES];
} resource = { .mig = "nvidia.com/mig-" };

static bool is_domain(const char *text)
{
        const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.");

        return length > 0 && length <= DOMAIN_MOST && !text[length] &&
               isalnum((unsigned char)*text) && isalnum((unsigned char)text[length - 1]) &&
               !strstr(text, "..");
}

int resource_use_domain(const char *domain, struct err *e)
{
        if (!is_domain(domain))
                return err_set(e, -EINVAL, "'%.100s' is not a domain (example: gpu.example.com)",
                               domain);
        for (size_t i = 0; i < resource_row_count; i++) {
                struct resource_row *row = &resource_rows[i];

                if (strncmp(row->name, usual, sizeof usual - 1) != 0)
                        continue;
                snprintf(resource.texts[i], NAME_BYTES, "%s/%s", domain,
                         row->name + sizeof usual - 1);
                row->name = resource.texts[i];
        }
        snprintf(resource.mig, sizeof resource.mig, "%s/mig-", domain);
        return 0;
}

const char *resource_mig_prefix(void)
{
        return resource.mig;
}

static bool mig_find(const char *name, struct resource *ret_resource)
{
        const char *const prefixes[] = { resource.mig, "mig.das.com/" };

        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
                const size_t length = strlen(prefixes[i]);

                *ret_resource =
                        (struct resource){ .kind = RESOURCE_MIG, .family = RESOURCE_SLICED };
                if (strncmp(name, prefixes[i], length) == 0)
                        return mig_profile_parse(name + length, &ret_resource->profile);
        }
        return false;
}

bool resource_find(const char *name, bool with_optional, struct resource *ret_resource)
{
        for (size_t i = 0; i < resource_row_count; i++) {
                const struct resource_row *row = &resource_rows[i];

                if (strcmp(row->name, name) != 0)
                        continue;
                *ret_resource = (struct resource){
                        .kind = row->kind,
                        .family = row->family,
                        .name = row->name,
                };
                return with_optional || !row->is_optional;
        }
        return mig_find(name, ret_resource);
}

const char *resource_name(enum resource_family family, enum resource_kind kind)
{
        for (size_t i = 0; i < resource_row_count; i++)
                if (resource_rows[i].family == family && resource_rows[i].kind == kind)
                        return resource_rows[i].name;
        return NULL;
}
