/* The screen of `vgpu top`, by ncurses. */
#include "top_view.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <string.h>

#include "quantity.h"

enum { PLAIN, LOW, MIDDLE, HIGH, TITLE, FAINT };
enum { NAME_COLUMNS = 22, TEXT_COLUMNS = 19, BAR_LEAST = 8, BAR_MOST = 30 };

/* A line is drawn only where the screen is; all of them count for scrolling. */
struct page {
        const struct top_screen *screen;
        unsigned line, lines, columns, bar;
};

static bool has_blocks; /* the terminal shows characters beyond ASCII */

void top_view_open(void)
{
        setlocale(LC_ALL, "");
        has_blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
        initscr();
        noecho();
        cbreak();
        keypad(stdscr, TRUE);
        curs_set(0);
        set_escdelay(50);
        if (!has_colors())
                return;
        start_color();
        use_default_colors();
        init_pair(LOW, COLOR_GREEN, -1);
        init_pair(MIDDLE, COLOR_YELLOW, -1);
        init_pair(HIGH, COLOR_RED, -1);
        init_pair(TITLE, COLOR_CYAN, -1);
        init_pair(FAINT, COLOR_BLUE, -1);
}

void top_view_close(void)
{
        endwin();
}

/* Moves to the next line; false: it is not on the screen. The first line is the header's. */
static bool line_next(struct page *page)
{
        const unsigned line = page->line++;

        if (line < page->screen->scroll || line - page->screen->scroll + 1 >= page->lines)
                return false;
        move((int)(line - page->screen->scroll + 1), 0);
        return true;
}

static unsigned cells(double ratio, unsigned width)
{
        const double wanted = ratio * width + 0.5;

        return wanted <= 0 ? 0 : wanted >= width ? width : (unsigned)wanted;
}

/* `full` is what the colour goes by: near it is red. `mark` ≥ 0: where the limit lies. */
static void bar_draw(double ratio, double full, double mark, unsigned width)
{
        const unsigned filled = cells(ratio, width), marked = mark < 0 ? width : cells(mark, width);
        const double part = full > 0 ? ratio / full : 0;
        const int pair = part < 0.6 ? LOW : part < 0.9 ? MIDDLE : HIGH;

        addch('[');
        for (unsigned i = 0; i < width; i++) {
                const bool is_filled = i < filled, is_mark = i == marked;

                attron(COLOR_PAIR(is_filled ? pair : FAINT));
                addch(is_mark ? ':' : is_filled ? '|' : ' ');
                attroff(COLOR_PAIR(is_filled ? pair : FAINT));
        }
        addch(']');
}

static void history_draw(const struct top_history *history, unsigned width)
{
        static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
        static const char *const letters[] = { " ", ".", ".", ":", "-", "=", "+", "*", "#" };
        const unsigned shown = history->count < width ? history->count : width;

        attron(COLOR_PAIR(TITLE));
        for (unsigned i = history->count - shown; i < history->count; i++) {
                const unsigned height = cells(history->values[i], 8);

                addstr(has_blocks ? blocks[height] : letters[height]);
        }
        attroff(COLOR_PAIR(TITLE));
}

static unsigned history_columns(const struct page *page)
{
        int y, x;

        getyx(stdscr, y, x);
        (void)y;
        const int left = (int)page->columns - x - 2;

        return left > 0 ? (unsigned)left : 0;
}

static const char *size_text(uint64_t bytes, char text[static 16])
{
        if (bytes == SHARE_UNLIMITED)
                snprintf(text, 16, "-");
        else if (bytes < UINT64_C(10) << 30)
                snprintf(text, 16, "%" PRIu64 "M", bytes >> 20);
        else
                snprintf(text, 16, "%.1fG", (double)bytes / (double)(UINT64_C(1) << 30));
        return text;
}

