/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a Node's annotations. Keys stand in the order that people know. */
#include "registration_text.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_memory.h"

enum { FORM = JSON_COMPACT | JSON_REAL_PRECISION(6) };

/* 1, not 1.0: as others write it. */
static json_t *number(double value)
{
        return value == floor(value) ? json_integer((json_int_t)value) : json_real(value);
}

static uint64_t memory_mib(const struct gpu *gpu, const struct node_options *options)
{
        return (uint64_t)floor(options->memory_scaling * (double)(gpu->memory_bytes >> 20));
}

static json_t *device(const struct gpu *gpu, const struct node_options *options)
{
        return json_pack("{s:i, s:s, s:s, s:I, s:I, s:i, s:i, s:b, s:s, s:o, s:b}", "id",
                         (int)gpu->index, "type", gpu->name, "uuid", gpu->uuid, "core",
                         (json_int_t)(options->cores_scaling * 100), "memory",
                         (json_int_t)memory_mib(gpu, options), "number", (int)options->split_count,
                         "numa", gpu->numa, "mig", gpu->is_mig, "busId", gpu->bus_id, "capability",
                         number(gpu->capability_major + gpu->capability_minor / 10.0), "healthy",
                         gpu->is_healthy);
}

static char *dump(json_t *json)
{
        char *text = json ? json_memory_dump(json, FORM) : NULL;

        json_decref(json);
        return text;
}

/* JSON texts, the caller's; NULL: out of memory. */
static char *registration_devices(const struct gpu_set *set, const struct node_options *options)
{
        json_t *array = json_array();

        for (unsigned i = 0; i < set->count; i++)
                if (json_array_append_new(array, device(&set->gpus[i], options)) < 0) {
                        json_decref(array);
                        return NULL;
                }
        return dump(array);
}

static char *registration_config(const struct node_options *options)
{
        return dump(json_pack("{s:i, s:o, s:i, s:o}", "deviceSplit", (int)options->split_count,
                              "coresScaling", number(options->cores_scaling), "memoryFactor",
                              (int)options->memory_factor, "memoryScaling",
                              number(options->memory_scaling)));
}

/* [[id,id,link],…], those pairs that are linked; NULL: none is. */
static char *registration_links(const struct gpu_set *set)
{
        json_t *array = json_array();

        for (unsigned i = 0; i < set->count; i++)
                for (unsigned j = i + 1; j < set->count; j++)
                        if (set->links[i][j])
                                json_array_append_new(array,
                                                      json_pack("[i,i,i]", (int)set->gpus[i].index,
                                                                (int)set->gpus[j].index,
                                                                set->links[i][j]));
        if (json_array_size(array))
                return dump(array);
        json_decref(array);
        return NULL;
}

static bool takes_shares(const struct gpu *gpu)
{
        return gpu->is_healthy && !gpu->is_mig;
}

/* Volcano takes types by whether this word is in them; commas and colons are its own. */
static void type_print(FILE *stream, const char *name)
{
        if (!strstr(name, "NVIDIA"))
                fputs("NVIDIA-", stream);
        for (; *name; name++)
                fputc(*name == ',' || *name == ':' ? '-' : *name, stream);
}

/* As Volcano's scheduler reads it: "UUID,NUMBER,MIB,TYPE,HEALTH,MODE:" for each GPU. It reads neither
 * health nor at MIG: a GPU that takes no shares has the number 0. */
static char *registration_volcano(const struct gpu_set *set, const struct node_options *options)
{
        char *text = NULL;
        size_t bytes;
        FILE *stream = open_memstream(&text, &bytes);

        if (!stream)
                return NULL;
        for (unsigned i = 0; i < set->count; i++) {
                const struct gpu *gpu = &set->gpus[i];

                fprintf(stream, "%s,%u,%" PRIu64 ",", gpu->uuid,
                        takes_shares(gpu) ? options->split_count : 0, memory_mib(gpu, options));
                type_print(stream, gpu->name);
                fprintf(stream, ",%s,hami-core:", gpu->is_healthy ? "true" : "false");
        }
        return fclose(stream) == 0 ? text : (free(text), NULL);
}

struct registration_content registration_content_make(const struct gpu_set *set,
                                                      const struct node_options *options)
{
        struct registration_content content = { .devices = registration_devices(set, options),
                                                .config = registration_config(options),
                                                .links = registration_links(set) };

        if (!options->uses_volcano)
                return content;
        content.volcano = registration_volcano(set, options);
        for (unsigned i = 0; i < set->count; i++) {
                if (!takes_shares(&set->gpus[i]))
                        continue;
                content.volcano_memory_mib += memory_mib(&set->gpus[i], options);
                content.volcano_cores += 100;
        }
        return content;
}
