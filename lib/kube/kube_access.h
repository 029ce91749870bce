/* SPDX-License-Identifier: Apache-2.0 */
/* kube_access: may the owner of this bearer token do that? The API server says whose the token is (TokenReview)
 * and what they may do (SubjectAccessReview). Answers are kept for a time, see access_cache.h. */
#pragma once

#include "access_cache.h"
#include "kube_client.h"

struct kube_access;

struct kube_access_question {
        const char *token;
        const char *verb, *path; /* of a nonResourceURL: "get", "/metrics" */
};

/* Gone when the callback returns. */
struct kube_access_answer {
        enum access_verdict verdict;
        const char *user;    /* as the API server names them; "": nobody */
        const char *trouble; /* one sentence, where nobody could say; else "" */
};

/* The client lives longer; now_ns is clock_now_ns(), but for tests. 0, -ENOMEM or -EIO. */
int kube_access_new(struct kube_client *client, uint64_t (*now_ns)(void),
                    struct kube_access **ret_access);
/* What is still asked is answered: ACCESS_UNKNOWN. NULL is fine. */
void kube_access_free(struct kube_access *access);

/* on_answer comes once: from inside this call where the answer is known, else in a later turn, after 8 s at the
 * latest. The question is copied. Questions beyond the rates of access_cache.h are ACCESS_UNKNOWN; who was allowed
 * before has a bucket that strangers take nothing from. */
void kube_access_ask(struct kube_access *access, const struct kube_access_question *question,
                     void (*on_answer)(void *owner, const struct kube_access_answer *answer),
                     void *owner);
