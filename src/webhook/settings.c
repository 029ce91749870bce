/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#include "settings.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "address.h"
#include "resource.h"

enum {
        LISTEN,
        CERTIFICATE,
        KEY,
        KUBECONFIG,
        NAMESPACE,
        SECRET,
        SERVICE,
        CONFIGURATION,
        SEAL_KEY,
        SCHEDULER,
        RUNTIME_CLASS,
        FOREIGN_RUNTIME,
        ALLOW_RUNTIME,
        TRUSTED_USER,
        VOLCANO_USER,
        NVIDIA_GPU,
        DOMAIN,
        FIX_MEMORY_UNITS,
        LEAVE_MEMORY_UNITS,
        VERSION,
};

const struct cli_option settings_options[] = {
        [LISTEN] = { "listen", "ADDRESS", "where to serve; default: [::]:8443", NULL },
        [CERTIFICATE] = { "certificate", "FILE", "mounted certificate, read again when it changes",
                          "file" },
        [KEY] = { "key", "FILE", "its key; without both, vgpu-webhook makes its own", "file" },
        [KUBECONFIG] = { "kubeconfig", "FILE",
                         "how to reach the API server; default: the pod's service account",
                         "file" },
        [NAMESPACE] = { "namespace", "NAME",
                        "namespace of the Secret and the Service; default: the pod's", NULL },
        [SECRET] = { "secret", "NAME", "Secret with the generated CA; default: vgpu-webhook",
                     NULL },
        [SERVICE] = { "service", "NAME", "Service that the API server calls; default: vgpu-webhook",
                      NULL },
        [CONFIGURATION] = { "configuration", "NAME",
                            "name of the webhook configurations; default: vgpu-webhook", NULL },
        [SEAL_KEY] = { "seal-key", "FILE", "32 bytes that all replicas share, with --certificate",
                       "file" },
        [SCHEDULER] = { "scheduler-name", "NAME",
                        "set instead of default-scheduler; default: vgpu-scheduler", NULL },
        [RUNTIME_CLASS] = { "runtime-class", "NAME",
                            "set in GPU pods without one; default: vgpu, none: \"\"", NULL },
        [FOREIGN_RUNTIME] = { "foreign-runtime", "NAME",
                              "refuse this class too: it hands out GPUs without vgpu; may be "
                              "repeated",
                              NULL },
        [ALLOW_RUNTIME] = { "allow-runtime", "NAME",
                            "of the classes nvidia, nvidia-cdi, nvidia-legacy, allow this one; "
                            "may be repeated",
                            NULL },
        [TRUSTED_USER] = { "trusted-user", "NAME",
                           "user allowed to write reserved annotations; may be repeated", NULL },
        [VOLCANO_USER] = { "volcano-user", "NAME",
                           "user allowed to write Volcano's annotations; may be repeated", NULL },
        [NVIDIA_GPU] = { "nvidia-gpu", NULL, "also share nvidia.com/gpu", NULL },
        [DOMAIN] = { "domain", "NAME",
                     "of resource names, instead of nvidia.com; set it for all programs", NULL },
        [FIX_MEMORY_UNITS] = { "fix-memory-units", NULL,
                               "correct a wrong gpu.das.com/mem instead of refusing it", NULL },
        [LEAVE_MEMORY_UNITS] = { "leave-memory-units", NULL,
                                 "add no gpu.das.com/mem: Kueue counts it by transformations",
                                 NULL },
        [VERSION] = { "version", NULL, "print the version", NULL },
        { 0 },
};

static uint64_t wall_now_s(void)
{
        return (uint64_t)time(NULL);
}

static void help(void)
{
        printf("Usage: vgpu-webhook [OPTION]…\n\n"
               "Admission of GPU pods: completes their GPU requests, refuses invalid ones, and "
               "removes\nannotations that users may not write. Serves /mutate and /validate for "
               "the API server,\n/healthz and /readyz for kubelet, and /metrics.\n\nOptions:\n");
        cli_option_print(settings_options);
        printf("  %-26s %s\n", "--help", "print this text");
}

static bool name_add(const char **names, const char *name)
{
        unsigned count = 0;

        while (names[count])
                count++;
        if (count == SETTINGS_NAMES)
                return false;
        names[count] = name;
        return true;
}

static void name_remove(const char **names, const char *name)
{
        for (; *names; names++)
                if (strcmp(*names, name) == 0)
                        break;
        for (; *names; names++)
                *names = names[1];
}

static bool option_take(struct settings *settings, int option, const char *value)
{
        const char **const texts[] = {
                [LISTEN] = &settings->listen,
                [CERTIFICATE] = &settings->certificate_path,
                [KEY] = &settings->key_path,
                [KUBECONFIG] = &settings->kubeconfig,
                [NAMESPACE] = &settings->namespace_name,
                [SECRET] = &settings->secret,
                [SERVICE] = &settings->service,
                [CONFIGURATION] = &settings->configuration,
                [SEAL_KEY] = &settings->seal_key_path,
                [SCHEDULER] = &settings->rules.scheduler,
                [RUNTIME_CLASS] = &settings->rules.runtime_class,
        };

        if (option < (int)(sizeof texts / sizeof texts[0]))
                *texts[option] = value;
        else if (option == FOREIGN_RUNTIME)
                return name_add(settings->foreign_runtimes, value);
        else if (option == ALLOW_RUNTIME)
                name_remove(settings->foreign_runtimes, value);
        else if (option == TRUSTED_USER)
                return name_add(settings->trusted_users, value);
        else if (option == VOLCANO_USER)
                return name_add(settings->volcano_users, value);
        else if (option == NVIDIA_GPU)
                settings->rules.container.with_gpu = true;
        else if (option == FIX_MEMORY_UNITS)
                settings->rules.container.is_units_fixed = true;
        else if (option == LEAVE_MEMORY_UNITS)
                settings->rules.container.leaves_units = true;
        return true;
}

static int refuse(const char *sentence, int *ret_exit)
{
        fprintf(stderr, "vgpu-webhook: %s\n", sentence);
        *ret_exit = 2;
        return -1;
}

static int settings_check(struct settings *settings, int *ret_exit)
{
        struct address address;
        struct err e = { 0 };

        if (address_parse(settings->listen, &address, &e) < 0) {
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

int settings_read(int argc, char **argv, struct settings *ret_settings, int *ret_exit)
{
        struct cli_scan scan = { .program = "vgpu-webhook",
                                 .rows = settings_options,
                                 .argc = argc,
                                 .argv = argv,
                                 .index = 1 };
        struct err e = { 0 };
        int option;

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
        while ((option = cli_scan_next(&scan, &e)) != CLI_END) {
                if (option == CLI_BAD)
                        return refuse(e.text, ret_exit);
                if (option == CLI_PLAIN)
                        return refuse("takes options only (see --help)", ret_exit);
                if (option == CLI_HELP || option == VERSION) {
                        if (option == CLI_HELP)
                                help();
                        else
                                printf("vgpu-webhook %s\n", VGPU_VERSION);
                        *ret_exit = 0;
                        return -1;
                }
                if (option == DOMAIN && resource_use_domain(scan.value, &e) < 0)
                        return refuse(e.text, ret_exit);
                if (!option_take(ret_settings, option, scan.value))
                        return refuse("one option is repeated too often", ret_exit);
        }
        return settings_check(ret_settings, ret_exit);
}
