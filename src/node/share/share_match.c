/* SPDX-License-Identifier: Apache-2.0 */
/* share_match: names that are meant exactly go before beginnings of ids. */
#include "share_match.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share_title.h"
#include "str.h"

enum { ID_SHOWN = 12, NAMED_MOST = 6 };

struct search {
        const char *text;
        bool is_beginning; /* of an id; else the whole of a name or id */
        unsigned count;
        struct share_match found; /* the first */
        struct str names;         /* of all, for a sentence */
};

static void name_note(struct search *search, const char *user, const char *name, const char *id)
{
        if (search->count++ >= NAMED_MOST)
                return;
        str_appendf(&search->names, "%s%s%s%s", search->count > 1 ? ", " : "", user,
                    *user ? "/" : "", name);
        if (*id && strncmp(name, id, ID_SHOWN) != 0)
                str_appendf(&search->names, " (%.*s)", ID_SHOWN, id);
}

static bool held_matches(const struct search *search, const struct held_share *held)
{
        const char *text = search->text;

        if (search->is_beginning)
                return str_starts_with(held->container_id, text);
        return strcmp(text, held->name) == 0 || strcmp(text, held->title) == 0 ||
               strcmp(text, held->container_id) == 0;
}

static void on_held(void *owner, struct held_share *held)
{
        struct search *search = owner;

        if (!search->is_beginning)
                share_title_refresh(held);
        if (!held_matches(search, held))
                return;
        if (!search->count)
                search->found.held = held;
        name_note(search, "", share_title_of(held), held->container_id);
}

/* "train", "alice/train", "1000/train". */
static bool user_matches(const char *text, const struct user_share *share)
{
        const char *slash = strchr(text, '/');
        char number[16];

        if (!slash)
                return strcmp(text, share->name) == 0;
        snprintf(number, sizeof number, "%u", share->user);
        const size_t length = (size_t)(slash - text);
        const bool is_user = (strlen(share->user_name) == length &&
                              strncmp(text, share->user_name, length) == 0) ||
                             (strlen(number) == length && strncmp(text, number, length) == 0);
        return is_user && strcmp(slash + 1, share->name) == 0;
}

static void on_user(void *owner, const struct user_share *share)
{
        struct search *search = owner;

        if (!user_matches(search->text, share) || !user_share_is_used(share))
                return;
        if (!search->count) {
                search->found.user = *share;
                search->found.user.root = fcntl(share->root, F_DUPFD_CLOEXEC, 0);
                search->found.user.folder = fcntl(share->folder, F_DUPFD_CLOEXEC, 0);
        }
        name_note(search, share->user_name, share->name, "");
}

static int search_end(struct search *search, struct share_match *ret_match, struct err *e)
{
        int r = 0;

        if (search->count == 0)
                r = err_set(e, -ENOENT, "there is no share '%.63s' on this node", search->text);
        else if (search->count > 1)
                r = err_set(e, -ENOTUNIQ, "'%.63s' matches %u shares: %.140s%s; give a full name",
                            search->text, search->count, search->names.text ?: "",
                            search->count > NAMED_MOST ? " …" : "");
        str_done(&search->names);
        if (r < 0)
                share_match_done(&search->found);
        else
                *ret_match = search->found;
        return r;
}

int share_match_find(struct share_book *book, const char *text, struct share_match *ret_match,
                     struct err *e)
{
        struct search search = { .text = text, .found.user = { .root = -1, .folder = -1 } };

        if (*text) {
                share_book_each(book, on_held, &search);
                user_shares_each(on_user, &search);
        }
        if (*text && search.count == 0) {
                search.is_beginning = true;
                share_book_each(book, on_held, &search);
        }
        return search_end(&search, ret_match, e);
}

void share_match_done(struct share_match *match)
{
        if (match->user.root >= 0)
                close(match->user.root);
        if (match->user.folder >= 0)
                close(match->user.folder);
}
