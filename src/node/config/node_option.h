/* SPDX-License-Identifier: Apache-2.0 */
/* node_option: the row of an option of vgpu-node: how it is written, of which kind it is, and which field of
 * struct node_options it sets. A kind is the function that reads a value. */
#pragma once

#include <stddef.h>

#include "cli_option.h"
#include "node_options.h"

struct node_option {
        struct cli_option option;
        int (*take)(struct node_options *options, const struct node_option *row, const char *value,
                    struct err *e);
        size_t target;     /* OPTION_TARGET(); the kinds below say of which type */
        unsigned most;     /* of a whole number: the largest; of a choice: the last value */
        unsigned yes;      /* of option_take_truth(): the index of the word that means true */
        const char *alias; /* of a choice: another word for the last value; NULL: none */
        bool is_of_node;   /* may differ between nodes, so that --node-config-path may set it */
};

/* The field, which must be of the type: another does not compile. */
#define OPTION_TARGET(type, field)              \
        (offsetof(struct node_options, field) + \
         0 * sizeof(char[_Generic(&((struct node_options *)NULL)->field, type * : 1)]))

/* bool, of an option without a value. */
int option_take_flag(struct node_options *options, const struct node_option *row, const char *value,
                     struct err *e);
/* bool, by one of the two words of the row's completion. */
int option_take_truth(struct node_options *options, const struct node_option *row,
                      const char *value, struct err *e);
/* unsigned: an enum, whose values are the words of the row's completion in their order. */
int option_take_choice(struct node_options *options, const struct node_option *row,
                       const char *value, struct err *e);
/* unsigned, from 1 to `most`. */
int option_take_whole(struct node_options *options, const struct node_option *row,
                      const char *value, struct err *e);
/* unsigned: milliseconds, of seconds from 1 to `most`. */
int option_take_seconds(struct node_options *options, const struct node_option *row,
                        const char *value, struct err *e);
/* double, from 1 to 100. */
int option_take_scaling(struct node_options *options, const struct node_option *row,
                        const char *value, struct err *e);
/* uint64_t. */
int option_take_bytes(struct node_options *options, const struct node_option *row,
                      const char *value, struct err *e);
/* struct address. */
int option_take_address(struct node_options *options, const struct node_option *row,
                        const char *value, struct err *e);
/* const char *, as it is written; the caller's value. */
int option_take_text(struct node_options *options, const struct node_option *row, const char *value,
                     struct err *e);
