/* SPDX-License-Identifier: Apache-2.0 */
/* Ways that find the driver's functions: by every look-up there is, in copies, and past all look-ups. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "evade.h"

#define DRIVER "libcuda.so.1"

const char *driver_path(void)
{
        static char path[256];
        const char *folders = getenv("LD_LIBRARY_PATH");

        snprintf(path, sizeof path, "%.*s/" DRIVER, folders ? (int)strcspn(folders, ":") : 0,
                 folders ? folders : "");
        return path;
}

bool calls_by_dlsym(void *library, struct driver_calls *calls)
{
        *(void **)&calls->init = dlsym(library, "cuInit");
        *(void **)&calls->context = dlsym(library, "cuCtxCreate_v2");
        *(void **)&calls->alloc = dlsym(library, "cuMemAlloc_v2");
        return calls->init && calls->context && calls->alloc ? true : barred("dlsym");
}

void *symbol_walk(const struct link_map *map, const char *name)
{
        const ElfW(Sym) *symbols = NULL;
        const char *names = NULL;

        for (const ElfW(Dyn) *row = map->l_ld; row->d_tag != DT_NULL; row++) {
                if (row->d_tag == DT_SYMTAB)
                        symbols = (const ElfW(Sym) *)row->d_un.d_ptr;
                if (row->d_tag == DT_STRTAB)
                        names = (const char *)row->d_un.d_ptr;
        }
        /* Linkers put the names right behind the symbols. */
        for (const ElfW(Sym) *at = symbols; at && (const char *)(at + 1) <= names; at++)
                if (at->st_shndx != SHN_UNDEF && strcmp(names + at->st_name, name) == 0)
                        return (void *)(map->l_addr + at->st_value);
        return NULL;
}

bool calls_by_walk(void *library, struct driver_calls *calls)
{
        struct link_map *map = NULL;

        if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) < 0)
                return barred(dlerror());
        *(void **)&calls->init = symbol_walk(map, "cuInit");
        *(void **)&calls->context = symbol_walk(map, "cuCtxCreate_v2");
        *(void **)&calls->alloc = symbol_walk(map, "cuMemAlloc_v2");
        return calls->init && calls->context && calls->alloc ? true : barred("symbols");
}

void *driver_own(const char *name)
{
        struct link_map *map = NULL;
        void *library = dlopen(DRIVER, RTLD_NOW);

        return library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? symbol_walk(map, name)
                                                                      : NULL;
}

/* A program that is started with rights of its own gets no variables: it must know the folder. */
bool calls_plain(struct driver_calls *calls)
{
        void *library = dlopen(DRIVER, RTLD_NOW);

        if (!library && dlopen("/etc/vgpu/driver/libnvidia-ml.so.1", RTLD_NOW))
                library = dlopen("/etc/vgpu/driver/" DRIVER, RTLD_NOW);
        return calls_by_dlsym(library, calls);
}

static bool open_walk(struct driver_calls *calls)
{
        return calls_by_walk(dlopen(DRIVER, RTLD_NOW), calls);
}

static bool open_dlmopen(struct driver_calls *calls)
{
        return calls_by_dlsym(dlmopen(LM_ID_NEWLM, DRIVER, RTLD_NOW), calls);
}

static bool open_dlmopen_walk(struct driver_calls *calls)
{
        return calls_by_walk(dlmopen(LM_ID_NEWLM, DRIVER, RTLD_NOW), calls);
}

/* Of the driver's file, under another name. */
static void *copy_open(void)
{
        static const char copy[] = "/tmp/own-driver.so";
        const int from = open(driver_path(), O_RDONLY | O_CLOEXEC);
        const int to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

        if (from < 0 || to < 0)
                return NULL;
        while (sendfile(to, from, NULL, 1 << 20) > 0)
                continue;
        close(from);
        close(to);
        return dlopen(copy, RTLD_NOW);
}

static bool open_copy(struct driver_calls *calls)
{
        return calls_by_dlsym(copy_open(), calls);
}

static bool open_copy_walk(struct driver_calls *calls)
{
        return calls_by_walk(copy_open(), calls);
}

/* The last that any answers is the one that is used: all must be libvgpu.so's. */
static bool open_global(struct driver_calls *calls)
{
        void *const handles[] = { RTLD_DEFAULT, RTLD_NEXT, dlopen(NULL, RTLD_NOW) };

        if (!dlopen(DRIVER, RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND) || !calls_plain(calls))
                return barred("dlopen");
        for (unsigned i = 0; i < sizeof handles / sizeof *handles; i++) {
                void *found = dlsym(handles[i], "cuMemAlloc_v2");
                if (found && found == driver_own("cuMemAlloc_v2")) {
                        *(void **)&calls->alloc = found;
                        return true;
                }
        }
        return true;
}

