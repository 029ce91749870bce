/* The values of a Node's annotations. Keys stand in the order that people know. */
#include "registration_text.h"

#include <jansson.h>
#include <math.h>

enum { FORM = JSON_COMPACT | JSON_REAL_PRECISION(6) };

/* 1, not 1.0: as others write it. */
static json_t *number(double value)
{
        return value == floor(value) ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *device(const struct gpu *gpu, const struct node_options *options)
{
        const double mib = (double)(gpu->memory_bytes >> 20);

        return json_pack("{s:i, s:s, s:s, s:I, s:I, s:i, s:i, s:b, s:s, s:o, s:b}", "id",
                         (int)gpu->index, "type", gpu->name, "uuid", gpu->uuid, "core",
                         (json_int_t)(options->cores_scaling * 100), "memory",
                         (json_int_t)floor(options->memory_scaling * mib), "number",
                         (int)options->split_count, "numa", gpu->numa, "mig", gpu->is_mig, "busId",
                         gpu->bus_id, "capability",
                         number(gpu->capability_major + gpu->capability_minor / 10.0), "healthy",
                         gpu->is_healthy);
}

static char *dump(json_t *json)
{
        char *text = json ? json_dumps(json, FORM) : NULL;

        json_decref(json);
        return text;
}

char *registration_devices(const struct gpu_set *set, const struct node_options *options)
{
        json_t *array = json_array();

        for (unsigned i = 0; i < set->count; i++)
                if (json_array_append_new(array, device(&set->gpus[i], options)) < 0) {
                        json_decref(array);
                        return NULL;
                }
        return dump(array);
}

char *registration_config(const struct node_options *options)
{
        return dump(json_pack("{s:i, s:o, s:i, s:o}", "deviceSplit", (int)options->split_count,
                              "coresScaling", number(options->cores_scaling), "memoryFactor",
                              (int)options->memory_factor, "memoryScaling",
                              number(options->memory_scaling)));
}

char *registration_links(const struct gpu_set *set)
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
