/* SPDX-License-Identifier: Apache-2.0 */
/* kube_time: times as the API server writes them: "2026-01-31T12:00:00Z", with microseconds or without. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { KUBE_TIME_TEXT = 40 };

/* In microseconds of the wall clock. -EINVAL: not a time. */
int kube_time_parse(const char *text, int64_t *ret_us);
/* With microseconds, as a Lease has them. */
void kube_time_format_us(int64_t us, char text[static KUBE_TIME_TEXT]);
/* Whole seconds, as everything else has them. */
void kube_time_format_s(int64_t us, char text[static KUBE_TIME_TEXT]);
int64_t kube_time_now_us(void);
