/* vgpu doctor: the values of VGPU_… and of the names that are understood in their place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "nearest.h"
#include "setting.h"
#include "share_place.h"
#include "str.h"

extern char **environ;

/* What else begins with VGPU_ and is read somewhere. */
static const char *const other_names[] = {
        "VGPU_SIM",         "VGPU_SIM_LIB",        "VGPU_SIM_LOG",
        "VGPU_SIM_STRICT",  "VGPU_SIM_GRAPHICS",   "VGPU_SIM_VIDEO",
        "VGPU_SIM_MPS",     "VGPU_SIM_PROC",       "VGPU_REGISTRY",
        "VGPU_NODE_SOCKET", "VGPU_SHARE",          "VGPU_LIB",
        "VGPU_CACHE",       "VGPU_RUNTIME_CONF",   "VGPU_RUNTIME_REAL",
        "VGPU_RUNTIME_CDI", "VGPU_RUNTIME_PASSED",
};

static bool value_is_right(struct doctor *doctor, enum setting setting, int device)
{
        struct setting_value value;
        struct err e = { 0 };
        char fix[160];

        if (setting_read(setting, device, &value, &e) >= 0)
                return true;
        snprintf(fix, sizeof fix,
                 "unset %.*s, or give it a right value: libvgpu.so refuses all GPUs now",
                 (int)strcspn(e.text, ":"), e.text);
        doctor_say(doctor, VERDICT_WRONG, fix, "%s", e.text);
        return false;
}

/* Without "_0" at its end. */
static void name_base(const char *name, char ret_base[64])
{
        snprintf(ret_base, 64, "%s", name);
        char *end = strrchr(ret_base, '_');
        if (end && end[1] && strspn(end + 1, "0123456789") == strlen(end + 1))
                *end = '\0';
}

static bool name_is_known(struct doctor *doctor, const char *name)
{
        struct nearest nearest = { 0 };
        char base[64], hint[96];

        name_base(name, base);
        for (unsigned i = 0; i < SETTING_COUNT; i++) {
                if (strcmp(base, setting_name(i)) == 0)
                        return true;
                nearest_offer(&nearest, base, setting_name(i));
        }
        for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++) {
                if (strcmp(name, other_names[i]) == 0)
                        return true;
                nearest_offer(&nearest, name, other_names[i]);
        }
        doctor_say(doctor, VERDICT_WRONG, "unset it", "nobody reads the variable %.63s%s", name,
                   nearest_text(&nearest, "", hint, sizeof hint));
        return false;
}

static bool names_are_known(struct doctor *doctor)
{
        bool are_known = true;

        for (char **entry = environ; *entry; entry++) {
                char name[64];

                if (!str_starts_with(*entry, "VGPU_"))
                        continue;
                snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
                are_known = name_is_known(doctor, name) && are_known;
        }
        return are_known;
}

static bool share_is_right(struct doctor *doctor)
{
        const char *path = access(SHARE_PATH, F_OK) == 0 ? SHARE_PATH : getenv("VGPU_SHARE");
        struct share share = { 0 };
        struct err e = { 0 };

        if (!path || !*path || share_open(path, false, &share, &e) == 0) {
                share_close(&share);
                return true;
        }
        doctor_say(doctor, VERDICT_WRONG,
                   "unset VGPU_SHARE, or start the program with vgpu run again: libvgpu.so refuses "
                   "all GPUs now",
                   "%s", e.text);
        return false;
}

/* The account of limits by environment. */
static bool region_is_right(struct doctor *doctor)
{
        char name[64], path[64];
        const char *chosen = setting_get(SETTING_REGION, -1, name);
        struct region region = { 0 };
        struct err e = { 0 };

        snprintf(path, sizeof path, "/tmp/vgpu-region-%u", getuid());
        if (!chosen || !*chosen)
                chosen = path;
        if (access(chosen, F_OK) < 0 || region_open(chosen, 1, &region, &e) == 0) {
                region_close(&region);
                return true;
        }
        doctor_say(doctor, VERDICT_WRONG, "remove the file, or let VGPU_REGION name another", "%s",
                   e.text);
        return false;
}

void doctor_environment(struct doctor *doctor)
{
        bool is_right = names_are_known(doctor);

        for (enum setting i = 0; i < SETTING_COUNT; i++) {
                bool is_told = !value_is_right(doctor, i, -1);

                for (int device = 0; device < SHARE_DEVICES && !is_told; device++)
                        is_told = !value_is_right(doctor, i, device);
                is_right = is_right && !is_told;
        }
        is_right = share_is_right(doctor) && is_right;
        is_right = region_is_right(doctor) && is_right;
        if (is_right)
                doctor_say(doctor, VERDICT_OK, NULL, "every variable has a value that can be used");
}