static bool open_dlvsym(struct driver_calls *calls)
{
        static const char *const versions[] = { "libcuda.so.1", "CUDA_1", "GLIBC_2.2.5", "VGPU_1" };
        void *library = dlopen(DRIVER, RTLD_NOW);

        if (!calls_by_dlsym(library, calls))
                return false;
        for (unsigned i = 0; i < sizeof versions / sizeof *versions; i++) {
                void *found = dlvsym(library, "cuMemAlloc_v2", versions[i]);
                if (found)
                        *(void **)&calls->alloc = found;
        }
        return true;
}

/* As CUDA's static runtime does: dlopen, one dlsym, and the driver's own look-up for all else, itself included. */
static bool open_static_runtime(struct driver_calls *calls)
{
        typedef int look_up_fn(const char *, void **, int, unsigned long long, void *);
        look_up_fn *look_up;
        void *again = NULL;
        int status = 0;

        *(void **)&look_up = dlsym(dlopen(DRIVER, RTLD_NOW), "cuGetProcAddress_v2");
        if (!look_up || look_up("cuGetProcAddress", &again, 12000, 0, &status) != 0 || !again)
                return barred("cuGetProcAddress");
        *(void **)&look_up = again;
        if (look_up("cuInit", (void **)&calls->init, 12000, 0, &status) != 0 ||
            look_up("cuCtxCreate", (void **)&calls->context, 3020, 0, &status) != 0 ||
            look_up("cuMemAlloc", (void **)&calls->alloc, 3020, 0, &status) != 0)
                return barred("cuGetProcAddress");
        return true;
}

/* Every version and every set of flags; what differs from the first is the driver's own. */
static bool open_getproc(struct driver_calls *calls)
{
        static const int versions[] = {
                2000, 3020, 7000, 10010, 11030, 12000, 12040, 13000, 13020
        };
        typedef int look_up_fn(const char *, void **, int, unsigned long long);
        typedef int look_up_2_fn(const char *, void **, int, unsigned long long, void *);
        void *library = dlopen(DRIVER, RTLD_NOW), *own = driver_own("cuMemAlloc_v2");
        look_up_fn *first;
        look_up_2_fn *second;
        int status;

        if (!calls_by_dlsym(library, calls))
                return false;
        *(void **)&first = dlsym(library, "cuGetProcAddress");
        *(void **)&second = dlsym(library, "cuGetProcAddress_v2");
        for (unsigned i = 0; i < sizeof versions / sizeof *versions; i++)
                for (unsigned flags = 0; flags < 8; flags++) {
                        void *found[2] = { NULL, NULL };
                        first("cuMemAlloc", &found[0], versions[i], flags);
                        second("cuMemAlloc", &found[1], versions[i], flags, &status);
                        for (unsigned j = 0; j < 2; j++)
                                if (found[j] && found[j] == own)
                                        *(void **)&calls->alloc = own;
                }
        return true;
}

/* The functions that CUDA's runtime takes from the driver beside its interface: a module is loaded past all hooks. */
static bool load_past(struct driver_calls *calls)
{
        static const unsigned char id[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                              0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };
        static const char program[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                                      ".visible .global .align 4 .b8 much[314572800];\n";
        typedef int export_fn(const void **, const void *);
        typedef int load_fn(void **, const void *);
        void *const *table = NULL;
        export_fn *export;
        load_fn *load;
        void *module;

        (void)calls;
        *(void **)&export = dlsym(dlopen(DRIVER, RTLD_NOW), "cuGetExportTable");
        if (!export || export((const void **)&table, id) != 0)
                return barred("cuGetExportTable");
        memcpy(&load, &table[1], sizeof load);
        return load(&module, program) == 0 ? true : barred("the table's function");
}

const struct way ways_symbols[] = {
        { .name = "plain", .open = calls_plain },
        { .name = "walk", .open = open_walk },
        { .name = "dlmopen", .open = open_dlmopen },
        { .name = "dlmopen-walk", .open = open_dlmopen_walk },
        { .name = "copy", .open = open_copy },
        { .name = "copy-walk", .open = open_copy_walk },
        { .name = "global", .open = open_global },
        { .name = "dlvsym", .open = open_dlvsym },
        { .name = "static-runtime", .open = open_static_runtime },
        { .name = "getproc", .open = open_getproc },
        { .name = "loader", .open = loader_open },
        { .name = "export-table", .open = calls_plain, .change = load_past },
        { 0 },
};
