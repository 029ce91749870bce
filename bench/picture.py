# SPDX-License-Identifier: Apache-2.0
"""picture: small SVG drawings of what was measured."""

import html
import os

WIDTH, ROW, LEFT, RIGHT, TOP = 720, 22, 220, 60, 40
COLOURS = ("#3b6ea5", "#c8743a", "#5a8f4f", "#8a5a9e")


def _text(x, y, words, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _write(folder, name, height, title, shapes):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".svg"), "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                   f'font-family="sans-serif" font-size="12">\n'
                   '<rect width="100%" height="100%" fill="white"/>\n'
                   f'<g font-size="15">{_text(12, 24, title)}</g>\n')
        file.write("\n".join(shapes) + "\n</svg>\n")


def bars(folder, name, title, rows, most=100):
    """rows: (label, value, wanted). A bar for the value, a stroke where it should end."""
    scale = (WIDTH - LEFT - RIGHT) / most
    shapes = []
    for i, (label, value, wanted) in enumerate(rows):
        y = TOP + i * ROW
        at = LEFT + wanted * scale
        shapes += [_text(LEFT - 8, y + 14, label, "end"),
                   f'<rect x="{LEFT}" y="{y + 3}" width="{value * scale:.1f}" height="{ROW - 8}" '
                   f'fill="{COLOURS[0]}"/>',
                   f'<path d="M{at:.1f} {y} V{y + ROW - 2}" stroke="black" stroke-width="2"/>',
                   _text(max(LEFT + value * scale, at) + 6, y + 14, f"{value:.1f}")]
    _write(folder, name, TOP + len(rows) * ROW + 12, title, shapes)


def lines(folder, name, title, step_ms, series, most=105, height=260):
    """series: (label, values, wanted), a value every step_ms. A thin line where each should lie."""
    left, bottom = 44, height - 34
    count = max(len(values) for _, values, _ in series)
    x_of = (WIDTH - left - 20) / max(count - 1, 1)
    y_of = (bottom - TOP) / most
    shapes = [f'<path d="M{left} {TOP} V{bottom} H{WIDTH - 20}" fill="none" stroke="#888"/>',
              _text(WIDTH - 20, bottom + 16, f"{count * step_ms / 1000:.1f} s", "end")]
    for percent in (0, 25, 50, 75, 100):
        shapes.append(_text(left - 6, bottom - percent * y_of + 4, str(percent), "end"))
    for i, (label, values, wanted) in enumerate(series):
        colour, level = COLOURS[i % len(COLOURS)], bottom - wanted * y_of
        points = " ".join(f"{left + j * x_of:.1f},{bottom - min(value, most) * y_of:.1f}"
                          for j, value in enumerate(values))
        shapes += [f'<polyline points="{points}" fill="none" stroke="{colour}"/>',
                   f'<path d="M{left} {level:.1f} H{WIDTH - 20}" stroke="{colour}" '
                   'stroke-dasharray="4 4" opacity="0.6"/>',
                   f'<g fill="{colour}">{_text(left + 10 + i * 160, bottom + 16, label)}</g>']
    _write(folder, name, height, title, shapes)
