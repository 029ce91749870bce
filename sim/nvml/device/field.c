/* SPDX-License-Identifier: Apache-2.0 */
/* field: the numbered readings of nvmlDeviceGetFieldValues; the numbers are NVML_FI_…. */
#include <time.h>

#include "board.h"
#include "ecc.h"
#include "load.h"
#include "nvlink.h"
#include "preset.h"
#include "target.h"

static nvmlReturn_t u32(nvmlValue_t *value, nvmlValueType_t *type, unsigned number)
{
        value->ullVal = 0;
        value->uiVal = number;
        *type = NVML_VALUE_TYPE_UNSIGNED_INT;
        return NVML_SUCCESS;
}

static nvmlReturn_t u64(nvmlValue_t *value, nvmlValueType_t *type, uint64_t number)
{
        value->ullVal = number;
        *type = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
        return NVML_SUCCESS;
}

static nvmlReturn_t s32(nvmlValue_t *value, nvmlValueType_t *type, int number)
{
        value->ullVal = 0;
        value->siVal = number;
        *type = NVML_VALUE_TYPE_SIGNED_INT;
        return NVML_SUCCESS;
}

/* 1, 2: modes; 3…6: totals; 7…28: by memory, of which only device memory ever has errors. */
static nvmlReturn_t field_ecc(const struct target *t, unsigned id, nvmlValue_t *value,
                              nvmlValueType_t *type)
{
        const struct machine_gpu *gpu = t->gpu;

        if (!gpu->has_ecc || (id > 2 && gpu->is_ecc_off))
                return NVML_ERROR_NOT_SUPPORTED;
        switch (id) {
        case 1:
                return u32(value, type, !gpu->is_ecc_off);
        case 2:
                return u32(value, type, !gpu->is_ecc_off_pending);
        case 3:
        case 5:
        case 11:
        case 22:
                return u64(value, type, ecc_total(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED));
        case 4:
        case 6:
        case 12:
        case 23:
                return u64(value, type, ecc_total(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED));
        default:
                return u64(value, type, 0);
        }
}

static nvmlReturn_t field_retirement(const struct target *t, unsigned id, nvmlValue_t *value,
                                     nvmlValueType_t *type)
{
        bool is_row = id >= 142;

        if (is_row != board_of(t->gpu)->has_row_remapper || (!is_row && !t->gpu->has_ecc))
                return NVML_ERROR_NOT_SUPPORTED;
        return u32(value, type, 0);
}

static unsigned active_links(const struct machine_gpu *gpu, bool only_switch)
{
        unsigned count = 0;

        for (unsigned i = 0; i < gpu->link_count && i < MACHINE_LINKS; i++)
                count += nvlink_is_active(gpu, i) && (!only_switch || gpu->link_peer[i] == -1);
        return count;
}

/* Those that name a link in their number or in their scope. */
static nvmlReturn_t field_link(const struct target *t, unsigned id, unsigned link,
                               nvmlValue_t *value, nvmlValueType_t *type)
{
        const struct board *board = board_of(t->gpu);

        if (t->gpu->link_count == 0)
                return NVML_ERROR_NOT_SUPPORTED;
        switch (id) {
        case 90:
                return u32(value, type, active_links(t->gpu, false) ? board->nvlink_mbps : 0);
        case 91:
                return u32(value, type, t->gpu->link_count);
        case 147:
                return u32(value, type, active_links(t->gpu, true));
        default:
                break;
        }
        /* A scope of all ones means all links together. */
        if (link != UINT32_MAX && link >= t->gpu->link_count)
                return NVML_ERROR_INVALID_ARGUMENT;
        bool is_active = link == UINT32_MAX || nvlink_is_active(t->gpu, link);
        if (id >= 84 && id <= 137)
                return u32(value, type, is_active ? board->nvlink_mbps : 0);
        switch (id) {
        case 146:
                return u32(value, type, link);
        case 164:
                return u32(value, type, is_active ? board->nvlink_mbps : 0);
        case 165:
                return u32(value, type, is_active);
        case 166:
                return u32(value, type, board->nvlink_version);
        case 167:
                return u32(value, type, 0);
        default:
                return u64(value, type, 0); /* counters of errors and of bytes */
        }
}

static nvmlReturn_t field_power(const struct target *t, unsigned id, unsigned scope,
                                nvmlValue_t *value, nvmlValueType_t *type)
{
        const struct board *board = board_of(t->gpu);
        const struct preset *preset = preset_find(t->gpu->preset);
        struct load load;

        /* The GPU's own; no GPU here sits on a module with a processor. */
        if (scope != 0)
                return NVML_ERROR_NOT_SUPPORTED;
        switch (id) {
        case 185: /* average and instant */
        case 186:
                load_of_gpu(t, &load);
                return u32(value, type, load.power_mw);
        case 187:
                return u32(value, type, board->min_power_w * 1000u);
        case 188:
                return u32(value, type, board->max_power_w * 1000u);
        case 189:
                return u32(value, type,
                           preset ? preset->gpu.power_limit_mw : t->gpu->power_limit_mw);
        case 190:
        case 192:
                return u32(value, type, t->gpu->power_limit_mw);
        default: /* 191 */
                return u64(value, type, load_energy_mj(t));
        }
}

