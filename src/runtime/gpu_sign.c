/* gpu_sign: a container that wants a GPU, and one that has none. */
#include "gpu_sign.h"

#include <stdio.h>
#include <string.h>

#include "container_place.h"
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

static bool is_gpu_device(const char *path)
{
        return path && str_starts_with(path, "/dev/nvidia");
}

static bool is_driver_file(const char *path)
{
        const char *slash = path ? strrchr(path, '/') : NULL;
        const char *name = slash ? slash + 1 : "";

        return str_starts_with(name, "libcuda.so") || str_starts_with(name, "libnvidia-") ||
               str_starts_with(name, "nvidia-smi");
}

static const char *text_of(const json_t *object, const char *name)
{
        return json_string_value(json_object_get(object, name));
}

static const char *sign_in_env(const struct spec *spec)
{
        const json_t *env = spec_look(spec, SPEC_ENV);

        for (size_t i = 0; i < json_array_size(env); i++) {
                const char *variable = json_string_value(json_array_get(env, i));

                if (variable && is_device_variable(variable) && strchr(variable, '=') &&
                    !value_is_none(strchr(variable, '=') + 1))
                        return variable;
        }
        return NULL;
}

static const char *sign_in_devices(const struct spec *spec)
{
        const json_t *devices = spec_look(spec, SPEC_DEVICES);
        const json_t *mounts = spec_look(spec, SPEC_MOUNTS);

        for (size_t i = 0; i < json_array_size(devices); i++) {
                const char *path = text_of(json_array_get(devices, i), "path");

                if (is_gpu_device(path))
                        return path;
        }
        for (size_t i = 0; i < json_array_size(mounts); i++) {
                const char *source = text_of(json_array_get(mounts, i), "source");

                if (is_gpu_device(source))
                        return source;
        }
        return NULL;
}

/* The device plugin's own mark, or a device that was injected by CDI. */
static const char *sign_in_annotations(const struct spec *spec)
{
        json_t *annotations = json_object_get(spec->root, "annotations"), *value;
        const char *name;

        if (spec_annotation(spec, ANNOTATION_REQUESTED))
                return ANNOTATION_REQUESTED;
        json_object_foreach(annotations, name, value)
        {
                const char *text = json_string_value(value);

                if (text && str_starts_with(name, "cdi.k8s.io/") &&
                    (strstr(text, "nvidia.com/") || strstr(text, "vgpu.io/")))
                        return name;
        }
        return NULL;
}

const char *gpu_sign_find(const struct spec *spec, char text[static 128])
{
        const char *sign = sign_in_annotations(spec);

        if (!sign)
                sign = sign_in_env(spec);
        /* With every device of the host among them, the GPU's say nothing. */
        if (!sign && !spec_is_privileged(spec))
                sign = sign_in_devices(spec);
        if (sign)
                snprintf(text, 128, "%s", sign);
        return sign ? text : NULL;
}

static bool device_matches(const json_t *device, void *owner)
{
        (void)owner;
        return is_gpu_device(text_of(device, "path"));
}

static bool mount_matches(const json_t *mount, void *owner)
{
        const char *destination = text_of(mount, "destination");

        (void)owner;
        return is_gpu_device(text_of(mount, "source")) || is_gpu_device(destination) ||
               is_driver_file(destination) ||
               (destination && (str_starts_with(destination, CONTAINER_FOLDER "/") ||
                                strcmp(destination, CONTAINER_FOLDER) == 0));
}

/* A rule that allows what one of the devices in `owner` is. */
static bool rule_matches(const json_t *rule, void *owner)
{
        const json_t *devices = owner, *major = json_object_get(rule, "major");

        for (size_t i = 0; i < json_array_size(devices); i++) {
                const json_t *device = json_array_get(devices, i);

                if (json_is_true(json_object_get(rule, "allow")) && major &&
                    is_gpu_device(text_of(device, "path")) &&
                    json_equal(major, json_object_get(device, "major")))
                        return true;
        }
        return false;
}

void gpu_sign_remove(struct spec *spec)
{
        spec_env_remove(spec, is_gpu_variable);
        spec_remove(spec, SPEC_MOUNTS, mount_matches, NULL);
        if (spec_is_privileged(spec))
                return; /* a node that is missing can be made, and the rules allow it */
        spec_remove(spec, SPEC_RULES, rule_matches, spec_look(spec, SPEC_DEVICES));
        spec_remove(spec, SPEC_DEVICES, device_matches, NULL);
}
