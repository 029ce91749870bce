/* What several commands ask for alike: a share by name. */
#include "share_option.h"

#include "command.h"
#include "nearest.h"
#include "share_place.h"

int complain_unknown_share(const char *name)
{
        struct vec paths = VEC_OF(char[SHARE_TEXT]);
        struct nearest nearest = { 0 };
        char names[64][64], hint[96];

        share_place_list(&paths);
        for (size_t i = 0; i < paths.count && i < 64; i++) {
                share_place_name(vec_at(&paths, i), names[i]);
                nearest_offer(&nearest, name, names[i]);
        }
        vec_done(&paths);
        return complain(EXIT_FAILED, "there is no share '%.63s'%s; see 'vgpu ps'", name,
                        nearest_text(&nearest, "", hint, sizeof hint));
}
