/* SPDX-License-Identifier: Apache-2.0 */
/* An AdmissionReview (admission.k8s.io/v1) in, one out. */
#pragma once

#include <stddef.h>

#include "rules.h"

enum review_side { REVIEW_MUTATE, REVIEW_VALIDATE };
enum review_outcome { REVIEW_LEFT, REVIEW_CHANGED, REVIEW_REFUSED };

/* body[body_bytes] is NUL. *ret_answer is the response's JSON, to be freed. -EINVAL: the body is no
 * AdmissionReview; -ENOMEM. Then there is no answer but the sentence. A refusal is an answer. */
int review_answer(const char *body, size_t body_bytes, enum review_side side,
                  const struct rules *rules, char **ret_answer, enum review_outcome *ret_outcome,
                  struct err *e);
