/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of kube_access: what the API server is asked, when, and who waits for it. The API server is here. */
#include "kube_access.h"

#include <stdio.h>

#include "clock.h"
#include "json_memory.h"
#include "json_read.h"
#include "unit.h"

enum { CALLS = 64, ANSWERS = 64, NEVER = -1, MOST = 10000 };

/* How many allocations succeed; then one fails. The linker leads malloc() here. */
static int left = NEVER;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
        return left != NEVER && left-- == 0 ? NULL : __real_malloc(size);
}

/* The API server's side: calls that are open. */
struct kube_call {
        void (*on_done)(void *owner, const struct kube_answer *answer);
        void *owner;
        json_t *body;
        bool is_open;
};

static struct stage {
        struct loop *loop;
        uint64_t now_ns;
        struct kube_call calls[CALLS];
        unsigned call_count;
        enum access_verdict verdicts[ANSWERS];
        char users[ANSWERS][64], trouble[128];
        unsigned answer_count;
} stage;

int kube_client_call(struct kube_client *client, const struct kube_request *request,
                     void (*on_done)(void *owner, const struct kube_answer *answer), void *owner,
                     struct kube_call **ret_call)
{
        struct kube_call *call = &stage.calls[stage.call_count++];
        const int left_of_ours = left;

        CHECK(!client && stage.call_count <= CALLS);
        CHECK_STR(request->method, "POST");
        left = NEVER;
        *call = (struct kube_call){ on_done, owner, json_deep_copy(request->body), true };
        left = left_of_ours;
        *ret_call = call;
        return 0;
}

void kube_call_cancel(struct kube_call *call)
{
        call->is_open = false;
}

struct loop *kube_client_loop(struct kube_client *client)
{
        (void)client;
        return stage.loop;
}

static uint64_t stage_now_ns(void)
{
        return stage.now_ns;
}

static struct kube_access *stage_open(void)
{
        struct kube_access *access = NULL;

        json_memory_mark(); /* its malloc() is ours */
        stage = (struct stage){ .now_ns = 1000000 * NS_PER_S };
        CHECK_EQ(loop_new(&stage.loop), 0);
        CHECK_EQ(kube_access_new(NULL, stage_now_ns, &access), 0);
        return access;
}

static void stage_close(struct kube_access *access)
{
        kube_access_free(access);
        for (unsigned i = 0; i < stage.call_count; i++) {
                CHECK(!stage.calls[i].is_open);
                json_decref(stage.calls[i].body);
        }
        loop_free(stage.loop);
}

static void on_answer(void *owner, const struct kube_access_answer *answer)
{
        (void)owner;
        CHECK(stage.answer_count < ANSWERS);
        snprintf(stage.users[stage.answer_count], 64, "%s", answer->user);
        snprintf(stage.trouble, sizeof stage.trouble, "%s", answer->trouble);
        stage.verdicts[stage.answer_count++] = answer->verdict;
}

static void ask_path(struct kube_access *access, const char *token, const char *path)
{
        const struct kube_access_question question = { token, "get", path };

        kube_access_ask(access, &question, on_answer, NULL);
}

static void ask(struct kube_access *access, const char *token)
{
        ask_path(access, token, "/metrics");
}

/* One that nobody asked about before. */
static void ask_stranger(struct kube_access *access)
{
        static unsigned number;
        char token[32];

        snprintf(token, sizeof token, "stranger-%u", number++);
        ask(access, token);
}

/* The API server answers the call that came last. */
static void reply(int status, const char *text)
{
        struct kube_call *call = &stage.calls[stage.call_count - 1];
        autojson json_t *body = json_loads(text, 0, NULL);
        const struct kube_answer answer = { .status = status, .body = body, .message = "" };

        CHECK(call->is_open && body);
        call->is_open = false;
        call->on_done(call->owner, &answer);
}

#define ANNA                                                                                       \
        "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"anna\",\"groups\":[\"g\"]}}" \
        "}"
#define MAY    "{\"status\":{\"allowed\":true}}"
#define NOBODY "{\"status\":{\"error\":\"invalid\"}}"

static void let_in(struct kube_access *access, const char *token)
{
        ask(access, token);
        reply(201, ANNA);
        reply(201, MAY);
        CHECK_EQ(stage.verdicts[stage.answer_count - 1], ACCESS_ALLOWED);
}

