/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, and how to find one. */
#include "command.h"

#include <string.h>

/* The first parts of names of two parts. */
static const char *const groups[] = { "sim", "kueue", "explain" };

static const struct command commands[] = {
        { .name = "run",
          .usage = "[OPTION]… -- PROGRAM [ARGUMENT]…",
          .completion = "program",
          .run = command_run,
          .options = run_options,
          .usage_exit = EXIT_RUN_FAILED,
          .summary = "run a program on a simulated or real GPU",
          .details =
                  "The program keeps its own process id, exit status, signals, terminal and\n"
                  "output. vgpu writes to standard error only and exits with 125 when it fails,\n"
                  "126 when the program cannot be executed, 127 when there is no such program.\n"
                  "Without --sim and --machine, the machine in the environment variable VGPU_SIM\n"
                  "is used, else the real driver.\n\n"
                  "With --memory the program and all it starts form a share: together they\n"
                  "cannot hold more than SIZE on each GPU, and see a GPU of that size. An\n"
                  "allocation over the limit fails with out of memory. Contexts count as well\n"
                  "(100 to 500 MiB each on many GPUs) unless you give --context-memory=exempt.\n"
                  "'vgpu ps' shows the memory in use, 'vgpu set' changes the limit while the\n"
                  "program runs. The limit guards against accidents, not against attacks.\n\n"
                  "Virtual memory: with --memory-ratio 2 half of SIZE is on the GPU and half on\n"
                  "the host. With --oversold all of SIZE is on the GPU (without --memory: the\n"
                  "whole GPU), and more spills to host memory. The program sees all of it as GPU\n"
                  "memory, but access to the host's part is slower.\n\n"
                  "Examples:\n"
                  "  vgpu run --sim=a100-40gb:2 -- nvidia-smi\n"
                  "  vgpu run --sim=a100-40gb --memory 2g -- nvidia-smi\n"
                  "  vgpu run --memory 4Gi --name train -- python3 train.py\n"
                  "  vgpu run --name train -- python3 eval.py      (within the same 4 GiB)\n"
                  "  vgpu set train --memory 6Gi\n"
                  "  vgpu run --sim=gtx-1050ti --memory 4096Mi --memory-ratio 2 -- nvidia-smi\n"
                  "  vgpu run --sim=gtx-1050ti --oversold -- python3 large.py\n" },
        { .name = "set",
          .usage = "[USER/]NAME [OPTION]…",
          .completion = "share",
          .run = command_set,
          .options = set_options,
          .summary = "change the limits of a share in use",
          .details =
                  "The new limit holds for running programs from their next allocation on. If\n"
                  "they hold more, they keep it, and new allocations are refused until the memory\n"
                  "fits. Prints the memory in use. Root can change the shares of other users and\n"
                  "of containers; if several users have that name, give USER/NAME.\n\n"
                  "Examples:\n"
                  "  vgpu run --memory 200Mi --name train -- python3 train.py &\n"
                  "  vgpu set train --memory 300Mi\n"
                  "  vgpu set train --oversold-host-memory 1Gi\n" },
        { .name = "ps",
          .usage = "[OPTION]…",
          .run = command_ps,
          .options = ps_options,
          .summary = "show shares, their processes and the memory they hold",
          .details =
                  "One line per process and GPU: the memory it holds, the limit of its share, and\n"
                  "the GPU time the share used. A share whose program has not used a GPU yet has\n"
                  "dashes. Root sees the shares of all users, and programs on a GPU that have no\n"
                  "share. vgpu ps first releases the memory of dead processes and removes shares\n"
                  "without a living process.\n\n"
                  "Columns: share user pid program gpu model held device managed context other\n"
                  "virtual resident limit cores lost. On a terminal, columns that do not fit are\n"
                  "cut or left out; --wide shows all of them.\n\n"
                  "Examples:\n"
                  "  vgpu ps\n"
                  "  vgpu ps --columns user,share,pid,held,resident\n"
                  "  vgpu ps --json | jq '.shares[] | {name, held: .gpus[].held_bytes}'\n" },
        { .name = "top",
          .usage = "[OPTION]…",
          .run = command_top,
          .options = top_options,
          .summary = "watch what the shares use, as it happens",
          .details =
                  "On a terminal: each GPU by its name, with its shares and the programs that\n"
                  "have none; memory and compute as bars with their limits, and the last minute.\n"
                  "Red marks trouble: memory refused, at or over its limit, an unhealthy GPU.\n"
                  "Keys: q leave, c m n sort, / filter, ? help. If the output is no terminal, "
                  "vgpu\n"
                  "top prints one table; --json prints an object per sample.\n\n"
                  "Examples:\n"
                  "  vgpu top\n"
                  "  vgpu top --once --sort memory\n"
                  "  vgpu top --json --once | jq '.shares[] | {name, used: "
                  ".gpus[].cores_used_percent}'\n" },
        { .name = "doctor",
          .usage = "[OPTION]…",
          .run = command_doctor,
          .options = doctor_options,
          .summary = "check this machine's set-up and say how to fix it",
          .details = "Exits with 0 when nothing is wrong, else with 1.\n" },
        { .name = "sim create",
          .usage = "[OPTION]…",
          .run = command_sim_create,
          .options = sim_create_options,
          .summary = "make a simulated machine",
          .details = "Examples:\n"
                     "  vgpu sim create --machine /dev/shm/lab --preset h100-80gb --gpus 8\n"
                     "  VGPU_SIM=/dev/shm/lab vgpu run -- nvidia-smi\n" },
        { .name = "sim list",
          .usage = "[OPTION]…",
          .run = command_sim_list,
          .options = sim_list_options,
          .summary = "list the presets and the machines in use" },
        { .name = "sim show",
          .usage = "[OPTION]… [PATH]",
          .completion = "file",
          .run = command_sim_show,
          .options = sim_show_options,
          .summary = "show a machine's GPUs, links and instances" },
        { .name = "sim stat",
          .usage = "[OPTION]… [PATH]",
          .completion = "file",
          .run = command_sim_stat,
          .options = sim_stat_options,
          .summary = "show memory, load, processes and counters of a machine" },
        { .name = "sim inject",
          .usage = "[OPTION]… ACTION [ARGUMENT]…",
          .completion = "action",
          .run = command_sim_inject,
          .options = sim_inject_options,
          .summary = "make calls fail, GPUs break or memory disappear",
          .details =
                  "Actions:\n"
                  "  fail FUNCTION       calls of FUNCTION fail (--result, --times); '*' is every "
                  "call\n"
                  "  hang FUNCTION       calls of FUNCTION do not return until cleared\n"
                  "  xid GPU NUMBER      an Xid event\n"
                  "  ecc GPU KIND        an ECC error, KIND is corrected or uncorrected (--times)\n"
                  "  lose GPU            the GPU falls off the bus\n"
                  "  restore GPU         it comes back\n"
                  "  outsider GPU SIZE   an unknown process takes SIZE of memory; 0 releases it\n"
                  "  clear               remove all faults and outsiders, restore all GPUs\n\n"
                  "Examples:\n"
                  "  vgpu sim inject fail cuMemAlloc --result 2 --times 1\n"
                  "  vgpu sim inject lose 0\n"
                  "  vgpu sim inject clear\n" },
        { .name = "sim destroy",
          .usage = "[OPTION]… [PATH]",
          .completion = "file",
          .run = command_sim_destroy,
          .options = sim_destroy_options,
          .summary = "remove a machine that is not in use" },
        { .name = "explain pod",
          .usage = "NAME [OPTION]…",
          .run = command_cluster,
          .options = explain_pod_options,
          .summary = "say why a pod waits for its GPUs, or where it runs",
          .details = "Reads the pod, the nodes' GPUs and the pods that use them, and prints the\n"
                     "pod's state: admission, a queue, the scheduler, its node. Exits with 0\n"
                     "when the pod has its GPUs or needs none, with 3 when it waits.\n\n"
                     "Examples:\n"
                     "  vgpu explain pod train-0 -n team\n"
                     "  vgpu explain pod train-0 --json | jq -r '.nodes[].reason'\n" },
        { .name = "kueue config",
          .usage = "[OPTION]…",
          .run = command_cluster,
          .options = kueue_config_options,
          .summary = "print what Kueue needs to queue for GPUs",
          .details = "Prints a ResourceFlavor, a ClusterQueue with the nodes' capacity as its\n"
                     "quota, a LocalQueue, and, as a comment, the part of Kueue's own\n"
                     "configuration that makes its counting right. With --resource and --quota it\n"
                     "does not ask the cluster.\n\n"
                     "Examples:\n"
                     "  vgpu kueue config --namespace team | kubectl apply -f -\n"
                     "  vgpu kueue config --quota gpu.das.com/mem=50\n"
                     "  vgpu kueue config --part manager\n"
                     "  vgpu kueue config --resource nvidia.com/mig-1g.5gb --quota "
                     "gpu.das.com/mem=50\n" },
        { .name = "kueue check",
          .usage = "[OPTION]…",
          .run = command_cluster,
          .options = kueue_check_options,
          .summary = "check that Kueue counts each GPU once",
          .details =
                  "Sends a pod and a Job to the API server as a dry run, and compares the result\n"
                  "with Kueue's configuration and queues. Exits with 1 when something counts\n"
                  "twice, or not at all, or is never admitted.\n" },
        { .name = "completion",
          .usage = "SHELL",
          .completion = "bash zsh fish",
          .run = command_completion,
          .options = completion_options,
          .summary = "print the completion script of bash, zsh or fish",
          .details = "Packages and 'make install' put the scripts where the shells look for them. "
                     "For\n"
                     "one session:\n"
                     "  source <(vgpu completion bash)\n"
                     "  source <(vgpu completion zsh)\n"
                     "  vgpu completion fish | source\n\n"
                     "The scripts ask 'vgpu completion shares' for the shares in use, and 'vgpu\n"
                     "completion functions' for the functions that can be made to fail.\n" },
        { .name = "help",
          .usage = "[COMMAND]",
          .completion = "command",
          .run = command_help,
          .options = help_options,
          .summary = "explain a command" },
        { .name = "version",
          .usage = "",
          .run = command_version,
          .options = help_options,
          .summary = "print the version" },
};

