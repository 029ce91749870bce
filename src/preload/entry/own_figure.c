/* own_figure: NVML's list of processes, read for ourselves. */
#include "own_figure.h"

#include <sys/mman.h>
#include <unistd.h>

#include "devices.h"
#include "ledger.h"
#include "start.h"

enum { PROCESSES_MOST = 4096 };

static bool is_self(unsigned pid)
{
        const struct region *region = ledger_region();

        if (pid == (unsigned)getpid())
                return true;
        return ledger_is_open() && pid &&
               pid == atomic_load(&region->file->slots[region->slot].host_pid);
}

bool own_figure(int ordinal, uint64_t *ret_bytes)
{
        nvmlDevice_t device = devices_nvml(ordinal);
        unsigned count = PROCESSES_MOST;
        size_t bytes = PROCESSES_MOST * sizeof(nvmlProcessInfo_t);

        if (!device || !real_nvml.nvmlDeviceGetComputeRunningProcesses_v3)
                return false;
        nvmlProcessInfo_t *list =
                mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (list == MAP_FAILED)
                return false;
        nvmlReturn_t r = real_nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, list);
        *ret_bytes = 0; /* without a context a process is not in the list */
        for (unsigned i = 0; r == NVML_SUCCESS && i < count; i++)
                if (is_self(list[i].pid))
                        *ret_bytes = list[i].usedGpuMemory;
        munmap(list, bytes);
        return r == NVML_SUCCESS;
}
