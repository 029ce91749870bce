/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "address.h"
#include "option_row.h"
#include "resource.h"

static uint64_t wall_now_s(void)
{
        return (uint64_t)time(NULL);
}

/* const char *[SETTINGS_NAMES + 1]: it is added. */
static int take_name(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        const char **names = option_row_target(owner, row);
        unsigned count = 0;

        while (names[count])
                count++;
        if (count == SETTINGS_NAMES)
                return err_set(e, -EINVAL, "one option is repeated too often");
        names[count] = value;
        return 0;
}

/* The same: it is removed. */
static int take_allowed(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        const char **names = option_row_target(owner, row);

        (void)e;
        for (; *names; names++)
                if (strcmp(*names, value) == 0)
                        break;
        for (; *names; names++)
                *names = names[1];
        return 0;
}

static int take_domain(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        (void)owner;
        (void)row;
        return resource_use_domain(value, e);
}

static int take_version(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        (void)owner;
        (void)row;
        (void)value;
        (void)e;
        printf("vgpu-webhook %s\n", VGPU_VERSION);
        return 1;
}

#define TEXT(field) \
        .take = option_take_text, .target = OPTION_FIELD(struct settings, const char *, field)
#define FLAG(field) .take = option_take_flag, .target = OPTION_FIELD(struct settings, bool, field)
#define NAMES(field) \
        .take = take_name, .target = OPTION_FIELD(struct settings, const char *, field[0])

static const struct option_row rows[] = {
        { .option = { "listen", "ADDRESS", "serve the API server there; default: [::]:8443", NULL },
          TEXT(listen) },
        { .option = { "certificate", "FILE", "mounted certificate, read again when it changes",
                      "file" },
          TEXT(certificate_path) },
        { .option = { "key", "FILE", "its key; without both, vgpu-webhook makes its own", "file" },
          TEXT(key_path) },
        { .option = { "kubeconfig", "FILE",
                      "how to reach the API server; default: the pod's service account", "file" },
          TEXT(kubeconfig) },
        { .option = { "namespace", "NAME",
                      "namespace of the Secret and the Service; default: the pod's", NULL },
          TEXT(namespace_name) },
        { .option = { "secret", "NAME", "Secret with the generated CA; default: vgpu-webhook",
                      NULL },
          TEXT(secret) },
        { .option = { "service", "NAME", "Service that the API server calls; default: vgpu-webhook",
                      NULL },
          TEXT(service) },
        { .option = { "configuration", "NAME",
                      "name of the webhook configurations; default: vgpu-webhook", NULL },
          TEXT(configuration) },
        { .option = { "seal-key", "FILE", "32 bytes that all replicas share, with --certificate",
                      "file" },
          TEXT(seal_key_path) },
        { .option = { "scheduler-name", "NAME",
                      "set instead of default-scheduler; default: vgpu-scheduler", NULL },
          TEXT(rules.scheduler) },
        { .option = { "runtime-class", "NAME",
                      "set in GPU pods without one; default: vgpu, none: \"\"", NULL },
          TEXT(rules.runtime_class) },
        { .option = { "foreign-runtime", "NAME",
                      "refuse this class too: it hands out GPUs without vgpu; may be "
                      "repeated",
                      NULL },
          NAMES(foreign_runtimes) },
        { .option = { "allow-runtime", "NAME",
                      "of the classes nvidia, nvidia-cdi, nvidia-legacy, allow this one; "
                      "may be repeated",
                      NULL },
          .take = take_allowed,
          .target = OPTION_FIELD(struct settings, const char *, foreign_runtimes[0]) },
        { .option = { "trusted-user", "NAME",
                      "user allowed to write reserved annotations; may be repeated", NULL },
          NAMES(trusted_users) },
        { .option = { "volcano-user", "NAME",
                      "user allowed to write Volcano's annotations; may be repeated", NULL },
          NAMES(volcano_users) },
        { .option = { "metrics-auth", "none|kubernetes",
                      "kubernetes: /metrics needs a bearer token that the API server allows to get "
                      "it; none by default",
                      "none kubernetes" },
          .take = option_take_truth,
          .target = OPTION_FIELD(struct settings, bool, is_metrics_authorized),
          .yes = 1 },
        { .option = { "nvidia-gpu", NULL, "also share nvidia.com/gpu", NULL },
          FLAG(rules.container.with_gpu) },
        { .option = { "domain", "NAME",
                      "domain of resource names, instead of nvidia.com; set it for all programs",
                      NULL },
          .take = take_domain },
        { .option = { "fix-memory-units", NULL,
                      "correct a wrong gpu.das.com/mem instead of refusing it", NULL },
          FLAG(rules.container.is_units_fixed) },
        { .option = { "leave-memory-units", NULL,
                      "add no gpu.das.com/mem: Kueue counts it by transformations", NULL },
          FLAG(rules.container.leaves_units) },
        { .option = { "version", NULL, "print the version", NULL }, .take = take_version },
};

