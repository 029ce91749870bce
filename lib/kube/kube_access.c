/* SPDX-License-Identifier: Apache-2.0 */
/* Two questions to the API server, one after the other, for all who ask the same meanwhile. */
#include "kube_access.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "json_read.h"
#include "list.h"
#include "scope.h"

enum {
        TRY_MS = 4000,
        TRIES = 2, /* our own token may be old */
        DEADLINE_MS = 8000,
        REVIEWS = 32, /* at once … */
        RESERVED = 8, /* … of these for who was allowed before */
        WAITS = 256,  /* for one review */
};

struct kube_access {
        struct kube_client *client;
        uint64_t (*now_ns)(void);
        unsigned char secret[ACCESS_KEY_BYTES];
        struct access_cache cache;
        struct access_budget strangers, recalled;
        struct list reviews;
        unsigned review_count;
};

/* A question that is with the API server. */
struct review {
        struct list link;
        struct kube_access *access;
        struct access_key key;
        char *token, *verb, *path;
        char *user; /* once it is known */
        struct kube_call *call;
        struct timer deadline;
        struct list waits;
        unsigned wait_count;
};

struct wait {
        struct list link;
        void (*on_answer)(void *owner, const struct kube_access_answer *answer);
        void *owner;
};

static void text_free(char *text)
{
        if (text)
                explicit_bzero(text, strlen(text));
        free(text);
}

static void review_free(struct review *review)
{
        list_remove(&review->link);
        review->access->review_count--;
        loop_timer_clear(kube_client_loop(review->access->client), &review->deadline);
        if (review->call)
                kube_call_cancel(review->call);
        text_free(review->token);
        free(review->verb);
        free(review->path);
        free(review->user);
        free(review);
}

/* Whoever is told may ask again: the review is out of the list by then. */
static void review_end(struct review *review, enum access_verdict verdict, const char *trouble)
{
        const struct kube_access_answer answer = { .verdict = verdict,
                                                   .user = review->user ? review->user : "",
                                                   .trouble = trouble };

        list_remove(&review->link);
        if (verdict != ACCESS_UNKNOWN)
                access_cache_put(&review->access->cache, &review->key, verdict, answer.user,
                                 review->access->now_ns());
        LIST_EACH (item, &review->waits) {
                struct wait *wait = container_of(item, struct wait, link);

                list_remove(item);
                wait->on_answer(wait->owner, &answer);
                free(wait);
        }
        review_free(review);
}

/* The status of a review that came whole; NULL: the review is over. One that had to be changed to be read could
 * name somebody else. */
static const json_t *status_read(struct review *review, const struct kube_answer *answer)
{
        const json_t *status = json_object_get(answer->body, "status");

        review->call = NULL;
        if (answer->status != 200 && answer->status != 201) {
                review_end(review, ACCESS_UNKNOWN,
                           *answer->message ? answer->message : "the API server does not answer");
                return NULL;
        }
        if (!json_is_object(status) || answer->is_tamed) {
                review_end(review, ACCESS_UNKNOWN, "the API server's answer is no review");
                return NULL;
        }
        return status;
}

static void review_post(struct review *review, const char *path, const json_t *body,
                        void (*on_done)(void *owner, const struct kube_answer *answer))
{
        const struct kube_request request = {
                .method = "POST", .path = path, .body = body, .timeout_ms = TRY_MS, .tries = TRIES
        };

        if (!body ||
            kube_client_call(review->access->client, &request, on_done, review, &review->call) < 0)
                review_end(review, ACCESS_UNKNOWN, "out of memory");
}

static void on_access(void *owner, const struct kube_answer *answer)
{
        struct review *review = owner;
        const json_t *status = status_read(review, answer);

        if (!status)
                return;
        if (json_read_is_true(status, "allowed") && !json_read_is_true(status, "denied"))
                review_end(review, ACCESS_ALLOWED, "");
        else
                review_end(review, ACCESS_DENIED, "");
}

/* Groups and extra go back as they came. */
static json_t *access_make(const struct review *review, const json_t *user)
{
        return json_pack("{s:s, s:s, s:{s:{s:s, s:s}, s:s, s:O*, s:O*, s:O*}}", "apiVersion",
                         "authorization.k8s.io/v1", "kind", "SubjectAccessReview", "spec",
                         "nonResourceAttributes", "path", review->path, "verb", review->verb,
                         "user", review->user, "uid", json_object_get(user, "uid"), "groups",
                         json_object_get(user, "groups"), "extra", json_object_get(user, "extra"));
}

static void on_token(void *owner, const struct kube_answer *answer)
{
        struct review *review = owner;
        const json_t *status = status_read(review, answer);

        if (!status)
                return;
        const json_t *user = json_object_get(status, "user");
        const char *name = json_read_text(user, "username");

        if (!json_read_is_true(status, "authenticated") || !*name) {
                review_end(review, ACCESS_STRANGER, "");
                return;
        }
        review->user = strdup(name);
        autojson json_t *body = review->user ? access_make(review, user) : NULL;

        review_post(review, "/apis/authorization.k8s.io/v1/subjectaccessreviews", body, on_access);
}

