"""A timeline as a picture: a lane for each site, an arrow for each message, a bar for each stay inside.

A reader who points at something is told more. Light and dark follow the reader's setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from soloist.watch.lanes import stretches
from soloist.watch.trace import Message, Trace
from soloist.watch.words import details, title

LEFT, TOP, STEP, LANE = 70, 46, 26, 46
"""Pixels: where the lanes begin, and how far steps and lanes are apart."""
FEW = 400
"""Steps. Of a longer run the steps come closer together, down to where the picture gets too wide to open."""
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6A4C93", "#7A7A7A")
"""Colours that people who see fewer of them can tell apart (Okabe and Ito), and two more; dashes tell them apart, too."""
DASHES = ("", "7 3", "2 3", "9 3 2 3", "", "7 3", "2 3", "9 3 2 3")

STYLE = """
.soloist{font:12px system-ui,sans-serif;--ink:#222;--paper:#fff;--faint:#999;--wait:#e8b54a}
@media(prefers-color-scheme:dark){.soloist{--ink:#ddd;--paper:#161616;--faint:#777;--wait:#a67c1e}}
.soloist .paper{fill:var(--paper)} .soloist text{fill:var(--ink)} .soloist .faint{fill:var(--faint)}
.soloist .lane{stroke:var(--faint);stroke-width:1} .soloist .inside{fill:#009E73} .soloist .waiting{fill:url(#wait)}
.soloist .paused{fill:none;stroke:var(--ink);stroke-dasharray:3 3} .soloist .down{fill:var(--ink)}
.soloist .event{fill:var(--paper);stroke:var(--ink)} .soloist .fault{fill:var(--ink);stroke:var(--ink)}
.soloist .hatch{stroke:var(--wait);stroke-width:3} .soloist .message{stroke-width:1.4;fill:none}
.soloist .lost{stroke:#B00020;stroke-width:2} .soloist g:hover>.message{stroke-width:4}
"""


def svg(trace: Trace) -> str:
    """The whole run as one picture, which needs nothing but itself."""
    head = trace.head
    step = STEP if len(trace.steps) <= FEW else max(6, STEP * FEW // len(trace.steps))
    width, height = LEFT + step * (len(trace.steps) + 1), TOP + LANE * head.nodes + 22
    kinds = sorted({sent.kind for each in trace.steps for sent in each.sent})
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="soloist" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape(title(trace), quote=True)}">',
        f"<title>{escape(title(trace))}</title><style>{STYLE}</style>",
        '<defs><pattern id="wait" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern>',
        *(_arrowhead(number) for number in range(len(kinds))),
        "</defs>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        f'<text x="8" y="18">{escape(title(trace))}</text>',
        *_legend(kinds),
        *_lanes(trace, step, width),
        *_stretches(trace, step),
        *_arrows(trace, step, kinds),
        *_events(trace, step),
        "</svg>",
    ]
    return "\n".join(parts)


def _x(n: int, step: int) -> int:
    return LEFT + step * n + step // 2


def _y(site: int) -> int:
    return TOP + LANE * site + LANE // 2


def _colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def _arrowhead(number: int) -> str:
    return (
        f'<marker id="head{number}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{_colour(number)}"/></marker>'
    )


def _legend(kinds: list[str]) -> Iterator[str]:
    x = 8
    for number, kind in enumerate(kinds):
        yield (
            f'<line class="message" x1="{x}" y1="33" x2="{x + 22}" y2="33" stroke="{_colour(number)}" '
            f'stroke-dasharray="{DASHES[number % len(DASHES)]}"/><text x="{x + 27}" y="37">{escape(kind)}</text>'
        )
        x += 42 + 7 * len(kind)


def _lanes(trace: Trace, step: int, width: int) -> Iterator[str]:
    for site in range(trace.head.nodes):
        y = _y(site)
        yield f'<text x="8" y="{y + 4}">{escape(trace.name(site)[:9])}</text>'
        yield f'<line class="lane" x1="{LEFT}" y1="{y}" x2="{width}" y2="{y}"/>'


def _stretches(trace: Trace, step: int) -> Iterator[str]:
    sizes = {"waiting": 10, "inside": 16, "paused": 22, "down": 8}
    for each in stretches(trace):
        x, size = _x(each.first, step), sizes[each.doing]
        end = _x(each.last, step) + (step // 2 if each.open else 0)
        yield (
            f'<rect class="{each.doing}" x="{x}" y="{_y(each.site) - size // 2}" width="{max(1, end - x)}" '
            f'height="{size}"><title>{escape(trace.name(each.site))} {each.doing}: steps {each.first} to '
            f"{each.last}{' (the end)' if each.open else ''}</title></rect>"
        )


def _arrows(trace: Trace, step: int, kinds: list[str]) -> Iterator[str]:
    last = len(trace.steps) - 1
    for message in trace.messages().values():
        number = kinds.index(message.body.kind)
        x, y, to = _x(message.sent, step), _y(message.sender), _y(message.to)
        look = f'stroke="{_colour(number)}" stroke-dasharray="{DASHES[number % len(DASHES)]}"'
        told = f"<title>{escape(_ends(trace, message))}</title>"
        if message.received is not None:
            end = _x(message.received, step)
            yield f'<g>{told}<line class="message" {look} x1="{x}" y1="{y}" x2="{end}" y2="{to}" marker-end="url(#head{number})"/></g>'
            continue
        # It gets half the way: to a cross where it was lost, to nothing where the run ends first.
        end = _x(message.lost if message.lost is not None else last, step)
        mx, my = (x + max(end, x + step)) // 2, (y + to) // 2
        cross = ""
        if message.lost is not None:
            cross = f'<path class="lost" d="M{mx - 4},{my - 4} l8,8 m0,-8 l-8,8"/>'
        fade = "" if cross else ' opacity="0.5"'
        yield f'<g>{told}<line class="message" {look}{fade} x1="{x}" y1="{y}" x2="{mx}" y2="{my}"/>{cross}</g>'


def _ends(trace: Trace, message: Message) -> str:
    end = "still on its way at the end"
    if message.received is not None:
        end = f"received in step {message.received}"
    elif message.lost is not None:
        end = f"lost in step {message.lost}"
    sender, to = trace.name(message.sender), trace.name(message.to)
    return f"{message.body} from {sender} to {to}, sent in step {message.sent}, {end}"


def _events(trace: Trace, step: int) -> Iterator[str]:
    messages = trace.messages()
    faults = ("crash", "restart", "pause", "resume", "lose", "duplicate", "cut", "heal")
    for each in trace.steps:
        x, y = _x(each.n, step), _y(each.site)
        look = "fault" if each.what in faults else "event"
        told = escape(details(trace, each, messages))
        yield f'<circle class="{look}" cx="{x}" cy="{y}" r="{min(4, step // 3)}"><title>{told}</title></circle>'
