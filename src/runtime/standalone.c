/* standalone: from variables to a share. */
#include "standalone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot_id.h"
#include "container_place.h"
#include "gpu_names.h"
#include "gpu_page.h"
#include "limits_environment.h"
#include "registry.h"
#include "scope.h"
#include "setting.h"
#include "share.h"
#include "spec_edit.h"

enum { ID_LETTERS = 64 }; /* of Docker's and Podman's ids */

/* The readers of settings are lent the container's environment. */
static char **environ_lend(const struct spec *spec)
{
        const json_t *env = spec_look(spec, SPEC_ENV);
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

int standalone_is_wanted(const struct spec *spec, struct err *e)
{
        struct share_copy limits = { 0 };
        char name[64];
        char **lent = environ_lend(spec);

        if (!lent)
                return err_set(e, -ENOMEM, "out of memory");
        int r = limits_environment_read(&limits, e);
        if (r == 0) {
                const char *list = setting_get(SETTING_DEVICES, -1, name);
                const bool is_none = list && (!strcmp(list, "void") || !strcmp(list, "none"));

                r = limits_environment_is_set(&limits) && !is_none;
        }
        environ_return(lent);
        return r;
}

static int device_put(struct share_copy *limits, const struct gpu_name *gpu, unsigned place,
                      struct share_device *device, struct err *e)
{
        const unsigned position = limits_environment_position(limits, gpu->uuid, place);
        struct setting_value ratio;

        if (position >= SHARE_DEVICES)
                return err_set(e, -EINVAL, "the list of devices does not name '%s'", gpu->uuid);
        if (gpu->card_bytes)
                limits_environment_card(limits, position, gpu->card_bytes);
        *device = limits->devices[position];
        memcpy(device->uuid, gpu->uuid, sizeof device->uuid);
        device->card_bytes = gpu->card_bytes;
        share_note_said(device, device->limit_bytes, share_cap_percent(device));
        if (device->limit_bytes == SHARE_UNLIMITED &&
            setting_read(SETTING_MEMORY_RATIO, (int)position, &ratio, NULL) > 0)
                return err_set(e, -EINVAL, "%s needs %s beside it here", "VGPU_MEMORY_RATIO",
                               setting_name(SETTING_MEMORY_LIMIT));
        return 0;
}

/* With the container's environment in place of ours. */
static int share_describe(const struct gpu_names *all, struct share_copy *copy, struct err *e)
{
        struct share_copy limits = { 0 };
        struct gpu_names chosen;
        char name[64];
        int r = limits_environment_read(&limits, e);
        const char *list = setting_get(SETTING_DEVICES, -1, name);

        if (r == 0)
                r = gpu_names_choose(all, list ? list : "", &chosen, e);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < chosen.count && r == 0; i++)
                r = device_put(&limits, &chosen.gpus[i], i, &copy->devices[i], e);
        copy->device_count = chosen.count;
        copy->compatibility = limits.compatibility;
        return r;
}

static int region_make(const char *path, struct err *e)
{
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

        if (fd < 0 || fchmod(fd, 0666) < 0) /* whoever the container runs as */
                return err_set(e, -errno, "cannot make the account '%.150s': %s", path,
                               strerror(errno));
        return 0;
}

/* For turns, should somebody on this node keep them (vgpu-node --standalone). */
static int pages_make(const struct standalone *standalone, const struct share_copy *copy,
                      struct err *e)
{
        struct gpu_card cards[SHARE_DEVICES] = { 0 };
        char boot[BOOT_ID_BYTES] = "";

        for (unsigned i = 0; i < copy->device_count; i++)
                cards[i].memory_bytes = copy->devices[i].card_bytes;
        boot_id_read(boot);
        const int r = gpu_page_create(standalone->grant, standalone->want, boot, cards,
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
        if (!options->driver)
                return err_set(e, -EINVAL, "--sim in %s needs --sim-driver=FOLDER beside it",
                               runtime_options_path());
        mount_put(standalone, options->machine, CONTAINER_MACHINE, false);
        mount_put(standalone, options->driver, CONTAINER_DRIVER, true);
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

/* Where vgpu-node hears containers' processes: beside its own socket. */
static bool registry_find(const char *socket, char ret_folder[static PATH_MAX])
{
        const char *slash = strrchr(socket, '/');
        char path[PATH_MAX + 16];

        snprintf(ret_folder, PATH_MAX, "%.*s/registry", slash ? (int)(slash - socket) : 0, socket);
        snprintf(path, sizeof path, "%s/socket", ret_folder);
        return access(path, F_OK) == 0;
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
}
