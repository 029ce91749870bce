/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs the simulator can be: figures of real hardware, as its driver reports them. */
#include "preset.h"

#include <string.h>

#define KIB UINT32_C(1024)
#define MIB (UINT64_C(1) << 20)
#define MB  UINT64_C(1000000)
#define GB  UINT64_C(1000000000)

enum { BRAND_TESLA = 2, BRAND_GEFORCE = 5, BRAND_NVIDIA = 14 };

/* Tables are laid out to be read across. */
/* clang-format off */

/* What the chips of one compute capability have in common. */
#define CHIP_MAXWELL_52                                                                            \
        .architecture = 3, .capability_major = 5, .capability_minor = 2, .cores_per_sm = 128,      \
        .threads_per_sm = 2048, .blocks_per_sm = 32, .shared_per_sm_bytes = 96 * KIB,              \
        .shared_per_block_optin_bytes = 48 * KIB
#define CHIP_PASCAL_61                                                                             \
        .architecture = 4, .capability_major = 6, .capability_minor = 1, .cores_per_sm = 128,      \
        .threads_per_sm = 2048, .blocks_per_sm = 32, .shared_per_sm_bytes = 96 * KIB,              \
        .shared_per_block_optin_bytes = 48 * KIB
#define CHIP_VOLTA_70                                                                              \
        .architecture = 5, .capability_major = 7, .capability_minor = 0, .cores_per_sm = 64,       \
        .threads_per_sm = 2048, .blocks_per_sm = 32, .shared_per_sm_bytes = 96 * KIB,              \
        .shared_per_block_optin_bytes = 96 * KIB
#define CHIP_TURING_75                                                                             \
        .architecture = 6, .capability_major = 7, .capability_minor = 5, .cores_per_sm = 64,       \
        .threads_per_sm = 1024, .blocks_per_sm = 16, .shared_per_sm_bytes = 64 * KIB,              \
        .shared_per_block_optin_bytes = 64 * KIB
#define CHIP_AMPERE_80                                                                             \
        .architecture = 7, .capability_major = 8, .capability_minor = 0, .cores_per_sm = 64,       \
        .threads_per_sm = 2048, .blocks_per_sm = 32, .shared_per_sm_bytes = 164 * KIB,             \
        .shared_per_block_optin_bytes = 163 * KIB
#define CHIP_ADA_89                                                                                \
        .architecture = 8, .capability_major = 8, .capability_minor = 9, .cores_per_sm = 128,      \
        .threads_per_sm = 1536, .blocks_per_sm = 24, .shared_per_sm_bytes = 100 * KIB,             \
        .shared_per_block_optin_bytes = 99 * KIB
#define CHIP_HOPPER_90                                                                             \
        .architecture = 9, .capability_major = 9, .capability_minor = 0, .cores_per_sm = 128,      \
        .threads_per_sm = 2048, .blocks_per_sm = 32, .shared_per_sm_bytes = 228 * KIB,             \
        .shared_per_block_optin_bytes = 227 * KIB

/* Host links: what pinned copies reach, not the signalling rate. Faults are bound by latency and
 * cost the same everywhere; a prefetch fills the link, or the copy engine's 24 GB/s. */
#define LINK_PCIE3                                                                                 \
        .pcie_generation = 3, .pcie_width = 16, .in_bytes_per_s = 12300 * MB,                      \
        .out_bytes_per_s = 12900 * MB, .fault_bytes_per_s = 3 * GB, .prefetch_bytes_per_s = 12 * GB
#define LINK_PCIE4                                                                                 \
        .pcie_generation = 4, .pcie_width = 16, .in_bytes_per_s = 25 * GB,                         \
        .out_bytes_per_s = 26 * GB, .fault_bytes_per_s = 3 * GB, .prefetch_bytes_per_s = 24 * GB
#define LINK_PCIE5                                                                                 \
        .pcie_generation = 5, .pcie_width = 16, .in_bytes_per_s = 54 * GB,                         \
        .out_bytes_per_s = 55 * GB, .fault_bytes_per_s = 3 * GB, .prefetch_bytes_per_s = 24 * GB

