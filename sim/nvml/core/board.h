/* SPDX-License-Identifier: Apache-2.0 */
/* board: what a GPU's firmware knows of itself and the simulation does not need. */
#pragma once

#include "machine.h"

struct board {
        const char *preset;
        const char *vbios;
        const char *part;                      /* board part number; NULL: not told */
        const char *image, *oem, *ecc, *power; /* infoROM versions; NULL: not told */
        uint16_t idle_sm_mhz, idle_memory_mhz, idle_video_mhz;
        uint8_t idle_pstate;
        uint16_t min_power_w, max_power_w;
        uint8_t shutdown_c, slowdown_c, max_gpu_c, max_memory_c; /* 0: no such threshold */
        uint8_t fan_count;
        uint8_t nvlink_version; /* as NVML numbers it; 0: none */
        uint16_t nvlink_mbps;   /* one direction of one link */
        uint8_t decoders, encoders, jpegs, ofas;
        uint8_t has_gsp;
        uint8_t has_row_remapper; /* else ECC errors retire pages */
        uint8_t has_auto_boost;   /* since Pascal boost follows the application clocks */
        uint8_t has_bridge;       /* several GPUs behind a PCIe switch of the board's own */
        uint32_t black_box_us;    /* to write the infoROM's event recorder; 0: has none */
};

const struct board *board_of(const struct machine_gpu *gpu);
