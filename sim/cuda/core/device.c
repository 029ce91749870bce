/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: what cuDeviceGet* says of them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "sim_cuda.h"

CUresult sim_cuDeviceGet(CUdevice *device, int ordinal)
{
        if (!device)
                return CUDA_ERROR_INVALID_VALUE;
        if (!driver_device(ordinal))
                return CUDA_ERROR_INVALID_DEVICE;
        *device = ordinal;
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetCount(int *count)
{
        if (!count)
                return CUDA_ERROR_INVALID_VALUE;
        *count = driver.device_count;
        return CUDA_SUCCESS;
}

/* A MIG device is called after its GPU and profile. */
static void device_name(const struct device *device, char *text, size_t size)
{
        const struct machine_gpu *gpu = device_gpu(device);
        const struct machine_unit *unit = device_unit(device);

        if (device->unit % MACHINE_UNITS_PER_GPU == 0) {
                snprintf(text, size, "%s", gpu->name);
                return;
        }
        for (unsigned i = 0; i < 7; i++)
                if (gpu->instances[i].is_used && gpu->instances[i].unit == device->unit)
                        snprintf(text, size, "%s MIG %ug.%llugb", gpu->name,
                                 gpu->instances[i].slices,
                                 (unsigned long long)((unit->memory_bytes + (UINT64_C(1) << 29)) >>
                                                      30));
}

CUresult sim_cuDeviceGetName(char *name, int length, CUdevice ordinal)
{
        struct device *device = driver_device(ordinal);

        if (!name || length <= 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        device_name(device, name, (size_t)length);
        return CUDA_SUCCESS;
}

/* The 16 bytes of a UUID's text, whatever its prefix. */
static void uuid_bytes(const char *text, char bytes[16])
{
        unsigned digits = 0;
        const char *p = strchr(text, '-');

        memset(bytes, 0, 16);
        for (p = p ? p : text; *p && digits < 32; p++) {
                if (!isxdigit((unsigned char)*p))
                        continue;
                char digit[2] = { *p, '\0' };
                unsigned value = (unsigned)strtoul(digit, NULL, 16);
                bytes[digits / 2] = (char)((unsigned)(unsigned char)bytes[digits / 2] << 4 | value);
                digits++;
        }
}

static const char *device_uuid(const struct device *device, bool is_exact)
{
        const struct machine_gpu *gpu = device_gpu(device);

        for (unsigned i = 0; is_exact && i < 7; i++)
                if (gpu->instances[i].is_used && gpu->instances[i].unit == device->unit)
                        return gpu->instances[i].compute[device->compute_instance].uuid;
        return gpu->uuid;
}

static CUresult device_uuid_get(CUuuid *uuid, CUdevice ordinal, bool is_exact)
{
        struct device *device = driver_device(ordinal);

        if (!uuid)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        uuid_bytes(device_uuid(device, is_exact), (char *)uuid->bytes);
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetUuid(CUuuid *uuid, CUdevice ordinal)
{
        return device_uuid_get(uuid, ordinal, false);
}

/* The second version tells MIG devices of one GPU apart. */
CUresult sim_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice ordinal)
{
        return device_uuid_get(uuid, ordinal, true);
}

CUresult sim_cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal)
{
        struct device *device = driver_device(ordinal);

        if (!bytes)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        *bytes = device_unit(device)->memory_bytes;
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceTotalMem(unsigned int *bytes, CUdevice ordinal)
{
        size_t all;

        if (!bytes)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult r = sim_cuDeviceTotalMem_v2(&all, ordinal);
        if (r == CUDA_SUCCESS)
                *bytes = all > UINT32_MAX ? UINT32_MAX : (unsigned)all;
        return r;
}

CUresult sim_cuDeviceComputeCapability(int *major, int *minor, CUdevice ordinal)
{
        struct device *device = driver_device(ordinal);

        if (!major || !minor)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        *major = (int)device_gpu(device)->capability_major;
        *minor = (int)device_gpu(device)->capability_minor;
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetPCIBusId(char *text, int length, CUdevice ordinal)
{
        struct device *device = driver_device(ordinal);

        if (!text || length <= 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        const struct machine_gpu *gpu = device_gpu(device);
        snprintf(text, (size_t)length, "%04X:%02X:%02X.0", gpu->pci_domain, gpu->pci_bus,
                 gpu->pci_device);
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
        unsigned domain = 0, bus, slot, function = 0;

        if (!device || !text)
                return CUDA_ERROR_INVALID_VALUE;
        if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
                domain = 0;
                if (sscanf(text, "%x:%x.%x", &bus, &slot, &function) < 2)
                        return CUDA_ERROR_INVALID_VALUE;
        }
        for (int i = 0; i < driver.device_count; i++) {
                const struct machine_gpu *gpu = device_gpu(&driver.devices[i]);
                if (gpu->pci_domain == domain && gpu->pci_bus == bus && gpu->pci_device == slot) {
                        *device = i;
                        return CUDA_SUCCESS;
                }
        }
        return CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuDeviceGetExecAffinitySupport(int *value, CUexecAffinityType type, CUdevice ordinal)
{
        if (!value)
                return CUDA_ERROR_INVALID_VALUE;
        if (!driver_device(ordinal))
                return CUDA_ERROR_INVALID_DEVICE;
        (void)type;
        *value = 0; /* only under MPS */
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format,
                                                unsigned channels, CUdevice ordinal)
{
        if (!width || channels == 0 || channels > 4 || channels == 3)
                return CUDA_ERROR_INVALID_VALUE;
        if (!driver_device(ordinal))
                return CUDA_ERROR_INVALID_DEVICE;
        (void)format;
        *width = (size_t)1 << 27;
        return CUDA_SUCCESS;
}

/* All GPUs of a machine reach each other; through the links where there are some. */
static bool gpus_are_linked(const struct machine_gpu *a, unsigned other)
{
        for (unsigned i = 0; i < a->link_count && i < MACHINE_LINKS; i++)
                if (a->link_peer[i] == (int)other || a->link_peer[i] == -1)
                        return true;
        return false;
}

bool devices_are_peers(const struct device *a, const struct device *b)
{
        return a->gpu != b->gpu && a->unit % MACHINE_UNITS_PER_GPU == 0 &&
               b->unit % MACHINE_UNITS_PER_GPU == 0;
}

CUresult sim_cuDeviceCanAccessPeer(int *can, CUdevice ordinal, CUdevice peer_ordinal)
{
        struct device *device = driver_device(ordinal), *peer = driver_device(peer_ordinal);

        if (!can)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device || !peer)
                return CUDA_ERROR_INVALID_DEVICE;
        *can = devices_are_peers(device, peer);
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from,
                                     CUdevice to)
{
        struct device *device = driver_device(from), *peer = driver_device(to);

        if (!value)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device || !peer || device == peer)
                return CUDA_ERROR_INVALID_DEVICE;
        bool is_linked = gpus_are_linked(device_gpu(device), peer->gpu);
        switch ((int)attribute) {
        case 1: /* performance rank: 0 is best */
                *value = is_linked ? 0 : 1;
                return CUDA_SUCCESS;
        case 2: /* access supported */
        case 4: /* CUDA arrays */
                *value = devices_are_peers(device, peer);
                return CUDA_SUCCESS;
        case 3: /* native atomics */
        case 5: /* only some native atomics */
                *value = is_linked && attribute == 3;
                return CUDA_SUCCESS;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}

static CUresult atomics_answer(unsigned *capabilities, const CUatomicOperation *operations,
                               unsigned count, bool is_native)
{
        if (!capabilities || !operations || !count)
                return CUDA_ERROR_INVALID_VALUE;
        /* Bits: signed, unsigned, reduction, 32, 64, 128 bits wide. */
        for (unsigned i = 0; i < count; i++)
                capabilities[i] = is_native ? 0x1f : 0;
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetHostAtomicCapabilities(unsigned *capabilities,
                                               const CUatomicOperation *operations, unsigned count,
                                               CUdevice ordinal)
{
        if (!driver_device(ordinal))
                return CUDA_ERROR_INVALID_DEVICE;
        return atomics_answer(capabilities, operations, count, false);
}

CUresult sim_cuDeviceGetP2PAtomicCapabilities(unsigned *capabilities,
                                              const CUatomicOperation *operations, unsigned count,
                                              CUdevice from, CUdevice to)
{
        struct device *device = driver_device(from), *peer = driver_device(to);

        if (!device || !peer || device == peer)
                return CUDA_ERROR_INVALID_DEVICE;
        return atomics_answer(capabilities, operations, count,
                              gpus_are_linked(device_gpu(device), peer->gpu));
}

CUresult sim_cuDeviceGetLuid(char *luid, unsigned *mask, CUdevice ordinal)
{
        (void)luid, (void)mask;
        /* Locally unique ids exist on Windows alone. */
        return driver_device(ordinal) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_DEVICE;
}
