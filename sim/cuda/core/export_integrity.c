/* SPDX-License-Identifier: Apache-2.0 */
/* Of cuGetExportTable: the runtime makes sure that it talks to the driver. Both compute a keyed digest over
 * what they know of the process, the tables and the devices. */
#include <pthread.h>
#include <unistd.h>

#include "driver.h"
#include "export_slot.h"
#include "getproc.h"
#include "md2.h"

static CUresult slot_integrity(uint32_t version, uint64_t unix_seconds, uint64_t ret_digest[2]);

const table_slot export_integrity_table[3] = {
        (table_slot)sizeof export_integrity_table,
        [1] = (table_slot)slot_integrity,
        [2] = (table_slot)export_slot_unused,
};

static void digest_add_devices(struct md2 *md2)
{
        static const CUdevice_attribute address[3] = {
                CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
                CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
                CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
        };

        for (int ordinal = 0; ordinal < driver.device_count; ordinal++) {
                CUuuid uuid = { { 0 } };
                int32_t pci[3] = { 0 };

                sim_cuDeviceGetUuid(&uuid, ordinal);
                for (unsigned i = 0; i < 3; i++)
                        sim_cuDeviceGetAttribute(&pci[i], address[i], ordinal);
                md2_add(md2, &uuid, sizeof uuid);
                md2_add(md2, pci, sizeof pci);
        }
}

static CUresult slot_integrity(uint32_t version, uint64_t unix_seconds, uint64_t ret_digest[2])
{
        static const uint8_t key[MD2_BYTES] = { 0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                                                0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f };
        const struct {
                uint32_t driver_version, version, process, thread;
                const void *runtime, *integrity, *function;
                uint64_t unix_seconds;
        } facts = {
                .driver_version = driver_version(),
                .version = version,
                .process = (uint32_t)getpid(),
                .thread = (uint32_t)pthread_self(),
                .runtime = export_runtime_table,
                .integrity = export_integrity_table,
                .function = (const void *)export_integrity_table[1],
                .unix_seconds = unix_seconds,
        };
        struct md2 md2;

        if (version % 10 < 2) { /* the first two forms of the check: constants */
                ret_digest[0] = version % 10 == 0 ? 0x3341181c03cb675c : 0x1841181c03cb675c;
                ret_digest[1] = 0x8ed383aa1f4cd1e8;
                return CUDA_SUCCESS;
        }
        md2_keyed_init(&md2, key);
        md2_add(&md2, &facts, sizeof facts);
        digest_add_devices(&md2);
        md2_keyed_done(&md2, key, (uint8_t *)ret_digest);
        return CUDA_SUCCESS;
}
