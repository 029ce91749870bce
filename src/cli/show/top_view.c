/* SPDX-License-Identifier: Apache-2.0 */
/* The canvas on a terminal, and the keys that come from there. */
#include "top_view.h"

#include <errno.h>
#include <fcntl.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cell_text.h"
#include "clock.h"
#include "term.h"

static struct {
        int signals; /* those that ask us to end, by descriptor */
        int keys;    /* −1: nobody can press any */
        SCREEN *screen;
        FILE *input;
        bool has_colours;
} view = { .signals = -1, .keys = -1 };

/* Also ^C: whoever leaves has not failed. */
void top_wait_open(void)
{
        sigset_t ends;

        sigemptyset(&ends);
        sigaddset(&ends, SIGINT);
        sigaddset(&ends, SIGTERM);
        sigaddset(&ends, SIGHUP);
        sigprocmask(SIG_BLOCK, &ends, NULL);
        view.signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* 1: a key can be read; 0: the time is over, or the terminal has changed; −1: it is time to end. */
static int wait_for(int keys, unsigned wait_ms)
{
        struct pollfd waits[] = { { .fd = view.signals, .events = POLLIN },
                                  { .fd = keys, .events = POLLIN } };
        const int ready = poll(waits, 2, (int)wait_ms);

        if (ready <= 0)
                return 0;
        if (waits[0].revents || (waits[1].revents & (POLLHUP | POLLERR | POLLNVAL)))
                return -1;
        return 1;
}

bool top_wait(unsigned wait_ms)
{
        const uint64_t end_ns = clock_now_ns() + wait_ms * NS_PER_MS;
        uint64_t now_ns;

        while ((now_ns = clock_now_ns()) < end_ns)
                if (wait_for(-1, (unsigned)((end_ns - now_ns) / NS_PER_MS) + 1) < 0)
                        return false;
        return true;
}

static void colours_open(void)
{
        view.has_colours = term_is_colour(STDOUT_FILENO) && has_colors();
        if (!view.has_colours)
                return;
        start_color();
        use_default_colors();
        init_pair(STYLE_SHARES, COLOR_GREEN, -1);
        init_pair(STYLE_OTHERS, COLOR_BLUE, -1);
        init_pair(STYLE_TROUBLE, COLOR_RED, -1);
}

/* Keys come from the terminal even where stdin is another file, or closed. */
static FILE *input_open(void)
{
        const int fd = isatty(STDIN_FILENO) ? dup(STDIN_FILENO)
                                            : open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

        return fd < 0 ? NULL : fdopen(fd, "r");
}

bool top_view_open(void)
{
        if (!term_is_screen(STDOUT_FILENO))
                return false;
        cell_text_is_utf8(); /* chooses the character set, which ncurses goes by */
        view.input = input_open();
        view.screen = newterm(NULL, stdout, view.input ? view.input : stdin);
        if (!view.screen)
                return false;
        top_wait_open();
        view.keys = view.input ? fileno(view.input) : -1;
        noecho();
        cbreak();
        keypad(stdscr, TRUE);
        nodelay(stdscr, TRUE);
        curs_set(0);
        set_escdelay(50);
        colours_open();
        return true;
}

void top_view_close(void)
{
        endwin();
        delscreen(view.screen);
        if (view.input)
                fclose(view.input);
        view.screen = NULL;
}

static void style_set(enum canvas_style style)
{
        static const attr_t attributes[STYLES] = { [STYLE_DIM] = A_DIM,
                                                   [STYLE_BOLD] = A_BOLD,
                                                   [STYLE_BANNER] = A_REVERSE,
                                                   [STYLE_TROUBLE] = A_BOLD };
        const bool is_coloured = view.has_colours && style >= STYLE_SHARES;

        attrset((int)attributes[style]);
        if (is_coloured)
                attron(COLOR_PAIR(style));
}

/* ncurses ignores ^Z while it writes, and so forgets one that is typed just then; blocked, it comes after. */
static void screen_put(void)
{
        sigset_t stop, before;

        sigemptyset(&stop);
        sigaddset(&stop, SIGTSTP);
        sigprocmask(SIG_BLOCK, &stop, &before);
        refresh();
        sigprocmask(SIG_SETMASK, &before, NULL);
}

void top_view_draw(const struct top *top, struct top_screen *screen)
{
        struct canvas canvas;

        if (LINES <= 0 || COLS <= 0 || canvas_init(&canvas, (unsigned)LINES, (unsigned)COLS) < 0)
                return;
        top_page_draw(&canvas, top, screen);
        erase();
        for (unsigned y = 0; y < canvas.rows; y++) {
                move((int)y, 0);
                for (unsigned x = 0; x < canvas.columns; x++) {
                        const struct canvas_cell *cell = canvas_at(&canvas, y, x);

                        style_set(cell->style);
                        addstr(cell->text);
                }
        }
        attrset(A_NORMAL);
        screen_put();
        canvas_done(&canvas);
}

/* Signals of the terminal (resized, continued) end the waiting early: the screen is drawn again. */
int top_view_key(unsigned wait_ms)
{
        const int ready = wait_for(view.keys, wait_ms);

        if (ready < 0)
                return TOP_KEY_END;
        const int key = getch();

        if (key != ERR)
                return key;
        /* Readable, and nothing there: the terminal is closed. */
        return ready > 0 ? TOP_KEY_END : TOP_KEY_NONE;
}
