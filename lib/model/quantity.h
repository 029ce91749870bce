/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as people write them: sizes, percentages, spans of time. Units are 1024-based. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* "0", "4096", "300m", "300Mi", "300MiB", "1.5g": bytes, rounded down. -EINVAL: not a size;
 * -ERANGE: more than 2⁶³ bytes. The sentence quotes the text. */
int quantity_parse_bytes(const char *text, uint64_t *ret_bytes, struct err *e);

/* A plain decimal number, "2" or "0.5", within the bounds (both included). `what` names it in the
 * sentence: "time scale". */
int quantity_parse_number(const char *text, const char *what, double least, double most,
                          double *ret_number, struct err *e);
int quantity_parse_whole(const char *text, const char *what, uint64_t least, uint64_t most,
                         uint64_t *ret_number, struct err *e);

/* "30" or "30%": 1…100. */
int quantity_parse_percent(const char *text, const char *what, unsigned *ret_percent,
                           struct err *e);
/* The same, or 0 for no limit. */
int quantity_parse_cap(const char *text, const char *what, unsigned *ret_percent, struct err *e);

/* "64KiB", "81559MiB", "40GiB": the largest unit that loses nothing, at most MiB otherwise. */
enum { QUANTITY_TEXT_BYTES = 32 };
void quantity_format_bytes(uint64_t bytes, char text[static QUANTITY_TEXT_BYTES]);
