/* SPDX-License-Identifier: Apache-2.0 */
/* err: an error code and one sentence for a person, in caller's storage; never allocates. */
#pragma once

struct err {
        int code; /* negative errno, or 0 */
        char text[256];
};

/* Each returns code, so that a caller can write `return err_set(e, -EINVAL, …)`. e may be NULL. */
int err_set(struct err *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the sentence that is already there. */
int err_context(struct err *e, int code, const char *context);
