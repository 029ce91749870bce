/* SPDX-License-Identifier: Apache-2.0 */
/* standalone: from variables to a share. */
#include "standalone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot_id.h"
#include "container_paths.h"
#include "gpu_names.h"
#include "gpu_page.h"
#include "limits_environment.h"
#include "nearby.h"
#include "region.h"
#include "registry.h"
#include "scope.h"
#include "setting.h"
#include "share.h"
#include "share_memory.h"
#include "spec_edit.h"

enum { ID_LETTERS = 64 }; /* of Docker's and Podman's ids */

/* The readers of settings are lent the container's environment. */
static char **environ_lend(const struct spec *spec)
{
        const json_t *env = spec_query(spec, SPEC_ENV);
        const size_t count = json_array_size(env);
        char **list = calloc(count + 1, sizeof *list);
        size_t kept = 0;

        if (!list)
                return NULL;
        for (size_t i = 0; i < count; i++) {
                const char *variable = json_string_value(json_array_get(env, i));

                if (variable)
                        list[kept++] = (char *)variable;
        }
        setting_lend(list);
        return list;
}

static void environ_return(char **list)
{
        setting_lend(NULL);
        free(list);
}

/* With the container's environment in place of ours. A list of none beside a GPU that came another way (by CDI,
 * as a device, by another list, by privilege) would leave that GPU without the limit. */
static int limits_are_wanted(const struct share_copy *limits, const char *request, struct err *e)
{
        char name[64];
        const char *list = setting_get(SETTING_DEVICES, -1, name);
        const bool is_none = list && (!strcmp(list, "void") || !strcmp(list, "none"));

        if (!limits_environment_is_set(limits))
                return 0;
        if (is_none && request)
                return err_set(e, -EINVAL,
                               "the container has a limit and a GPU (%.80s), but %s is '%s'; name "
                               "the GPU in %s",
                               request, name, list, setting_name(SETTING_DEVICES));
        return !is_none;
}

int standalone_is_wanted(struct spec *spec, const char *request, struct err *e)
{
        struct share_copy limits = { 0 };
        struct variable_names names = { 0 };
        char text[VARIABLE_TEXT];
        char **lent = environ_lend(spec);

        if (!lent)
                return err_set(e, -ENOMEM, "out of memory");
        int r = limits_environment_read(&limits, &names, e);
        if (!request && spec_is_privileged(spec))
                request = "it is privileged";
        if (r == 0)
                r = limits_are_wanted(&limits, request, e);
        environ_return(lent);
        if (r >= 0 && names.unknown) {
                variable_unknown_text(&names, text);
                str_appendf(&spec->left_out, "%s\n", text);
        }
        if (r >= 0 && names.rivals.text[0])
                str_appendf(&spec->left_out, "%s\n", names.rivals.text);
        return r;
}

int standalone_privileged_check(const struct spec *spec, struct err *e)
{
        struct share_copy limits = { 0 };
        struct variable_names names;

        if (!spec_is_privileged(spec))
                return 0;
        char **lent = environ_lend(spec);
        if (!lent)
                return err_set(e, -ENOMEM, "out of memory");
        int r = limits_environment_read(&limits, &names, e);
        if (r == 0 && limits_environment_is_set(&limits))
                r = err_set(e, -EINVAL,
                            "the container has a limit and every GPU of the machine (it is "
                            "privileged), but no share that would hold it to the limit");
        environ_return(lent);
        return r;
}

/* What a ratio is a ratio of is not known here, unless the machine is a simulated one. */
static int ratio_check(unsigned position, const struct share_device *device, struct err *e)
{
        struct setting_value ratio;
        char name[64];

        if (device->limit_bytes != SHARE_UNLIMITED ||
            setting_read(SETTING_MEMORY_RATIO, (int)position, &ratio, NULL) <= 0)
                return 0;
        setting_get(SETTING_MEMORY_RATIO, (int)position, name);
        return err_set(e, -EINVAL, "%s needs a memory limit beside it here (%s)", name,
                       setting_name(SETTING_MEMORY_LIMIT));
}

static int device_put(struct share_copy *limits, const struct gpu_name *gpu, unsigned number,
                      struct share_device *device, struct err *e)
{
        const unsigned position = limits_environment_position(limits, gpu->uuid, number);

        if (position >= SHARE_DEVICES)
                return err_set(e, -EINVAL, "the list of devices does not name '%s'", gpu->uuid);
        if (gpu->device_bytes)
                limits_environment_device_size(limits, position, gpu->device_bytes);
        *device = limits->devices[position];
        memcpy(device->uuid, gpu->uuid, sizeof device->uuid);
        device->device_bytes = gpu->device_bytes;
        share_note_said(device, device->limit_bytes, share_cap_percent(device));
        return ratio_check(position, device, e);
}

