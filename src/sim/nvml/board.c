/* board: firmware versions, thresholds and idle clocks of the cards. */
#include "board.h"

#include <string.h>

static const struct board boards[] = {
        { .preset = "a100-40gb", .vbios = "92.00.45.00.03", .part = "692-2G506-0200-003",
          .image = "G506.0200.00.04", .oem = "2.0", .ecc = "6.16",
          .idle_sm_mhz = 210, .idle_memory_mhz = 1215, .idle_video_mhz = 585,
          .min_power_w = 100, .max_power_w = 400,
          .shutdown_c = 92, .slowdown_c = 89, .max_gpu_c = 85, .max_memory_c = 95,
          .nvlink_version = 4, .nvlink_mbps = 25781,
          .decoders = 5, .jpegs = 1, .ofas = 1, .has_gsp = 1, .has_row_remapper = 1 },
        { .preset = "a100-80gb", .vbios = "92.00.36.00.01", .part = "692-2G506-0210-002",
          .image = "G506.0210.00.04", .oem = "2.0", .ecc = "6.16",
          .idle_sm_mhz = 210, .idle_memory_mhz = 1593, .idle_video_mhz = 585,
          .min_power_w = 100, .max_power_w = 400,
          .shutdown_c = 92, .slowdown_c = 89, .max_gpu_c = 85, .max_memory_c = 95,
          .nvlink_version = 4, .nvlink_mbps = 25781,
          .decoders = 5, .jpegs = 1, .ofas = 1, .has_gsp = 1, .has_row_remapper = 1 },
        { .preset = "h100-80gb", .vbios = "96.00.74.00.01", .part = "692-2G520-0200-000",
          .image = "G520.0200.00.05", .oem = "2.1", .ecc = "7.16",
          .idle_sm_mhz = 345, .idle_memory_mhz = 2619, .idle_video_mhz = 765,
          .min_power_w = 200, .max_power_w = 700,
          .shutdown_c = 95, .slowdown_c = 92, .max_gpu_c = 87, .max_memory_c = 95,
          .nvlink_version = 6, .nvlink_mbps = 26562,
          .decoders = 7, .jpegs = 7, .ofas = 1, .has_gsp = 1, .has_row_remapper = 1 },
        { .preset = "h200-141gb", .vbios = "96.00.A0.00.01", .part = "692-2G525-0220-300",
          .image = "G525.0220.00.03", .oem = "2.1", .ecc = "7.16",
          .idle_sm_mhz = 345, .idle_memory_mhz = 3201, .idle_video_mhz = 765,
          .min_power_w = 200, .max_power_w = 700,
          .shutdown_c = 95, .slowdown_c = 92, .max_gpu_c = 87, .max_memory_c = 95,
          .nvlink_version = 6, .nvlink_mbps = 26562,
          .decoders = 7, .jpegs = 7, .ofas = 1, .has_gsp = 1, .has_row_remapper = 1 },
        { .preset = "l4-24gb", .vbios = "95.04.3D.00.05", .part = "900-2G193-0000-001",
          .image = "G193.0200.00.01", .oem = "2.1", .ecc = "6.16",
          .idle_sm_mhz = 210, .idle_memory_mhz = 405, .idle_video_mhz = 765, .idle_pstate = 8,
          .min_power_w = 40, .max_power_w = 72,
          .shutdown_c = 97, .slowdown_c = 94, .max_gpu_c = 85,
          .decoders = 4, .encoders = 2, .jpegs = 4, .ofas = 1, .has_gsp = 1,
          .has_row_remapper = 1 },
        { .preset = "t4-16gb", .vbios = "90.04.38.00.03", .part = "900-2G183-0000-001",
          .image = "G183.0200.00.02", .oem = "1.1", .ecc = "5.0",
          .idle_sm_mhz = 300, .idle_memory_mhz = 405, .idle_video_mhz = 540, .idle_pstate = 8,
          .min_power_w = 60, .max_power_w = 70,
          .shutdown_c = 96, .slowdown_c = 93, .max_gpu_c = 85,
          .decoders = 2, .encoders = 1, .has_gsp = 1 },
        { .preset = "v100-16gb", .vbios = "88.00.4F.00.09", .part = "900-2G503-0000-000",
          .image = "G503.0201.00.03", .oem = "1.1", .ecc = "5.0",
          .idle_sm_mhz = 135, .idle_memory_mhz = 877, .idle_video_mhz = 555,
          .min_power_w = 150, .max_power_w = 300,
          .shutdown_c = 90, .slowdown_c = 87, .max_gpu_c = 83, .max_memory_c = 85,
          .nvlink_version = 2, .nvlink_mbps = 25781, .decoders = 1, .encoders = 3 },
        { .preset = "a30-24gb", .vbios = "92.00.66.00.06", .part = "900-21001-0040-100",
          .image = "1001.0230.00.03", .oem = "2.0", .ecc = "6.16",
          .idle_sm_mhz = 210, .idle_memory_mhz = 1215, .idle_video_mhz = 585,
          .min_power_w = 100, .max_power_w = 165,
          .shutdown_c = 95, .slowdown_c = 92, .max_gpu_c = 90, .max_memory_c = 95,
          .decoders = 4, .jpegs = 1, .ofas = 1, .has_gsp = 1, .has_row_remapper = 1 },
        { .preset = "rtx-4090", .vbios = "95.02.18.80.01", .image = "G002.0000.00.03", .oem = "2.0",
          .idle_sm_mhz = 210, .idle_memory_mhz = 405, .idle_video_mhz = 1185, .idle_pstate = 8,
          .min_power_w = 150, .max_power_w = 600,
          .shutdown_c = 99, .slowdown_c = 96, .max_gpu_c = 90, .fan_count = 2,
          .decoders = 1, .encoders = 2, .jpegs = 4, .ofas = 1 },
        { .preset = "gtx-1050ti", .vbios = "86.07.39.00.46", .image = "G001.0000.01.04", .oem = "1.1",
          .idle_sm_mhz = 139, .idle_memory_mhz = 405, .idle_video_mhz = 544, .idle_pstate = 8,
          .min_power_w = 52, .max_power_w = 75,
          .shutdown_c = 102, .slowdown_c = 99, .max_gpu_c = 97, .fan_count = 1,
          .decoders = 1, .encoders = 1 },
};

const struct board *board_of(const struct machine_gpu *gpu)
{
        for (size_t i = 0; i < sizeof boards / sizeof boards[0]; i++)
                if (strcmp(boards[i].preset, gpu->preset) == 0)
                        return &boards[i];
        return &boards[0];
}
