/* SPDX-License-Identifier: Apache-2.0 */
/* The services of a node, put together. */
#include "node_services.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "node_arbiter.h"
#include "shares_service.h"
#include "user_arbiters.h"

enum { PATH_BYTES = 100 }; /* what a socket's name holds */

struct node_services {
        struct share_fit fit;
        struct node_arbiter *arbiter;
        struct registrar registrar;
        struct registry_server *registry;
        struct shares_service shares;
        struct grpc_server *server;
        struct usage_audit *audit;
        struct user_arbiters *users;
        struct node_services_options options;
        struct loop *loop;
};

/* Root's folder: users of the node do not reach the sockets in it. */
static int folder_make(const char *path, struct err *e)
{
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
                return err_set(e, -errno, "cannot make the folder '%.100s': %s", path,
                               strerror(errno));
        return 0;
}

static int server_open(struct node_services *services, struct loop *loop, const char *folder,
                       struct err *e)
{
        const struct http_limits limits = { 0 };
        struct address address;
        char text[PATH_BYTES + 16];

        snprintf(text, sizeof text, "unix:%s/node.sock", folder);
        int r = address_parse(text, &address, e);
        if (r < 0)
                return r;
        r = grpc_server_new(loop, &limits, shares_service_methods, &services->shares,
                            &services->server);
        if (r < 0)
                return err_set(e, r, "out of memory");
        return grpc_server_listen(services->server, &address, 0600, NULL, e);
}

static int registry_open(struct node_services *services, struct loop *loop, const char *folder,
                         struct err *e)
{
        const struct registry_service service = { registrar_register, &services->registrar };
        char path[PATH_BYTES + 16];

        snprintf(path, sizeof path, "%s/registry", folder);
        return registry_server_new(loop, path, &service, &services->registry, e);
}

int node_services_new(struct loop *loop, struct share_book *book,
                      const struct node_services_options *options,
                      struct node_services **ret_services, struct err *e)
{
        struct node_services *services = calloc(1, sizeof *services);

        if (!services)
                return err_set(e, -ENOMEM, "out of memory");
        services->fit = (struct share_fit){ .book = book,
                                            .memory_scaling = options->memory_scaling,
                                            .cores_scaling = options->cores_scaling };
        services->registrar = (struct registrar){ .fit = &services->fit,
                                                  .ceiling = options->env_ceiling,
                                                  .on_stranger = options->on_stranger,
                                                  .stranger_owner = options->stranger_owner,
                                                  .on_raise = options->on_change,
                                                  .owner = options->owner };
        services->shares = (struct shares_service){ .loop = loop,
                                                    .fit = &services->fit,
                                                    .usage = options->usage,
                                                    .on_set = options->on_change,
                                                    .owner = options->owner };
        services->options = *options;
        services->loop = loop;
        shares_service_init(&services->shares);
        int r = strlen(options->run_folder) < PATH_BYTES - 16
                        ? folder_make(options->run_folder, e)
                        : err_set(e, -ENAMETOOLONG, "the folder '%.100s…' has too long a name",
                                  options->run_folder);
        if (r == 0)
                r = server_open(services, loop, options->run_folder, e);
        if (r == 0)
                r = registry_open(services, loop, options->run_folder, e);
        if (r == 0 && (r = node_arbiter_new(book, &services->arbiter)) < 0)
                err_set(e, r, "cannot start the arbiter: %s", strerror(-r));
        if (r == 0 && (r = user_arbiters_new(loop, services->arbiter, &services->users)) < 0)
                err_set(e, r, "out of memory");
        if (r < 0)
                node_services_free(services);
        else
                *ret_services = services;
        return r;
}

int node_services_watch(struct node_services *services, struct gpu_watch *gpus)
{
        const struct usage_audit_options options = { .book = services->fit.book,
                                                     .gpus = gpus,
                                                     .arbiter = services->arbiter,
                                                     .policy = services->options.violation_policy,
                                                     .on_violation = services->options.on_violation,
                                                     .on_evict = services->options.on_evict,
                                                     .owner = services->options.owner };

        return services->audit ? 0 : usage_audit_new(services->loop, &options, &services->audit);
}

const struct usage_audit *node_services_audit(const struct node_services *services)
{
        return services ? services->audit : NULL;
}

void node_services_free(struct node_services *services)
{
        if (!services)
                return;
        user_arbiters_free(services->users);
        usage_audit_free(services->audit);
        node_arbiter_free(services->arbiter);
        registry_server_free(services->registry);
        grpc_server_free(services->server);
        shares_service_done(&services->shares);
        free(services);
}

void node_services_set_gpus(struct node_services *services, const struct gpu_set *set)
{
        services->fit.set = *set;
}

struct share_fit *node_services_fit(struct node_services *services)
{
        return &services->fit;
}

struct grpc_server *node_services_server(struct node_services *services)
{
        return services->server;
}
