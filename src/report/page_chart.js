// SPDX-License-Identifier: Apache-2.0
// The chart: time to the right, offset upwards, a box per buffer; below it, the live bytes. A canvas, since there may
// be a hundred thousand boxes.

const LEFT = 84, RIGHT = 14, TOP = 24, GAP = 44, BOTTOM = 40;
const INK = '#1d2430', SOFT = '#5b6675', GRID = '#e6e9ee', BOUND = '#0b7a75', CAPACITY = '#c2334d';
const canvas = $('chart');
const layer = document.createElement('canvas');  // axes and boxes, kept while the pointer moves
let pen = canvas.getContext('2d');
let stale = true;
const whole = { x0: span[0], x1: span[1], y0: 0, y1: Math.max(plan.peak, plan.capacity, plan.bound, 1) * 1.06 };
let view = { ...whole };
let drag = null;
let hovered = -1;
let frame = 0;

// Sizes in CSS pixels.
function area() {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const lower = Math.round(Math.min(120, height * 0.2));
  return { width, height, left: LEFT, right: width - RIGHT, top: TOP, bottom: height - BOTTOM - lower - GAP,
           liveTop: height - BOTTOM - lower, liveBottom: height - BOTTOM };
}
const toX = (box, time) => box.left + (time - view.x0) / (view.x1 - view.x0) * (box.right - box.left);
const toY = (box, offset) => box.bottom - (offset - view.y0) / (view.y1 - view.y0) * (box.bottom - box.top);
const toTime = (box, x) => view.x0 + (x - box.left) / (box.right - box.left) * (view.x1 - view.x0);
const toOffset = (box, y) => view.y0 + (box.bottom - y) / (box.bottom - box.top) * (view.y1 - view.y0);
const liveY = (box, bytes) => box.liveBottom - bytes / Math.max(1, mostLive[1]) * (box.liveBottom - box.liveTop);

function niceStep(range, count, ofBytes) {
  const rough = Math.max(range / count, 1);
  if (ofBytes) return Math.pow(2, Math.ceil(Math.log2(rough)));
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
}

function line(x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

function axes(box) {
  pen.lineWidth = 1;
  pen.strokeStyle = GRID;
  pen.fillStyle = SOFT;
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  const bytes = niceStep(view.y1 - view.y0, Math.max(2, (box.bottom - box.top) / 45), true);
  for (let offset = Math.ceil(view.y0 / bytes) * bytes; offset <= view.y1; offset += bytes) {
    const y = Math.round(toY(box, offset)) + 0.5;
    line(box.left, y, box.right, y);
    pen.fillText(sized(offset), box.left - 7, y);
  }
  pen.textAlign = 'center';
  pen.textBaseline = 'top';
  const step = niceStep(view.x1 - view.x0, Math.max(2, (box.right - box.left) / (isGraph ? 80 : 110)), false);
  for (let time = Math.ceil(view.x0 / step) * step; time <= view.x1; time += step) {
    const x = Math.round(toX(box, time)) + 0.5;
    line(x, box.top, x, box.bottom);
    line(x, box.liveTop, x, box.liveBottom);
    const text = exact(time);
    const half = pen.measureText(text).width / 2;
    pen.fillText(text, Math.min(Math.max(x, box.left + half - 6), box.right + RIGHT - half), box.liveBottom + 6);
  }
  pen.fillText(isGraph ? 'step' : 'time', (box.left + box.right) / 2, box.liveBottom + 22);
  pen.textAlign = 'left';
  pen.textBaseline = 'alphabetic';
  pen.fillText('offset', 6, box.top - 9);
}

const lightOf = (colour) => {
  const part = (at) => parseInt(colour.slice(at, at + 2), 16);
  return 0.3 * part(1) + 0.59 * part(3) + 0.11 * part(5);
};

// The end of a name is more telling than its beginning: "…/layer3/conv1".
function fitted(text, width) {
  if (pen.measureText(text).width <= width) return text;
  let low = 1, high = text.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pen.measureText('…' + text.slice(middle)).width <= width) high = middle; else low = middle + 1;
  }
  return low < text.length - 4 ? '…' + text.slice(low) : '';
}

