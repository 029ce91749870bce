/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu sim show: what a machine is made of. */
#include <inttypes.h>
#include <stdio.h>

#include "json_out.h"
#include "machine_option.h"
#include "table.h"

enum { MACHINE, JSON, ROWS };

const struct cli_option sim_show_options[] = {
        [MACHINE] = { "machine", "PATH", "the machine; default: VGPU_SIM", "file" },
        [JSON] = { "json", NULL, "print JSON", NULL },
        { 0 },
};

static unsigned link_count(const struct machine_gpu *gpu, int32_t peer)
{
        unsigned count = 0;

        for (unsigned i = 0; i < gpu->link_count && i < MACHINE_LINKS; i++)
                count += gpu->link_peer[i] == peer;
        return count;
}

/* Links between two GPUs, directly or through the switch. */
static unsigned link_between(const struct machine_header *header, unsigned a, unsigned b)
{
        const unsigned direct = link_count(&header->gpus[a], (int32_t)b);

        return direct ? direct : link_count(&header->gpus[a], -1);
}

static void show_settings(const struct machine_header *header)
{
        printf("driver        CUDA %u.%u, %s\n", header->driver_version / 1000,
               header->driver_version % 1000 / 10, header->driver_text);
        printf("seed          %" PRIu64 "\n", header->seed);
        printf("time          ×%g, slice %g µs, launch %g µs, noise %g\n", header->time_scale,
               (double)header->slice_ns / 1000, (double)header->launch_ns / 1000, header->noise);
        printf("budgets       %" PRIu64 "MiB of contents, %" PRIu64 " instructions per launch\n",
               header->content_budget_bytes >> 20, header->interpret_budget);
        for (unsigned i = 0; i < MACHINE_KERNELS && header->kernels[i].name[0]; i++)
                printf("kernel        %s takes %g µs\n", header->kernels[i].name,
                       (double)header->kernels[i].duration_ns / 1000);
        putchar('\n');
}

static void show_gpus(const struct machine_header *header)
{
        static const char *const titles[] = {
                "GPU", "NAME", "MEMORY", "SMS", "PCI", "NUMA", "UUID"
        };
        struct table table;

        table_init(&table, titles, 7);
        for (unsigned i = 0; i < header->gpu_count; i++) {
                const struct machine_gpu *gpu = &header->gpus[i];

                table_add(&table, "%u", i);
                table_add(&table, "%s", gpu->name);
                table_add(&table, "%" PRIu64 "MiB", gpu->memory_bytes >> 20);
                table_add(&table, "%u", gpu->sm_count);
                table_add(&table, "%08x:%02x:%02x.0", gpu->pci_domain, gpu->pci_bus,
                          gpu->pci_device);
                table_add(&table, "%d", gpu->numa_node);
                table_add(&table, "%s%s", gpu->uuid, atomic_load(&gpu->is_lost) ? " (lost)" : "");
        }
        table_print(&table);
}

static void show_topology(const struct machine_header *header)
{
        const unsigned count = header->gpu_count;

        if (count < 2)
                return;
        printf("\nlinks");
        for (unsigned i = 0; i < count; i++)
                printf("\tGPU%u", i);
        putchar('\n');
        for (unsigned i = 0; i < count; i++) {
                printf("GPU%u", i);
                for (unsigned j = 0; j < count; j++) {
                        const unsigned links = i == j ? 0 : link_between(header, i, j);

                        if (i == j)
                                printf("\tX");
                        else if (links)
                                printf("\tNV%u", links);
                        else
                                printf("\t%s",
                                       header->gpus[i].numa_node == header->gpus[j].numa_node
                                               ? "NODE"
                                               : "SYS");
                }
                putchar('\n');
        }
}

static void show_instances(const struct machine_header *header)
{
        for (unsigned i = 0; i < header->gpu_count; i++) {
                const struct machine_gpu *gpu = &header->gpus[i];

                if (gpu->mig_mode)
                        printf("\nGPU %u is in MIG mode\n", i);
                for (unsigned k = 0; k < 7; k++) {
                        const struct machine_gpu_instance *instance = &gpu->instances[k];
                        const struct machine_unit *unit = &header->units[instance->unit];

                        if (!instance->is_used)
                                continue;
                        printf("  instance %u: profile %u, %u compute slices, %" PRIu64
                               "MiB, placed %u+%u\n",
                               instance->id, instance->profile, instance->slices,
                               unit->memory_bytes >> 20, instance->start, instance->size);
                        for (unsigned c = 0; c < 7; c++)
                                if (instance->compute[c].is_used)
                                        printf("    compute instance %u: %s\n",
                                               instance->compute[c].id, instance->compute[c].uuid);
                }
        }
}

