/* SPDX-License-Identifier: Apache-2.0 */
/* spec: jansson reads it, json_splice writes it. */
#include "spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "json_memory.h"
#include "json_read.h"
#include "json_splice.h"
#include "scope.h"

static const char *const spec_paths[SPEC_PARTS][4] = {
        [SPEC_ENV] = { "process", "env" },
        [SPEC_MOUNTS] = { "mounts" },
        [SPEC_DEVICES] = { "linux", "devices" },
        [SPEC_RULES] = { "linux", "resources", "devices" },
        [SPEC_HOOKS] = { "hooks" },
};

static int part_check(const json_t *root, enum spec_part part, struct err *e)
{
        const json_t *at = root;

        for (const char *const *name = spec_paths[part]; *name; name++) {
                at = json_object_get(at, *name);
                if (!at || json_is_null(at))
                        return 0;
                const bool is_object = name[1] || part == SPEC_HOOKS;
                if (is_object ? !json_is_object(at) : !json_is_array(at))
                        return err_set(e, -EBADMSG, "'%s' is not %s", *name,
                                       is_object ? "an object" : "a list");
        }
        return 0;
}

static json_t *member_of(const struct spec *spec, const char *object, const char *name)
{
        return json_object_get(json_object_get(spec->root, object), name);
}

int spec_parse(const char *text, struct spec *ret_spec, struct err *e)
{
        struct spec spec = { .text = strdup(text) };
        autofree char *tame = strdup(text);
        json_error_t why;
        int r = 0;

        if (!spec.text || !tame) {
                spec_done(&spec);
                return err_set(e, -ENOMEM, "out of memory");
        }
        /* An unlimited rlimit is more than jansson can read; the text keeps it. */
        json_splice_tame(tame);
        json_t *root = spec.root =
                json_memory_load(tame, strlen(tame), JSON_REJECT_DUPLICATES, &r, &why);
        if (r == -ENOMEM)
                err_set(e, r, "out of memory");
        else if (!root)
                r = err_set(e, -EBADMSG, "line %d: %s", why.line, why.text);
        if (r == 0 && !json_is_object(root))
                r = err_set(e, -EBADMSG, "not a JSON object");
        for (enum spec_part part = 0; part < SPEC_PARTS && r == 0; part++)
                r = part_check(root, part, e);
        if (r < 0) {
                spec_done(&spec);
                return r;
        }
        *ret_spec = spec;
        return 0;
}

int spec_load(const char *path, struct spec *ret_spec, struct err *e)
{
        autofree char *text = NULL;
        int r = file_read(path, &text);

        if (r < 0)
                return err_set(e, r, "cannot read '%s': %s", path, strerror(-r));
        r = spec_parse(text, ret_spec, e);
        return r < 0 ? err_context(e, r, path) : 0;
}

void spec_done(struct spec *spec)
{
        json_decref(spec->root);
        free(spec->text);
        str_done(&spec->left_out);
        *spec = (struct spec){ 0 };
}

bool spec_is_changed(const struct spec *spec)
{
        for (enum spec_part part = 0; part < SPEC_PARTS; part++)
                if (spec->is_changed[part])
                        return true;
        return false;
}

int spec_render(const struct spec *spec, struct str *ret_text, struct err *e)
{
        struct str text = { 0 };
        int r = str_append(&text, spec->text);

        for (enum spec_part part = 0; part < SPEC_PARTS && r == 0; part++) {
                if (!spec->is_changed[part])
                        continue;
                autofree char *value = json_memory_dump(spec_query(spec, part), JSON_COMPACT);

                r = value ? json_splice_put(&text, spec_paths[part], value) : -ENOMEM;
        }
        if (r < 0) {
                str_done(&text);
                return err_set(e, r, "cannot write the container's configuration: %s",
                               strerror(-r));
        }
        *ret_text = text;
        return 0;
}

int spec_save(const struct spec *spec, const char *path, struct err *e)
{
        struct str text = { 0 };
        struct stat old;

        if (!spec_is_changed(spec))
                return 0;
        int r = spec_render(spec, &text, e);
        if (r < 0)
                return r;
        r = stat(path, &old) < 0 ? -errno : file_replace_like(path, text.text, text.length, &old);
        str_done(&text);
        return r < 0 ? err_set(e, r, "cannot replace '%s': %s", path, strerror(-r)) : 0;
}

json_t *spec_query(const struct spec *spec, enum spec_part part)
{
        json_t *at = spec->root;

        for (const char *const *name = spec_paths[part]; *name && at; name++)
                at = json_object_get(at, *name);
        return json_is_null(at) ? NULL : at;
}

json_t *spec_change(struct spec *spec, enum spec_part part)
{
        json_t *at = spec->root;

        for (const char *const *name = spec_paths[part]; *name; name++) {
                json_t *next = json_object_get(at, *name);

                if (!next || json_is_null(next)) {
                        const bool is_object = name[1] || part == SPEC_HOOKS;

                        next = is_object ? json_object() : json_array();
                        if (json_object_set_new(at, *name, next) < 0)
                                return NULL;
                }
                at = next;
        }
        spec->is_changed[part] = true;
        return at;
}

const char *spec_annotation(const struct spec *spec, const char *name)
{
        return json_string_value(member_of(spec, "annotations", name));
}

const char *spec_root_path(const struct spec *spec)
{
        return json_string_value(member_of(spec, "root", "path"));
}

bool spec_root_is_readonly(const struct spec *spec)
{
        return json_is_true(member_of(spec, "root", "readonly"));
}

/* {"allow": true, "access": "rwm"}: no type and no numbers, or "a". */
static bool rule_allows_all(const json_t *rule)
{
        const char *type = json_read_text_or_null(rule, "type");
        const char *access = json_read_text_or_null(rule, "access");
        const json_t *major = json_object_get(rule, "major");

        return json_read_is_true(rule, "allow") && (!type || strcmp(type, "a") == 0) &&
               (!major || json_integer_value(major) == -1) &&
               (!access || !*access || strchr(access, 'w'));
}

bool spec_is_privileged(const struct spec *spec)
{
        const json_t *rules = spec_query(spec, SPEC_RULES);
        bool is_open = false;

        for (size_t i = 0; i < json_array_size(rules); i++) {
                const json_t *rule = json_array_get(rules, i);
                const json_t *major = json_object_get(rule, "major");

                if (rule_allows_all(rule))
                        is_open = true;
                else if (!json_read_is_true(rule, "allow") && !major &&
                         !json_object_get(rule, "type"))
                        is_open = false; /* all denied again */
        }
        return is_open;
}
