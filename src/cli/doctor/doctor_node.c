/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu doctor: a Kubernetes node: do kubelet, vgpu-node and the container engine reach each other? */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "container_paths.h"
#include "doctor.h"
#include "file.h"
#include "scope.h"
#include "str.h"

#define KUBELET "/var/lib/kubelet"
#define PLUGINS KUBELET "/device-plugins"

/* Where engines are told of runtimes; and the word before a runtime's path. */
static const struct {
        const char *path, *marker;
} engines[] = {
        { "/etc/containerd/config.toml", "BinaryName = \"" },
        { "/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "BinaryName = \"" },
        { "/etc/crio/crio.conf.d/vgpu.conf", "runtime_path = \"" },
        { "/etc/crio/crio.conf", "runtime_path = \"" },
};

static bool has_sockets(void)
{
        glob_t found = { 0 };
        const bool is_found = glob(PLUGINS "/vgpu-*.sock", 0, NULL, &found) == 0;

        globfree(&found);
        return is_found;
}

static bool agent_answers(void)
{
        struct sockaddr_un un = { .sun_family = AF_UNIX };
        autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        str_copy(un.sun_path, sizeof un.sun_path, NODE_SOCKET_PATH);
        return fd >= 0 && connect(fd, (const struct sockaddr *)&un, sizeof un) == 0;
}

/* What an engine's configuration says of the runtime, and whose it is; NULL: nothing. The text is the
 * caller's. */
static char *engine_find(size_t *ret_engine)
{
        for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
                autofree char *text = NULL;
                const char *part = file_read(engines[i].path, &text) == 0
                                           ? strstr(text, ".runtimes.vgpu]")
                                           : NULL;

                if (!part)
                        continue;
                *ret_engine = i;
                return strdup(part);
        }
        return NULL;
}

static bool plugin_is_right(struct doctor *doctor)
{
        if (access(PLUGINS "/kubelet.sock", F_OK) < 0) {
                doctor_say(doctor, VERDICT_WRONG, "start kubelet, or let it use " KUBELET,
                           "kubelet has no socket in " PLUGINS);
                return false;
        }
        if (!has_sockets()) {
                doctor_say(doctor, VERDICT_WRONG,
                           "let vgpu-node run here: kubectl label node NAME vgpu.io/node=true",
                           "vgpu-node has no socket in " PLUGINS ": the node offers no vGPU");
                return false;
        }
        return true;
}

static bool agent_is_right(struct doctor *doctor)
{
        if (agent_answers())
                return true;
        doctor_say(doctor, VERDICT_WRONG, "read the log of vgpu-node",
                   "vgpu-node does not answer at " NODE_SOCKET_PATH ": no GPU container can start");
        return false;
}

static bool engine_is_right(struct doctor *doctor)
{
        size_t engine = 0;
        autofree char *part = engine_find(&engine);
        const char *marker = part ? strstr(part, engines[engine].marker) : NULL;
        char path[256] = "";

        if (marker)
                sscanf(marker + strlen(engines[engine].marker), "%255[^\"]", path);
        if (!*path) {
                doctor_say(doctor, VERDICT_WRONG,
                           "add the runtime to its configuration and restart it: see "
                           "docs/tasks/install.md",
                           "the container engine has no runtime 'vgpu'");
                return false;
        }
        if (access(path, X_OK) < 0) {
                doctor_say(doctor, VERDICT_WRONG, "let vgpu-node install it, or correct the path",
                           "%s names '%.200s', which is not a program", engines[engine].path, path);
                return false;
        }
        if (strstr(engines[engine].marker, "BinaryName") &&
            !strstr(part, "container_annotations")) {
                doctor_say(doctor, VERDICT_WRONG,
                           "add container_annotations = [\"vgpu.io/*\"] to the runtime",
                           "containerd does not pass vgpu.io annotations to the runtime: "
                           "containers that request a GPU may start without one");
                return false;
        }
        return true;
}

void doctor_node(struct doctor *doctor)
{
        size_t engine;
        autofree char *part = engine_find(&engine);

        if (access(KUBELET, F_OK) < 0) {
                doctor_say(doctor, VERDICT_OK, NULL, "there is no kubelet: not a Kubernetes node");
                return;
        }
        if (!part && !has_sockets() && access(NODE_SOCKET_PATH, F_OK) < 0) {
                doctor_say(doctor, VERDICT_NOTE, "see docs/tasks/install.md",
                           "a Kubernetes node whose GPUs vgpu does not share");
                return;
        }
        bool is_right = plugin_is_right(doctor);
        is_right = agent_is_right(doctor) && is_right;
        is_right = engine_is_right(doctor) && is_right;
        if (is_right)
                doctor_say(doctor, VERDICT_OK, NULL,
                           "kubelet, vgpu-node and the container engine reach each other");
}