enum { ROWS = sizeof rows / sizeof *rows };

static void help(const struct cli_option *options)
{
        printf("Usage: vgpu-webhook [OPTION]…\n\n"
               "Admission of GPU pods: completes their GPU requests, refuses invalid ones, and "
               "removes\nannotations that users may not write. Serves /mutate and /validate for "
               "the API server,\n/healthz and /readyz for kubelet, and /metrics.\n\nOptions:\n");
        cli_option_print(options);
        printf("  %-26s %s\n", "--help", "print this text");
}

static int refuse(const char *sentence, int *ret_exit)
{
        fprintf(stderr, "vgpu-webhook: %s\n", sentence);
        *ret_exit = 2;
        return -1;
}

static int settings_check(struct settings *settings, int *ret_exit)
{
        struct err e = { 0 };

        if (address_parse(settings->listen, &settings->address, &e) < 0) {
                err_context(&e, e.code, "--listen");
                return refuse(e.text, ret_exit);
        }
        if (!settings->certificate_path != !settings->key_path)
                return refuse("--certificate and --key belong together", ret_exit);
        if (settings->seal_key_path && !settings->certificate_path)
                return refuse("--seal-key needs --certificate; without it the Secret has a key",
                              ret_exit);
        if (settings->rules.container.leaves_units && settings->rules.container.is_units_fixed)
                return refuse("--fix-memory-units and --leave-memory-units contradict each other",
                              ret_exit);
        if (!*settings->rules.runtime_class)
                settings->rules.runtime_class = NULL;
        settings->rules.foreign_runtimes = settings->foreign_runtimes;
        settings->rules.trusted_users = settings->trusted_users;
        settings->rules.volcano_users = settings->volcano_users;
        return 0;
}

/* 0: go on; 1: that was all; < 0: the sentence is in e. */
static int option_take(struct settings *settings, const struct cli_scan *scan, int row,
                       struct err *e)
{
        if (row == CLI_BAD)
                return -EINVAL;
        if (row == CLI_PLAIN)
                return err_set(e, -EINVAL, "takes options only (see --help)");
        if (row == CLI_HELP) {
                help(scan->rows);
                return 1;
        }
        return option_row_take(settings, &rows[row], scan->value, e);
}

int settings_read(int argc, char **argv, struct settings *ret_settings, int *ret_exit)
{
        struct cli_option options[ROWS + 1];
        struct cli_scan scan = {
                .program = "vgpu-webhook", .rows = options, .argc = argc, .argv = argv, .index = 1
        };
        struct err e = { 0 };
        int row, r = 0;

        *ret_settings = (struct settings){
                .listen = "[::]:8443",
                .secret = "vgpu-webhook",
                .service = "vgpu-webhook",
                .configuration = "vgpu-webhook",
                .foreign_runtimes = { "nvidia", "nvidia-cdi", "nvidia-legacy" },
                .rules = { .scheduler = "vgpu-scheduler",
                           .runtime_class = "vgpu",
                           .seal = { .now_s = wall_now_s } },
        };
        option_rows_copy(rows, ROWS, options);
        while (r == 0 && (row = cli_scan_next(&scan, &e)) != CLI_END)
                r = option_take(ret_settings, &scan, row, &e);
        if (r < 0)
                return refuse(e.text, ret_exit);
        if (r > 0) {
                *ret_exit = 0;
                return -1;
        }
        return settings_check(ret_settings, ret_exit);
}
