/* SPDX-License-Identifier: Apache-2.0 */
/* export_table: the private functions that nvidia-smi takes from nvmlInternalGetExportTable.
 *
 * Only what its release 535 needs is known: a table of pointers that begins with its size in bytes.
 * A slot that is not named here answers that the GPU does not support it: then it prints N/A. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "load.h"
#include "process_list.h"
#include "reset.h"

enum {
        SLOT_COUNT = 245,
        SLOT_IS_PRIMARY = 20,
        SLOT_COMMON_ANCESTOR = 23,
        SLOT_TRACE = 26,
        SLOT_HAS_SAMPLES = 72,
        SLOT_HANDLE_BY_INDEX = 81,
        SLOT_ENFORCED_POWER_LIMIT = 108,
        SLOT_PROCESS_UTILIZATION = 145,
        SLOT_RESET = 168,
        SLOT_IS_FABRIC_MANAGED = 169,
        SLOT_RESET_GROUP_NEW = 182,
        SLOT_RESET_GROUP_NAMES = 183,
        SLOT_RESET_GROUP_FREE = 184,
        SLOT_VOLTAGE = 209,
        SLOT_COMPUTE_PROCESSES = 213,
        SLOT_MPS_PROCESSES = 214,
        SLOT_GRAPHICS_PROCESSES = 215,
        SLOT_HOST_PCIE_GENERATION = 230,
        SLOT_GPU_PART_NUMBER = 231,
        SLOT_TEMPERATURE_MARGIN = 240,
        SLOT_ADDRESSING_MODE = 242,
};

typedef void slot_fn(void); /* of whatever type; the caller knows */

struct table {
        uint64_t bytes;
        slot_fn *slots[SLOT_COUNT - 1]; /* slot n is slots[n - 1] */
};
static_assert(sizeof(struct table) == 1960, "as the real table");

/* {6c3efec4-8fc9-4e6c-a327-ee696e12f7c4} */
static const unsigned char table_id[16] = {
        0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
        0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4,
};

struct entry_item {
        uint32_t pid;
        uint64_t used_bytes;
        uint32_t gpu_instance, compute_instance;
        uint64_t protected_bytes;
        char name[4096];
};
static_assert(sizeof(struct entry_item) == 4128, "as nvidia-smi steps through them");

static nvmlReturn_t slot_not_supported(void)
{
        return NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t slot_trace(void)
{
        return NVML_SUCCESS;
}

/* No GPU of this machine shows the console. */
static nvmlReturn_t slot_is_primary(nvmlDevice_t device, unsigned *is_primary)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, is_primary, &t);

        if (r == NVML_SUCCESS)
                *is_primary = 0;
        return r;
}

/* Levels count from 0: one PCIe switch, several, host bridge, node, system. */
static nvmlReturn_t slot_common_ancestor(const char *first, const char *second, unsigned *level)
{
        nvmlGpuTopologyLevel_t found;
        nvmlDevice_t a, b;
        nvmlReturn_t r = sim_nvmlDeviceGetHandleByPciBusId_v2(first, &a);

        if (r == NVML_SUCCESS)
                r = sim_nvmlDeviceGetHandleByPciBusId_v2(second, &b);
        if (r == NVML_SUCCESS)
                r = sim_nvmlDeviceGetTopologyCommonAncestor(a, b, &found);
        if (r == NVML_SUCCESS)
                *level = (unsigned)found / 10 - 1;
        return r;
}

/* Microvolts: they rise with the clock. */
static nvmlReturn_t slot_voltage(nvmlDevice_t device, unsigned *microvolts)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, microvolts, &t);

        if (r != NVML_SUCCESS)
                return r;
        load_of_gpu(&t, &load);
        *microvolts = 700000 + 6250 * (load.sm_mhz * 24 / t.gpu->sm_clock_mhz);
        return NVML_SUCCESS;
}

/* The chip's own number: what PCI calls it, and a stepping. */
static nvmlReturn_t slot_gpu_part_number(nvmlDevice_t device, char *text, unsigned length)
{
        struct target t;
        char part[32];
        nvmlReturn_t r = target_gpu(device, text, &t);

        if (r != NVML_SUCCESS)
                return r;
        snprintf(part, sizeof part, "%04X-895-A1", t.gpu->pci_device_id >> 16);
        return target_text(part, text, length);
}

/* Where it is answered, thresholds are told as distances too. */
static nvmlReturn_t slot_temperature_margin(nvmlDevice_t device, int *degrees)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, degrees, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (t.gpu->architecture < NVML_DEVICE_ARCH_ADA)
                return NVML_ERROR_NOT_SUPPORTED;
        load_of_gpu(&t, &load);
        *degrees = board_of(t.gpu)->max_gpu_c - (int)load.temperature_c;
        return NVML_SUCCESS;
}

static nvmlReturn_t slot_addressing_mode(nvmlDevice_t device, unsigned *mode)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, mode, &t);

        if (r == NVML_SUCCESS)
                *mode = 0;
        return r;
}

static nvmlReturn_t slot_handle_by_index(unsigned index, nvmlDevice_t *device, unsigned flags)
{
        (void)flags;
        return sim_nvmlDeviceGetHandleByIndex_v2(index, device);
}

static nvmlReturn_t slot_has_samples(nvmlDevice_t device, unsigned *is_supported)
{
        struct target t;
        nvmlReturn_t r = target_any(device, is_supported, &t);

        if (r == NVML_SUCCESS)
                *is_supported = 1;
        return r;
}

static nvmlReturn_t slot_compute_processes(nvmlDevice_t device, unsigned *count,
                                           struct entry_item *items)
{
        struct vec list = VEC_OF(struct process);
        struct target t;
        nvmlReturn_t r = target_any(device, count, &t);