static void on_deadline(struct timer *timer)
{
        review_end(container_of(timer, struct review, deadline), ACCESS_UNKNOWN,
                   "the API server does not answer in time");
}

/* NULL: out of memory. */
static struct review *review_new(struct kube_access *access, const struct access_key *key,
                                 const struct kube_access_question *question)
{
        struct review *review = calloc(1, sizeof *review);

        if (!review)
                return NULL;
        *review = (struct review){ .access = access,
                                   .key = *key,
                                   .token = strdup(question->token),
                                   .verb = strdup(question->verb),
                                   .path = strdup(question->path),
                                   .deadline = { .on_due = on_deadline } };
        list_init(&review->waits);
        list_append(&access->reviews, &review->link);
        access->review_count++;
        if (!review->token || !review->verb || !review->path) {
                review_free(review);
                return NULL;
        }
        loop_timer_set(kube_client_loop(access->client), &review->deadline,
                       DEADLINE_MS * NS_PER_MS);
        return review;
}

static void review_begin(struct review *review)
{
        autojson json_t *body =
                json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "authentication.k8s.io/v1", "kind",
                          "TokenReview", "spec", "token", review->token);

        review_post(review, "/apis/authentication.k8s.io/v1/tokenreviews", body, on_token);
}

static struct review *review_find(const struct kube_access *access, const struct access_key *key)
{
        LIST_EACH (item, &access->reviews) {
                struct review *review = container_of(item, struct review, link);

                if (memcmp(&review->key, key, sizeof *key) == 0)
                        return review;
        }
        return NULL;
}

static int key_make(const struct kube_access *access, const struct kube_access_question *question,
                    struct access_key *ret_key)
{
        autofree char *text = NULL;
        /* None of the three has a line's end in it. */
        const int count =
                asprintf(&text, "%s\n%s\n%s", question->token, question->verb, question->path);

        if (count < 0) {
                text = NULL;
                return -ENOMEM;
        }
        const int r = gnutls_hmac_fast(GNUTLS_MAC_SHA256, access->secret, sizeof access->secret,
                                       text, (size_t)count, ret_key->bytes);

        explicit_bzero(text, (size_t)count);
        return r < 0 ? -EIO : 0;
}

static bool may_ask(struct kube_access *access, bool is_recalled, uint64_t now_ns)
{
        if (is_recalled)
                return access->review_count < REVIEWS &&
                       access_budget_take(&access->recalled, now_ns);
        return access->review_count < REVIEWS - RESERVED &&
               access_budget_take(&access->strangers, now_ns);
}

/* The review to wait for, one that exists or a new one; NULL, and why: there is none. */
static struct review *review_join(struct kube_access *access, const struct access_key *key,
                                  const struct kube_access_question *question, const char **ret_why)
{
        const uint64_t now_ns = access->now_ns();
        struct review *review = review_find(access, key);

        *ret_why = "too many tokens that were not reviewed yet";
        if (review)
                return review->wait_count < WAITS ? review : NULL;
        if (!may_ask(access, access_cache_recalls(&access->cache, key, now_ns), now_ns))
                return NULL;
        *ret_why = "out of memory";
        return review_new(access, key, question);
}

void kube_access_ask(struct kube_access *access, const struct kube_access_question *question,
                     void (*on_answer)(void *owner, const struct kube_access_answer *answer),
                     void *owner)
{
        struct kube_access_answer answer = { ACCESS_UNKNOWN, "", "out of memory" };
        const struct access_entry *entry = NULL;
        struct review *review = NULL;
        struct access_key key;
        struct wait *wait = NULL;

        if (key_make(access, question, &key) == 0) {
                entry = access_cache_find(&access->cache, &key, access->now_ns());
                if (entry)
                        answer = (struct kube_access_answer){ entry->verdict, entry->user, "" };
                else
                        review = review_join(access, &key, question, &answer.trouble);
        }
        if (review)
                wait = malloc(sizeof *wait);
        if (!wait) {
                if (review && review->wait_count == 0)
                        review_free(review);
                on_answer(owner, &answer);
                return;
        }
        *wait = (struct wait){ .on_answer = on_answer, .owner = owner };
        list_append(&review->waits, &wait->link);
        if (review->wait_count++ == 0)
                review_begin(review);
}

int kube_access_new(struct kube_client *client, uint64_t (*now_ns)(void),
                    struct kube_access **ret_access)
{
        struct kube_access *access = calloc(1, sizeof *access);

        if (!access)
                return -ENOMEM;
        access->client = client;
        access->now_ns = now_ns;
        list_init(&access->reviews);
        if (getrandom(access->secret, sizeof access->secret, 0) != sizeof access->secret) {
                free(access);
                return -EIO;
        }
        *ret_access = access;
        return 0;
}

void kube_access_free(struct kube_access *access)
{
        if (!access)
                return;
        while (!list_is_empty(&access->reviews))
                review_end(container_of(access->reviews.next, struct review, link), ACCESS_UNKNOWN,
                           "the program ends");
        access_cache_done(&access->cache);
        explicit_bzero(access->secret, sizeof access->secret);
        free(access);
}
