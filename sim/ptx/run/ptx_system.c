/* SPDX-License-Identifier: Apache-2.0 */
/* Device printf, malloc, free and assert. */
#include "ptx_system.h"

#include <stdio.h>
#include <stdlib.h>

#include "ptx_run.h"

#define TEXT_LIMIT 4096u

static uint64_t argument(const struct warp *w, const struct insn *i, uint32_t lane, uint32_t n)
{
        const struct call_site *site = i->detail;
        uint64_t value = 0;

        if (n >= site->argument_count)
                return 0;
        memcpy(&value,
               w->stack + (uint64_t)lane * w->block->run->stack_bytes + w->frame->memory_base +
                       site->arguments[n].offset,
               site->arguments[n].size < 8 ? site->arguments[n].size : 8);
        return value;
}

static void result(struct warp *w, const struct insn *i, uint32_t lane, uint64_t value)
{
        const struct call_site *site = i->detail;

        if (site->result_count)
                memcpy(w->stack + (uint64_t)lane * w->block->run->stack_bytes +
                               w->frame->memory_base + site->results[0].offset,
                       &value, site->results[0].size < 8 ? site->results[0].size : 8);
}

/* The text at a device address; false after a fault. */
static bool text_read(struct warp *w, const struct insn *i, uint32_t lane, uint64_t address,
                      char *ret, size_t capacity)
{
        size_t n = 0;

        for (; n + 1 < capacity; n++) {
                const char *at = memory_reach(w, i, lane, address + n, 1, false);

                if (!at)
                        return false;
                ret[n] = *at;
                if (!*at)
                        return true;
        }
        ret[n] = 0;
        return true;
}

struct print {
        struct warp *w;
        const struct insn *insn;
        uint32_t lane;
        uint64_t arguments; /* device address */
        uint64_t at;
        char *out;
        size_t length, capacity;
        bool is_broken;
};

static uint64_t print_take(struct print *p, uint32_t width)
{
        const void *from;
        uint64_t value = 0;

        p->at = (p->at + width - 1) & ~(uint64_t)(width - 1);
        from = memory_reach(p->w, p->insn, p->lane, p->arguments + p->at, width, false);
        p->at += width;
        if (!from)
                p->is_broken = true;
        else
                memcpy(&value, from, width);
        return value;
}

static void print_text(struct print *p, const char *text, size_t length)
{
        if (length > p->capacity - p->length)
                length = p->capacity - p->length;
        memcpy(p->out + p->length, text, length);
        p->length += length;
}