function drawBox(box, buffer) {
  const x0 = toX(box, buffer.first), x1 = toX(box, buffer.end);
  const y0 = toY(box, buffer.offset + buffer.bytes), y1 = toY(box, buffer.offset);
  if (x1 < box.left || x0 > box.right || y1 < box.top || y0 > box.bottom) return;
  const width = Math.max(x1 - x0, 0.7), height = Math.max(y1 - y0, 0.7);
  const colour = colourOf(buffer);
  const faded = matching !== null && !matching.has(buffer.id);
  pen.globalAlpha = faded ? 0.13 : 1;
  pen.fillStyle = colour;
  pen.fillRect(x0, y0, width, height);
  if (width > 3 && height > 3) {
    pen.strokeStyle = '#fff';
    pen.lineWidth = 0.8;
    pen.strokeRect(x0, y0, width, height);
    if (buffer.inside >= 0) stripes(x0, y0, Math.min(5, width), height);
  }
  if (!faded && width > 46 && height > 13) {
    const left = Math.max(x0, box.left) + (buffer.inside >= 0 ? 8 : 4);
    const text = fitted(buffer.label, Math.min(x1, box.right) - left - 4);
    pen.fillStyle = lightOf(colour) > 150 ? INK : '#fff';
    pen.textAlign = 'left';
    pen.textBaseline = 'middle';
    if (text) pen.fillText(text, left, (Math.max(y0, box.top) + Math.min(y1, box.bottom)) / 2);
  }
  pen.globalAlpha = 1;
}

function stripes(x, y, width, height) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = '#fff';
  pen.lineWidth = 1.5;
  for (let at = y - width; at < Math.min(y + height + width, canvas.clientHeight); at += 5) line(x, at + width, x + width, at);
  pen.restore();
}

function outline(box, buffer, colour, width) {
  const x0 = toX(box, buffer.first), y0 = toY(box, buffer.offset + buffer.bytes);
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.strokeRect(x0, y0, Math.max(2, toX(box, buffer.end) - x0), Math.max(2, toY(box, buffer.offset) - y0));
}

// A level line with its label on a background; `place` is 0 at the left, 1 at the right.
function level(box, bytes, name, colour, place, below) {
  const y = toY(box, bytes);
  if (y < box.top - 1 || y > box.bottom) return;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.setLineDash([6, 4]);
  line(box.left, y, box.right, y);
  pen.setLineDash([]);
  const text = `${name} ${sized(bytes)}`;
  const width = pen.measureText(text).width + 8;
  const x = box.left + 4 + place * (box.right - box.left - 8 - width);
  const top = below ? y + 3 : y - 18;
  pen.fillStyle = 'rgb(255 255 255 / 88%)';
  pen.fillRect(x, top, width, 15);
  pen.fillStyle = colour;
  pen.textAlign = 'left';
  pen.textBaseline = 'middle';
  pen.fillText(text, x + 4, top + 8);
}

function levels(box) {
  const close = toY(box, plan.bound) - toY(box, plan.peak) < 20;
  if (plan.capacity > 0 && plan.capacity !== plan.peak) {
    level(box, plan.capacity, 'capacity', CAPACITY, 0.5, plan.capacity < plan.peak);
  }
  if (plan.peak === plan.bound) {
    level(box, plan.peak, plan.capacity === plan.peak ? 'peak = lower bound = capacity' : 'peak = lower bound', INK, 0, false);
  } else {
    level(box, plan.bound, 'lower bound', BOUND, 1, close);
    level(box, plan.peak, plan.capacity === plan.peak ? 'peak = capacity' : 'peak', INK, 0, false);
  }
}

