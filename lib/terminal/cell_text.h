/* SPDX-License-Identifier: Apache-2.0 */
/* Text as the cells of a terminal: of known width, and harmless. Names are their owners' to choose: control
 * characters, bytes that are no UTF-8 and characters without a width of their own become '?'. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* True where the terminal shows characters beyond ASCII: the locale says so, or nothing names one. */
bool cell_text_is_utf8(void);

/* Cells that the text takes. */
unsigned cell_text_width(const char *text);

/* Copies as many whole characters as fit into `columns` cells and `size` bytes; what does not fit is cut,
 * and ends with '…'. Returns the cells taken. */
unsigned cell_text_fit(const char *text, unsigned columns, char *to, size_t size);
/* Copies all that fits into `size` bytes, whatever the terminal shows. */
void cell_text_clean(const char *text, char *to, size_t size);
/* Prints a sentence and the end of its line. */
void cell_text_print(FILE *to, const char *format, va_list arguments)
        __attribute__((format(printf, 2, 0)));
/* Cuts off a last character that is not whole: so end names that were cut by bytes. */
void cell_text_trim(char *text);
/* Bytes of the first character; 0: there is none, or it is no UTF-8. */
unsigned cell_text_bytes(const char *text);
