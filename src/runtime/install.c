/* SPDX-License-Identifier: Apache-2.0 */
/* install: a release is a folder of its own, TO/VERSION-DIGEST with sbin/ and lib/, made whole or not at
 * all; TO/current leads to the newest. Containers that run keep the files they have mounted: nothing is
 * ever written over. */
#include "install.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_option.h"
#include "engine.h"
#include "fd.h"
#include "file.h"
#include "preload_library.h"
#include "scope.h"

enum { TO, SIMULATOR, CONTAINERD, CRIO };
enum { PIECES_MOST = 4, NAME_BYTES = 64 };

static const struct cli_option rows[] = {
        [TO] = { "to", "FOLDER", "folder of the releases, such as /opt/vgpu", "file" },
        [SIMULATOR] = { "simulator", NULL, "also install the simulated driver", NULL },
        [CONTAINERD] = { "containerd", "FILE",
                         "add the runtime to this configuration of containerd", "file" },
        [CRIO] = { "crio", "FILE", "add the runtime to this drop-in of CRI-O", "file" },
        { 0 },
};

struct wish {
        const char *to, *containerd, *crio;
        bool with_simulator;
};

/* A file of the release: its path below the release's folder, and what is in it. */
struct piece {
        const char *path;
        mode_t mode;
        char *bytes;
        size_t count;
};

struct release {
        struct piece pieces[PIECES_MOST];
        unsigned count;
        char name[NAME_BYTES];
};

static void help_print(void)
{
        puts("vgpu-runtime install --to FOLDER [OPTION]...\n\n"
             "Installs this program and libvgpu.so in FOLDER/VERSION-DIGEST, and points "
             "FOLDER/current\nthere. Existing releases are never overwritten: running containers "
             "keep their library.\n");
        cli_option_print(rows);
}

static int option_take(struct wish *wish, int row, const char *value, struct err *e)
{
        const char **const texts[] = {
                [TO] = &wish->to, [CONTAINERD] = &wish->containerd, [CRIO] = &wish->crio
        };

        if (row == SIMULATOR) {
                wish->with_simulator = true;
                return 0;
        }
        if (value[0] != '/')
                return err_set(e, -EINVAL,
                               "invalid value '%.80s' of --%s (expected an absolute path)", value,
                               rows[row].name);
        *texts[row] = value;
        return 0;
}

/* 1: help was printed. */
static int arguments_read(int argc, char **argv, struct wish *wish, struct err *e)
{
        struct cli_scan scan = {
                .program = "vgpu-runtime install", .rows = rows, .argc = argc, .argv = argv
        };

        for (int row; (row = cli_scan_next(&scan, e)) != CLI_END;) {
                if (row == CLI_HELP)
                        return help_print(), 1;
                if (row == CLI_PLAIN)
                        return err_set(e, -EINVAL,
                                       "unexpected argument '%.80s' ('vgpu-runtime install' takes "
                                       "options only)",
                                       scan.value);
                const int r = row == CLI_BAD ? -EINVAL : option_take(wish, row, scan.value, e);
                if (r < 0)
                        return r;
        }
        return wish->to ? 0 : err_set(e, -EINVAL, "missing --to FOLDER");
}

static int piece_add(struct release *release, const char *from, const char *path, mode_t mode,
                     struct err *e)
{
        struct piece piece = { .path = path, .mode = mode };
        autoclose int fd = open(from, O_RDONLY | O_CLOEXEC);
        const int r = fd < 0 ? -errno : fd_read_all(fd, &piece.bytes, &piece.count);

        if (r < 0)
                return err_set(e, r, "cannot read '%.150s': %s", from, strerror(-r));
        release->pieces[release->count++] = piece;
        return 0;
}

/* Another build of the same version is another release. FNV-1a: nobody is to be kept out by it. */
static void release_name(struct release *release)
{
        uint64_t digest = UINT64_C(0xcbf29ce484222325);

        for (unsigned i = 0; i < release->count; i++)
                for (size_t at = 0; at < release->pieces[i].count; at++)
                        digest = (digest ^ (unsigned char)release->pieces[i].bytes[at]) *
                                 UINT64_C(0x100000001b3);
        snprintf(release->name, sizeof release->name, "%s-%016" PRIx64, VGPU_VERSION, digest);
}

