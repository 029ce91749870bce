/* share_look: open, count the living, close. */
#include "share_look.h"

#include "command.h"
#include "share_place.h"

bool share_look_open(const char *path, struct share_look *ret_look, struct err *e)
{
        struct share_look look = { 0 };

        if (share_open(path, false, &look.share, e) < 0) {
                complain(EXIT_FAILED, "%s", e->text);
                return false;
        }
        look.copy = share_current(&look.share);
        const bool is_open = share_place_region(look.copy, &look.account, e) == 0;
        /* Reaping needs a place in the account; ours is no process of the share. */
        if (is_open && region_join(&look.account) == 0) {
                region_reap(&look.account);
                region_leave(&look.account);
        }
        *ret_look = look;
        ret_look->region = is_open ? &ret_look->account : NULL;
        return true;
}

void share_look_close(struct share_look *look)
{
        region_close(&look->account);
        share_close(&look->share);
}

int share_look_each(int (*look)(const char *path, void *user), void *user)
{
        struct vec paths = VEC_OF(char[SHARE_TEXT]);
        int code = EXIT_OK;

        share_place_list(&paths);
        for (size_t i = 0; i < paths.count; i++) {
                const int r = look(vec_at(&paths, i), user);

                code = r ? r : code;
        }
        vec_done(&paths);
        return code;
}
