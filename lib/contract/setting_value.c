/* SPDX-License-Identifier: Apache-2.0 */
/* Settings by environment: what their texts mean. Nonsense is an error with a sentence, never a
 * default: a limit with a slip of the pen must not become no limit. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "log.h"
#include "quantity.h"
#include "setting.h"
#include "share_layout.h"

struct named_value {
        const char *text;
        uint64_t number;
};

/* "invalid value 'x' (expected one of: a, b, c)" */
static int named_value_parse(const struct named_value *names, const char *text,
                             uint64_t *ret_number, struct err *e)
{
        char all[160] = "";

        for (; names->text; names++) {
                if (strcasecmp(text, names->text) == 0) {
                        *ret_number = names->number;
                        return 0;
                }
                strncat(all, *all ? ", " : "", sizeof all - strlen(all) - 1);
                strncat(all, names->text, sizeof all - strlen(all) - 1);
        }
        return err_set(e, -EINVAL, "invalid value '%.40s' (expected one of: %s)", text, all);
}

static int size_parse(const char *name, const char *text, struct setting_value *ret, struct err *e)
{
        (void)name;
        return quantity_parse_bytes(text, &ret->number, e);
}

static int ratio_parse(const char *name, const char *text, struct setting_value *ret, struct err *e)
{
        (void)name;
        return quantity_parse_number(text, "memory ratio", 1, 1024, &ret->ratio, e);
}

static int flag_parse(const char *name, const char *text, struct setting_value *ret, struct err *e)
{
        static const struct named_value names[] = { { "true", 1 }, { "false", 0 }, { "1", 1 },
                                                    { "0", 0 },    { "yes", 1 },   { "no", 0 },
                                                    { "on", 1 },   { "off", 0 },   { NULL, 0 } };

        (void)name;
        return named_value_parse(names, text, &ret->number, e);
}

static int context_parse(const char *name, const char *text, struct setting_value *ret,
                         struct err *e)
{
        static const struct named_value names[] = { { "count", 0 }, { "exempt", 1 }, { NULL, 0 } };

        (void)name;
        return named_value_parse(names, text, &ret->number, e);
}

static int copies_parse(const char *name, const char *text, struct setting_value *ret,
                        struct err *e)
{
        static const struct named_value names[] = { { "exempt", 0 }, { "count", 1 }, { NULL, 0 } };

        (void)name;
        return named_value_parse(names, text, &ret->number, e);
}

static int cores_parse(const char *name, const char *text, struct setting_value *ret, struct err *e)
{
        unsigned percent = 0;

        (void)name;
        if (quantity_parse_cap(text, "cores", &percent, e) < 0)
                return -EINVAL;
        ret->number = percent;
        return 0;
}

static int policy_parse(const char *name, const char *text, struct setting_value *ret,
                        struct err *e)
{
        static const struct named_value names[] = {
                { "fixed", SHARE_POLICY_FIXED },
                { "balance", SHARE_POLICY_BALANCE },
                { "none", SHARE_POLICY_NONE },
                { "force", SHARE_POLICY_FIXED },
                { "default", SHARE_POLICY_BALANCE },
                { "disable", SHARE_POLICY_NONE },
                { NULL, 0 },
        };

        (void)name;
        return named_value_parse(names, text, &ret->number, e);
}

static int priority_parse(const char *name, const char *text, struct setting_value *ret,
                          struct err *e)
{
        static const struct named_value names[] = {
                { "0", 0 }, { "1", 1 }, { "high", 0 }, { "low", 1 }, { NULL, 0 }
        };

        (void)name;
        return named_value_parse(names, text, &ret->number, e);
}

static int compatibility_parse(const char *name, const char *text, struct setting_value *ret,
                               struct err *e)
{
        uint64_t number;

        if (quantity_parse_whole(text, name, 0, 399, &number, NULL) < 0 || number % 100 > 3)
                return err_set(e, -EINVAL,
                               "'%.40s' is not a mode (0 host, 1 cgroup v1, 2 cgroup v2, 100 open "
                               "kernel modules, 200 registration, or a sum of these)",
                               text);
        ret->number = number;
        return 0;
}

