/* SPDX-License-Identifier: Apache-2.0 */
/* review mutate|validate: an AdmissionReview from stdin through the rules, the answer on stdout. The
 * clock is VGPU_TEST_NOW seconds. Exit 2: no AdmissionReview, the sentence is on stderr. */
#include "review.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scope.h"

static uint64_t test_now_s(void)
{
        const char *text = getenv("VGPU_TEST_NOW");

        return text ? strtoull(text, NULL, 10) : 1000;
}

static char *input_read(size_t *ret_bytes)
{
        char *text = NULL;
        size_t capacity = 0;

        *ret_bytes = 0;
        for (;;) {
                char *more = realloc(text, capacity + 65536 + 1);

                if (!more)
                        abort();
                text = more;
                capacity += 65536;
                *ret_bytes += fread(text + *ret_bytes, 1, capacity - *ret_bytes, stdin);
                if (*ret_bytes < capacity) {
                        text[*ret_bytes] = '\0';
                        return text;
                }
        }
}

int main(int argc, char **argv)
{
        static const char *const foreign[] = { "nvidia", NULL };
        static const char *const trusted[] = { "system:serviceaccount:vgpu-system:vgpu-scheduler",
                                               NULL };
        static const char *const volcano[] = {
                "system:serviceaccount:volcano-system:volcano-scheduler", NULL
        };
        const struct rules rules = {
                .scheduler = "vgpu-scheduler",
                .runtime_class = "vgpu",
                .foreign_runtimes = foreign,
                .trusted_users = trusted,
                .volcano_users = volcano,
                .largest_device_mib = 40960,
                .container = { .leaves_units = getenv("VGPU_TEST_LEAVE") != NULL },
                .seal = { .key = "a key for tests", .now_s = test_now_s },
        };
        const bool is_mutate = argc > 1 && strcmp(argv[1], "mutate") == 0;
        autofree char *answer = NULL;
        enum review_outcome outcome;
        struct err e = { 0 };
        size_t bytes;
        autofree char *body = input_read(&bytes);

        if (review_answer(body, bytes, is_mutate ? REVIEW_MUTATE : REVIEW_VALIDATE, &rules, &answer,
                          &outcome, &e) < 0) {
                fprintf(stderr, "%s\n", e.text);
                return 2;
        }
        puts(answer);
        return 0;
}
