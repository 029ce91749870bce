/* SPDX-License-Identifier: Apache-2.0 */
/* bare FILE OFFSET=VALUE…: a program without any C library, for 64 and for 32 bits: what a static program of musl's is
 * to a preload, and one whose loader passes over a library of the other size. It writes each value (8 bytes, or 4
 * after "w") into the file, prints 0, and waits for the end of its input. The test tells it what a process on the
 * simulated GPU writes there. */
typedef unsigned long long wide;

/* The headers of the other size need not be here. */
#if defined(__x86_64__)
enum { CALL_READ = 0, CALL_WRITE = 1, CALL_OPEN = 2, CALL_SEEK = 8, CALL_EXIT = 60 };

static long call(long number, long a, long b, long c, long d)
{
        register long r10 __asm__("r10") = d;
        long r;

        __asm__ volatile("syscall"
                         : "=a"(r)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                         : "rcx", "r11", "memory");
        return r;
}
#elif defined(__i386__)
enum { CALL_EXIT = 1, CALL_READ = 3, CALL_WRITE = 4, CALL_OPEN = 5, CALL_SEEK = 140 };

static long call(long number, long a, long b, long c, long d)
{
        long r;

        __asm__ volatile("int $0x80"
                         : "=a"(r)
                         : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d)
                         : "memory");
        return r;
}
#endif

enum { READ_WRITE = 2, LARGE_FILE = 0100000 };

static long seek(long fd, wide offset)
{
#if defined(__i386__)
        wide at;

        register long whence __asm__("edi") = 0;
        long r;

        __asm__ volatile("int $0x80"
                         : "=a"(r)
                         : "a"(CALL_SEEK), "b"(fd), "c"((long)(offset >> 32)), "d"((long)offset),
                           "S"(&at), "r"(whence)
                         : "memory");
        return r;
#else
        return call(CALL_SEEK, fd, (long)offset, 0, 0);
#endif
}

static const char *number_read(const char *text, wide *ret_number)
{
        wide number = 0;

        while (*text >= '0' && *text <= '9')
                number = (number << 3) + (number << 1) + (wide)(*text++ - '0');
        *ret_number = number;
        return text;
}

/* "w12=7", "128=4096". */
static int value_write(long fd, const char *text)
{
        const int bytes = *text == 'w' ? 4 : 8;
        wide offset, value;

        text = number_read(text + (bytes == 4), &offset);
        if (*text != '=')
                return -1;
        number_read(text + 1, &value);
        if (seek(fd, offset) < 0)
                return -1;
        return (int)call(CALL_WRITE, fd, (long)&value, bytes, 0) - bytes;
}

static void end(int code)
{
        for (;;)
                call(CALL_EXIT, code, 0, 0, 0);
}

__attribute__((used)) static void begin(long *stack)
{
        char **arguments = (char **)(stack + 1);
        char ignored[16];
        long fd;

        if (stack[0] < 3 ||
            (fd = call(CALL_OPEN, (long)arguments[1], READ_WRITE | LARGE_FILE, 0, 0)) < 0)
                end(2);
        for (long i = 2; i < stack[0]; i++)
                if (value_write(fd, arguments[i]) != 0)
                        end(3);
        call(CALL_WRITE, 1, (long)"0\n", 2, 0);
        while (call(CALL_READ, 0, (long)ignored, sizeof ignored, 0) > 0)
                continue;
        end(0);
}

/* Where the kernel begins: the stack holds the arguments. */
#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
#elif defined(__i386__)
__asm__(".globl _start\n_start:\n\tmov %esp, %eax\n\tand $-16, %esp\n\tsub $12, %esp\n\tpush "
        "%eax\n\tcall begin\n");
#endif