enum {
        ERRORS = 1 << LOG_LEVEL_ERROR,
        WARNINGS = 1 << LOG_LEVEL_WARN,
        INFOS = 1 << LOG_LEVEL_INFO,
        VERBOSE = 1 << LOG_LEVEL_DEBUG,
        DETAILS = 1 << LOG_LEVEL_DETAIL,
};

/* Each family counts in its own way; the first number of LOGGER_LEVEL does show infos alone. */
static int log_parse(const char *name, const char *text, struct setting_value *ret, struct err *e)
{
        static const struct named_value own[] = { { "error", ERRORS },
                                                  { "warn", ERRORS | WARNINGS },
                                                  { "info", ERRORS | WARNINGS | INFOS },
                                                  { "debug", ERRORS | WARNINGS | INFOS | VERBOSE },
                                                  { "detail",
                                                    ERRORS | WARNINGS | INFOS | VERBOSE | DETAILS },
                                                  { NULL, 0 } };
        static const struct named_value logger[] = { { "0", INFOS },
                                                     { "1", ERRORS | INFOS },
                                                     { "2", ERRORS | WARNINGS | INFOS },
                                                     { "3", ERRORS | WARNINGS | INFOS },
                                                     { "4", ERRORS | WARNINGS | INFOS | VERBOSE },
                                                     { "5", ERRORS | WARNINGS | INFOS | VERBOSE |
                                                                    DETAILS },
                                                     { NULL, 0 } };
        static const struct named_value libcuda[] = { { "0", ERRORS },
                                                      { "1", ERRORS | WARNINGS },
                                                      { "2", ERRORS | WARNINGS },
                                                      { "3", ERRORS | WARNINGS | INFOS },
                                                      { "4", ERRORS | WARNINGS | INFOS | VERBOSE },
                                                      { NULL, 0 } };
        const struct named_value *names = strcmp(name, "LOGGER_LEVEL") == 0        ? logger
                                          : strcmp(name, "LIBCUDA_LOG_LEVEL") == 0 ? libcuda
                                                                                   : own;

        return named_value_parse(names, text, &ret->number, e);
}

/* Lists of devices, paths and names are what they are. */
static int text_parse(const char *name, const char *text, struct setting_value *ret, struct err *e)
{
        (void)name, (void)text, (void)ret, (void)e;
        return 0;
}

typedef int parse_fn(const char *name, const char *text, struct setting_value *ret, struct err *e);

static parse_fn *const setting_parse[SETTING_COUNT] = {
        [SETTING_MEMORY_LIMIT] = size_parse,
        [SETTING_MEMORY_RATIO] = ratio_parse,
        [SETTING_MEMORY_OVERSOLD] = flag_parse,
        [SETTING_OVERSOLD_HOST_MEMORY] = size_parse,
        [SETTING_CONTEXT_MEMORY] = context_parse,
        [SETTING_CORES] = cores_parse,
        [SETTING_CORES_MAX] = cores_parse,
        [SETTING_CORES_POLICY] = policy_parse,
        [SETTING_PRIORITY] = priority_parse,
        [SETTING_COPIES] = copies_parse,
        [SETTING_DEVICES] = text_parse,
        [SETTING_REGION] = text_parse,
        [SETTING_COMPATIBILITY] = compatibility_parse,
        [SETTING_LOG] = log_parse,
        [SETTING_POD_NAME] = text_parse,
        [SETTING_POD_NAMESPACE] = text_parse,
        [SETTING_POD_UID] = text_parse,
        [SETTING_CONTAINER_NAME] = text_parse,
};

int setting_text_read(enum setting setting, const char *name, const char *text,
                      struct setting_value *ret_value, struct err *e)
{
        struct setting_value value = { 0 };
        struct err why = { 0 };

        if (!*text && setting_parse[setting] != text_parse)
                return err_set(e, -EINVAL, "%s is set and has no value; give it one, or unset it",
                               name);
        if (setting_parse[setting](name, text, &value, &why) < 0)
                return err_set(e, -EINVAL, "%s: %.190s", name, why.text);
        *ret_value = value;
        return 1;
}

int setting_read(enum setting setting, int device, struct setting_value *ret_value, struct err *e)
{
        char name[64];
        const char *text = setting_get(setting, device, name);

        return text ? setting_text_read(setting, name, text, ret_value, e) : 0;
}