function drawLive(box) {
  pen.save();
  pen.beginPath();
  pen.rect(box.left, box.liveTop - 2, box.right - box.left, box.liveBottom - box.liveTop + 3);
  pen.clip();
  pen.beginPath();
  pen.moveTo(box.left, box.liveBottom);
  let before = liveAt(view.x0);
  pen.lineTo(box.left, liveY(box, before));
  for (const [time, bytes] of live) {
    const x = toX(box, time);
    if (x <= box.left) continue;
    if (x > box.right) break;
    pen.lineTo(x, liveY(box, before));
    pen.lineTo(x, liveY(box, bytes));
    before = bytes;
  }
  pen.lineTo(box.right, liveY(box, before));
  pen.lineTo(box.right, box.liveBottom);
  pen.fillStyle = '#b8cfe5';
  pen.strokeStyle = '#3a66a8';
  pen.lineWidth = 1;
  pen.fill();
  pen.stroke();
  pen.restore();
  pen.fillStyle = SOFT;
  pen.textBaseline = 'alphabetic';
  const text = `live bytes, at most ${sized(mostLive[1])} at ${isGraph ? 'step ' : ''}${exact(mostLive[0])}`;
  const mark = toX(box, state.at + (isGraph ? 0.5 : 0));  // the label avoids it
  pen.textAlign = mark > box.left + pen.measureText(text).width + 12 || mark < box.left - 6 ? 'left' : 'right';
  pen.fillText(text, pen.textAlign === 'left' ? box.left : box.right, box.liveTop - 8);
}

function moment(box) {
  const x0 = toX(box, state.at), x1 = isGraph ? Math.max(x0 + 1.5, toX(box, state.at + 1)) : x0 + 1.5;
  if (x1 < box.left || x0 > box.right) return;
  pen.fillStyle = 'rgb(194 51 77 / 20%)';
  pen.fillRect(x0, box.top, x1 - x0, box.bottom - box.top);
  pen.fillStyle = 'rgb(194 51 77 / 45%)';
  pen.fillRect(x0, box.liveTop, x1 - x0, box.liveBottom - box.liveTop);
}

function prepare(onto, box) {
  const scale = window.devicePixelRatio || 1;
  onto.width = Math.round(box.width * scale);
  onto.height = Math.round(box.height * scale);
  pen = onto.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.font = '12px system-ui, "DejaVu Sans", sans-serif';
}

function clipToPlan(box) {
  pen.save();
  pen.beginPath();
  pen.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  pen.clip();
}

function drawLayer(box) {
  prepare(layer, box);
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, box.width, box.height);
  axes(box);
  clipToPlan(box);
  for (const buffer of drawn) drawBox(box, buffer);
  pen.restore();
  stale = false;
}

function drawNow() {
  frame = 0;
  const box = area();
  if (stale) drawLayer(box);
  prepare(canvas, box);
  pen.drawImage(layer, 0, 0, box.width, box.height);
  clipToPlan(box);
  moment(box);
  if (hovered >= 0) outline(box, buffers[hovered], INK, 1.5);
  if (state.picked >= 0 && buffers[state.picked].home === FEATURE) {
    const picked = buffers[state.picked];
    for (const id of [...picked.holds, ...(picked.inside >= 0 ? [picked.inside] : [])]) {
      outline(box, buffers[id], CAPACITY, 1.5);
    }
    outline(box, picked, INK, 3);
  }
  pen.restore();
  levels(box);
  drawLive(box);
  if (isGraph || boxes.length) momentMark(box);
  if (drag && drag.moved) {
    pen.fillStyle = 'rgb(47 95 167 / 18%)';
    pen.strokeStyle = '#2f5fa7';
    const top = drag.lower ? box.top : Math.min(drag.y0, drag.y1), bottom = drag.lower ? box.liveBottom : Math.max(drag.y0, drag.y1);
    pen.fillRect(Math.min(drag.x0, drag.x1), top, Math.abs(drag.x1 - drag.x0), bottom - top);
    pen.strokeRect(Math.min(drag.x0, drag.x1), top, Math.abs(drag.x1 - drag.x0), bottom - top);
  }
}

