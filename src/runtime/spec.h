/* SPDX-License-Identifier: Apache-2.0 */
/* spec: a container's config.json (OCI runtime specification), of which a few parts are changed and
 * the rest stays as it was written, byte by byte. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "str.h"

/* The parts that can be changed. */
enum spec_part { SPEC_ENV, SPEC_MOUNTS, SPEC_DEVICES, SPEC_RULES, SPEC_HOOKS, SPEC_PARTS };

struct spec {
        char *text;
        json_t *root;
        bool is_changed[SPEC_PARTS];
        struct str left_out; /* sentences, a line each: what was removed of it, and why */
};

/* -EBADMSG: this is no container's configuration; the sentence says why. */
int spec_parse(const char *text, struct spec *ret_spec, struct err *e);
int spec_load(const char *path, struct spec *ret_spec, struct err *e);
void spec_done(struct spec *spec); /* a zeroed struct is fine */

/* The text with the changes. */
int spec_render(const struct spec *spec, struct str *ret_text, struct err *e);
/* Replaces the file if anything changed, at once or not at all; owner and mode stay. */
int spec_save(const struct spec *spec, const char *path, struct err *e);
bool spec_is_changed(const struct spec *spec);

/* A part to look at: an array (an object for SPEC_HOOKS), NULL if there is none. */
json_t *spec_query(const struct spec *spec, enum spec_part part);
/* The same to change: made if it is not there, and written when the spec is. NULL: no memory. */
json_t *spec_change(struct spec *spec, enum spec_part part);

/* NULL: there is none. */
const char *spec_annotation(const struct spec *spec, const char *name);
const char *spec_root_path(const struct spec *spec);
bool spec_root_is_readonly(const struct spec *spec);
/* Every device of the host is allowed: the container has the node anyway. */
bool spec_is_privileged(const struct spec *spec);
