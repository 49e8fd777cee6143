// Zoom, search and tooltips. Without this script, the drawing is complete but static.
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
let zoomed = root, pattern = '', hits = 0, failed = false, share = 0;

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
const reset = make(XHTML, 'button', {type: 'button', title: 'Show everything (Escape)'}, bar);
reset.textContent = 'Reset zoom';
const legend = svg.querySelector('.legend').getBBox();
const place_bar = () => {
  const top = -svg.getBoundingClientRect().top;
  const stuck = top > 50;
  const x = stuck ? 0 : Math.min(legend.x + legend.width + 20, width / 2);
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
  reset.disabled = zoomed === root;
  place_bar();
};

const search = text => {
  pattern = text;
  hits = 0;
  share = 0;
  failed = false;
  let wanted = null;
  try {
    if (text) wanted = new RegExp(text, /[A-Z]/.test(text) ? '' : 'i');
  } catch {
    failed = true;
  }
  let past = -1;  // frames that begin before this weight lie on a hit that is counted
  for (const frame of frames) {
    const hit = wanted !== null && frame !== root && wanted.test(frame.name);
    frame.g.classList.toggle('hit', hit);
    if (!hit) continue;
    ++hits;
    if (frame.start < past) continue;
    past = frame.start + frame.weight;
    share += frame.weight;
  }
  svg.classList.toggle('searching', wanted !== null);
  input.classList.toggle('bad', failed);
  found.textContent = failed ? 'not a regular expression' : wanted === null ? '' :
    `${percent(root.weight ? share / root.weight : 0)} matched in ${hits} frame${hits === 1 ? '' : 's'}`;
};

// The state is in the address, so that a link or the Back button leads to the same view.
const remember = (push) => {
  const state = new URLSearchParams();
  if (zoomed !== root) state.set('zoom', zoomed.index);
  if (pattern) state.set('search', pattern);
  const text = '#' + state;
  if (text === (location.hash || '#')) return;
  try {
    history[push ? 'pushState' : 'replaceState'](null, '', text);
  } catch { /* a viewer without history */ }
};
const recall = () => {
  const state = new URLSearchParams(location.hash.slice(1));
  zoomed = frames[state.get('zoom') || 0] || root;
  input.value = state.get('search') || '';
  search(input.value);
  draw();
};

const zoom = frame => {
  zoomed = frame;
  hide_tip();
  draw();
  remember(true);
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
  const frame = frame_at(event);
  if (frame) show_tip(frame, event); else hide_tip();
});
chart.addEventListener('pointerleave', hide_tip);
reset.addEventListener('click', () => zoom(root));
let waiting = 0;
input.addEventListener('input', () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { search(input.value); remember(false); }, frames.length > 5000 ? 250 : 60);
});
window.addEventListener('keydown', event => {
  const typing = document.activeElement === input;
  if ((event.key === 'f' && (event.ctrlKey || event.metaKey) && !typing) || (event.key === '/' && !typing)) {
    event.preventDefault();
    input.focus();
    input.select();
  } else if (event.key === 'Escape') {
    clearTimeout(waiting);
    hide_tip();
    if (!typing && zoomed !== root) return zoom(root);
    input.value = '';
    input.blur();
    search('');
    remember(false);
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
if (frames.length > 1 && +frames[1].rect.getAttribute('y') < +root.rect.getAttribute('y') && bottom > 0) {
  scrollTo(0, bottom);
}
})();