function momentMark(box) {
  const x = toX(box, state.at + (isGraph ? 0.5 : 0));
  if (x < box.left || x > box.right) return;
  pen.fillStyle = 'rgb(194 51 77 / 45%)';
  pen.fillRect(x - 0.75, box.liveTop, 1.5, box.liveBottom - box.liveTop);
  pen.fillStyle = CAPACITY;
  pen.beginPath();
  pen.moveTo(x, box.liveTop - 1);
  pen.lineTo(x - 5, box.liveTop - 8);
  pen.lineTo(x + 5, box.liveTop - 8);
  pen.fill();
}

// Nested buffers are drawn over their parents.
const drawn = [...boxes.filter((box) => box.inside < 0), ...boxes.filter((box) => box.inside >= 0)];
function drawChart(all) {
  stale = stale || all === true;
  if (!frame && boxes.length) frame = requestAnimationFrame(drawNow);
}

// --- The pointer -----------------------------------------------------------------------------------------------------

function pointer(event) {
  const place = canvas.getBoundingClientRect();
  return [event.clientX - place.left, event.clientY - place.top];
}

function boxAt(box, x, y) {
  if (x < box.left || x > box.right || y < box.top || y > box.bottom) return -1;
  const time = toTime(box, x), offset = toOffset(box, y);
  for (let i = drawn.length - 1; i >= 0; --i) {
    const each = drawn[i];
    if (each.first <= time && time < each.end && each.offset <= offset && offset < each.offset + each.bytes) return each.id;
  }
  return -1;
}

function tipFor(box, x, y) {
  const id = boxAt(box, x, y);
  if (id >= 0) {
    const buffer = buffers[id];
    const maker = steps[buffer.first];
    const words = [
      `${buffer.type ? buffer.type + ', ' : ''}${exact(buffer.bytes)} bytes (${sized(buffer.bytes)})`,
      buffer.shape, `offset ${exact(buffer.offset)}, alive ${lifetime(buffer)}`, relation(buffer),
      buffer.holds.length ? `holds ${buffer.holds.slice(0, 3).map((other) => buffers[other].name).join(', ')}` +
        `${buffer.holds.length > 3 ? ' …' : ''}` : '',
      maker && maker.parts.length > 1 ? `fused from ${maker.parts.map((part) => part.type).join(' + ')}` : ''];
    return [element('b', buffer.name), ...words.filter(Boolean).map((text) => element('p', text))];
  }
  if (x >= box.left && x <= box.right && y >= box.liveTop - 10 && y <= box.liveBottom) {
    const time = isGraph ? Math.floor(toTime(box, x)) : Math.round(toTime(box, x));
    const name = isGraph && steps[time] ? ` ${steps[time].name}` : '';
    return [element('b', `${isGraph ? 'Step' : 'Time'} ${exact(time)}${name}`),
            element('p', `${sized(liveAt(time))} live in ${plural(aliveAt(time).length, 'buffer')}`)];
  }
  return null;
}

function showTip(box, x, y) {
  const content = drag && drag.moved ? null : tipFor(box, x, y);
  const tip = $('tip');
  tip.hidden = content === null;
  if (content === null) return;
  tip.replaceChildren(...content);
  const left = x + 16 + tip.offsetWidth > box.width ? x - 12 - tip.offsetWidth : x + 16;
  tip.style.left = `${Math.min(Math.max(0, left), Math.max(0, box.width - tip.offsetWidth))}px`;
  tip.style.top = `${Math.max(0, Math.min(y + 14, box.height - tip.offsetHeight))}px`;
}

function zoomTo(x0, x1, y0, y1) {
  const least = isGraph ? 2 : (whole.x1 - whole.x0) / 1e6;
  if (x1 - x0 < least) x1 = (x0 + x1 + least) / 2, x0 = x1 - least;
  view = { x0: Math.max(whole.x0, x0), x1: Math.min(whole.x1, x1), y0: Math.max(0, y0), y1: Math.min(whole.y1, y1) };
  if (view.x1 - view.x0 < least) view.x0 = whole.x0, view.x1 = whole.x1;
  if (!(view.y1 - view.y0 >= 16)) view.y0 = whole.y0, view.y1 = whole.y1;
  drawChart(true);
}