TEST(the_token_is_reviewed_then_the_right_of_its_owner)
{
        struct kube_access *access = stage_open();

        ask(access, "t");
        CHECK_EQ(stage.answer_count, 0);
        CHECK_STR(json_read_text_in(stage.calls[0].body, "spec", "token"), "t");
        reply(201, ANNA);
        const json_t *spec = json_object_get(stage.calls[1].body, "spec");

        CHECK_STR(json_read_text(spec, "user"), "anna");
        CHECK_EQ(json_array_size(json_object_get(spec, "groups")), 1);
        CHECK_STR(json_read_text_in(spec, "nonResourceAttributes", "path"), "/metrics");
        CHECK_STR(json_read_text_in(spec, "nonResourceAttributes", "verb"), "get");
        CHECK_EQ(stage.answer_count, 0);
        reply(201, MAY);
        CHECK_EQ(stage.answer_count, 1);
        CHECK_EQ(stage.verdicts[0], ACCESS_ALLOWED);
        CHECK_STR(stage.users[0], "anna");
        stage_close(access);
}

TEST(an_answer_is_known_for_its_time_and_for_that_path)
{
        struct kube_access *access = stage_open();

        let_in(access, "t");
        ask(access, "t");
        CHECK_EQ(stage.answer_count, 2);
        CHECK_EQ(stage.verdicts[1], ACCESS_ALLOWED);
        CHECK_STR(stage.users[1], "anna");
        CHECK_EQ(stage.call_count, 2);
        ask_path(access, "t", "/simulate");
        CHECK_EQ(stage.call_count, 3);
        stage.now_ns += ACCESS_ALLOWED_S * NS_PER_S;
        ask(access, "t");
        CHECK_EQ(stage.call_count, 4);
        CHECK_EQ(stage.answer_count, 2);
        stage_close(access);
}

TEST(who_asks_the_same_meanwhile_waits_for_the_same)
{
        struct kube_access *access = stage_open();

        for (unsigned i = 0; i < 5; i++)
                ask(access, "t");
        CHECK_EQ(stage.call_count, 1);
        reply(201, NOBODY);
        CHECK_EQ(stage.answer_count, 5);
        for (unsigned i = 0; i < 5; i++)
                CHECK_EQ(stage.verdicts[i], ACCESS_STRANGER);
        stage_close(access);
}

TEST(what_nobody_could_say_is_asked_again)
{
        struct kube_access *access = stage_open();

        ask(access, "t");
        reply(503, "{}");
        CHECK_EQ(stage.verdicts[0], ACCESS_UNKNOWN);
        ask(access, "t");
        reply(201, "{\"status\":[]}");
        CHECK_EQ(stage.verdicts[1], ACCESS_UNKNOWN);
        ask(access, "t");
        reply(201, ANNA);
        reply(403, "{}");
        CHECK_EQ(stage.verdicts[2], ACCESS_UNKNOWN);
        CHECK(*stage.trouble);
        CHECK_EQ(stage.call_count, 4);
        stage_close(access);
}

TEST(a_name_without_authentication_is_a_strangers)
{
        static const char *const answers[] = {
                "{\"status\":{\"authenticated\":false,\"user\":{\"username\":\"anna\"}}}",
                "{\"status\":{\"authenticated\":\"true\",\"user\":{\"username\":\"anna\"}}}",
                "{\"status\":{\"user\":{\"username\":\"anna\"}}}",
                "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"\"}}}",
        };
        struct kube_access *access = stage_open();

        for (unsigned i = 0; i < sizeof answers / sizeof *answers; i++) {
                ask_stranger(access);
                reply(201, answers[i]);
                CHECK_EQ(stage.answer_count, i + 1);
                CHECK_EQ(stage.verdicts[i], ACCESS_STRANGER);
        }
        stage_close(access);
}

TEST(a_right_that_is_allowed_and_denied_is_denied)
{
        struct kube_access *access = stage_open();

        ask(access, "t");
        reply(201, ANNA);
        reply(201, "{\"status\":{\"allowed\":true,\"denied\":true}}");
        CHECK_EQ(stage.verdicts[0], ACCESS_DENIED);
        stage_close(access);
}