/* The list that the container's variables give, as one or one by one; "": none. The container counts its GPUs
 * from 0 on, so that a number in its variables must be one's place among them. */
static int list_read(const struct share_copy *limits, struct str *list, struct err *e)
{
        char name[64];
        const char *text = setting_get(SETTING_DEVICES, -1, name);
        const bool is_list = text && strcmp(text, "all") != 0;
        unsigned count = 0;
        int r = is_list ? str_appendf(list, "%s", text) : 0;

        /* CUDA's images say "all" whatever they are started with. */
        for (unsigned i = 0; i < SHARE_DEVICES && r == 0 && !is_list; i++) {
                if (!limits->devices[i].uuid[0])
                        continue;
                if (i != count++) {
                        setting_get(SETTING_DEVICES, (int)i, name);
                        return err_set(e, -EINVAL, "%s names GPU %u, and nothing names GPU %u",
                                       name, i, count - 1);
                }
                r = str_appendf(list, "%s%s", i ? "," : "", limits->devices[i].uuid);
        }
        return r < 0 ? err_set(e, -ENOMEM, "out of memory") : 0;
}

/* Has every limit with a number its GPU among those that the container gets? */
static int numbers_check(const struct share_copy *limits, const struct gpu_names *chosen,
                         struct err *e)
{
        struct limits_gpu gpus[SHARE_DEVICES];

        for (unsigned i = 0; i < chosen->count; i++) {
                memcpy(gpus[i].uuid, chosen->gpus[i].uuid, sizeof gpus[i].uuid);
                gpus[i].position = i;
        }
        return limits_environment_check(limits, gpus, chosen->count, e);
}

/* With the container's environment in place of ours. */
static int share_describe(const struct gpu_names *all, struct share_copy *copy, struct err *e)
{
        struct share_copy limits = { 0 };
        struct variable_names names;
        struct gpu_names chosen;
        struct str list = { 0 };
        int r = limits_environment_read(&limits, &names, e);

        if (r == 0)
                r = limits_environment_list_check(true, e);
        if (r == 0)
                r = list_read(&limits, &list, e);
        if (r == 0)
                r = gpu_names_choose(all, list.text ? list.text : "", &chosen, e);
        str_done(&list);
        if (r == 0)
                r = numbers_check(&limits, &chosen, e);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < chosen.count && r == 0; i++)
                r = device_put(&limits, &chosen.gpus[i], i, &copy->devices[i], e);
        copy->device_count = chosen.count;
        copy->compatibility = limits.compatibility;
        return r;
}

/* Whoever sets a limit that nothing reaches meant another. With the container's environment in place of ours. */
static void excess_note(const struct share_copy *copy, struct err *warning)
{
        char text[SHARE_EXCESS_TEXT], name[64] = "the limit";

        for (unsigned i = 0; i < copy->device_count && !warning->text[0]; i++) {
                if (!share_memory_excess(&copy->devices[i], i, text))
                        continue;
                setting_get(SETTING_MEMORY_LIMIT, (int)i, name);
                err_set(warning, -ERANGE, "%s: %s", name, text);
        }
}

/* Whole, so that no program of the container has to make it grow: it may be one that must not write large files. */
static int region_make(const char *path, struct err *e)
{
        uint64_t inode;
        const int r = region_create(path, &inode, e);

        if (r < 0)
                return r;
        if (chmod(path, 0666) < 0) /* whoever the container runs as */
                return err_set(e, -errno, "cannot change '%.150s': %s", path, strerror(errno));
        return 0;
}

/* For time slices, should vgpu-node --standalone run on this node. */
static int pages_make(const struct standalone *standalone, const struct share_copy *copy,
                      struct err *e)
{
        struct gpu_device gpu_devices[SHARE_DEVICES] = { 0 };
        char boot[BOOT_ID_BYTES] = "";

        for (unsigned i = 0; i < copy->device_count; i++)
                gpu_devices[i].memory_bytes = copy->devices[i].device_bytes;
        boot_id_read(boot);
        const int r = gpu_page_create(standalone->grant, standalone->want, boot, gpu_devices,
                                      copy->device_count, e);
        if (r < 0)
                return r;
        if (chmod(standalone->grant, 0644) < 0 || chmod(standalone->want, 0666) < 0)
                return err_set(e, -errno, "cannot change '%.150s': %s", standalone->want,
                               strerror(errno));
        return 0;
}

static void mount_put(struct standalone *standalone, const char *host, const char *path,
                      bool is_readonly)
{
        const size_t i = standalone->answer.n_mounts++;
        Vgpu__V1__Mount *mount = &standalone->mounts[i];

        vgpu__v1__mount__init(mount);
        mount->host_path = (char *)host;
        mount->container_path = (char *)path;
        mount->read_only = is_readonly;
        standalone->mount_list[i] = mount;
}

