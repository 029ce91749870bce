/* SPDX-License-Identifier: Apache-2.0 */
/* Names of MIG profiles: "1g.5gb", "1c.3g.20gb", "1g.10gb+me", and as they stand in resource names:
 * "mig-1g.10gb.me", "1g.10gb-plus-me". */
#pragma once

#include <stdbool.h>

enum { MIG_PROFILE_TEXT = 80 };

enum mig_attribute { MIG_ME = 1, MIG_ME_ALL = 2, MIG_GFX = 4, MIG_NO_ME = 8 };

struct mig_profile {
        unsigned compute_slices; /* "1c."; 0: all of the instance */
        unsigned slices;         /* "3g" */
        unsigned memory_gb;      /* "20gb" */
        unsigned attributes;     /* enum mig_attribute */
};

/* How the attributes are joined: "+me" as NVIDIA prints it, ".me" in its resource names, "-plus-me" in
 * those of mig.das.com. */
enum mig_spelling { MIG_SPELLING_PLAIN, MIG_SPELLING_DOT, MIG_SPELLING_PLUS };

/* The whole of the text, in any spelling, "mig-" before it or not. false: no profile. */
bool mig_profile_parse(const char *text, struct mig_profile *ret_profile);
void mig_profile_format(const struct mig_profile *profile, enum mig_spelling spelling,
                        char ret_text[static MIG_PROFILE_TEXT]);
bool mig_profile_is_equal(const struct mig_profile *a, const struct mig_profile *b);