size_t command_count(void)
{
        return sizeof commands / sizeof commands[0];
}

const struct command *command_at(size_t index)
{
        return &commands[index];
}

/* How many of the words the name takes; 0: it is another name. */
static int name_match(const char *name, int argc, char *const *argv)
{
        const char *space = strchr(name, ' ');
        const size_t length = space ? (size_t)(space - name) : strlen(name);

        if (argc < 1 || strlen(argv[0]) != length || memcmp(argv[0], name, length) != 0)
                return 0;
        if (!space)
                return 1;
        return argc > 1 && strcmp(argv[1], space + 1) == 0 ? 2 : 0;
}

const struct command *command_find(int argc, char *const *argv, int *ret_count)
{
        for (size_t i = 0; i < command_count(); i++) {
                const int words = name_match(commands[i].name, argc, argv);

                if (words > 0) {
                        *ret_count = words;
                        return &commands[i];
                }
        }
        return NULL;
}

const char *command_group(const char *name)
{
        for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
                const size_t length = strlen(groups[i]);

                if (strncmp(name, groups[i], length) == 0 && name[length] == ' ')
                        return groups[i];
        }
        return "";
}

bool command_is_group(const char *word)
{
        for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
                if (strcmp(groups[i], word) == 0)
                        return true;
        return false;
}

const char *command_group_at(size_t index)
{
        return index < sizeof groups / sizeof groups[0] ? groups[index] : NULL;
}