/* One conversion: flags and widths are printf's own, lengths are chosen by us. */
static void print_one(struct print *p, const char *flags, size_t flag_length, bool is_long,
                      char conversion)
{
        char format[48], text[1100], string[1024];
        int length = 0;
        double real;
        uint64_t bits;

        if (flag_length > 32)
                flag_length = 32;
        snprintf(format, sizeof format, "%%%.*s%s%c", (int)flag_length, flags,
                 strchr("diouxX", conversion) ? "ll" : "", conversion == 'p' ? 's' : conversion);
        switch (conversion) {
        case 'd':
        case 'i':
                bits = print_take(p, is_long ? 8 : 4);
                length = snprintf(text, sizeof text, format,
                                  is_long ? (long long)bits : (int32_t)bits);
                break;
        case 'u':
        case 'x':
        case 'X':
        case 'o':
                bits = print_take(p, is_long ? 8 : 4);
                length = snprintf(text, sizeof text, format, (unsigned long long)bits);
                break;
        case 'c':
                length = snprintf(text, sizeof text, format, (int)print_take(p, 4));
                break;
        case 'p':
                snprintf(string, sizeof string, "0x%llx", (unsigned long long)print_take(p, 8));
                length = snprintf(text, sizeof text, format, string);
                break;
        case 's':
                bits = print_take(p, 8);
                if (p->is_broken ||
                    !text_read(p->w, p->insn, p->lane, bits, string, sizeof string)) {
                        p->is_broken = true;
                        return;
                }
                length = snprintf(text, sizeof text, format, string);
                break;
        default:
                bits = print_take(p, 8);
                memcpy(&real, &bits, sizeof real);
                length = snprintf(text, sizeof text, format, real);
        }
        if (length > 0)
                print_text(p, text,
                           (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* A '*' width is an argument: it is written into the flags. */
static size_t print_flags(struct print *p, const char **at, char *flags, size_t capacity)
{
        size_t length = 0;

        while (**at && strchr("-+ #0123456789.*", **at) && length + 12 < capacity) {
                if (**at == '*') {
                        int width = (int32_t)print_take(p, 4) % 1000;

                        length += (size_t)snprintf(flags + length, capacity - length, "%d", width);
                } else
                        flags[length++] = **at;
                (*at)++;
        }
        return length;
}

static void print_format(struct print *p, const char *format)
{
        while (*format && !p->is_broken) {
                const char *percent = strchr(format, '%');
                char flags[64];
                size_t length;
                bool is_long = false;

                print_text(p, format, percent ? (size_t)(percent - format) : strlen(format));
                if (!percent)
                        return;
                format = percent + 1;
                if (*format == '%') {
                        print_text(p, "%", 1);
                        format++;
                        continue;
                }
                length = print_flags(p, &format, flags, sizeof flags);
                for (; *format && strchr("lhzjtLq", *format); format++)
                        is_long = is_long || *format != 'h';
                if (!*format || !strchr("diouxXcpsfFeEgGaA", *format)) {
                        print_text(p, "%", 1);
                        continue;
                }
                print_one(p, flags, length, is_long, *format++);
        }
}

static void print_run(struct warp *w, const struct insn *i, uint32_t lane)
{
        char format[TEXT_LIMIT], out[TEXT_LIMIT];
        struct print p = { .w = w,
                           .insn = i,
                           .lane = lane,
                           .out = out,
                           .capacity = sizeof out,
                           .arguments = argument(w, i, lane, 1) };

        if (!text_read(w, i, lane, argument(w, i, lane, 0), format, sizeof format))
                return;
        print_format(&p, format);
        if (!p.is_broken)
                run_print(w->block->run, out, p.length);
        result(w, i, lane, p.length);
}

static void assert_run(struct warp *w, const struct insn *i, uint32_t lane)
{
        char message[512], file[256], function[256], out[1280];
        const uint32_t *size = w->block->run->launch->block;
        uint32_t thread = w->index * LANES + lane;
        int length;

        if (!text_read(w, i, lane, argument(w, i, lane, 0), message, sizeof message) ||
            !text_read(w, i, lane, argument(w, i, lane, 1), file, sizeof file) ||
            !text_read(w, i, lane, argument(w, i, lane, 3), function, sizeof function))
                return;
        length = snprintf(
                out, sizeof out,
                "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file,
                (unsigned)argument(w, i, lane, 2), function, w->block->index[0], w->block->index[1],
                w->block->index[2], thread % size[0], thread / size[0] % size[1],
                thread / size[0] / size[1], message);
        if (length > 0)
                run_complain(w->block->run, out,
                             (size_t)length < sizeof out ? (size_t)length : sizeof out - 1);
        run_fault(w, PTX_ASSERT, 0, "assertion failed: %.100s", message);
}

static void heap_run(struct warp *w, const struct insn *i, uint32_t lane, uint32_t kind)
{
        const struct ptx_memory *memory = w->block->run->launch->memory;
        uint64_t value = argument(w, i, lane, 0);

        if (kind == SYSTEM_FREE) {
                if (value && memory && memory->heap_free)
                        memory->heap_free(memory->closure, value);
                return;
        }
        result(w, i, lane,
               memory && memory->heap_alloc ? memory->heap_alloc(memory->closure, value) : 0);
}

void system_call(struct warp *w, const struct insn *i, uint32_t kind)
{
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t lane = lane_next(&mask);

                switch ((enum system_kind)kind) {
                case SYSTEM_PRINTF:
                        print_run(w, i, lane);
                        break;
                case SYSTEM_ASSERT:
                        assert_run(w, i, lane);
                        break;
                case SYSTEM_MALLOC:
                case SYSTEM_FREE:
                        heap_run(w, i, lane, kind);
                        break;
                case SYSTEM_NONE:
                        return;
                }
                /* Every thread of the warp that fails an assertion says so. */
                if (kind != SYSTEM_ASSERT &&
                    __atomic_load_n(&w->block->run->is_stopped, __ATOMIC_RELAXED))
                        return;
        }
}
