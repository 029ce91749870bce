/* What of a process is on a GPU now. */
#include "residency.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linkage.h"
#include "machine.h"
#include "nvml_prototypes.h"
#include "scope.h"

enum { ENVIRONMENT_BYTES = 1 << 20, PROCESSES_MOST = 4096 };

/* The variable's value in the process's environment; NULL: it has none, or it is not ours to read. */
static char *process_variable(pid_t pid, const char *name)
{
        char path[64];
        const size_t length = strlen(name);

        snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        autofree char *text = fd < 0 ? NULL : calloc(1, ENVIRONMENT_BYTES + 1);
        if (!text)
                return NULL;
        const char *end = text;
        for (ssize_t n = 1; n > 0; end += n > 0 ? n : 0)
                n = read(fd, (char *)end, (size_t)(text + ENVIRONMENT_BYTES - end));
        for (const char *p = text; p < end; p += strlen(p) + 1)
                if (strncmp(p, name, length) == 0 && p[length] == '=')
                        return strdup(p + length + 1);
        return NULL;
}

static bool slot_bytes(struct machine *machine, unsigned gpu, pid_t pid, uint64_t *ret_bytes)
{
        const uint32_t high = atomic_load(&machine->file->header.slots_high);
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < high; i++) {
                const struct machine_slot *slot = &machine->file->slots[i];

                if (atomic_load(&slot->state) != SLOT_LIVE || slot->pid != pid)
                        continue;
                for (unsigned u = 0; u < MACHINE_UNITS_PER_GPU; u++) {
                        const struct machine_slot_unit *unit =
                                &slot->units[gpu * MACHINE_UNITS_PER_GPU + u];

                        bytes += unit->device_bytes + unit->managed_bytes;
                }
                *ret_bytes = bytes;
                return true;
        }
        return false;
}

static bool simulated_bytes(const char *path, pid_t pid, const char *uuid, uint64_t *ret_bytes)
{
        struct machine machine;
        bool is_known = false;

        if (machine_open(path, &machine, NULL) < 0)
                return false;
        for (unsigned i = 0; i < machine.file->header.gpu_count && !is_known; i++)
                if (strcmp(machine_gpu(&machine, i)->uuid, uuid) == 0)
                        is_known = slot_bytes(&machine, i, pid, ret_bytes);
        machine_close(&machine);
        return is_known;
}

static struct {
        bool is_asked, is_there; /* a driver */
        __typeof__(nvmlDeviceGetHandleByUUID) *handle;
        __typeof__(nvmlDeviceGetComputeRunningProcesses_v3) *processes;
} residency;

static bool driver_load(void)
{
        __typeof__(nvmlInit_v2) *init;
        const struct linkage_row rows[] = {
                { &init, "nvmlInit_v2" },
                { &residency.handle, "nvmlDeviceGetHandleByUUID" },
                { &residency.processes, "nvmlDeviceGetComputeRunningProcesses_v3" },
        };

        if (residency.is_asked)
                return residency.is_there;
        residency.is_asked = true;
        void *library = linkage_open("libnvidia-ml.so.1");
        residency.is_there = library && !linkage_find(library, rows, sizeof rows / sizeof *rows) &&
                             init() == NVML_SUCCESS;
        return residency.is_there;
}

static bool real_bytes(pid_t pid, const char *uuid, uint64_t *ret_bytes)
{
        autofree nvmlProcessInfo_t *list = calloc(PROCESSES_MOST, sizeof *list);
        unsigned count = PROCESSES_MOST;
        nvmlDevice_t device;

        if (!list || !driver_load() || residency.handle(uuid, &device) != NVML_SUCCESS ||
            residency.processes(device, &count, list) != NVML_SUCCESS)
                return false;
        for (unsigned i = 0; i < count; i++)
                if (list[i].pid == (unsigned)pid) {
                        *ret_bytes = list[i].usedGpuMemory;
                        return true;
                }
        return false;
}

bool residency_bytes(pid_t pid, const char *uuid, uint64_t *ret_bytes)
{
        autofree char *machine = process_variable(pid, "VGPU_SIM");

        return machine && *machine ? simulated_bytes(machine, pid, uuid, ret_bytes)
                                   : real_bytes(pid, uuid, ret_bytes);
}