/* Degrees left until something happens; older GPUs tell absolute thresholds instead. */
static nvmlReturn_t field_margin(const struct target *t, unsigned id, nvmlValue_t *value,
                                 nvmlValueType_t *type)
{
        const struct board *board = board_of(t->gpu);

        if (t->gpu->architecture < NVML_DEVICE_ARCH_ADA)
                return NVML_ERROR_NOT_SUPPORTED;
        switch (id) {
        case 193:
                return s32(value, type, board->max_gpu_c - board->shutdown_c);
        case 194:
                return s32(value, type, board->max_gpu_c - board->slowdown_c);
        case 195:
                return board->max_memory_c ? s32(value, type, 0) : NVML_ERROR_NOT_SUPPORTED;
        default:
                return s32(value, type, 0);
        }
}

/* Bytes over the host link since the machine was made. */
static uint64_t link_bytes(const struct target *t, enum machine_engine engine, uint64_t bytes_per_s)
{
        uint64_t busy_ns = machine_unit(t->machine, t->unit)->engines[engine].busy_ns;

        return (uint64_t)((double)busy_ns / 1e9 * (double)bytes_per_s);
}

/* Which link a numbered field means: ids come in blocks of six, two blocks per kind. */
static unsigned link_of(unsigned id, unsigned scope)
{
        if (id >= 84 && id <= 89)
                return id - 84;
        if (id >= 132 && id <= 137)
                return id - 132 + 6;
        if (id <= 73)
                return (id - 32) % 7 == 6 ? UINT32_MAX : (id - 32) % 7;
        if (id >= 96 && id <= 131)
                return (id - 96) % 6 + 6;
        if (id >= 148 && id <= 160)
                return id == 160 ? UINT32_MAX : id - 148;
        return scope;
}

/* NVML_ERROR_NOT_SUPPORTED: this GPU has no such reading. */
static nvmlReturn_t field_read(const struct target *t, unsigned id, unsigned scope,
                               nvmlValue_t *value, nvmlValueType_t *type)
{
        struct load load;

        if (id >= 1 && id <= 28)
                return field_ecc(t, id, value, type);
        if ((id >= 29 && id <= 31) || id == 92 || id == 93 || (id >= 142 && id <= 145))
                return field_retirement(t, id, value, type);
        if ((id >= 32 && id <= 73) || (id >= 84 && id <= 91) || (id >= 96 && id <= 141) ||
            (id >= 146 && id <= 167) || (id >= 201 && id <= 215))
                return field_link(t, id, link_of(id, scope), value, type);
        if (id >= 185 && id <= 192)
                return field_power(t, id, scope, value, type);
        if (id >= 193 && id <= 196)
                return field_margin(t, id, value, type);
        if ((id >= 74 && id <= 81) || (id >= 269 && id <= 271))
                return u64(value, type, 0); /* time lost to limits */
        if (id == 94 || id == 95 || id == 169 || (id >= 173 && id <= 183))
                return u32(value, type, 0); /* errors of the host link */
        switch (id) {
        case 82:
                if (!board_of(t->gpu)->max_memory_c)
                        return NVML_ERROR_NOT_SUPPORTED;
                load_of_gpu(t, &load);
                return u32(value, type, load.memory_temperature_c);
        case 83:
                return u64(value, type, load_energy_mj(t));
        case 184: /* MIG without a reset */
                return u32(value, type, t->gpu->architecture >= NVML_DEVICE_ARCH_HOPPER);
        case 197:
                return u64(value, type, link_bytes(t, ENGINE_OUT, t->gpu->out_bytes_per_s));
        case 198:
                return u64(value, type, link_bytes(t, ENGINE_IN, t->gpu->in_bytes_per_s));
        case 199:
                return u32(value, type, t->gpu->has_mig);
        case 226: /* nothing is pending, nothing is to be done */
        case 227:
        case 230:
                return u32(value, type, 0);
        default:
                return NVML_ERROR_NOT_SUPPORTED;
        }
}

static long long now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

nvmlReturn_t sim_nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
        struct target t;
        nvmlReturn_t r = target_any(device, values, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (count < 1)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (int i = 0; i < count; i++) {
                nvmlFieldValue_t *v = &values[i];
                v->timestamp = now_us();
                v->latencyUsec = 0;
                v->nvmlReturn = t.compute ? NVML_ERROR_NOT_SUPPORTED
                                          : field_read(&t, v->fieldId, v->scopeId, &v->value,
                                                       &v->valueType);
        }
        return NVML_SUCCESS;
}

/* Counters that could be cleared never left zero. */
nvmlReturn_t sim_nvmlDeviceClearFieldValues(nvmlDevice_t device, int count,
                                            nvmlFieldValue_t *values)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, values, &t);
        nvmlValueType_t type;
        nvmlValue_t value;

        if (r != NVML_SUCCESS)
                return r;
        if (count < 1)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (int i = 0; i < count; i++)
                values[i].nvmlReturn =
                        field_read(&t, values[i].fieldId, values[i].scopeId, &value, &type);
        return NVML_SUCCESS;
}
