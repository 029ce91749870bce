/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a server of ours agrees on with clients: old ciphers and versions are refused. */
#include "tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tls_authority.h"
#include "unit.h"

#define TLS_1_2 "NORMAL:-VERS-ALL:+VERS-TLS1.2"

/* Do they come to terms? Each takes steps until one of them says no, or both are done. */
static bool do_agree(struct tls_session *server, gnutls_session_t client)
{
        int ours = -EAGAIN, theirs = GNUTLS_E_AGAIN;

        for (int i = 0; i < 100 && (ours == -EAGAIN || theirs == GNUTLS_E_AGAIN); i++) {
                if (theirs == GNUTLS_E_AGAIN)
                        theirs = gnutls_handshake(client);
                if (ours == -EAGAIN)
                        ours = tls_handshake(server, NULL);
                if (ours < 0 && ours != -EAGAIN)
                        return false;
        }
        return ours == 0 && theirs == 0;
}

static bool is_served(const char *priorities)
{
        static const char *const names[] = { "localhost", NULL };
        struct tls_pair authority = { 0 }, pair = { 0 };
        struct tls_context *context = NULL;
        struct tls_session *server = NULL;
        gnutls_certificate_credentials_t credentials;
        gnutls_session_t client;
        int ends[2];

        CHECK_EQ(tls_authority_make("test", 1, &authority, NULL), 0);
        CHECK_EQ(tls_authority_sign(&authority, names, 1, &pair, NULL), 0);
        const struct tls_credentials own = { .certificate = pair.certificate, .key = pair.key };
        CHECK_EQ(tls_server_new(&own, &context, NULL), 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        CHECK_EQ(tls_session_new(context, ends[0], NULL, &server, NULL), 0);
        CHECK_EQ(gnutls_init(&client, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
        CHECK_EQ(gnutls_certificate_allocate_credentials(&credentials), 0);
        CHECK_EQ(gnutls_credentials_set(client, GNUTLS_CRD_CERTIFICATE, credentials), 0);
        CHECK_EQ(gnutls_priority_set_direct(client, priorities, NULL), 0);
        gnutls_transport_set_int(client, ends[1]);
        const bool is = do_agree(server, client);
        gnutls_deinit(client);
        gnutls_certificate_free_credentials(credentials);
        tls_session_free(server);
        tls_context_free(context);
        tls_pair_done(&pair);
        tls_pair_done(&authority);
        close(ends[0]);
        close(ends[1]);
        return is;
}

TEST(clients_of_today_are_served)
{
        CHECK(is_served("NORMAL"));
        CHECK(is_served(TLS_1_2));
        CHECK(is_served(TLS_1_2 ":-CIPHER-ALL:+AES-128-GCM"));
        CHECK(is_served(TLS_1_2 ":-CIPHER-ALL:+CHACHA20-POLY1305"));
}

TEST(ciphers_that_do_not_authenticate_are_refused)
{
        CHECK(!is_served(TLS_1_2 ":-CIPHER-ALL:+AES-128-CBC:+AES-256-CBC"));
}

TEST(old_versions_are_refused)
{
        CHECK(!is_served("NORMAL:-VERS-ALL:+VERS-TLS1.1:+VERS-TLS1.0"));
}

/* A machine without a clock makes it, or one that is years ahead. */
TEST(an_authority_is_good_whatever_time_it_was_made)
{
        const int64_t year_s = 365 * 24 * 3600, released_s = 1735689600;
        struct tls_pair authority = { 0 };
        int64_t begin_s, end_s;

        CHECK_EQ(tls_authority_make("test", 3650, &authority, NULL), 0);
        CHECK_EQ(tls_certificate_times(authority.certificate, &begin_s, &end_s, NULL), 0);
        CHECK(begin_s <= released_s);
        CHECK(end_s >= time(NULL) + 9 * year_s && end_s >= released_s + 9 * year_s);
        tls_pair_done(&authority);
}

TEST(a_certificate_is_fresh_between_its_beginning_and_two_thirds_of_its_time)
{
        const int64_t now_s = time(NULL);

        CHECK(tls_certificate_is_fresh(now_s - 10, now_s + 100));
        CHECK(!tls_certificate_is_fresh(now_s - 100, now_s + 10));
        CHECK(!tls_certificate_is_fresh(now_s + 1000, now_s + 3000));
}

int main(void)
{
        return RUN(CASE(clients_of_today_are_served),
                   CASE(ciphers_that_do_not_authenticate_are_refused),
                   CASE(old_versions_are_refused),
                   CASE(an_authority_is_good_whatever_time_it_was_made),
                   CASE(a_certificate_is_fresh_between_its_beginning_and_two_thirds_of_its_time));
}