static void json_instances(struct json_out *json, const struct machine_header *header,
                           const struct machine_gpu *gpu)
{
        json_out_open(json, "instances", '[');
        for (unsigned k = 0; k < 7; k++) {
                const struct machine_gpu_instance *instance = &gpu->instances[k];

                if (!instance->is_used)
                        continue;
                json_out_open(json, NULL, '{');
                json_out_number(json, "id", instance->id);
                json_out_number(json, "profile", instance->profile);
                json_out_number(json, "memory_bytes", header->units[instance->unit].memory_bytes);
                json_out_open(json, "compute_instances", '[');
                for (unsigned c = 0; c < 7; c++)
                        if (instance->compute[c].is_used)
                                json_out_string(json, NULL, instance->compute[c].uuid);
                json_out_close(json, ']');
                json_out_close(json, '}');
        }
        json_out_close(json, ']');
}

static void json_gpu(struct json_out *json, const struct machine_header *header, unsigned index)
{
        const struct machine_gpu *gpu = &header->gpus[index];
        char address[32];

        snprintf(address, sizeof address, "%08x:%02x:%02x.0", gpu->pci_domain, gpu->pci_bus,
                 gpu->pci_device);
        json_out_open(json, NULL, '{');
        json_out_number(json, "index", index);
        json_out_string(json, "name", gpu->name);
        json_out_string(json, "preset", gpu->preset);
        json_out_string(json, "uuid", gpu->uuid);
        json_out_string(json, "pci", address);
        json_out_signed(json, "numa_node", gpu->numa_node);
        json_out_number(json, "memory_bytes", gpu->memory_bytes);
        json_out_number(json, "context_bytes", gpu->context_bytes);
        json_out_number(json, "sms", gpu->sm_count);
        json_out_bool(json, "lost", atomic_load(&gpu->is_lost));
        json_out_bool(json, "mig_mode", gpu->mig_mode);
        json_out_open(json, "links", '[');
        for (unsigned j = 0; j < header->gpu_count; j++)
                json_out_number(json, NULL, j == index ? 0 : link_between(header, index, j));
        json_out_close(json, ']');
        json_instances(json, header, gpu);
        json_out_close(json, '}');
}

static void show_json(const struct machine_header *header)
{
        struct json_out json = { 0 };

        json_out_open(&json, NULL, '{');
        json_out_number(&json, "seed", header->seed);
        json_out_number(&json, "driver_version", header->driver_version);
        json_out_real(&json, "time_scale", header->time_scale);
        json_out_number(&json, "slice_ns", header->slice_ns);
        json_out_number(&json, "launch_ns", header->launch_ns);
        json_out_real(&json, "noise", header->noise);
        json_out_number(&json, "content_budget_bytes", header->content_budget_bytes);
        json_out_number(&json, "instruction_budget", header->interpret_budget);
        json_out_open(&json, "kernels", '{');
        for (unsigned i = 0; i < MACHINE_KERNELS && header->kernels[i].name[0]; i++)
                json_out_number(&json, header->kernels[i].name, header->kernels[i].duration_ns);
        json_out_close(&json, '}');
        json_out_open(&json, "gpus", '[');
        for (unsigned i = 0; i < header->gpu_count; i++)
                json_gpu(&json, header, i);
        json_out_close(&json, ']');
        json_out_close(&json, '}');
}

int command_sim_show(const struct command *command, int argc, char **argv)
{
        bool flags[ROWS] = { false };
        struct machine_view view;
        int code;

        if (!machine_option_begin_view(command, argc, argv, flags, &view, &code))
                return code;
        if (flags[JSON]) {
                show_json(view.header);
        } else {
                show_settings(view.header);
                show_gpus(view.header);
                show_topology(view.header);
                show_instances(view.header);
        }
        machine_view_close(&view);
        return EXIT_OK;
}
