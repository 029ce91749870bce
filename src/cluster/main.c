/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu-cluster: the commands of vgpu that ask the API server; vgpu becomes this program for them. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cell_text.h"
#include "cluster_command.h"
#include "cluster_options.h"

static const struct cluster_command commands[] = {
        { "explain pod", explain_pod_options, cluster_explain_pod },
        { "kueue config", kueue_config_options, cluster_kueue_config },
        { "kueue check", kueue_check_options, cluster_kueue_check },
};

int cluster_complain(int exit_code, const char *format, ...)
{
        va_list arguments;

        fflush(stdout);
        fputs("vgpu: ", stderr);
        va_start(arguments, format);
        cell_text_print(stderr, format, arguments);
        va_end(arguments);
        return exit_code;
}

int cluster_name_take(const char *option, const char *text, const char **ret_name, struct err *e)
{
        const size_t length = strlen(text);

        if (length == 0 || length > 63 ||
            strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != length || *text == '-' ||
            text[length - 1] == '-')
                return err_set(e, -EINVAL,
                               "--%s '%.80s' is not a name: lower-case letters, digits and dashes",
                               option, text);
        *ret_name = text;
        return 0;
}

static int flushed(int code)
{
        if (fflush(stdout) == 0 && !ferror(stdout))
                return code;
        return cluster_complain(code ? code : CLUSTER_FAILED, "cannot write the output");
}

int main(int argc, char **argv)
{
        signal(SIGPIPE, SIG_IGN);
        for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
                if (strcmp(argv[1], commands[i].name) == 0)
                        return flushed(commands[i].run(&commands[i], argc - 2, argv + 2));
        return cluster_complain(CLUSTER_USAGE, "vgpu-cluster is run by vgpu; see 'vgpu --help'");
}
