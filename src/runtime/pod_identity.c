/* SPDX-License-Identifier: Apache-2.0 */
/* pod_identity: the annotations of containerd and of CRI-O. */
#include "pod_identity.h"

#include <string.h>

static const struct cri {
        const char *kind, *pod_uid, *pod_namespace, *pod, *container;
} cris[] = {
        { "io.kubernetes.cri.container-type", "io.kubernetes.cri.sandbox-uid",
          "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name",
          "io.kubernetes.cri.container-name" },
        { "io.kubernetes.cri-o.ContainerType", "io.kubernetes.pod.uid",
          "io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name" },
};

static const char *text_of(const struct spec *spec, const char *name)
{
        const char *text = spec_annotation(spec, name);

        return text ? text : "";
}

struct pod_identity pod_identity_of(const struct spec *spec)
{
        for (size_t i = 0; i < sizeof cris / sizeof *cris; i++) {
                const struct cri *cri = &cris[i];
                const char *kind = spec_annotation(spec, cri->kind);

                if (!kind)
                        continue;
                if (strcmp(kind, "sandbox") == 0)
                        return (struct pod_identity){ .kind = POD_IDENTITY_SANDBOX };
                struct pod_identity identity = { POD_IDENTITY_CONTAINER,
                                                 text_of(spec, cri->pod_uid),
                                                 text_of(spec, cri->pod_namespace),
                                                 text_of(spec, cri->pod),
                                                 text_of(spec, cri->container) };
                if (!*identity.pod_uid || !*identity.container)
                        identity.kind = POD_IDENTITY_VAGUE;
                return identity;
        }
        return (struct pod_identity){ .kind = POD_IDENTITY_NONE };
}
