/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_request_detect: requests for a GPU in config.json, found and removed. */
#include "gpu_request_detect.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "container_paths.h"
#include "driver_mount.h"
#include "json_read.h"
#include "setting.h"
#include "spec_edit.h"
#include "str.h"

static bool is_device_variable(const char *variable)
{
        return setting_is_named(SETTING_DEVICES, variable);
}

/* What the simulated driver looks at counts too: there it is the GPU. */
static bool is_gpu_variable(const char *variable)
{
        return is_device_variable(variable) || str_starts_with(variable, "VGPU_SIM=") ||
               str_starts_with(variable, "VGPU_SHARE=");
}

static bool value_is_none(const char *value)
{
        return !*value || strcmp(value, "void") == 0 || strcmp(value, "none") == 0;
}

/* The major number that the driver's device nodes have, whatever they are called; a path may be another. */
enum { NVIDIA_MAJOR = 195 };

static bool has_major(const json_t *item)
{
        const json_t *major = json_object_get(item, "major");

        return json_is_integer(major) && json_integer_value(major) == NVIDIA_MAJOR;
}

static bool is_gpu_node(const json_t *device)
{
        return driver_mount_is_node(json_read_text_or_null(device, "path")) || has_major(device);
}

static const char *request_in_env(const struct spec *spec)
{
        const json_t *env = spec_query(spec, SPEC_ENV);

        for (size_t i = 0; i < json_array_size(env); i++) {
                const char *variable = json_string_value(json_array_get(env, i));

                if (variable && is_device_variable(variable) && strchr(variable, '=') &&
                    !value_is_none(strchr(variable, '=') + 1))
                        return variable;
        }
        return NULL;
}

static const char *request_in_devices(const struct spec *spec)
{
        const json_t *devices = spec_query(spec, SPEC_DEVICES);
        const json_t *mounts = spec_query(spec, SPEC_MOUNTS);

        for (size_t i = 0; i < json_array_size(devices); i++) {
                const json_t *device = json_array_get(devices, i);
                const char *path = json_read_text_or_null(device, "path");

                if (path && is_gpu_node(device))
                        return path;
        }
        for (size_t i = 0; i < json_array_size(mounts); i++) {
                const char *source = json_read_text_or_null(json_array_get(mounts, i), "source");

                if (driver_mount_is_node(source))
                        return source;
        }
        return NULL;
}

/* The device plugin's own mark, or a device that was injected by CDI. */
static const char *request_in_annotations(const struct spec *spec)
{
        json_t *annotations = json_object_get(spec->root, "annotations"), *value;
        const char *name;

        if (spec_annotation(spec, ANNOTATION_REQUESTED))
                return ANNOTATION_REQUESTED;
        json_object_foreach (annotations, name, value) {
                const char *text = json_string_value(value);

                if (text && str_starts_with(name, "cdi.k8s.io/") &&
                    (strstr(text, "nvidia.com/") || strstr(text, "vgpu.io/")))
                        return name;
        }
        return NULL;
}

const char *gpu_request_detect(const struct spec *spec, char text[static 128])
{
        const char *request = request_in_annotations(spec);

        if (!request)
                request = request_in_env(spec);
        /* With every device of the host among them, the GPU's say nothing. */
        if (!request && !spec_is_privileged(spec))
                request = request_in_devices(spec);
        if (request)
                snprintf(text, 128, "%s", request);
        return request ? text : NULL;
}

/* What is left out is noted: its user may look for it. Names are the user's, and a sentence is a line. */
__attribute__((format(printf, 2, 3))) static void note(struct spec *spec, const char *format, ...)
{
        char sentence[600];
        va_list words;

        va_start(words, format);
        vsnprintf(sentence, sizeof sentence, format, words);
        va_end(words);
        str_tame(sentence);
        str_appendf(&spec->left_out, "%s\n", sentence);
}

static bool device_matches(const json_t *device, void *owner)
{
        struct spec *spec = owner;
        const char *path = json_read_text_or_null(device, "path");

        if (!is_gpu_node(device))
                return false;
        note(spec, "the device '%.200s' is left out: a GPU's device", path ? path : "");
        return true;
}

static bool mount_matches(const json_t *mount, void *owner)
{
        struct spec *spec = owner;
        const char *kind = driver_mount_kind(mount),
                   *source = json_read_text_or_null(mount, "source");

        if (!kind)
                return false;
        note(spec, "the mount of '%.200s' at '%.200s' is left out: %s", source ? source : "",
             json_read_text_or_null(mount, "destination") ?: "", kind);
        return true;
}

static bool variable_matches(const json_t *item, void *owner)
{
        struct spec *spec = owner;
        const char *variable = json_string_value(item);

        if (!variable || !is_gpu_variable(variable))
                return false;
        note(spec, "the variable '%.200s' is left out: the share says it", variable);
        return true;
}

/* A rule that allows what one of the devices is, or any of the driver's. */
static bool rule_matches(const json_t *rule, void *owner)
{
        const json_t *devices = spec_query(owner, SPEC_DEVICES),
                     *major = json_object_get(rule, "major");

        if (!json_read_is_true(rule, "allow") || !major)
                return false;
        if (has_major(rule))
                return true;
        for (size_t i = 0; i < json_array_size(devices); i++) {
                const json_t *device = json_array_get(devices, i);

                if (is_gpu_node(device) && json_equal(major, json_object_get(device, "major")))
                        return true;
        }
        return false;
}

void gpu_request_remove(struct spec *spec)
{
        spec_remove(spec, SPEC_ENV, variable_matches, spec);
        spec_remove(spec, SPEC_MOUNTS, mount_matches, spec);
        if (spec_is_privileged(spec))
                return; /* a node that is missing can be made, and the rules allow it */
        spec_remove(spec, SPEC_RULES, rule_matches, spec);
        spec_remove(spec, SPEC_DEVICES, device_matches, spec);
}
