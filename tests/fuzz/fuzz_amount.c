/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: quantities of Kubernetes, and the names of resources. An amount is whole and not negative,
 * and reads back as it is printed; a profile reads back in each of its spellings. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "fuzz.h"
#include "resource.h"

const char *const fuzz_words[] = { "1Ki",   "2000m", "1e3",    "0.5",  "9223372036854775807",
                                   "E",     "n",     "u",      "Ei",   "mig.das.com/1g.5gb",
                                   "+me",   ".me",   "-plus-", ".gfx", "nvidia.com/mig-3g.20gb",
                                   "1c.2g", NULL };

static void amount_try(const char *text)
{
        char printed[32];
        int64_t amount, again;
        struct err e;

        if (amount_parse(text, &amount, &e) < 0)
                return;
        snprintf(printed, sizeof printed, "%" PRId64, amount);
        if (amount < 0 || amount_parse(printed, &again, &e) < 0 || again != amount)
                abort();
}

static void name_try(const char *text)
{
        static const enum mig_spelling spellings[] = { MIG_SPELLING_PLAIN, MIG_SPELLING_DOT,
                                                       MIG_SPELLING_PLUS };
        char printed[MIG_PROFILE_TEXT];
        struct mig_profile again;
        struct resource resource;

        if (!resource_find(text, true, &resource) || resource.kind != RESOURCE_MIG)
                return;
        for (unsigned i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
                mig_profile_format(&resource.profile, spellings[i], printed);
                if (!mig_profile_parse(printed, &again) ||
                    !mig_profile_is_equal(&again, &resource.profile))
                        abort();
        }
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = strndup((const char *)bytes, count);

        amount_try(text);
        name_try(text);
        free(text);
}