static void memory_draw(const struct page *page, uint64_t held, uint64_t limit)
{
        char used[16], most[16], text[40];
        const bool is_bound = limit != SHARE_UNLIMITED && limit != 0;
        const double ratio = is_bound ? (double)held / (double)limit : 0;

        bar_draw(ratio, 1, -1, page->bar);
        snprintf(text, sizeof text, "%s/%s", size_text(held, used),
                 is_bound ? size_text(limit, most) : "-");
        printw(" %-*s", TEXT_COLUMNS - 4, text);
}

static void gpu_draw(struct page *page, const struct top_gpu *gpu)
{
        if (!line_next(page))
                return;
        attron(A_BOLD | COLOR_PAIR(TITLE));
        printw("GPU %-2u %.*s", gpu->number, NAME_COLUMNS - 9, gpu->uuid);
        attroff(A_BOLD | COLOR_PAIR(TITLE));
        move(getcury(stdscr), NAME_COLUMNS + 6);
        memory_draw(page, gpu->held_bytes, gpu->card_bytes ? gpu->card_bytes : SHARE_UNLIMITED);
        bar_draw(gpu->cores_ratio, 1, -1, page->bar);
        printw(" %5.1f%%            ", gpu->cores_ratio * 100);
        history_draw(&gpu->history, history_columns(page));
}

/* "29.8/30" or, with a soft limit, "61.0/30-100". */
static void cores_text(const struct top_row *row, char text[static 32])
{
        const struct usage *usage = &row->usage;

        if (usage->cores_max_percent > usage->cores_percent)
                snprintf(text, 32, "%.1f/%u-%u%%", row->cores_ratio * 100, usage->cores_percent,
                         usage->cores_max_percent);
        else if (usage->cores_percent)
                snprintf(text, 32, "%.1f/%u%%", row->cores_ratio * 100, usage->cores_percent);
        else
                snprintf(text, 32, "%.1f%%", row->cores_ratio * 100);
}

static void row_draw(struct page *page, const struct top_row *row)
{
        const unsigned most = row->usage.cores_max_percent > row->usage.cores_percent
                                      ? row->usage.cores_max_percent
                                      : row->usage.cores_percent;
        char text[32];

        if (!line_next(page))
                return;
        printw("  %-*.*s %3u ", NAME_COLUMNS - 1, NAME_COLUMNS - 1, row->usage.share,
               row->usage.processes);
        memory_draw(page, row->usage.held_bytes, row->usage.limit_bytes);
        bar_draw(row->cores_ratio, most ? most / 100.0 : 1, most ? most / 100.0 : -1, page->bar);
        cores_text(row, text);
        printw(" %-*s", TEXT_COLUMNS - 1, text);
        history_draw(&row->history, history_columns(page));
}

static void header_draw(const struct top *top, const struct page *page)
{
        const struct top_screen *screen = page->screen;

        move(0, 0);
        attron(A_REVERSE);
        printw(" vgpu top   %zu GPU%s   every %.1f s   sorted by %s%s%s%s%s", top->gpus.count,
               top->gpus.count == 1 ? "" : "s", screen->interval_ms / 1000.0,
               top_sort_names[screen->sort],
               *screen->filter || screen->is_typing ? "   filter: " : "", screen->filter,
               screen->is_typing ? "_" : "", screen->is_paused ? "   paused" : "");
        for (int x = getcurx(stdscr); x < (int)page->columns - 9; x++)
                addch(' ');
        addstr(" ? help  ");
        attroff(A_REVERSE);
}

static void help_draw(struct page *page)
{
        static const char *const lines[] = {
                "",
                "  q        leave",
                "  c m n    sort by cores, memory, name",
                "  /        filter by share or program; Enter keeps it, Escape drops it",
                "  + -      look less often, more often",
                "  space    pause",
                "  up down  scroll",
                "",
                "  memory   what a share holds, of its limit",
                "  cores    GPU time it used since the last look, of the GPU; ':' is its limit",
        };

        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
                if (line_next(page))
                        addstr(lines[i]);
}

