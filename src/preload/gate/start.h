/* SPDX-License-Identifier: Apache-2.0 */
/* start: what happens at the first call, and never in a program that makes none. */
#pragma once

#include "preload_cuda.h"
#include "preload_nvml.h"

/* Find limits and load the real library: once each, from the first shell that is called. */
void start_cuda(void);
void start_nvml(void);

/* 0, or why the program gets no GPU: its limits could not be read. */
CUresult start_refusal(void);

/* The answers to a call that the real library does not have. */
int start_missing_cuda(void);
int start_missing_nvml(void);
/* The answer to a call that would escape the accounting; 0: there is no limit to escape from. */
int start_deny_cuda(const char *name);
int start_deny_nvml(const char *name);
