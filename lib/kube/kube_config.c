/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfig files, and what a pod is given. */
#include "kube_config.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "json_read.h"
#include "scope.h"
#include "str.h"
#include "yaml_json.h"

static const char pod_folder[] = "/var/run/secrets/kubernetes.io/serviceaccount";

void kube_config_done(struct kube_config *config)
{
        char *const texts[] = { config->host,          config->port,
                                config->path,          config->server_name,
                                config->authorities,   config->authorities_path,
                                config->certificate,   config->key,
                                config->token,         config->token_path,
                                config->namespace_name };

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
                free(texts[i]);
        *config = (struct kube_config){ 0 };
}

static int copy(const char *text, char **ret_copy, struct err *e)
{
        *ret_copy = text ? strdup(text) : NULL;
        return text && !*ret_copy ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static int read_named(const char *path, char **ret_text, struct err *e)
{
        int r = file_read(path, ret_text);

        return r < 0 ? err_set(e, r, "cannot read '%.150s': %s", path, strerror(-r)) : 0;
}

/* https://host[:port][/path] */
static int parse_server(const char *server, struct kube_config *config, struct err *e)
{
        const char *host, *end, *path, *colon;

        config->is_plain = str_starts_with(server, "http://");
        if (!config->is_plain && !str_starts_with(server, "https://"))
                return err_set(e, -EINVAL, "the server '%.150s' is not an https:// address",
                               server);
        host = strstr(server, "://") + 3;
        path = host + strcspn(host, "/");
        end = path;
        if (*host == '[') { /* a number with colons */
                host++;
                end = host + strcspn(host, "]/");
                colon = *end == ']' && end[1] == ':' ? end + 1 : NULL;
        } else {
                colon = memchr(host, ':', (size_t)(path - host));
                end = colon ? colon : path;
        }
        if (end == host)
                return err_set(e, -EINVAL, "the server '%.150s' has no host", server);
        config->host = strndup(host, (size_t)(end - host));
        config->port = colon ? strndup(colon + 1, (size_t)(path - colon - 1))
                             : strdup(config->is_plain ? "80" : "443");
        config->path = strdup(strcmp(path, "/") == 0 ? "" : path);
        if (!config->host || !config->port || !config->path)
                return err_set(e, -ENOMEM, "out of memory");
        return 0;
}

/* The member of a list of {name, …} with that name. */
static const json_t *find_named(const json_t *root, const char *list, const char *name,
                                const char *member)
{
        const json_t *array = json_object_get(root, list);
        const json_t *item;
        size_t i;

        json_array_foreach (array, i, item) {
                const char *its = json_read_text_or_null(item, "name");

                if (its && name && strcmp(its, name) == 0)
                        return json_object_get(item, member);
        }
        return NULL;
}

static int decode(const char *text, const char *what, char **ret_text, struct err *e)
{
        gnutls_datum_t encoded = { (unsigned char *)text, (unsigned)strlen(text) };
        gnutls_datum_t decoded = { 0 };

        if (gnutls_base64_decode2(&encoded, &decoded) < 0)
                return err_set(e, -EINVAL, "%s is not base64", what);
        *ret_text = strndup((const char *)decoded.data, decoded.size);
        gnutls_free(decoded.data);
        return *ret_text ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static char *path_in(const char *folder, const char *path)
{
        char *whole = NULL;

        if (*path == '/')
                return strdup(path);
        return asprintf(&whole, "%s/%s", folder, path) < 0 ? NULL : whole;
}

/* "NAME-data" in base64, or "NAME" as a path. Neither: *ret_text stays as it is. */
static int take_pem(const json_t *object, const char *name, const char *folder, char **ret_text,
                    struct err *e)
{
        autofree char *path = NULL;
        char key[64];

        snprintf(key, sizeof key, "%s-data", name);
        if (json_read_text_or_null(object, key))
                return decode(json_read_text_or_null(object, key), key, ret_text, e);
        if (!json_read_text_or_null(object, name))
                return 0;
        path = path_in(folder, json_read_text_or_null(object, name));
        return path ? read_named(path, ret_text, e) : err_set(e, -ENOMEM, "out of memory");
}

static int take_cluster(const json_t *cluster, const char *folder, struct kube_config *config,
                        struct err *e)
{
        const char *server = json_read_text_or_null(cluster, "server");
        const char *name = json_read_text_or_null(cluster, "tls-server-name");
        int r;

        if (!server)
                return err_set(e, -EINVAL, "the current context's cluster names no server");
        r = parse_server(server, config, e);
        if (r == 0)
                r = copy(name ? name : config->host, &config->server_name, e);
        config->trusts_all = json_read_is_true(cluster, "insecure-skip-tls-verify");
        return r < 0 ? r
                     : take_pem(cluster, "certificate-authority", folder, &config->authorities, e);
}

static int take_user(const json_t *user, const char *folder, struct kube_config *config,
                     struct err *e)
{
        const char *token_path = json_read_text_or_null(user, "tokenFile");
        int r;

        if (json_object_get(user, "exec") || json_object_get(user, "auth-provider"))
                return err_set(e, -ENOTSUP,
                               "the user is authenticated by a program (exec), which is not "
                               "supported: use a token or a client certificate");
        r = take_pem(user, "client-certificate", folder, &config->certificate, e);
        if (r == 0)
                r = take_pem(user, "client-key", folder, &config->key, e);
        if (r == 0)
                r = copy(json_read_text_or_null(user, "token"), &config->token, e);
        if (r == 0 && token_path) {
                config->token_path = path_in(folder, token_path);
                r = config->token_path ? 0 : err_set(e, -ENOMEM, "out of memory");
        }
        return r;
}

static int take_all(const json_t *root, const char *folder, struct kube_config *config,
                    struct err *e)
{
        const char *current = json_read_text_or_null(root, "current-context");
        const json_t *context = find_named(root, "contexts", current, "context");
        const json_t *cluster, *user;
        int r;

        if (!current)
                return err_set(e, -EINVAL, "not a kubeconfig: it has no current-context");
        if (!context)
                return err_set(e, -EINVAL, "current context '%.80s' not found", current);
        cluster =
                find_named(root, "clusters", json_read_text_or_null(context, "cluster"), "cluster");
        user = find_named(root, "users", json_read_text_or_null(context, "user"), "user");
        r = take_cluster(cluster, folder, config, e);
        if (r == 0)
                r = take_user(user, folder, config, e);
        if (r == 0)
                r = copy(json_read_text_or_null(context, "namespace"), &config->namespace_name, e);
        return r;
}

int kube_config_parse(const char *text, const char *folder, struct kube_config *ret_config,
                      struct err *e)
{
        struct kube_config config = { 0 };
        autojson json_t *root = NULL;
        int r = yaml_json_parse(text, strlen(text), &root, e);

        if (r < 0)
                return r;
        r = take_all(root, folder, &config, e);
        if (r < 0)
                kube_config_done(&config);
        else
                *ret_config = config;
        return r;
}

int kube_config_in_cluster(const char *folder, const char *host, const char *port,
                           struct kube_config *ret_config, struct err *e)
{
        struct kube_config config = { 0 };
        autofree char *namespace_path = path_in(folder, "namespace");
        int r = copy(host, &config.host, e);

        config.token_path = path_in(folder, "token");
        config.authorities_path = path_in(folder, "ca.crt");
        if (r == 0)
                r = copy(port ? port : "443", &config.port, e);
        if (r == 0)
                r = copy("", &config.path, e);
        if (r == 0)
                r = copy(host, &config.server_name, e);
        if (r == 0 && (!config.token_path || !config.authorities_path || !namespace_path))
                r = err_set(e, -ENOMEM, "out of memory");
        if (r == 0)
                r = read_named(config.authorities_path, &config.authorities, e);
        if (r == 0)
                file_read(namespace_path, &config.namespace_name); /* not every pod has one */
        if (r < 0)
                kube_config_done(&config);
        else
                *ret_config = config;
        return r;
}

static int load_file(const char *path, struct kube_config *ret_config, struct err *e)
{
        autofree char *text = NULL;
        autofree char *folder = strdup(path);
        char *slash = folder ? strrchr(folder, '/') : NULL;
        int r = read_named(path, &text, e);

        if (r < 0)
                return r;
        if (slash)
                *slash = '\0';
        r = kube_config_parse(text, slash ? folder : ".", ret_config, e);
        return r < 0 ? err_context(e, r, path) : 0;
}

int kube_config_load(const char *path, struct kube_config *ret_config, struct err *e)
{
        const char *host = getenv("KUBERNETES_SERVICE_HOST");
        const char *home = getenv("HOME");
        autofree char *usual = NULL;

        if (!path)
                path = getenv("KUBECONFIG");
        if (path && *path)
                return load_file(path, ret_config, e);
        if (host)
                return kube_config_in_cluster(pod_folder, host, getenv("KUBERNETES_SERVICE_PORT"),
                                              ret_config, e);
        if (!home || asprintf(&usual, "%s/.kube/config", home) < 0) {
                usual = NULL;
                return err_set(e, -ENOENT, "no kubeconfig, and not in a pod");
        }
        if (access(usual, F_OK) < 0)
                return err_set(
                        e, -ENOENT,
                        "there is no kubeconfig '%.150s'; name one with --kubeconfig FILE or "
                        "KUBECONFIG",
                        usual);
        return load_file(usual, ret_config, e);
}
