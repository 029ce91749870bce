/* SPDX-License-Identifier: Apache-2.0 */
/* spec_inject: the order of things in a container that has a share. */
#include "spec_inject.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cdi_inject.h"
#include "container_paths.h"
#include "gpu_request_detect.h"
#include "json_read.h"
#include "mount_source.h"
#include "rootfs.h"
#include "saved_env.h"
#include "share.h"
#include "spec_edit.h"
#include "str.h"
#include "verify.h"

#define VISIBLE "NVIDIA_VISIBLE_DEVICES"

static const Vgpu__V1__Mount *mount_at(const Vgpu__V1__GetAllocationResponse *answer,
                                       const char *path)
{
        for (size_t i = 0; i < answer->n_mounts; i++)
                if (strcmp(answer->mounts[i]->container_path, path) == 0)
                        return answer->mounts[i];
        return NULL;
}

static bool is_plain_path(const char *path)
{
        return path[0] == '/' && path[1] && !strstr(path, "/../") && !strstr(path, "//") &&
               strlen(path) < PATH_MAX && strcmp(path + strlen(path) - 1, "/") != 0 &&
               (strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
}

static int mounts_check(const Vgpu__V1__GetAllocationResponse *answer, struct err *e)
{
        for (size_t i = 0; i < answer->n_mounts; i++) {
                const Vgpu__V1__Mount *mount = answer->mounts[i];
                const char *below = mount->container_path;

                if (!is_plain_path(mount->host_path) || !is_plain_path(below))
                        return err_set(e, -EBADMSG,
                                       "vgpu-node's answer has a mount of '%.60s' at '%.60s'",
                                       mount->host_path, below);
                if (str_starts_with(below, CONTAINER_FOLDER "/") &&
                    strchr(below + strlen(CONTAINER_FOLDER "/"), '/'))
                        return err_set(e, -EBADMSG,
                                       "vgpu-node's answer has a mount too deep: '%.60s'", below);
                if (strcmp(below, CONTAINER_FOLDER) == 0)
                        return err_set(e, -EBADMSG, "vgpu-node's answer has a mount at '%s' itself",
                                       CONTAINER_FOLDER);
        }
        return 0;
}

static int share_is_for(const struct share_copy *copy, const struct pod_identity *identity,
                        struct err *e)
{
        if (identity && (strcmp(copy->pod_uid, identity->pod_uid) != 0 ||
                         strcmp(copy->container, identity->container) != 0))
                return err_set(e, -EBADMSG,
                               "vgpu-node gave the share of container '%.60s' of pod %.40s",
                               copy->container, copy->pod_uid);
        if (copy->device_count == 0)
                return err_set(e, -EBADMSG, "vgpu-node gave a share without a device");
        return 0;
}

/* The share itself must be right, and its region one that the container cannot take away. */
static int share_check_answer(const struct spec_inject *inject, struct share_copy *ret_copy,
                              struct err *e)
{
        const Vgpu__V1__Mount *mount = mount_at(inject->answer, SHARE_PATH);
        struct share share;

        if (!mount)
                return err_set(e, -EBADMSG, "vgpu-node's answer has no share at %s", SHARE_PATH);
        int r = share_open(mount->host_path, false, &share, e);
        if (r < 0)
                return r;
        r = share_read(&share, ret_copy, e);
        share_close(&share);
        if (r == 0)
                r = share_is_for(ret_copy, inject->identity, e);
        if (r < 0)
                return r;
        mount = mount_at(inject->answer, ret_copy->region);
        if (!mount || mount->read_only)
                return err_set(e, -EBADMSG, "vgpu-node's answer has no region at '%.100s'",
                               ret_copy->region);
        return 0;
}

static int variable_add(json_t *list, const char *name, const char *value)
{
        return json_array_append_new(list, json_sprintf("%s=%s", name, value)) < 0 ? -ENOMEM : 0;
}

static int env_list(json_t *list, const struct share_copy *copy,
                    const Vgpu__V1__GetAllocationResponse *answer)
{
        struct str uuids = { 0 };
        int r = 0;

        for (unsigned i = 0; i < copy->device_count && r == 0; i++)
                r = str_appendf(&uuids, "%s%s", i ? "," : "", copy->devices[i].uuid);
        if (r == 0)
                r = variable_add(list, "VGPU_DEVICES", uuids.text);
        if (r == 0)
                r = variable_add(list, VISIBLE, uuids.text);
        for (size_t i = 0; i < answer->n_variables && r == 0; i++)
                r = variable_add(list, answer->variables[i]->name, answer->variables[i]->value);
        str_done(&uuids);
        return r;
}

/* A file's mount can be moved aside by renaming the folder above it; a mount cannot be renamed. In
 * a root that is read-only nothing can. */
static int etc_fix(struct spec *spec, const struct rootfs *rootfs)
{
        char etc[PATH_MAX + 8];

        if (spec_root_is_readonly(spec))
                return 0;
        snprintf(etc, sizeof etc, "%s/etc", rootfs->path);
        return spec_mount_insert(spec, &(struct spec_mount){ etc, "/etc", false });
}

/* In the order in which they have to be mounted: the folder, and what lies in it. */
static int mount_put(const struct spec_inject *inject, const struct spec_mount *mount,
                     struct err *e)
{
        int r = mount_source_make(inject->folder, mount->destination, mount->source);

        if (r == 0)
                r = spec_mount_add(inject->spec, mount);
        return r < 0 ? err_set(e, r, "cannot mount '%.100s' into the container: %s", mount->source,
                               strerror(-r))
                     : 0;
}

/* What holds the container to its share is not for it to write, whatever an answer says. */
static bool is_for_reading(const char *path)
{
        return strcmp(path, SHARE_PATH) == 0 || strcmp(path, CONTAINER_GRANT) == 0 ||
               strcmp(path, CONTAINER_LIBRARY) == 0 || strcmp(path, CONTAINER_PRELOAD) == 0;
}

static int mounts_put(const struct spec_inject *inject, struct err *e)
{
        const Vgpu__V1__GetAllocationResponse *answer = inject->answer;
        char source[PATH_MAX + 8];

        snprintf(source, sizeof source, "%s/mounts", inject->folder);
        int r = mount_put(inject, &(struct spec_mount){ source, CONTAINER_FOLDER, true }, e);
        for (size_t i = 0; i < answer->n_mounts && r == 0; i++) {
                const Vgpu__V1__Mount *mount = answer->mounts[i];
                const char *path = mount->container_path;

                if (strcmp(path, CONTAINER_LIBRARY) == 0 || strcmp(path, CONTAINER_PRELOAD) == 0)
                        continue; /* follow, as they must be */
                r = mount_put(inject,
                              &(struct spec_mount){ mount->host_path, path,
                                                    mount->read_only || is_for_reading(path) },
                              e);
        }
        return r;
}

static int preload_put(const struct spec_inject *inject, const struct rootfs *rootfs, struct err *e)
{
        const Vgpu__V1__Mount *library = mount_at(inject->answer, CONTAINER_LIBRARY);
        const char *source = library ? library->host_path : inject->library;
        char path[PATH_MAX + 16];

        if (!source)
                return err_set(e, -ENOENT,
                               "libvgpu.so was not found; name it in %s (--library=PATH)",
                               runtime_options_path());
        int r = mount_put(inject, &(struct spec_mount){ source, CONTAINER_LIBRARY, true }, e);
        if (r < 0)
                return r;
        snprintf(path, sizeof path, "%s/ld.so.preload", inject->folder);
        r = mount_source_preload(inject->folder, rootfs->preload);
        if (r < 0)
                return err_set(e, r, "cannot write '%.150s': %s", path, strerror(-r));
        return mount_put(inject, &(struct spec_mount){ path, CONTAINER_PRELOAD, true }, e);
}

static int devices_put(struct spec *spec, const Vgpu__V1__GetAllocationResponse *answer,
                       struct err *e)
{
        for (size_t i = 0; i < answer->n_device_nodes; i++) {
                const Vgpu__V1__DeviceNode *node = answer->device_nodes[i];
                const struct spec_device device = { node->path, node->major, node->minor };

                if (!str_starts_with(node->path, "/dev/") || !is_plain_path(node->path))
                        return err_set(e, -EBADMSG, "vgpu-node's answer has a device '%.60s'",
                                       node->path);
                if (spec_device_add(spec, &device) < 0)
                        return err_set(e, -ENOMEM, "out of memory");
        }
        return cdi_inject(spec, answer->cdi_devices, answer->n_cdi_devices, e);
}

static int verification_put(const struct spec_inject *inject, const struct rootfs *rootfs,
                            struct err *e)
{
        char preload[PATH_MAX + 16];

        snprintf(preload, sizeof preload, "%s/ld.so.preload", inject->folder);
        return verify_put(inject->spec, rootfs->path,
                          mount_at(inject->answer, SHARE_PATH)->host_path, preload, e);
}

static int fill(const struct spec_inject *inject, const struct rootfs *rootfs, json_t *variables,
                struct err *e)
{
        struct spec *spec = inject->spec;

        gpu_request_remove(spec);
        if (env_put(spec, variables) < 0 || etc_fix(spec, rootfs) < 0)
                return err_set(e, -ENOMEM, "out of memory");
        int r = mounts_put(inject, e);
        if (r == 0)
                r = preload_put(inject, rootfs, e);
        if (r < 0)
                return r;
        json_t *before = json_copy(spec_query(spec, SPEC_ENV));
        r = devices_put(spec, inject->answer, e);
        if (r == 0 && env_add_new(variables, spec_query(spec, SPEC_ENV), before) < 0)
                r = err_set(e, -ENOMEM, "out of memory");
        json_decref(before);
        return r < 0 ? r : verification_put(inject, rootfs, e);
}

/* Also what programs that are started in it later must be told. */
static int fill_and_keep(const struct spec_inject *inject, const struct share_copy *copy,
                         const struct rootfs *rootfs, struct err *e)
{
        autojson json_t *variables = json_array();
        int r = env_list(variables, copy, inject->answer);

        r = r < 0 ? err_set(e, r, "out of memory") : fill(inject, rootfs, variables, e);
        if (r == 0) {
                r = saved_env_write(inject->folder, variables);
                if (r < 0)
                        err_set(e, r, "cannot write into '%.150s': %s", inject->folder,
                                strerror(-r));
        }
        return r;
}

int spec_inject_share(const struct spec_inject *inject, struct err *e)
{
        struct share_copy copy;
        struct rootfs rootfs;
        int r = mounts_check(inject->answer, e);

        if (r == 0)
                r = share_check_answer(inject, &copy, e);
        if (r == 0)
                r = rootfs_open(inject->spec, inject->bundle, &rootfs, e);
        if (r < 0)
                return r;
        r = fill_and_keep(inject, &copy, &rootfs, e);
        rootfs_close(&rootfs);
        return r;
}

int spec_inject_nothing(struct spec *spec, struct err *e)
{
        gpu_request_remove(spec);
        return spec_env_set(spec, VISIBLE, "void") < 0 ? err_set(e, -ENOMEM, "out of memory") : 0;
}
