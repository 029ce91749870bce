/* SPDX-License-Identifier: Apache-2.0 */
/* option_row: the row of an option that says where its value goes: how it is written, of which kind it
 * is, and which field of the program's options it sets. A kind is the function that reads a value. */
#pragma once

#include <stddef.h>

#include "cli_option.h"

struct option_row {
        struct cli_option option;
        int (*take)(void *options, const struct option_row *row, const char *value, struct err *e);
        size_t target;     /* OPTION_FIELD(); the kinds say of which type */
        unsigned most;     /* of a whole number: the largest; of a choice: the last value */
        unsigned yes;      /* of option_take_truth(): the index of the word that means true */
        const char *alias; /* of a choice: another word for the last value; NULL: none */
        bool is_of_node;   /* may differ between nodes: a file of their settings may have it */
};

/* The field of the options, which must be of the type: another does not compile. */
#define OPTION_FIELD(options, type, field) \
        (offsetof(options, field) +        \
         0 * sizeof(char[_Generic(&((options *)NULL)->field, type * : 1)]))

/* Sets what the row is for. What a kind answers; < 0: the sentence is in e. */
int option_row_take(void *options, const struct option_row *row, const char *value, struct err *e);
/* The field that the row sets. */
void *option_row_target(void *options, const struct option_row *row);
/* As the scanner and the help read them: without targets, and with an end. */
void option_rows_copy(const struct option_row *rows, size_t count, struct cli_option *ret_rows);

/* bool, of an option without a value. */
int option_take_flag(void *options, const struct option_row *row, const char *value, struct err *e);
/* bool, by one of the two words of the row's completion. */
int option_take_truth(void *options, const struct option_row *row, const char *value,
                      struct err *e);
/* unsigned: an enum, whose values are the words of the row's completion in their order. */
int option_take_choice(void *options, const struct option_row *row, const char *value,
                       struct err *e);
/* const char *, as it is written; the caller's value. */
int option_take_text(void *options, const struct option_row *row, const char *value, struct err *e);