static void variable_put(struct standalone *standalone, const char *name, const char *value)
{
        const size_t i = standalone->answer.n_variables++;
        Vgpu__V1__Variable *variable = &standalone->variables[i];

        vgpu__v1__variable__init(variable);
        variable->name = (char *)name;
        variable->value = (char *)value;
        standalone->variable_list[i] = variable;
}

/* A simulated machine comes with its driver; a real one's is the next runtime's business. */
static int machine_put(struct standalone *standalone, const struct runtime_options *options,
                       struct err *e)
{
        const char *driver = options->driver;

        if (!driver)
                driver = standalone->driver = nearby_find(NEARBY_SIM_DRIVER);
        if (!driver)
                return err_set(e, -ENOENT,
                               "the simulated driver was not found beside vgpu-runtime; name its "
                               "folder in %s (--sim-driver=FOLDER)",
                               runtime_options_path());
        mount_put(standalone, options->machine, CONTAINER_MACHINE, false);
        mount_put(standalone, driver, CONTAINER_DRIVER, true);
        variable_put(standalone, "VGPU_SIM", CONTAINER_MACHINE);
        variable_put(standalone, "LD_LIBRARY_PATH", CONTAINER_DRIVER);
        /* A real driver sees the device nodes that there are; the simulated one goes by this. */
        variable_put(standalone, "CUDA_VISIBLE_DEVICES", standalone->uuids.text);
        return 0;
}

static int files_make(const struct spec *spec, const struct runtime_options *options,
                      const char *name, struct standalone *standalone, struct err *e)
{
        struct share_copy copy = { .region = CONTAINER_REGION };
        struct gpu_names all;
        int r = gpu_names_read(options->machine, &all, e);

        if (r < 0)
                return r;
        /* As `docker ps` calls it. */
        snprintf(copy.name, sizeof copy.name, "%.*s", strlen(name) == ID_LETTERS ? 12 : 63, name);
        snprintf(copy.container, sizeof copy.container, "%.255s", name);
        char **lent = environ_lend(spec);
        if (!lent)
                return err_set(e, -ENOMEM, "out of memory");
        r = share_describe(&all, &copy, e);
        if (r == 0)
                excess_note(&copy, &standalone->warning);
        environ_return(lent);
        for (unsigned i = 0; i < copy.device_count && r == 0; i++)
                r = str_appendf(&standalone->uuids, "%s%s", i ? "," : "", copy.devices[i].uuid);
        if (r == 0)
                r = pages_make(standalone, &copy, e);
        if (r == 0)
                r = share_create(standalone->share, &copy, e);
        if (r == 0 && chmod(standalone->share, 0644) < 0) /* whatever the umask */
                r = err_set(e, -errno, "cannot change '%.150s': %s", standalone->share,
                            strerror(errno));
        return r == 0 ? region_make(standalone->region, e) : r;
}

/* Where vgpu-node hears containers' processes: beside its own socket. The folder stays when vgpu-node ends,
 * so that the next one hears those that were started in between. */
static bool registry_find(const char *socket, char ret_folder[static PATH_MAX])
{
        const char *slash = strrchr(socket, '/');

        snprintf(ret_folder, PATH_MAX, "%.*s/registry", slash ? (int)(slash - socket) : 0, socket);
        return access(ret_folder, F_OK) == 0;
}

int standalone_make(const struct spec *spec, const struct runtime_options *options,
                    const char *folder, const char *name, struct standalone *ret_standalone,
                    struct err *e)
{
        struct standalone *standalone = ret_standalone;

        *standalone = (struct standalone){ 0 };
        vgpu__v1__get_allocation_response__init(&standalone->answer);
        standalone->answer.mounts = standalone->mount_list;
        standalone->answer.variables = standalone->variable_list;
        snprintf(standalone->share, sizeof standalone->share, "%s/share", folder);
        snprintf(standalone->region, sizeof standalone->region, "%s/region", folder);
        snprintf(standalone->grant, sizeof standalone->grant, "%s/grant", folder);
        snprintf(standalone->want, sizeof standalone->want, "%s/want", folder);
        mount_put(standalone, standalone->share, SHARE_PATH, true);
        mount_put(standalone, standalone->region, CONTAINER_REGION, false);
        mount_put(standalone, standalone->grant, CONTAINER_GRANT, true);
        mount_put(standalone, standalone->want, CONTAINER_WANT, false);
        if (registry_find(options->socket, standalone->registry))
                mount_put(standalone, standalone->registry, REGISTRY_FOLDER, true);
        const int r = files_make(spec, options, name, standalone, e);
        return r == 0 && options->machine ? machine_put(standalone, options, e) : r;
}

void standalone_done(struct standalone *standalone)
{
        str_done(&standalone->uuids);
        free(standalone->driver);
}
