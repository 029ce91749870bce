/* SPDX-License-Identifier: Apache-2.0 */
/* Types of contexts: affinity, creation parameters, device resources for green contexts. */
#pragma once

#include <assert.h>

typedef struct CUexecAffinityParam_st {
        int type; /* CUexecAffinityType; 0: SM count */
        union {
                struct {
                        unsigned val;
                } smCount;
        } param;
} CUexecAffinityParam;
static_assert(sizeof(CUexecAffinityParam) == 8, "as the driver's");

typedef struct CUctxCreateParams_st {
        CUexecAffinityParam *execAffinityParams;
        int numExecAffinityParams;
        void *cigParams;
} CUctxCreateParams;
static_assert(sizeof(CUctxCreateParams) == 24, "as the driver's");

typedef struct CUdevResource_st {
        int type; /* 1: SMs */
        unsigned char internal[92];
        union {
                struct {
                        unsigned smCount;
                } sm;
                unsigned char reserved[48];
        };
} CUdevResource;
static_assert(sizeof(CUdevResource) == 144, "as the driver's");
