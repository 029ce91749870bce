/* SPDX-License-Identifier: Apache-2.0 */
/* prepare: who is it, does it want a GPU, has it a share?
 *
 *                        agent: a share    agent: none          no answer
 *      a GPU is asked for   is given it    starts without GPU   does not start
 *      no GPU is asked for  is given it    as it is             as it is
 *
 * Passing a container that asks for no GPU is safe when nobody answers: what it has of a GPU would have
 * to be in its configuration, and there is nothing. A privileged one has every GPU all the same, so it is as it
 * is only while its environment sets no limit. One that the device plugin marked does not
 * start without its share in any case. */
#include "prepare.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "container_folder.h"
#include "container_name.h"
#include "container_paths.h"
#include "failure.h"
#include "gpu_request_detect.h"
#include "json_memory.h"
#include "message.h"
#include "spec_inject.h"
#include "standalone.h"

enum { PLAIN_WAIT_MS = 1000 };

struct candidate {
        const struct command_line *line;
        const struct runtime_options *options;
        struct spec spec;
        struct pod_identity identity;
        char request_text[128];
        const char *request; /* NULL: a plain container */
};

static int give(struct candidate *candidate, const char *folder,
                const Vgpu__V1__GetAllocationResponse *answer, struct err *e)
{
        const struct spec_inject inject = {
                .spec = &candidate->spec,
                .bundle = candidate->line->bundle,
                .folder = folder,
                .library = candidate->options->library,
                .identity = candidate->identity.kind == POD_IDENTITY_CONTAINER
                                    ? &candidate->identity
                                    : NULL,
                .answer = answer,
        };

        return spec_inject_share(&inject, e);
}

static int folder_new(const struct candidate *candidate, char ret_folder[static PATH_MAX],
                      struct err *e)
{
        return container_folder_make(candidate->options->state, candidate->line->root,
                                     candidate->line->id, ret_folder, e);
}

static int give_from_agent(struct candidate *candidate,
                           const Vgpu__V1__GetAllocationResponse *answer, struct err *e)
{
        char folder[PATH_MAX];
        int r = folder_new(candidate, folder, e);

        if (r < 0)
                return r;
        r = give(candidate, folder, answer, e);
        if (r < 0)
                container_folder_remove(folder);
        return r;
}

static int without_share(struct candidate *candidate, struct err *e)
{
        if (!candidate->request)
                return standalone_privileged_check(&candidate->spec, e);
        if (spec_annotation(&candidate->spec, ANNOTATION_REQUESTED))
                return err_set(e, -ENOENT,
                               "the container asked for a GPU and has no share on this node");
        /* Whoever has all devices of the node cannot be kept from its GPUs. */
        if (spec_is_privileged(&candidate->spec))
                return standalone_privileged_check(&candidate->spec, e);
        return spec_inject_nothing(&candidate->spec, e);
}

static int prepare_pod(struct candidate *candidate, struct err *e)
{
        const struct pod_identity *identity = &candidate->identity;
        const bool is_patient = candidate->request != NULL;
        Vgpu__V1__GetAllocationResponse *answer = NULL;
        struct err why = { 0 };
        int r = agent_ask(candidate->options->socket,
                          is_patient ? candidate->options->wait_ms : PLAIN_WAIT_MS, is_patient,
                          identity, candidate->line->id, &answer, &why);

        if (r == 0)
                r = give_from_agent(candidate, answer, &why);
        else if (r == -ENOENT)
                r = without_share(candidate, &why);
        else if (!candidate->request)
                r = standalone_privileged_check(&candidate->spec, &why);
        message_free((ProtobufCMessage *)answer);
        if (r < 0)
                err_set(e, r, "container '%.60s' of pod '%.60s' gets no GPU: %s",
                        identity->container, identity->pod, why.text);
        return r;
}

static int prepare_own(struct candidate *candidate, struct err *e)
{
        struct standalone standalone = { 0 };
        char folder[PATH_MAX];
        int r = standalone_is_wanted(&candidate->spec, candidate->request, e);

        if (r <= 0)
                return r;
        r = folder_new(candidate, folder, e);
        if (r < 0)
                return r;
        container_name_note(&candidate->spec, candidate->line->bundle, candidate->line->id, folder);
        r = standalone_make(&candidate->spec, candidate->options, folder, candidate->line->id,
                            &standalone, e);
        if (r == 0 && standalone.warning.text[0])
                str_appendf(&candidate->spec.left_out, "%s\n", standalone.warning.text);
        if (r == 0)
                r = give(candidate, folder, &standalone.answer, e);
        standalone_done(&standalone);
        if (r < 0)
                container_folder_remove(folder);
        return r;
}

static int prepare(struct candidate *candidate, struct err *e)
{
        switch (candidate->identity.kind) {
        case POD_IDENTITY_SANDBOX:
                return 0;
        case POD_IDENTITY_NONE:
                return prepare_own(candidate, e);
        case POD_IDENTITY_CONTAINER:
                return prepare_pod(candidate, e);
        case POD_IDENTITY_VAGUE:
                break;
        }
        if (!candidate->request || spec_is_privileged(&candidate->spec))
                return standalone_privileged_check(&candidate->spec, e);
        return err_set(e, -EINVAL,
                       "the container asks for a GPU (%.80s), but its annotations do not say which "
                       "container of which pod it is; containerd does since 1.6",
                       candidate->request);
}

int prepare_container(const struct command_line *line, const struct runtime_options *options,
                      struct err *e)
{
        struct candidate candidate = { .line = line, .options = options };
        const uint64_t mark = json_memory_mark();
        char path[PATH_MAX];

        if (line->config && line->config[0] == '/')
                snprintf(path, sizeof path, "%s", line->config);
        else
                snprintf(path, sizeof path, "%s/%s", line->bundle,
                         line->config ? line->config : "config.json");
        int r = spec_load(path, &candidate.spec, e);
        if (r < 0)
                return r;
        candidate.identity = pod_identity_of(&candidate.spec);
        candidate.request = gpu_request_detect(&candidate.spec, candidate.request_text);
        r = prepare(&candidate, e);
        /* A configuration that lacks something of the share must not become a container. */
        if (r == 0 && !json_memory_is_whole(mark))
                r = err_set(e, -ENOMEM, "out of memory");
        if (r == 0)
                r = spec_save(&candidate.spec, path, e);
        if (r == 0)
                failure_note(line, candidate.spec.left_out.text);
        if (r == 0 && spec_is_changed(&candidate.spec))
                container_folder_sweep(options->state);
        spec_done(&candidate.spec);
        return r;
}
