/* SPDX-License-Identifier: Apache-2.0 */
/* json_splice: changes one value in the text of a JSON document and leaves every other byte as it
 * is.
 *
 * A document that is read and written again loses what the reader did not keep: numbers beyond 64
 * bits signed (an unlimited rlimit is one), spelling, order. So values are replaced in the text. */
#pragma once

#include "str.h"

/* Puts `value` (JSON text) at the members `path`, which ends with NULL; objects on the way that are
 * not there are made. The text must be a JSON object, already checked by a parser. -EBADMSG:
 * something on the way is no object. */
int json_splice_put(struct str *text, const char *const *path, const char *value);

/* Makes whole numbers beyond 64 bits signed smaller, in place, so that a parser that knows no
 * larger ones reads the rest. Only for a copy that is looked at and never written. */
void json_splice_tame(char *text);
