/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu doctor: what is wrong with this machine's set-up, and how to fix it. */
#include "doctor.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "arg_parser.h"
#include "command.h"
#include "gpus.h"
#include "machine_option.h"
#include "nearby.h"
#include "paths.h"
#include "run_folder.h"
#include "scope.h"
#include "share_query.h"
#include "str.h"
#include "term.h"

enum { JSON };
enum { SPACE_MIB = 64 }; /* a machine and a few regions */

const struct cli_option doctor_options[] = {
        [JSON] = { "json", NULL, "print JSON", NULL },
        { 0 },
};

static void finding_print(const struct doctor *doctor, enum verdict verdict, const char *fix,
                          const char *text)
{
        static const char *const labels[] = { "ok", "note", "WRONG" };
        static const char *const colours[] = { "\033[32m", "\033[33m", "\033[1;31m" };
        const bool is_colour = term_is_colour(STDOUT_FILENO);

        printf("%s%-6s%s%-12s %s\n", is_colour ? colours[verdict] : "", labels[verdict],
               is_colour ? "\033[0m" : "", doctor->subject, text);
        if (fix)
                printf("%-18s → %s\n", "", fix);
}

void doctor_say(struct doctor *doctor, enum verdict verdict, const char *fix, const char *format,
                ...)
{
        static const char *const labels[] = { "ok", "note", "wrong" };
        char text[512], advice[512];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        /* Names in them are anybody's. */
        str_tame(text);
        str_copy(advice, sizeof advice, fix ? fix : "");
        str_tame(advice);
        fix = fix ? advice : NULL;
        doctor->wrong += verdict == VERDICT_WRONG;
        if (!doctor->is_json) {
                finding_print(doctor, verdict, fix, text);
                return;
        }
        json_out_open(&doctor->json, NULL, '{');
        json_out_string(&doctor->json, "subject", doctor->subject);
        json_out_string(&doctor->json, "verdict", labels[verdict]);
        json_out_string(&doctor->json, "text", text);
        if (fix)
                json_out_string(&doctor->json, "fix", fix);
        json_out_close(&doctor->json, '}');
}

static void check_driver(struct doctor *doctor)
{
        struct gpu_list gpus;
        struct err e = { 0 };

        if (!nearby_driver("libcuda.so.1")) {
                doctor_say(doctor, VERDICT_NOTE, NULL,
                           "there is no real driver (libcuda.so.1): programs run on simulated GPUs "
                           "only (vgpu run --sim=a100-40gb)");
                return;
        }
        const char *machine = getenv("VGPU_SIM");
        const bool is_simulated = machine && *machine;
        /* A machine that is none is told of below; the driver would end with it. */
        const int r = is_simulated ? gpus_simulated(machine, &gpus, &e) : gpus_real(&gpus, &e);
        if (r < 0 && is_simulated)
                doctor_say(doctor, VERDICT_NOTE, NULL,
                           "the driver is the simulated one, because of VGPU_SIM");
        else if (r < 0)
                doctor_say(doctor, VERDICT_WRONG,
                           "check 'dmesg' and 'nvidia-smi'; install the driver's own "
                           "libnvidia-ml.so.1",
                           "libcuda.so.1 is there, but %s", e.text);
        else
                doctor_say(doctor, VERDICT_OK, NULL, "the driver lists %u GPU%s", gpus.count,
                           gpus.count == 1 ? "" : "s");
}

static void check_simulator(struct doctor *doctor)
{
        struct err e = { 0 };
        autofree char *library = paths_sim_library(&e);

        if (library)
                doctor_say(doctor, VERDICT_OK, NULL, "the simulated driver is in '%s'", library);
        else
                doctor_say(doctor, VERDICT_WRONG,
                           "set VGPU_SIM_LIB to the folder with the simulated libcuda.so.1, or "
                           "unset it and install vgpu again",
                           "%s", e.text);
}

static void check_library(struct doctor *doctor)
{
        struct err e = { 0 };
        autofree char *library = paths_preload_library(&e);
        int major = 0, minor = 0;

        if (!library) {
                doctor_say(doctor, VERDICT_WRONG,
                           "set VGPU_LIB to its path, or unset it and install vgpu again",
                           "%s: programs cannot be limited", e.text);
                return;
        }
        sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor);
        if (major * 1000 + minor < 2017)
                doctor_say(doctor, VERDICT_WRONG, "use a system with glibc 2.17 or newer",
                           "the C library is glibc %s", gnu_get_libc_version());
        else if (!dlopen(library, RTLD_NOW | RTLD_LOCAL))
                doctor_say(doctor, VERDICT_WRONG, "install vgpu again",
                           "libvgpu.so does not load: %s", dlerror());
        else
                doctor_say(doctor, VERDICT_OK, NULL, "'%s' loads (glibc %s)", library,
                           gnu_get_libc_version());
}

