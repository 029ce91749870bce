/* SPDX-License-Identifier: Apache-2.0 */
/* How init containers, sidecars and applications of a pod add up. */
#include "pod_peak.h"

void pod_peak_add(struct pod_peak *peak, enum pod_phase phase, uint64_t figure)
{
        if (phase == POD_INIT) {
                if (peak->init < peak->sidecars + figure)
                        peak->init = peak->sidecars + figure;
                return;
        }
        peak->lasting += figure;
        if (phase == POD_SIDECAR)
                peak->sidecars += figure;
}

uint64_t pod_peak_of(const struct pod_peak *peak)
{
        return peak->init > peak->lasting ? peak->init : peak->lasting;
}
