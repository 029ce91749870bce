/* SPDX-License-Identifier: Apache-2.0 */
/* The options that answer: log buffers, their lengths, the time it took. */
#include "jit.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void option_apply(struct jit *jit, CUjit_option option, void **value)
{
        switch (option) {
        case CU_JIT_INFO_LOG_BUFFER:
                jit->info_log = *value;
                break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
                jit->info_bytes = (unsigned)(uintptr_t)*value;
                jit->ret_info_length = value;
                break;
        case CU_JIT_ERROR_LOG_BUFFER:
                jit->error_log = *value;
                break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
                jit->error_bytes = (unsigned)(uintptr_t)*value;
                jit->ret_error_length = value;
                break;
        case CU_JIT_WALL_TIME:
                jit->ret_wall_time = value;
                break;
        case CU_JIT_THREADS_PER_BLOCK:
                jit->ret_threads = value;
                break;
        case CU_JIT_GLOBAL_SYMBOL_NAMES:
                jit->symbol_names = *value;
                break;
        case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
                jit->symbol_addresses = *value;
                break;
        case CU_JIT_GLOBAL_SYMBOL_COUNT:
                jit->symbol_count = (unsigned)(uintptr_t)*value;
                break;
        default: /* how to compile: nothing is compiled */
                break;
        }
}

CUresult jit_init(struct jit *jit, unsigned count, const CUjit_option *options, void **values)
{
        *jit = (struct jit){ 0 };
        if (count > 0 && (!options || !values))
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count; i++) {
                if ((unsigned)options[i] >= CU_JIT_NUM_OPTIONS)
                        return CUDA_ERROR_INVALID_VALUE;
                option_apply(jit, options[i], &values[i]);
        }
        if (!jit->symbol_names || !jit->symbol_addresses)
                jit->symbol_count = 0;
        if (jit->info_log && jit->info_bytes > 0)
                jit->info_log[0] = '\0';
        if (jit->error_log && jit->error_bytes > 0)
                jit->error_log[0] = '\0';
        return CUDA_SUCCESS;
}

static void log_add(char *log, size_t bytes, size_t *length, const char *format, va_list arguments)
{
        if (!log || *length + 1 >= bytes)
                return;

        int n = vsnprintf(log + *length, bytes - *length, format, arguments);

        if (n > 0)
                *length += (size_t)n < bytes - *length ? (size_t)n : bytes - *length - 1;
}

void jit_complain(struct jit *jit, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        log_add(jit->error_log, jit->error_bytes, &jit->error_length, format, arguments);
        va_end(arguments);
}

/* The driver stores numbers in the low bytes of the pointer, as the caller did. */
void jit_done(struct jit *jit, uint64_t spent_ns)
{
        unsigned length;

        if (jit->ret_info_length) {
                length = (unsigned)jit->info_length;
                memcpy(jit->ret_info_length, &length, sizeof length);
        }
        if (jit->ret_error_length) {
                length = (unsigned)jit->error_length;
                memcpy(jit->ret_error_length, &length, sizeof length);
        }
        if (jit->ret_wall_time) {
                float milliseconds = (float)((double)spent_ns / 1e6);

                memcpy(jit->ret_wall_time, &milliseconds, sizeof milliseconds);
        }
}