static int release_read(const struct wish *wish, struct release *release, struct err *e)
{
        char library[PATH_MAX], folder[PATH_MAX], path[PATH_MAX + 32];
        int r;

        if (!preload_library_find(library))
                return err_set(e, -ENOENT, "libvgpu.so is not beside this program");
        r = piece_add(release, "/proc/self/exe", "sbin/vgpu-runtime", 0755, e);
        if (r == 0)
                r = piece_add(release, library, "lib/libvgpu.so", 0644, e);
        snprintf(folder, sizeof folder, "%s", library);
        dirname(folder);
        static const char *const simulated[] = { "lib/sim/libcuda.so.1",
                                                 "lib/sim/libnvidia-ml.so.1" };
        for (unsigned i = 0; i < 2 && r == 0 && wish->with_simulator; i++) {
                snprintf(path, sizeof path, "%s/%s", folder, simulated[i] + strlen("lib/"));
                r = piece_add(release, path, simulated[i], 0644, e);
        }
        if (r == 0)
                release_name(release);
        return r;
}

static int folder_make(const char *path)
{
        return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int piece_write(const struct piece *piece, const char *folder)
{
        char path[PATH_MAX];

        snprintf(path, sizeof path, "%.3900s/%.90s", folder, piece->path);
        for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/'));
             *slash++ = '/') {
                *slash = '\0';
                const int r = folder_make(path);
                if (r < 0)
                        return r;
        }
        const int r = file_replace(path, piece->bytes, piece->count, piece->mode);

        return r == 0 && chmod(path, piece->mode) < 0 ? -errno : r;
}

static void pieces_remove(const struct release *release, const char *folder)
{
        static const char *const folders[] = { "/lib/sim", "/lib", "/sbin", "" };
        char path[PATH_MAX];

        for (unsigned i = 0; i < release->count; i++) {
                snprintf(path, sizeof path, "%.3900s/%.90s", folder, release->pieces[i].path);
                unlink(path);
        }
        for (unsigned i = 0; i < sizeof folders / sizeof folders[0]; i++) {
                snprintf(path, sizeof path, "%.3900s%s", folder, folders[i]);
                rmdir(path);
        }
}

/* Beside its place first, so that a release is seen whole. Made by two at once, one of them is kept. */
static int release_write(const struct release *release, const char *to, struct err *e)
{
        char whole[PATH_MAX], part[PATH_MAX];
        struct stat st;
        int r = folder_make(to);

        snprintf(whole, sizeof whole, "%.3900s/%s", to, release->name);
        snprintf(part, sizeof part, "%.3900s/.%s.%d", to, release->name, (int)getpid());
        if (r == 0 && stat(whole, &st) == 0)
                return 0;
        if (r == 0)
                r = folder_make(part);
        for (unsigned i = 0; i < release->count && r == 0; i++)
                r = piece_write(&release->pieces[i], part);
        sync();
        if (r == 0 && rename(part, whole) < 0)
                r = errno == EEXIST || errno == ENOTEMPTY ? 1 : -errno;
        if (r != 0)
                pieces_remove(release, part);
        return r < 0 ? err_set(e, r, "cannot write '%.150s': %s", whole, strerror(-r)) : 0;
}

static int current_set(const struct release *release, const char *to, struct err *e)
{
        char path[PATH_MAX], made[PATH_MAX];

        snprintf(path, sizeof path, "%.3900s/current", to);
        snprintf(made, sizeof made, "%.3900s/.current.%d", to, (int)getpid());
        unlink(made);
        if (symlink(release->name, made) == 0 && rename(made, path) == 0)
                return 0;
        const int r = -errno;

        unlink(made);
        return err_set(e, r, "cannot point '%.150s' to it: %s", path, strerror(-r));
}

static int install(const struct wish *wish, struct release *release, struct err *e)
{
        int r = release_read(wish, release, e);

        if (r == 0)
                r = release_write(release, wish->to, e);
        if (r == 0)
                r = current_set(release, wish->to, e);
        if (r == 0)
                printf("%s/current is %s\n", wish->to, release->name);
        if (r == 0 && wish->containerd)
                r = engine_containerd(wish->containerd, wish->to, e);
        if (r == 0 && wish->crio)
                r = engine_crio(wish->crio, wish->to, e);
        return r;
}

int install_command(int argc, char **argv)
{
        struct release release = { 0 };
        struct wish wish = { 0 };
        struct err e = { 0 };
        int r = arguments_read(argc, argv, &wish, &e);

        if (r == 0)
                r = install(&wish, &release, &e);
        if (r < 0)
                fprintf(stderr, "vgpu-runtime: %s\n", e.text);
        for (unsigned i = 0; i < release.count; i++)
                free(release.pieces[i].bytes);
        return r == -EINVAL ? 2 : r < 0;
}
