/* SPDX-License-Identifier: Apache-2.0 */
/* A request's token, verb and path, and what its sender is told. */
#include "kube_authorizer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clock.h"
#include "kube_access.h"
#include "log_limit.h"

enum { VERB_BYTES = 16 };

struct kube_authorizer {
        struct kube_access *access;
        struct http_authorizer http;
        struct log_limit log;
};

/* A request that waits for its answer. */
struct asked {
        struct kube_authorizer *authorizer;
        struct http_exchange *exchange;
        void (*pass)(void *owner, struct http_exchange *exchange);
        void *owner;
};

static void refuse(struct http_exchange *exchange, int status, const char *text)
{
        if (status == 401)
                http_add_field(exchange, "www-authenticate", "Bearer");
        if (status == 503)
                http_add_field(exchange, "retry-after", "2");
        http_reply(exchange, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void on_answer(void *owner, const struct kube_access_answer *answer)
{
        struct asked *asked = owner;
        struct http_exchange *exchange = asked->exchange;

        switch (answer->verdict) {
        case ACCESS_ALLOWED:
                asked->pass(asked->owner, exchange);
                break;
        case ACCESS_DENIED:
                refuse(exchange, 403, "the token's owner has no right to this path\n");
                break;
        case ACCESS_STRANGER:
                refuse(exchange, 401, "the API server does not know this bearer token\n");
                break;
        default:
                log_limit_warn(&asked->authorizer->log, clock_now_ns(),
                               "cannot authorize a request for %.60s: %.200s", http_path(exchange),
                               answer->trouble);
                refuse(exchange, 503, "cannot ask the API server who may read this; try again\n");
        }
        free(asked);
}

/* "Bearer", and what RFC 6750 lets a token consist of; NULL: there is none. */
static const char *token_of(const struct http_exchange *exchange)
{
        static const char scheme[] = "bearer ";
        const char *own = http_field(exchange, "authorization");
        const char *field = own ? own : http_field(exchange, KUBE_PASSED_AUTHORIZATION);
        const char *token = field && strncasecmp(field, scheme, sizeof scheme - 1) == 0
                                    ? field + sizeof scheme - 1
                                    : "";
        const char *at;

        token += strspn(token, " ");
        for (at = token; isalnum((unsigned char)*at) || (*at && strchr("-._~+/=", *at)); at++)
                ;
        return at > token && *at == '\0' ? token : NULL;
}

/* As the API server writes methods. Who may GET may have the head alone. */
static void verb_of(const struct http_exchange *exchange, char verb[static VERB_BYTES])
{
        const char *method = http_method(exchange);
        size_t length = 0;

        if (strcmp(method, "HEAD") == 0)
                method = "GET";
        for (; method[length] && length < VERB_BYTES - 1; length++)
                verb[length] = (char)tolower((unsigned char)method[length]);
        verb[length] = '\0';
}

static void check(void *owner, struct http_exchange *exchange,
                  void (*pass)(void *pass_owner, struct http_exchange *exchange), void *pass_owner)
{
        struct kube_authorizer *authorizer = owner;
        const char *token = token_of(exchange);
        char verb[VERB_BYTES];

        if (!token) {
                refuse(exchange, 401, "a bearer token is needed\n");
                return;
        }
        struct asked *asked = malloc(sizeof *asked);

        if (!asked) {
                refuse(exchange, 503, "out of memory\n");
                return;
        }
        *asked = (struct asked){ authorizer, exchange, pass, pass_owner };
        verb_of(exchange, verb);
        const struct kube_access_question question = { .token = token,
                                                       .verb = verb,
                                                       .path = http_path(exchange) };

        kube_access_ask(authorizer->access, &question, on_answer, asked);
}

int kube_authorizer_new(struct kube_client *client, struct kube_authorizer **ret_authorizer)
{
        struct kube_authorizer *authorizer = calloc(1, sizeof *authorizer);
        int r;

        if (!authorizer)
                return -ENOMEM;
        authorizer->http = (struct http_authorizer){ .check = check, .owner = authorizer };
        r = kube_access_new(client, clock_now_ns, &authorizer->access);
        if (r < 0)
                free(authorizer);
        else
                *ret_authorizer = authorizer;
        return r;
}

void kube_authorizer_free(struct kube_authorizer *authorizer)
{
        if (!authorizer)
                return;
        kube_access_free(authorizer->access);
        free(authorizer);
}

const struct http_authorizer *kube_authorizer_http(const struct kube_authorizer *authorizer)
{
        return authorizer ? &authorizer->http : NULL;
}
