/* SPDX-License-Identifier: Apache-2.0 */
/* unit: S-class chassis units; this machine has none. */
#include "session.h"

nvmlReturn_t sim_nvmlUnitGetCount(unsigned int *count)
{
        if (!count)
                return NVML_ERROR_INVALID_ARGUMENT;
        *count = 0;
        return NVML_SUCCESS;
}

/* No handle exists, so every one is wrong. */
static nvmlReturn_t no_such_unit(const void *unit)
{
        (void)unit;
        return NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sim_nvmlUnitGetHandleByIndex(unsigned int index, nvmlUnit_t *unit)
{
        (void)index;
        return no_such_unit(unit);
}

nvmlReturn_t sim_nvmlUnitGetDevices(nvmlUnit_t unit, unsigned int *count, nvmlDevice_t *devices)
{
        (void)count, (void)devices;
        return no_such_unit(unit);
}

nvmlReturn_t sim_nvmlUnitGetFanSpeedInfo(nvmlUnit_t unit, nvmlUnitFanSpeeds_t *speeds)
{
        (void)speeds;
        return no_such_unit(unit);
}

nvmlReturn_t sim_nvmlUnitGetLedState(nvmlUnit_t unit, nvmlLedState_t *state)
{
        (void)state;
        return no_such_unit(unit);
}

nvmlReturn_t sim_nvmlUnitGetPsuInfo(nvmlUnit_t unit, nvmlPSUInfo_t *psu)
{
        (void)psu;
        return no_such_unit(unit);
}

nvmlReturn_t sim_nvmlUnitGetTemperature(nvmlUnit_t unit, unsigned int type, unsigned int *temp)
{
        (void)type, (void)temp;
        return no_such_unit(unit);
}

nvmlReturn_t sim_nvmlUnitGetUnitInfo(nvmlUnit_t unit, nvmlUnitInfo_t *info)
{
        (void)info;
        return no_such_unit(unit);
}

nvmlReturn_t sim_nvmlUnitSetLedState(nvmlUnit_t unit, nvmlLedColor_t color)
{
        (void)color;
        return no_such_unit(unit);
}