static void check_space(struct doctor *doctor)
{
        const char *folders[PATHS_FOLDERS];
        struct statvfs fs;

        if (paths_run_folders(folders) == 0) {
                doctor_say(doctor, VERDICT_WRONG, "mount a tmpfs on /dev/shm that you may write to",
                           "neither XDG_RUNTIME_DIR nor /dev/shm nor /tmp can be written");
                return;
        }
        if (access("/dev/shm", W_OK | X_OK) < 0 || statvfs("/dev/shm", &fs) < 0) {
                doctor_say(doctor, VERDICT_WRONG, "mount a tmpfs on /dev/shm, mode 1777",
                           "/dev/shm cannot be written: processes cannot share memory");
                return;
        }
        const uint64_t free_mib = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
        if (free_mib < SPACE_MIB)
                doctor_say(doctor, VERDICT_WRONG,
                           "make it larger: mount -o remount,size=1g /dev/shm (a container: "
                           "--shm-size=1g)",
                           "/dev/shm has %" PRIu64 " MiB left, %d are needed", free_mib, SPACE_MIB);
        else
                doctor_say(doctor, VERDICT_OK, NULL, "/dev/shm has %" PRIu64 " MiB left", free_mib);
}

/* False: it was said what is wrong with it. */
static bool share_is_valid(struct doctor *doctor, const char *path)
{
        static struct share_query query; /* 17 KiB and more */
        struct err e = { 0 };
        char fix[SHARE_TEXT + 64];

        if (share_query_open(path, &query, &e)) {
                if (query.region)
                        run_folder_check(&query.copy, query.region, &e);
                share_query_close(&query);
        }
        if (!e.text[0])
                return true;
        snprintf(fix, sizeof fix, "end its programs, then rm -r '%.*s'",
                 (int)(strrchr(path, '/') - path), path);
        doctor_say(doctor, VERDICT_WRONG, fix, "%s", e.text);
        return false;
}

static void check_shares(struct doctor *doctor)
{
        struct vec paths = VEC_OF(char[SHARE_TEXT]);
        size_t valid = 0;

        run_folder_list(&paths); /* what the dead left behind is gone now */
        for (size_t i = 0; i < paths.count; i++)
                valid += share_is_valid(doctor, vec_at(&paths, i));
        if (valid == paths.count)
                doctor_say(doctor, VERDICT_OK, NULL, "%zu share%s in use", valid,
                           valid == 1 ? " is" : "s are");
        vec_done(&paths);
}

static void check_machine(struct doctor *doctor)
{
        const char *path = getenv("VGPU_SIM");
        struct machine_view view;
        struct err e = { 0 };

        if (!path || !*path) {
                doctor_say(doctor, VERDICT_OK, NULL, "VGPU_SIM names no simulated machine");
        } else if (machine_view_open(path, &view, &e) < 0) {
                doctor_say(doctor, VERDICT_WRONG,
                           "unset VGPU_SIM, or make the machine again: vgpu sim destroy --force; "
                           "vgpu sim create",
                           "VGPU_SIM: %s", e.text);
        } else {
                doctor_say(doctor, VERDICT_OK, NULL, "VGPU_SIM has %u simulated GPU%s",
                           view.header->gpu_count, view.header->gpu_count == 1 ? "" : "s");
                machine_view_close(&view);
        }
}

static const struct {
        const char *subject;
        void (*run)(struct doctor *doctor);
} checks[] = {
        { "driver", check_driver },
        { "simulator", check_simulator },
        { "library", check_library },
        { "preload", doctor_preload },
        { "container", doctor_container },
        { "processes", doctor_processes },
        { "node", doctor_node },
        { "space", check_space },
        { "shares", check_shares },
        { "machine", check_machine },
        { "environment", doctor_environment },
};

static int doctor_run(struct doctor *doctor)
{
        if (doctor->is_json) {
                json_out_open(&doctor->json, NULL, '{');
                json_out_open(&doctor->json, "checks", '[');
        }
        for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
                doctor->subject = checks[i].subject;
                checks[i].run(doctor);
        }
        if (doctor->is_json) {
                json_out_close(&doctor->json, ']');
                json_out_number(&doctor->json, "wrong", doctor->wrong);
                json_out_close(&doctor->json, '}');
        }
        return doctor->wrong ? EXIT_FAILED : EXIT_OK;
}

int command_doctor(const struct command *command, int argc, char **argv)
{
        struct doctor doctor = { 0 };
        int code;

        return arg_parser_json(command, argc, argv, &doctor.is_json, &code) ? doctor_run(&doctor)
                                                                            : code;
}
