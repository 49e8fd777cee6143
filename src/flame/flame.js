// Zoom, threads, search, copying, keys and tooltips. Without this script, the drawing is complete but static.
(() => {
'use strict';
const SVG = 'http://www.w3.org/2000/svg', XHTML = 'http://www.w3.org/1999/xhtml';
const svg = document.querySelector('svg.flame');
const margin = +svg.dataset.margin, letter = +svg.dataset.letter;
const chart = svg.querySelector('.frames');
const height = +svg.getAttribute('height');
let width = 0, inner = 0;

const make = (space, name, attributes, parent) => {
  const element = document.createElementNS(space, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (parent) parent.append(element);
  return element;
};

// The frames, parents before children, in the order of the document: an index identifies a frame.
const open = [];
const frames = [...chart.children].map((g, index) => {
  const title = g.querySelector('title'), tooltip = title.textContent, end = tooltip.indexOf('\n');
  title.remove();  // the tooltip of this script is quicker
  const frame = {
    g, index, rect: g.querySelector('rect'), text: g.querySelector('text'),
    name: tooltip.slice(0, end), note: tooltip.slice(end + 1), depth: +g.dataset.d,
    start: +g.dataset.s, weight: +g.dataset.w, hidden: +(g.dataset.h || 0), shown: true,
  };
  open.length = frame.depth;
  frame.parent = open[frame.depth - 1] || null;
  open.push(frame);
  g.frame = frame;
  return frame;
});
const root = frames[0];
const threads = frames.filter(frame => frame.depth === 1 && frame.note.startsWith('thread ·'));
// All threads are shown, or one, which `base` is then. `at` is the frame that the keys have chosen.
let base = root, zoomed = root, at = null, under_pointer = null;
let pattern = '', matches = [], failed = false, share = 0;

const is_wide = c => c >= 0x1100 && (c <= 0x115e || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
  (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff01 && c <= 0xff60) ||
  (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd));
const columns_of = character => is_wide(character.codePointAt(0)) ? 2 : 1;
const fitted = (name, columns) => {  // as fitted() in xml_text.cc
  let used = 0;
  for (const character of name) used += columns_of(character);
  if (used <= columns) return name;
  if (columns < 3) return '';
  let text = '';
  used = 0;
  for (const character of name) {
    used += columns_of(character);
    if (used > columns - 1) break;
    text += character;
  }
  return text + '…';
};
const percent = part => (100 * part).toFixed(part < 0.01 ? 2 : 1) + '%';

const is_above = frame => {  // whether the zoomed frame stands on this one
  for (let at = zoomed.parent; at; at = at.parent) if (at === frame) return true;
  return false;
};
const is_in = (top, frame) => {  // whether the frame is `top`, or stands on it
  let each = frame;
  while (each.depth > top.depth) each = each.parent;
  return each === top;
};
const draw_frame = frame => {
  const above = frame.depth < zoomed.depth && is_above(frame);
  const left = (frame.start - zoomed.start) / (zoomed.weight || 1) * inner;
  const size = frame.weight / (zoomed.weight || 1) * inner;
  const inside = above || (frame.depth >= zoomed.depth && left > -1e-6 * inner && left < inner && size > 0.02);
  if (inside !== frame.shown) {
    frame.g.style.display = inside ? '' : 'none';
    frame.shown = inside;
  }
  if (!inside) return;
  const x = margin + (above ? 0 : left), pixels = above || !root.weight ? inner : size;
  frame.g.classList.toggle('above', above);
  frame.rect.setAttribute('x', x.toFixed(2));
  frame.rect.setAttribute('width', Math.max(pixels - (pixels > 3 ? 1 : 0), 0.05).toFixed(2));
  const label = fitted(frame.name, Math.floor((pixels - 8) / letter));
  if (!label) {
    if (frame.text) frame.text.remove();
    frame.text = null;
    return;
  }
  if (!frame.text) {
    frame.text = make(SVG, 'text', {y: +frame.rect.getAttribute('y') + 13.5}, frame.g);
  }
  frame.text.setAttribute('x', (x + 4).toFixed(2));
  if (frame.text.textContent !== label) frame.text.textContent = label;
};

// The bar is HTML within the drawing; it stays in sight when the page is scrolled.
const bar_home = make(SVG, 'foreignObject', {class: 'bar-home', x: 0, height: 42}, svg);
const bar = make(XHTML, 'div', {class: 'bar'}, bar_home);
const found = make(XHTML, 'span', {class: 'found', role: 'status'}, bar);
const input = make(XHTML, 'input', {type: 'search', placeholder: 'Search: regular expression   /',
  'aria-label': 'Search by regular expression', spellcheck: 'false', autocomplete: 'off'}, bar);
const chooser = make(XHTML, 'select', {class: 'threads', 'aria-label': 'Thread', title: 'Show one thread or all'}, bar);
make(XHTML, 'option', {value: 0}, chooser).textContent = 'All threads';
for (const thread of threads) make(XHTML, 'option', {value: thread.index}, chooser).textContent = thread.name;
chooser.style.display = threads.length > 1 ? '' : 'none';
const copier = make(XHTML, 'button', {type: 'button', title: 'Copy the stack of the chosen frame (c)'}, bar);
copier.textContent = 'Copy stack';
const reset = make(XHTML, 'button', {type: 'button', title: 'Show everything (Escape)'}, bar);
reset.textContent = 'Reset zoom';
const legend = svg.querySelector('.legend').getBBox();
const place_bar = () => {
  const top = -svg.getBoundingClientRect().top;
  const stuck = top > 50;
  const x = stuck ? 0 : Math.min(legend.x + legend.width + 20, width - 440);
  bar_home.setAttribute('x', x);
  bar_home.setAttribute('width', width - x);
  bar_home.setAttribute('y', stuck ? top : 50);
  bar_home.classList.toggle('stuck', stuck);
};

const draw = () => {
  width = Math.max(760, document.documentElement.clientWidth || window.innerWidth || 1200);
  inner = width - 2 * margin;
  svg.setAttribute('width', width);
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  frames.forEach(draw_frame);
  reset.disabled = zoomed === base;
  chooser.value = base.index;
  choose(at && at.shown ? at : null);
  place_bar();
};
const choose = frame => {
  if (at) at.g.classList.remove('at');
  at = frame;
  if (at) at.g.classList.add('at');
  copier.disabled = !at && zoomed === root;
};

const search = text => {
  pattern = text;
  matches = [];
  share = 0;
  failed = false;
  let wanted = null;
  try {
    if (text) wanted = new RegExp(text, /[A-Z]/.test(text) ? '' : 'i');
  } catch {
    failed = true;
  }
  let past = -1;  // frames that begin before this weight lie on a match that is counted
  for (const frame of frames) {
    const hit = wanted !== null && frame !== root && is_in(base, frame) && wanted.test(frame.name);
    frame.g.classList.toggle('hit', hit);
    if (!hit) continue;
    matches.push(frame);
    if (frame.start < past) continue;
    past = frame.start + frame.weight;
    share += frame.weight;
  }
  svg.classList.toggle('searching', wanted !== null);
  input.classList.toggle('bad', failed);
  found.textContent = failed ? 'not a regular expression' : wanted === null ? '' :
    `${percent(base.weight ? share / base.weight : 0)} matched in ${matches.length} ` +
    `frame${matches.length === 1 ? '' : 's'}`;
};

// The state is in the address, so that a link or the Back button leads to the same view.
const remember = (push) => {
  const state = new URLSearchParams();
  if (base !== root) state.set('thread', base.index);
  if (zoomed !== base) state.set('zoom', zoomed.index);
  if (pattern) state.set('search', pattern);
  const text = '#' + state;
  if (text === (location.hash || '#')) return;
  try {
    history[push ? 'pushState' : 'replaceState'](null, '', text);
  } catch { /* a viewer without history */ }
};
const recall = () => {
  const state = new URLSearchParams(location.hash.slice(1));
  base = threads.find(thread => thread.index === +state.get('thread')) || root;
  zoomed = frames[state.get('zoom') || base.index] || base;
  if (!is_in(base, zoomed)) zoomed = base;
  input.value = state.get('search') || '';
  search(input.value);
  draw();
};

const zoom = frame => {
  zoomed = is_in(base, frame) ? frame : base;
  hide_tip();
  draw();
  remember(true);
};
const show_thread = frame => {
  base = frame;
  search(pattern);
  zoom(base);
};

// The stack of a frame, innermost first, a frame a line, the thread last.
const stack_of = frame => {
  const names = [];
  for (let each = frame; each && each !== root; each = each.parent) names.push(each.name);
  return names.join('\n');
};
const copy = async frame => {
  const text = stack_of(frame);
  let copied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // no permission, or a page without a secure origin
    const area = make(XHTML, 'textarea', {class: 'area'}, bar);
    area.value = text;
    area.select();
    try {
      copied = document.execCommand('copy');
    } catch {
      copied = false;
    }
    area.remove();
  }
  const count = text.split('\n').length;
  found.textContent = copied ? `${count} line${count === 1 ? '' : 's'} copied` : 'the browser refuses to copy';
};

const float = make(SVG, 'foreignObject', {class: 'float', x: 0, y: 0, width: 460, height: 1}, svg);
const tip = make(XHTML, 'div', {class: 'tip', role: 'tooltip'}, float);
const tip_name = make(XHTML, 'b', {}, tip), tip_note = make(XHTML, 'span', {}, tip);
const hide_tip = () => { float.style.display = 'none'; };
const show_tip = (frame, event) => {
  tip_name.textContent = frame.name;
  tip_note.textContent = frame.note +
    (zoomed === root || is_above(frame) ? '' : `\n${percent(frame.weight / zoomed.weight)} of the view`) +
    (frame.hidden ? `\nwith ${frame.hidden} frame${frame.hidden === 1 ? '' : 's'} too narrow to draw` : '');
  float.style.display = '';
  const box = svg.getBoundingClientRect(), size = tip.getBoundingClientRect();
  const x = event.clientX + 14 + size.width > innerWidth ? event.clientX - 10 - size.width : event.clientX + 14;
  const y = event.clientY + 18 + size.height > innerHeight ? event.clientY - 10 - size.height : event.clientY + 18;
  float.setAttribute('x', Math.max(x, 2) - box.left);
  float.setAttribute('y', Math.max(y, 2) - box.top);
};
const frame_at = event => {
  const g = event.target.closest ? event.target.closest('.frames > g') : null;
  return g ? g.frame : null;
};

chart.addEventListener('click', event => {
  const frame = frame_at(event);
  if (frame) zoom(frame);
});
chart.addEventListener('pointermove', event => {
  under_pointer = frame_at(event);
  if (under_pointer) show_tip(under_pointer, event); else hide_tip();
});
chart.addEventListener('pointerleave', () => { under_pointer = null; hide_tip(); });
reset.addEventListener('click', () => { reset.blur(); zoom(base); });
chooser.addEventListener('change', () => { chooser.blur(); show_thread(frames[+chooser.value]); });
copier.addEventListener('click', () => { copier.blur(); copy(at || zoomed); });

// Keys. The arrows go to what is drawn there: up in a flame graph is a callee, in an icicle the caller.
const hangs = frames.length > 1 && +frames[1].rect.getAttribute('y') > +root.rect.getAttribute('y');
const heaviest = list => list.reduce((best, frame) => (!best || frame.weight > best.weight ? frame : best), null);
const callee_of = frame => heaviest(frames.filter(each => each.parent === frame && each.shown));
const beside = (frame, step) => {  // the next frame in the same row
  const row = frames.filter(each => each.depth === frame.depth && each.shown);
  return row[row.indexOf(frame) + step] || null;
};
const go_to = frame => {
  if (!frame || !frame.shown) return;
  choose(frame);
  frame.g.scrollIntoView({block: 'nearest'});
  const box = frame.rect.getBoundingClientRect();
  show_tip(frame, {clientX: Math.max(box.left, 0), clientY: box.bottom - 14});
};
const arrows = {
  ArrowUp: frame => (hangs ? frame.parent : callee_of(frame)),
  ArrowDown: frame => (hangs ? callee_of(frame) : frame.parent),
  ArrowLeft: frame => beside(frame, -1),
  ArrowRight: frame => beside(frame, 1),
};
const next_match = step => {
  const shown = matches.filter(frame => frame.shown);
  const place = shown.indexOf(at);
  const next = place < 0 ? (step > 0 ? 0 : shown.length - 1) : place + step + shown.length;
  go_to(shown[next % shown.length]);
};
const press = event => {  // outside of the search; returns whether the key has a meaning
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (arrows[event.key]) go_to(at ? arrows[event.key](at) : zoomed);
  else if (event.key === 'Enter' && at) zoom(at);
  else if (event.key === 'c' && (at || under_pointer)) copy(at || under_pointer);
  else return false;
  return true;
};
let waiting = 0;
input.addEventListener('input', () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { search(input.value); remember(false); }, frames.length > 5000 ? 250 : 60);
});
window.addEventListener('keydown', event => {
  const typing = document.activeElement === input, focused = bar.contains(document.activeElement);
  if ((event.key === 'f' && (event.ctrlKey || event.metaKey) && !typing) || (event.key === '/' && !typing)) {
    event.preventDefault();
    input.focus();
    input.select();
  } else if (event.key === 'Escape') {
    clearTimeout(waiting);
    hide_tip();
    if (!typing && zoomed !== base) return zoom(base);
    choose(null);
    input.value = '';
    input.blur();
    search('');
    remember(false);
  } else if (typing && event.key === 'Enter') {
    clearTimeout(waiting);
    if (pattern !== input.value) search(input.value);
    remember(false);
    next_match(event.shiftKey ? -1 : 1);
  } else if (!focused && press(event)) {
    event.preventDefault();
  }
});
window.addEventListener('resize', () => { hide_tip(); draw(); });
window.addEventListener('scroll', () => { hide_tip(); place_bar(); }, {passive: true});
window.addEventListener('hashchange', recall);
window.addEventListener('popstate', recall);
hide_tip();
recall();
// One deep stack makes a tall drawing. Reading begins at the root, in both orientations.
const bottom = svg.getBoundingClientRect().bottom - innerHeight;
if (frames.length > 1 && !hangs && bottom > 0) {
  scrollTo(0, bottom);
}
})();
