/* SPDX-License-Identifier: Apache-2.0 */
/* log: one line per event on stderr, in one write(2); no stdio stream, no malloc, errno kept. */
#pragma once

#include <stdbool.h>

enum log_level {
        LOG_LEVEL_ERROR, /* someone must act */
        LOG_LEVEL_WARN,  /* degraded, but running */
        LOG_LEVEL_INFO,  /* rare: a state changed */
        LOG_LEVEL_DEBUG,
        LOG_LEVEL_FATAL,  /* an error after which there is nothing to see: shown at any level */
        LOG_LEVEL_DETAIL, /* more than debug: what happens often */
};

/* The name that stands in every line: `info node: …`. The level is VGPU_LOG (error, warn, info,
 * debug, detail) or, where that is unset, the one given here. Without this call: "vgpu", warn. A level that
 * is none gets a warning and is passed over. Call it before there are other threads. */
void log_open(const char *program, enum log_level level);

/* Shows these levels and no others: a set of 1 << enum log_level. */
void log_show(unsigned levels);

/* For lines whose words cost something to find. */
bool log_shows(enum log_level level);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)  log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)   log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)   log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)  log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_detail(...) log_write(LOG_LEVEL_DETAIL, __VA_ARGS__)
#define log_fatal(...)  log_write(LOG_LEVEL_FATAL, __VA_ARGS__)
