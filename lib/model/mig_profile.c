/* SPDX-License-Identifier: Apache-2.0 */
/* Names of MIG profiles. */
#include "mig_profile.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Longer names first: "me.all" begins with "me". */
static const struct {
        const char *text;
        enum mig_attribute attribute;
} attributes[] = { { "me.all", MIG_ME_ALL }, { "me", MIG_ME }, { "gfx", MIG_GFX } };
enum { ATTRIBUTES = sizeof attributes / sizeof attributes[0] };

static bool unit_take(const char **text, const char *unit)
{
        const size_t length = strlen(unit);

        if (strncmp(*text, unit, length) != 0)
                return false;
        *text += length;
        return true;
}

/* 1…9999, then the word. */
static bool number_take(const char **text, const char *unit, unsigned *ret_number)
{
        const char *p = *text;
        unsigned number = 0;

        for (; isdigit((unsigned char)*p); p++)
                number = number > 9999 ? number : number * 10 + (unsigned)(*p - '0');
        if (number == 0 || number > 9999 || !unit_take(&p, unit))
                return false;
        *ret_number = number;
        *text = p;
        return true;
}

static bool attribute_take(const char **text, unsigned *ret_attributes)
{
        for (unsigned i = 0; i < ATTRIBUTES; i++) {
                if (unit_take(text, attributes[i].text)) {
                        *ret_attributes |= attributes[i].attribute;
                        return true;
                }
        }
        return false;
}

static bool attributes_take(const char *text, unsigned *ret_attributes)
{
        if (!*text)
                return true;
        if (strcmp(text, "-me") == 0) {
                *ret_attributes |= MIG_NO_ME;
                return true;
        }
        if (!unit_take(&text, "+") && !unit_take(&text, ".") && !unit_take(&text, "-plus-"))
                return false;
        do {
                if (!attribute_take(&text, ret_attributes))
                        return false;
        } while (unit_take(&text, ","));
        return !*text;
}

bool mig_profile_parse(const char *text, struct mig_profile *ret_profile)
{
        struct mig_profile profile = { 0 };

        unit_take(&text, "mig-");
        number_take(&text, "c.", &profile.compute_slices);
        if (!number_take(&text, "g.", &profile.slices) ||
            !number_take(&text, "gb", &profile.memory_gb) ||
            !attributes_take(text, &profile.attributes))
                return false;
        *ret_profile = profile;
        return true;
}

void mig_profile_format(const struct mig_profile *profile, enum mig_spelling spelling,
                        char ret_text[static MIG_PROFILE_TEXT])
{
        static const char *const joints[] = {
                [MIG_SPELLING_PLAIN] = "+",
                [MIG_SPELLING_DOT] = ".",
                [MIG_SPELLING_PLUS] = "-plus-",
        };
        const char *joint = joints[spelling];
        char compute[16] = "";
        int length;

        if (profile->compute_slices)
                snprintf(compute, sizeof compute, "%uc.", profile->compute_slices);
        length = snprintf(ret_text, MIG_PROFILE_TEXT, "%s%ug.%ugb%s", compute, profile->slices,
                          profile->memory_gb, profile->attributes & MIG_NO_ME ? "-me" : "");
        for (unsigned i = 0; i < ATTRIBUTES; i++) {
                if (!(profile->attributes & attributes[i].attribute))
                        continue;
                length += snprintf(ret_text + length, (size_t)(MIG_PROFILE_TEXT - length), "%s%s",
                                   joint, attributes[i].text);
                joint = ",";
        }
}

bool mig_profile_is_equal(const struct mig_profile *a, const struct mig_profile *b)
{
        return a->compute_slices == b->compute_slices && a->slices == b->slices &&
               a->memory_gb == b->memory_gb && a->attributes == b->attributes;
}
