/* A watch on our own Node, and a patch where it differs. */
#include "registration.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube_watch.h"
#include "log.h"
#include "registration_text.h"
#include "str.h"

struct registration {
        struct kube_client *client;
        struct kube_watch *watch;
        struct kube_call *call; /* the patch, while it is outstanding */
        char *path, *query;
        char *devices, *config;
        char *links;      /* NULL: none */
        bool is_troubled; /* said so already */
        bool is_stale;    /* changed while a patch was on its way */
};

static void write_down(struct registration *registration);

static void on_written(void *owner, const struct kube_answer *answer)
{
        struct registration *registration = owner;

        registration->call = NULL;
        if (registration->is_stale)
                return write_down(registration);
        if (answer->status == 200)
                log_info("registered the GPUs on the Node");
        else /* tried again with the Node's next change; kubelet makes one every few seconds */
                log_warn("cannot register the GPUs on the Node: %s", answer->message);
}

static void write_down(struct registration *registration)
{
        registration->is_stale = false;

        json_t *body = json_pack("{s:{s:{s:s, s:s, s:s?}}}", "metadata", "annotations",
                                 REGISTRATION_DEVICES, registration->devices, REGISTRATION_CONFIG,
                                 registration->config, REGISTRATION_LINKS, registration->links);
        const struct kube_request request = { .method = "PATCH",
                                              .path = registration->path,
                                              .body = body,
                                              .content_type = "application/merge-patch+json" };

        registration->is_stale = false;
        if (!body || kube_client_call(registration->client, &request, on_written, registration,
                                      &registration->call) < 0)
                registration->call = NULL;
        json_decref(body);
}

static void on_change(void *owner, enum kube_change change, const struct kube_name *name,
                      const json_t *object)
{
        struct registration *registration = owner;
        const json_t *annotations =
                json_object_get(json_object_get(object, "metadata"), "annotations");
        const char *devices = json_string_value(json_object_get(annotations, REGISTRATION_DEVICES));
        const char *config = json_string_value(json_object_get(annotations, REGISTRATION_CONFIG));
        const char *links = json_string_value(json_object_get(annotations, REGISTRATION_LINKS));

        (void)name;
        registration->is_troubled = false;
        if (change == KUBE_DELETED || registration->call)
                return;
        if (!str_is_equal(devices, registration->devices) ||
            !str_is_equal(config, registration->config) ||
            !str_is_equal(links, registration->links))
                write_down(registration);
}

void registration_set(struct registration *registration, char *devices, char *links)
{
        if (!devices) {
                free(links);
                return;
        }
        free(registration->devices);
        free(registration->links);
        registration->devices = devices;
        registration->links = links;
        if (registration->call)
                registration->is_stale = true;
        else
                write_down(registration);
}

static void on_trouble(void *owner, const struct err *e)
{
        struct registration *registration = owner;

        if (!registration->is_troubled)
                log_warn("the Node is out of sight: %s", e->text);
        registration->is_troubled = true;
}

int registration_new(struct kube_client *client, const char *node_name, char *devices, char *config,
                     char *links, struct registration **ret_registration)
{
        struct registration *registration = calloc(1, sizeof *registration);
        struct kube_watch_options options = { .path = "/api/v1/nodes",
                                              .on_change = on_change,
                                              .on_trouble = on_trouble,
                                              .owner = registration };
        int r = -ENOMEM;

        if (!registration) {
                free(devices);
                free(config);
                free(links);
                return -ENOMEM;
        }
        registration->client = client;
        registration->devices = devices;
        registration->config = config;
        registration->links = links;
        if (devices && config && asprintf(&registration->path, "/api/v1/nodes/%s", node_name) > 0 &&
            asprintf(&registration->query, "fieldSelector=metadata.name%%3D%s", node_name) > 0) {
                options.query = registration->query;
                r = kube_watch_new(client, &options, &registration->watch);
        }
        if (r < 0)
                registration_free(registration);
        else
                *ret_registration = registration;
        return r;
}

struct kube_watch_state registration_state(const struct registration *registration)
{
        return kube_watch_state(registration->watch);
}

void registration_free(struct registration *registration)
{
        if (!registration)
                return;
        kube_watch_free(registration->watch);
        if (registration->call)
                kube_call_cancel(registration->call);
        free(registration->path);
        free(registration->query);
        free(registration->devices);
        free(registration->config);
        free(registration->links);
        free(registration);
}