        if (r == NVML_SUCCESS)
                r = process_list(&t, &list);
        if (r == NVML_SUCCESS && target_list_fits(count, (unsigned)list.count, items, &r)) {
                for (size_t i = 0; i < list.count; i++) {
                        const struct process *process = vec_at(&list, i);
                        items[i] = (struct entry_item){
                                .pid = process->pid,
                                .used_bytes = process->bytes,
                                .gpu_instance = process->gpu_instance,
                                .compute_instance = process->compute_instance,
                                .protected_bytes = NVML_VALUE_NONE,
                        };
                        snprintf(items[i].name, sizeof items[i].name, "%s", process->path);
                }
        }
        vec_done(&list);
        return r;
}

static nvmlReturn_t slot_no_processes(nvmlDevice_t device, unsigned *count,
                                      struct entry_item *items)
{
        struct target t;
        nvmlReturn_t r = target_any(device, count, &t);

        (void)items;
        if (r == NVML_SUCCESS)
                *count = 0;
        return r;
}

/* One moment: for each engine the process that had it and how much. nvidia-smi adds up what each
 * process had and divides by the number of moments. */
struct moment {
        uint64_t time_us;
        struct {
                uint32_t percent, reserved;
                uint32_t pid; /* NVML_ID_NONE: nobody */
                uint32_t unknown[17];
        } engines[4]; /* processors, memory, encoder, decoder */
};
static_assert(sizeof(struct moment) == 328, "as nvidia-smi steps through them");

enum { MOMENTS = 100 };

static void moment_fill(const nvmlProcessUtilizationSample_t *sample, unsigned count,
                        struct moment *ret_moment)
{
        *ret_moment = (struct moment){ .time_us = sample->timeStamp };
        for (unsigned i = 0; i < 4; i++)
                ret_moment->engines[i].pid = i < 2 ? sample->pid : NVML_ID_NONE;
        ret_moment->engines[0].percent = sample->smUtil * count;
        ret_moment->engines[1].percent = sample->memUtil * count;
}

static nvmlReturn_t slot_process_utilization(nvmlDevice_t device, unsigned long long last_seen_us,
                                             unsigned *unknown, unsigned *count,
                                             struct moment *moments)
{
        nvmlProcessUtilizationSample_t samples[MOMENTS];
        unsigned found = MOMENTS;
        nvmlReturn_t r;

        (void)unknown;
        if (!count || !moments)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (*count < found)
                found = *count;
        r = sim_nvmlDeviceGetProcessUtilization(device, samples, &found, last_seen_us);
        *count = r == NVML_SUCCESS ? found : 0;
        for (unsigned i = 0; i < *count; i++)
                moment_fill(&samples[i], found, &moments[i]);
        return r;
}

static struct table table = { .bytes = sizeof table };

static void table_fill(void)
{
        for (unsigned i = 1; i < SLOT_COUNT; i++)
                table.slots[i - 1] = (slot_fn *)slot_not_supported;
        table.slots[SLOT_IS_PRIMARY - 1] = (slot_fn *)slot_is_primary;
        table.slots[SLOT_COMMON_ANCESTOR - 1] = (slot_fn *)slot_common_ancestor;
        table.slots[SLOT_TRACE - 1] = (slot_fn *)slot_trace;
        table.slots[SLOT_RESET - 1] = (slot_fn *)reset_gpus;
        table.slots[SLOT_IS_FABRIC_MANAGED - 1] = (slot_fn *)reset_is_fabric_managed;
        table.slots[SLOT_RESET_GROUP_NEW - 1] = (slot_fn *)reset_group_new;
        table.slots[SLOT_RESET_GROUP_NAMES - 1] = (slot_fn *)reset_group_names;
        table.slots[SLOT_RESET_GROUP_FREE - 1] = (slot_fn *)reset_group_free;
        table.slots[SLOT_VOLTAGE - 1] = (slot_fn *)slot_voltage;
        table.slots[SLOT_GPU_PART_NUMBER - 1] = (slot_fn *)slot_gpu_part_number;
        table.slots[SLOT_TEMPERATURE_MARGIN - 1] = (slot_fn *)slot_temperature_margin;
        table.slots[SLOT_ADDRESSING_MODE - 1] = (slot_fn *)slot_addressing_mode;
        table.slots[SLOT_HAS_SAMPLES - 1] = (slot_fn *)slot_has_samples;
        table.slots[SLOT_HANDLE_BY_INDEX - 1] = (slot_fn *)slot_handle_by_index;
        table.slots[SLOT_ENFORCED_POWER_LIMIT - 1] = (slot_fn *)sim_nvmlDeviceGetEnforcedPowerLimit;
        table.slots[SLOT_PROCESS_UTILIZATION - 1] = (slot_fn *)slot_process_utilization;
        table.slots[SLOT_COMPUTE_PROCESSES - 1] = (slot_fn *)slot_compute_processes;
        table.slots[SLOT_MPS_PROCESSES - 1] = (slot_fn *)slot_no_processes;
        table.slots[SLOT_GRAPHICS_PROCESSES - 1] = (slot_fn *)slot_no_processes;
        table.slots[SLOT_HOST_PCIE_GENERATION - 1] =
                (slot_fn *)sim_nvmlDeviceGetMaxPcieLinkGeneration;
}

nvmlReturn_t sim_nvmlInternalGetExportTable(const void **ret_table, const void *id)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        if (!ret_table || !id)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (memcmp(id, table_id, sizeof table_id) != 0)
                return NVML_ERROR_NOT_FOUND;
        pthread_once(&once, table_fill);
        *ret_table = &table;
        return NVML_SUCCESS;
}