/* Their answer has ended, and a flood has used up what strangers may ask. */
TEST(strangers_take_nothing_from_those_who_were_let_in)
{
        struct kube_access *access = stage_open();

        let_in(access, "t");
        stage.now_ns += ACCESS_ALLOWED_S * NS_PER_S;
        for (unsigned i = 0; i < ACCESS_BURST; i++) {
                ask_stranger(access);
                reply(201, NOBODY);
        }
        const unsigned calls = stage.call_count;

        ask_stranger(access);
        CHECK_EQ(stage.call_count, calls);
        CHECK_EQ(stage.verdicts[stage.answer_count - 1], ACCESS_UNKNOWN);
        let_in(access, "t");
        CHECK_EQ(stage.call_count, calls + 2);
        stage_close(access);
}

TEST(an_api_server_that_is_slow_keeps_reviews_for_them)
{
        struct kube_access *access = stage_open();

        let_in(access, "t");
        for (unsigned i = 0; i < 40; i++) {
                stage.now_ns += 2 * NS_PER_S; /* there is a question for each */
                ask_stranger(access);
        }
        CHECK_EQ(stage.call_count, 2 + 24);
        CHECK_EQ(stage.verdicts[stage.answer_count - 1], ACCESS_UNKNOWN);
        ask(access, "t");
        CHECK_EQ(stage.call_count, 2 + 25);
        stage_close(access);
}

/* Asks with `count` allocations for the first question, or for the second. false: it had them all. */
static bool ask_short(int count, bool is_second, const json_t *whole)
{
        struct kube_access *access = stage_open();
        struct kube_call *call = &stage.calls[is_second];

        left = is_second ? NEVER : count;
        ask(access, "t");
        if (is_second) {
                autojson json_t *body = json_loads(ANNA, 0, NULL);
                const struct kube_answer answer = { .status = 201, .body = body, .message = "" };

                left = count;
                stage.calls[0].is_open = false;
                stage.calls[0].on_done(stage.calls[0].owner, &answer);
        }
        const bool was_short = left == NEVER;

        left = NEVER;
        CHECK(call->is_open != (stage.answer_count == 1));
        CHECK(!call->is_open || json_equal(call->body, whole));
        CHECK(was_short || call->is_open);
        CHECK(call->is_open || stage.verdicts[0] == ACCESS_UNKNOWN);
        stage_close(access);
        return was_short;
}

TEST(without_memory_it_asks_nothing_rather_than_something_else)
{
        static const char *const questions[] = {
                "{\"apiVersion\":\"authentication.k8s.io/"
                "v1\",\"kind\":\"TokenReview\",\"spec\":{\"token\":"
                "\"t\"}}",
                "{\"apiVersion\":\"authorization.k8s.io/"
                "v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{"
                "\"nonResourceAttributes\":{\"path\":\"/"
                "metrics\",\"verb\":\"get\"},\"user\":\"anna\","
                "\"groups\":[\"g\"]}}"
        };

        for (unsigned i = 0; i < 2; i++) {
                autojson json_t *whole = json_loads(questions[i], 0, NULL);
                int count = 0;

                while (ask_short(count, i, whole))
                        CHECK(++count < MOST);
                CHECK(count > 5);
        }
}

TEST(when_it_ends_all_who_wait_are_answered)
{
        struct kube_access *access = stage_open();

        ask(access, "t");
        ask(access, "u");
        reply(201, ANNA);
        CHECK_EQ(stage.answer_count, 0);
        stage_close(access);
        CHECK_EQ(stage.answer_count, 2);
        CHECK_EQ(stage.verdicts[0], ACCESS_UNKNOWN);
        CHECK_EQ(stage.verdicts[1], ACCESS_UNKNOWN);
}

int main(void)
{
        return RUN(CASE(the_token_is_reviewed_then_the_right_of_its_owner),
                   CASE(an_answer_is_known_for_its_time_and_for_that_path),
                   CASE(who_asks_the_same_meanwhile_waits_for_the_same),
                   CASE(what_nobody_could_say_is_asked_again),
                   CASE(a_name_without_authentication_is_a_strangers),
                   CASE(a_right_that_is_allowed_and_denied_is_denied),
                   CASE(strangers_take_nothing_from_those_who_were_let_in),
                   CASE(an_api_server_that_is_slow_keeps_reviews_for_them),
                   CASE(without_memory_it_asks_nothing_rather_than_something_else),
                   CASE(when_it_ends_all_who_wait_are_answered));
}