function zoomBy(factor) {
  const middle = [(view.x0 + view.x1) / 2, (view.y0 + view.y1) / 2];
  const half = [(view.x1 - view.x0) * factor / 2, (view.y1 - view.y0) * factor / 2];
  zoomTo(middle[0] - half[0], middle[0] + half[0], middle[1] - half[1], middle[1] + half[1]);
}

canvas.addEventListener('pointerdown', (event) => {
  const [x, y] = pointer(event);
  drag = { x0: x, y0: y, x1: x, y1: y, lower: y > area().bottom + 8, moved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener('pointermove', (event) => {
  const [x, y] = pointer(event);
  const box = area();
  if (drag) {
    drag.x1 = Math.min(Math.max(x, box.left), box.right);
    drag.y1 = Math.min(Math.max(y, box.top), box.bottom);
    drag.moved = drag.moved || Math.abs(x - drag.x0) > 6;
  }
  const before = hovered;
  hovered = boxAt(box, x, y);
  showTip(box, x, y);
  if (drag || before !== hovered) drawChart();
});
canvas.addEventListener('pointerup', (event) => {
  const [x, y] = pointer(event);
  const box = area();
  const done = drag;
  drag = null;
  if (!done) return;
  if (!done.moved) {
    const id = boxAt(box, x, y);
    if (id >= 0) pick(id);
    else if (done.lower && x >= box.left && x < box.right) chooseMoment(toTime(box, x));
    return;
  }
  const times = [done.x0, done.x1].map((each) => toTime(box, each)).sort((a, b) => a - b);
  const offsets = [done.y0, done.y1].map((each) => toOffset(box, each)).sort((a, b) => a - b);
  const flat = done.lower || Math.abs(done.y1 - done.y0) < 12;
  zoomTo(times[0], times[1], flat ? view.y0 : offsets[0], flat ? view.y1 : offsets[1]);
});
canvas.addEventListener('pointercancel', () => { drag = null; });
canvas.addEventListener('pointerleave', () => { hovered = -1; $('tip').hidden = true; drawChart(); });
canvas.addEventListener('dblclick', () => { view = { ...whole }; drawChart(true); });
canvas.addEventListener('keydown', (event) => {
  const shift = { ArrowLeft: -0.2, ArrowRight: 0.2 }[event.key];
  if (event.key === '+' || event.key === '=') zoomBy(0.6);
  else if (event.key === '-') zoomBy(1 / 0.6);
  else if (event.key === '0') view = { ...whole };
  else if (shift) {
    const width = view.x1 - view.x0;
    const left = Math.min(Math.max(whole.x0, view.x0 + shift * width), whole.x1 - width);
    view.x0 = left;
    view.x1 = left + width;
  } else return;
  event.preventDefault();
  drawChart(true);
});

// --- Startup ---------------------------------------------------------------------------------------------------------

function begin() {
  showFigures();
  showBytes();
  $('memory-title').textContent = isGraph ? 'Feature memory over the steps of a run' : 'Memory over time';
  $('colour-label').hidden = !isGraph || ranked.length < 2;
  $('colour').value = state.colour;
  $('colour').addEventListener('change', () => { state.colour = $('colour').value; showColourLegend(); drawChart(true); });
  if (!isGraph) $('search').placeholder = 'name';
  $('search').addEventListener('input', () => search($('search').value));
  $('zoom-in').addEventListener('click', () => zoomBy(0.6));
  $('zoom-out').addEventListener('click', () => zoomBy(1 / 0.6));
  $('zoom-all').addEventListener('click', () => { view = { ...whole }; drawChart(true); });
  if (!boxes.length) {
    $('chart-frame').replaceChildren(element('p', plan.unplanned || 'There are no buffers to place.'));
    for (const hint of document.querySelectorAll('.hint, .buttons, #colour-label')) hint.hidden = true;
  }
  canvas.style.height = `${Math.round(Math.min(640, Math.max(420, window.innerHeight * 0.62)))}px`;
  showColourLegend();
  showTable();
  window.addEventListener('resize', () => drawChart(true));
  if (boxes.length) drawNow();
  document.documentElement.dataset.state = 'ready';
}
begin();
