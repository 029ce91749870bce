/* SPDX-License-Identifier: Apache-2.0 */
/* setting_rival: ours beats the others, which is told where it matters. */
#include "setting_rival.h"

#include <errno.h>

#include "setting.h"

struct rival {
        struct setting_value value;
        const char *text;
        char name[64];
};

/* 0 is no limit to these. */
static bool is_limit(enum setting setting)
{
        return setting == SETTING_MEMORY_LIMIT || setting == SETTING_CORES ||
               setting == SETTING_CORES_MAX;
}

static int pair_check(enum setting setting, const struct rival *first, const struct rival *other,
                      struct err *warning, struct err *e)
{
        if (first->value.number == other->value.number && first->value.ratio == other->value.ratio)
                return 0;
        if (is_limit(setting) && first->value.number == 0)
                return err_set(e, -EINVAL,
                               "%s is 0 (no limit), and %s is '%.40s': unset one of them",
                               first->name, other->name, other->text);
        if (!warning->text[0])
                err_set(warning, -EINVAL, "%s is '%.40s', and %s is '%.40s': %s counts",
                        first->name, first->text, other->name, other->text, first->name);
        return 0;
}

static int names_check(enum setting setting, int device, struct err *warning, struct err *e)
{
        struct rival first = { 0 }, other = { 0 };
        int r = 0;

        for (unsigned i = 0; setting_alias(setting, i) && r >= 0; i++) {
                struct rival *one = first.text ? &other : &first;

                one->text = setting_get_as(setting, i, device, one->name);
                if (!one->text)
                        continue;
                r = setting_text_read(setting, one->name, one->text, &one->value, e);
                if (r >= 0 && one == &other)
                        r = pair_check(setting, &first, &other, warning, e);
        }
        return r;
}

int setting_rival_check(int device, struct err *warning, struct err *e)
{
        int r = 0;

        for (enum setting i = 0; i < SETTING_DEVICES && r >= 0; i++)
                if (setting_alias(i, 1))
                        r = names_check(i, device, warning, e);
        return r < 0 ? r : 0;
}