static const struct preset presets[] = {
        {
                .name = "a100-40gb",
                .summary = "A100 SXM4, 40 GB HBM2, NVSwitch, MIG",
                .links_per_peer = 12,
                .has_switch = 1,
                .gpu = {
                        CHIP_AMPERE_80, LINK_PCIE4, .preset = "a100-40gb",
                        .name = "NVIDIA A100-SXM4-40GB", .brand = BRAND_NVIDIA,
                        .pci_device_id = 0x20b010de, .pci_subsystem_id = 0x134f10de,
                        .sm_count = 108, .copy_engines = 3, .l2_bytes = 40 * KIB * KIB,
                        .memory_bus_bits = 5120, .memory_bytes_per_s = 1555200 * MB,
                        .sm_clock_mhz = 1410, .memory_clock_mhz = 1215, .video_clock_mhz = 1275,
                        .power_limit_mw = 400000, .power_idle_mw = 52000, .temperature_c = 31,
                        .memory_bytes = 40960 * MIB, .reserved_bytes = 622 * MIB,
                        .bar1_bytes = 65536 * MIB, .context_bytes = 418 * MIB,
                        .has_ecc = 1, .has_mig = 1, .link_count = 12,
                },
        },
        {
                .name = "a100-80gb",
                .summary = "A100 SXM4, 80 GB HBM2e, NVSwitch, MIG",
                .links_per_peer = 12,
                .has_switch = 1,
                .gpu = {
                        CHIP_AMPERE_80, LINK_PCIE4, .preset = "a100-80gb",
                        .name = "NVIDIA A100-SXM4-80GB", .brand = BRAND_NVIDIA,
                        .pci_device_id = 0x20b210de, .pci_subsystem_id = 0x147f10de,
                        .sm_count = 108, .copy_engines = 3, .l2_bytes = 40 * KIB * KIB,
                        .memory_bus_bits = 5120, .memory_bytes_per_s = 2039040 * MB,
                        .sm_clock_mhz = 1410, .memory_clock_mhz = 1593, .video_clock_mhz = 1275,
                        .power_limit_mw = 400000, .power_idle_mw = 60000, .temperature_c = 31,
                        .memory_bytes = 81920 * MIB, .reserved_bytes = 882 * MIB,
                        .bar1_bytes = 131072 * MIB, .context_bytes = 418 * MIB,
                        .has_ecc = 1, .has_mig = 1, .link_count = 12,
                },
        },
        {
                .name = "h100-80gb",
                .summary = "H100 SXM5, 80 GB HBM3, NVSwitch, MIG",
                .links_per_peer = 18,
                .has_switch = 1,
                .gpu = {
                        CHIP_HOPPER_90, LINK_PCIE5, .preset = "h100-80gb",
                        .name = "NVIDIA H100 80GB HBM3", .brand = BRAND_NVIDIA,
                        .pci_device_id = 0x233010de, .pci_subsystem_id = 0x16c110de,
                        .sm_count = 132, .copy_engines = 3, .l2_bytes = 50 * KIB * KIB,
                        .memory_bus_bits = 5120, .memory_bytes_per_s = 3352320 * MB,
                        .sm_clock_mhz = 1980, .memory_clock_mhz = 2619, .video_clock_mhz = 1545,
                        .power_limit_mw = 700000, .power_idle_mw = 70000, .temperature_c = 30,
                        .memory_bytes = 81559 * MIB, .reserved_bytes = 469 * MIB,
                        .bar1_bytes = 131072 * MIB, .context_bytes = 502 * MIB,
                        .has_ecc = 1, .has_mig = 1, .link_count = 18,
                },
        },
        {
                .name = "h200-141gb",
                .summary = "H200 SXM5, 141 GB HBM3e, NVSwitch, MIG",
                .links_per_peer = 18,
                .has_switch = 1,
                .gpu = {
                        CHIP_HOPPER_90, LINK_PCIE5, .preset = "h200-141gb",
                        .name = "NVIDIA H200", .brand = BRAND_NVIDIA,
                        .pci_device_id = 0x233510de, .pci_subsystem_id = 0x18be10de,
                        .sm_count = 132, .copy_engines = 3, .l2_bytes = 60 * KIB * KIB,
                        .memory_bus_bits = 6144, .memory_bytes_per_s = 4916736 * MB,
                        .sm_clock_mhz = 1980, .memory_clock_mhz = 3201, .video_clock_mhz = 1545,
                        .power_limit_mw = 700000, .power_idle_mw = 76000, .temperature_c = 30,
                        .memory_bytes = 143771 * MIB, .reserved_bytes = 616 * MIB,
                        .bar1_bytes = 262144 * MIB, .context_bytes = 502 * MIB,
                        .has_ecc = 1, .has_mig = 1, .link_count = 18,
                },
        },
        {
                .name = "l4-24gb",
                .summary = "L4, 24 GB GDDR6, 72 W",
                .gpu = {
                        CHIP_ADA_89, LINK_PCIE4, .preset = "l4-24gb",
                        .name = "NVIDIA L4", .brand = BRAND_NVIDIA,
                        .pci_device_id = 0x27b810de, .pci_subsystem_id = 0x16ca10de,
                        .sm_count = 58, .copy_engines = 2, .l2_bytes = 48 * KIB * KIB,
                        .memory_bus_bits = 192, .memory_bytes_per_s = 300048 * MB,
                        .sm_clock_mhz = 2040, .memory_clock_mhz = 6251, .video_clock_mhz = 1770,
                        .power_limit_mw = 72000, .power_idle_mw = 16500, .temperature_c = 38,
                        .memory_bytes = 23034 * MIB, .reserved_bytes = 466 * MIB,
                        .bar1_bytes = 32768 * MIB, .context_bytes = 260 * MIB,
                        .has_ecc = 1,
                },
        },
        {
                .name = "t4-16gb",
                .summary = "Tesla T4, 16 GB GDDR6, 70 W",
                .gpu = {
                        CHIP_TURING_75, LINK_PCIE3, .preset = "t4-16gb",
                        .name = "Tesla T4", .brand = BRAND_NVIDIA,
                        .pci_device_id = 0x1eb810de, .pci_subsystem_id = 0x12a210de,
                        .sm_count = 40, .copy_engines = 3, .l2_bytes = 4 * KIB * KIB,
                        .memory_bus_bits = 256, .memory_bytes_per_s = 320064 * MB,
                        .sm_clock_mhz = 1590, .memory_clock_mhz = 5001, .video_clock_mhz = 1470,
                        .power_limit_mw = 70000, .power_idle_mw = 9500, .temperature_c = 36,
                        .memory_bytes = 15360 * MIB, .reserved_bytes = 265 * MIB,
                        .bar1_bytes = 256 * MIB, .context_bytes = 102 * MIB,
                        .has_ecc = 1,
                },
        },
        {
                .name = "v100-16gb",
                .summary = "Tesla V100 SXM2, 16 GB HBM2, NVLink",
                .links_per_peer = 2,
                .gpu = {
                        CHIP_VOLTA_70, LINK_PCIE3, .preset = "v100-16gb",
                        .name = "Tesla V100-SXM2-16GB", .brand = BRAND_TESLA,
                        .pci_device_id = 0x1db110de, .pci_subsystem_id = 0x121210de,
                        .sm_count = 80, .copy_engines = 6, .l2_bytes = 6 * KIB * KIB,
                        .memory_bus_bits = 4096, .memory_bytes_per_s = 898048 * MB,
                        .sm_clock_mhz = 1530, .memory_clock_mhz = 877, .video_clock_mhz = 1372,
                        .power_limit_mw = 300000, .power_idle_mw = 41000, .temperature_c = 34,
                        .memory_bytes = 16384 * MIB, .reserved_bytes = 224 * MIB,
                        .bar1_bytes = 16384 * MIB, .context_bytes = 306 * MIB,
                        .has_ecc = 1, .link_count = 6,
                },
        },
        {
                .name = "a30-24gb",
                .summary = "A30 PCIe, 24 GB HBM2, MIG",
                .gpu = {
                        CHIP_AMPERE_80, LINK_PCIE4, .preset = "a30-24gb",
                        .name = "NVIDIA A30", .brand = BRAND_NVIDIA,
                        .pci_device_id = 0x20b710de, .pci_subsystem_id = 0x153210de,
                        .sm_count = 56, .copy_engines = 3, .l2_bytes = 24 * KIB * KIB,
                        .memory_bus_bits = 3072, .memory_bytes_per_s = 933120 * MB,
                        .sm_clock_mhz = 1440, .memory_clock_mhz = 1215, .video_clock_mhz = 1305,
                        .power_limit_mw = 165000, .power_idle_mw = 28000, .temperature_c = 33,
                        .memory_bytes = 24576 * MIB, .reserved_bytes = 515 * MIB,
                        .bar1_bytes = 32768 * MIB, .context_bytes = 312 * MIB,
                        .has_ecc = 1, .has_mig = 1,
                },
        },
        {
                .name = "rtx-4090",
                .summary = "GeForce RTX 4090, 24 GB GDDR6X",
                .gpu = {
                        CHIP_ADA_89, LINK_PCIE4, .preset = "rtx-4090",
                        .name = "NVIDIA GeForce RTX 4090", .brand = BRAND_GEFORCE,
                        .pci_device_id = 0x268410de, .pci_subsystem_id = 0x167c10de,
                        .sm_count = 128, .copy_engines = 2, .l2_bytes = 72 * KIB * KIB,
                        .memory_bus_bits = 384, .memory_bytes_per_s = 1008096 * MB,
                        .sm_clock_mhz = 3105, .memory_clock_mhz = 10501, .video_clock_mhz = 2415,
                        .power_limit_mw = 450000, .power_idle_mw = 18000, .temperature_c = 35,
                        .memory_bytes = 24564 * MIB, .reserved_bytes = 347 * MIB,
                        .bar1_bytes = 256 * MIB, .context_bytes = 330 * MIB,
                        .has_fan = 1,
                },
        },
        {
                .name = "gtx-1050ti",
                .summary = "GeForce GTX 1050 Ti, 4 GB GDDR5",
                .gpu = {
                        CHIP_PASCAL_61, LINK_PCIE3, .preset = "gtx-1050ti",
                        .name = "NVIDIA GeForce GTX 1050 Ti", .brand = BRAND_GEFORCE,
                        .pci_device_id = 0x1c8210de, .pci_subsystem_id = 0x11bf10de,
                        .sm_count = 6, .copy_engines = 2, .l2_bytes = KIB * KIB,
                        .memory_bus_bits = 128, .memory_bytes_per_s = 112128 * MB,
                        .sm_clock_mhz = 1911, .memory_clock_mhz = 3504, .video_clock_mhz = 1708,
                        .power_limit_mw = 75000, .power_idle_mw = 5000, .temperature_c = 32,
                        .memory_bytes = 4096 * MIB, .reserved_bytes = 56 * MIB,
                        .bar1_bytes = 256 * MIB, .context_bytes = 70 * MIB,
                        .has_fan = 1,
                },
        },
        {
                .name = "m60-8gb",
                .summary = "Tesla M60, one of its two GPUs, 8 GB GDDR5",
                .gpu = {
                        CHIP_MAXWELL_52, LINK_PCIE3, .preset = "m60-8gb",
                        .name = "Tesla M60", .brand = BRAND_TESLA,
                        .pci_device_id = 0x13f210de, .pci_subsystem_id = 0x113a10de,
                        .sm_count = 16, .copy_engines = 2, .l2_bytes = 2 * KIB * KIB,
                        .memory_bus_bits = 256, .memory_bytes_per_s = 160320 * MB,
                        .sm_clock_mhz = 1177, .memory_clock_mhz = 2505, .video_clock_mhz = 1083,
                        .power_limit_mw = 150000, .power_idle_mw = 13500, .temperature_c = 33,
                        .memory_bytes = 7680 * MIB, .reserved_bytes = 62 * MIB,
                        .bar1_bytes = 256 * MIB, .context_bytes = 68 * MIB,
                        .has_ecc = 1,
                },
        },
};

/* clang-format on */

size_t preset_count(void)
{
        return sizeof presets / sizeof presets[0];
}

const struct preset *preset_at(size_t index)
{
        return index < preset_count() ? &presets[index] : NULL;
}

const struct preset *preset_find(const char *name)
{
        for (size_t i = 0; i < preset_count(); i++)
                if (strcmp(presets[i].name, name) == 0)
                        return &presets[i];
        return NULL;
}