/* Many shares may use every GPU and use one: the others are not worth a line. */
static bool row_is_shown(const struct page *page, const struct top_row *row,
                         const struct top_gpu *gpu)
{
        return strcmp(row->usage.uuid, gpu->uuid) == 0 && top_passes(row, page->screen->filter) &&
               (row->usage.gpu == 0 || !top_row_is_idle(row));
}

static void body_draw(const struct top *top, struct page *page)
{
        if (line_next(page)) {
                attron(A_DIM);
                printw("  %-*s %3s  %-*s %-*s  %s", NAME_COLUMNS - 1, "SHARE", "PRO",
                       (int)page->bar + TEXT_COLUMNS - 2, "MEMORY",
                       (int)page->bar + TEXT_COLUMNS - 1, "CORES", "PAST");
                attroff(A_DIM);
        }
        for (size_t g = 0; g < top->gpus.count; g++) {
                const struct top_gpu *gpu = vec_at(&top->gpus, g);

                gpu_draw(page, gpu);
                for (size_t i = 0; i < top->rows.count; i++) {
                        const struct top_row *row = vec_at(&top->rows, i);

                        if (row_is_shown(page, row, gpu))
                                row_draw(page, row);
                }
        }
        if (top->gpus.count == 0 && line_next(page))
                addstr("  no shares: 'vgpu run --memory SIZE --cores PERCENT -- PROGRAM' makes "
                       "one");
}

void top_view_draw(const struct top *top, const struct top_screen *screen)
{
        struct page page = {
                .screen = screen,
                .lines = (unsigned)LINES,
                .columns = (unsigned)COLS,
        };
        const int room = COLS - NAME_COLUMNS - 6 - 2 * TEXT_COLUMNS - 12;

        page.bar = room < 2 * BAR_LEAST  ? BAR_LEAST
                   : room > 2 * BAR_MOST ? BAR_MOST
                                         : (unsigned)room / 2;
        erase();
        header_draw(top, &page);
        if (screen->is_help)
                help_draw(&page);
        else
                body_draw(top, &page);
        refresh();
}

int top_view_key(unsigned wait_ms)
{
        timeout((int)wait_ms);
        const int key = getch();

        return key == ERR ? -1 : key;
}

static void filter_press(struct top_screen *screen, int key)
{
        const size_t length = strlen(screen->filter);

        if (key == '\n' || key == KEY_ENTER || key == 27)
                screen->is_typing = false;
        if (key == 27)
                screen->filter[0] = '\0';
        if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length > 0)
                screen->filter[length - 1] = '\0';
        if (key > ' ' && key < 127 && length + 1 < sizeof screen->filter) {
                screen->filter[length] = (char)key;
                screen->filter[length + 1] = '\0';
        }
}

bool top_view_press(struct top_screen *screen, int key)
{
        if (screen->is_typing) {
                filter_press(screen, key);
                return true;
        }
        switch (key) {
        case 'q':
                return false;
        case 'c':
                screen->sort = TOP_BY_CORES;
                break;
        case 'm':
                screen->sort = TOP_BY_MEMORY;
                break;
        case 'n':
                screen->sort = TOP_BY_NAME;
                break;
        case '/':
                screen->is_typing = true;
                break;
        case '?':
        case 'h':
                screen->is_help = !screen->is_help;
                break;
        case ' ':
                screen->is_paused = !screen->is_paused;
                break;
        case '+':
                screen->interval_ms = screen->interval_ms < 30000 ? screen->interval_ms * 2 : 60000;
                break;
        case '-':
                screen->interval_ms = screen->interval_ms > 200 ? screen->interval_ms / 2 : 100;
                break;
        case KEY_DOWN:
                screen->scroll++;
                break;
        case KEY_UP:
                screen->scroll -= screen->scroll > 0;
                break;
        case 27:
                screen->filter[0] = '\0';
                break;
        default:
                break;
        }
        return true;
}
