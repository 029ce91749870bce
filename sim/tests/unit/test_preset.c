/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the presets: every GPU is whole and plausible. */
#include "preset.h"

#include <string.h>

#include "unit.h"

TEST(every_preset_is_found_by_its_name)
{
        CHECK(preset_count() >= 10);
        for (size_t i = 0; i < preset_count(); i++) {
                CHECK(preset_find(preset_at(i)->name) == preset_at(i));
                CHECK_STR(preset_at(i)->gpu.preset, preset_at(i)->name);
        }
        CHECK(preset_find("a100") == NULL);
        CHECK(preset_at(preset_count()) == NULL);
}

TEST(gpus_report_what_the_real_ones_do)
{
        static const struct {
                const char *name, *gpu;
                uint64_t mib;
                unsigned major, minor;
        } rows[] = {
                { "a100-40gb", "NVIDIA A100-SXM4-40GB", 40960, 8, 0 },
                { "a100-80gb", "NVIDIA A100-SXM4-80GB", 81920, 8, 0 },
                { "h100-80gb", "NVIDIA H100 80GB HBM3", 81559, 9, 0 },
                { "h200-141gb", "NVIDIA H200", 143771, 9, 0 },
                { "l4-24gb", "NVIDIA L4", 23034, 8, 9 },
                { "t4-16gb", "Tesla T4", 15360, 7, 5 },
                { "gtx-1050ti", "NVIDIA GeForce GTX 1050 Ti", 4096, 6, 1 },
                { "m60-8gb", "Tesla M60", 7680, 5, 2 },
        };

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                const struct preset *preset = preset_find(rows[i].name);

                assert_non_null(preset);
                CHECK_STR(preset->gpu.name, rows[i].gpu);
                CHECK_EQ(preset->gpu.memory_bytes >> 20, rows[i].mib);
                CHECK_EQ(preset->gpu.capability_major, rows[i].major);
                CHECK_EQ(preset->gpu.capability_minor, rows[i].minor);
        }
}

/* DDR moves two words per clock; the figure must follow from clock and bus. */
TEST(bandwidth_follows_from_clock_and_bus)
{
        for (size_t i = 0; i < preset_count(); i++) {
                const struct machine_gpu *gpu = &preset_at(i)->gpu;
                const double expected = 2e6 * gpu->memory_clock_mhz * gpu->memory_bus_bits / 8;
                const double ratio = (double)gpu->memory_bytes_per_s / expected;

                CHECK(ratio > 0.99 && ratio < 1.01);
        }
}

TEST(no_figure_is_missing)
{
        for (size_t i = 0; i < preset_count(); i++) {
                const struct machine_gpu *gpu = &preset_at(i)->gpu;

                CHECK(gpu->sm_count && gpu->cores_per_sm && gpu->threads_per_sm);
                CHECK(gpu->sm_clock_mhz && gpu->video_clock_mhz && gpu->copy_engines);
                CHECK(gpu->pci_device_id && gpu->pci_subsystem_id && gpu->brand);
                CHECK(gpu->power_limit_mw > gpu->power_idle_mw && gpu->power_idle_mw);
                CHECK(gpu->reserved_bytes && gpu->reserved_bytes < gpu->memory_bytes / 16);
                CHECK(gpu->context_bytes >= UINT64_C(60) << 20);
                CHECK(gpu->in_bytes_per_s && gpu->out_bytes_per_s && gpu->bar1_bytes);
                CHECK(gpu->prefetch_bytes_per_s <= gpu->in_bytes_per_s);
                CHECK(gpu->fault_bytes_per_s < gpu->prefetch_bytes_per_s);
                CHECK(gpu->link_count <= MACHINE_LINKS);
        }
}

int main(void)
{
        return RUN(CASE(every_preset_is_found_by_its_name), CASE(gpus_report_what_the_real_ones_do),
                   CASE(bandwidth_follows_from_clock_and_bus), CASE(no_figure_is_missing));
}
