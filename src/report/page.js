// SPDX-License-Identifier: Apache-2.0
// The page's data and everything around the chart: figures, shares, tables, search. page_chart.js draws the chart.
'use strict';

window.addEventListener('error', (event) => {
  const root = document.documentElement;
  root.dataset.errors = (root.dataset.errors || '') + event.message + '\n';
});

const $ = (id) => document.getElementById(id);
const plan = JSON.parse($('data').textContent);
const isGraph = plan.axis === 'step';

// --- The data --------------------------------------------------------------------------------------------------------

const FEATURE = 0;  // of plan.homes: the block that was planned
const buffers = plan.buffers.map((row, id) => ({
  id, name: row[0], type: plan.types[row[1]] || '', home: row[2], bytes: row[3], offset: row[4], first: row[5],
  end: row[6], inside: row[7], shape: row[8] || '', holds: [], steps: [],
}));
// Boxes are narrow: a generated node is named after the one it replaces, "/Conv_7/MillpondFusedConv_2".
for (const buffer of buffers) {
  const own = `/${buffer.type}`;
  const at = buffer.type ? buffer.name.lastIndexOf(own) : -1;
  buffer.label = at > 0 && /^(_\d+)?(:\d+)?$/.test(buffer.name.slice(at + own.length)) ? buffer.name.slice(0, at) : buffer.name;
}
const steps = plan.steps.map((row, at) => ({
  at, name: row[0], type: plan.types[row[1]] || '', buffers: row[2],
  parts: (row[3] || []).map((name, i) => ({ name, type: plan.types[row[4][i]] || '' })),
}));
for (const buffer of buffers) if (buffer.inside >= 0) buffers[buffer.inside].holds.push(buffer.id);
for (const step of steps) for (const id of step.buffers) buffers[id].steps.push(step.at);
const boxes = buffers.filter((buffer) => buffer.home === FEATURE && buffer.bytes > 0 && buffer.end > buffer.first);
const span = boxes.reduce((range, box) => [Math.min(range[0], box.first), Math.max(range[1], box.end)],
                          [Infinity, -Infinity]);
if (!(span[1] > span[0])) span[0] = 0, span[1] = Math.max(1, steps.length);
if (isGraph) span[0] = Math.min(span[0], 0), span[1] = Math.max(span[1], steps.length);

// Buffers that share storage count once, from the first use of any to the last of all.
function liveBytes() {
  const root = (buffer) => { while (buffer.inside >= 0) buffer = buffers[buffer.inside]; return buffer; };
  const groups = new Map();
  for (const box of boxes) {
    const owner = root(box);
    const group = groups.get(owner.id);
    if (!group) groups.set(owner.id, { bytes: owner.bytes, first: box.first, end: box.end });
    else group.first = Math.min(group.first, box.first), group.end = Math.max(group.end, box.end);
  }
  const events = [];
  for (const group of groups.values()) {
    const bytes = Math.ceil(group.bytes / plan.alignment) * plan.alignment;
    events.push([group.first, bytes], [group.end, -bytes]);
  }
  events.sort((a, b) => a[0] - b[0]);
  const curve = [];  // [from, bytes], each until the next
  let live = 0;
  for (let i = 0; i < events.length;) {
    const time = events[i][0];
    for (; i < events.length && events[i][0] === time; ++i) live += events[i][1];
    curve.push([time, live]);
  }
  return curve;
}
const live = liveBytes();
const mostLive = live.reduce((most, point) => (point[1] > most[1] ? point : most), [span[0], 0]);

// --- Text ------------------------------------------------------------------------------------------------------------

function sized(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) bytes /= 1024, ++unit;
  return (unit === 0 ? bytes : bytes.toFixed(bytes < 10 ? 2 : 1)) + ' ' + units[unit];
}
const exact = (number) => number.toLocaleString('en-US');
const percent = (part, whole) => (whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : '');
const until = (buffer) => (isGraph ? buffer.end - 1 : buffer.end);
const lifetime = (buffer) => (isGraph
  ? (until(buffer) === buffer.first ? `at step ${buffer.first}` : `steps ${buffer.first} to ${until(buffer)}`)
  : `from ${exact(buffer.first)} to ${exact(buffer.end)}`);
const plural = (count, word) => `${exact(count)} ${word}${count === 1 ? '' : 's'}`;

function relation(buffer) {
  if (buffer.inside < 0) return '';
  const other = buffers[buffer.inside];
  if (other.bytes === buffer.bytes) return `in place of ${other.name}`;
  return `part of ${other.name}`;
}

function element(tag, content, attributes) {
  const made = document.createElement(tag);
  if (attributes) for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  for (const each of [].concat(content === undefined ? [] : content)) made.append(each);
  return made;
}

// --- Colours ---------------------------------------------------------------------------------------------------------

const TYPE_COLOURS = ['#4477aa', '#e8a33d', '#3f9d6b', '#cc5a71', '#8a6bbf', '#54b6c9', '#a3743f', '#d98fc0', '#93a83a'];
const OTHER_COLOUR = '#aab2bd';
const SIZE_COLOURS = ['#cdeac0', '#9fd8b8', '#6fc3b9', '#46a9b8', '#3489b3', '#3a66a8', '#46448f', '#432371'];
const HOME_COLOURS = ['#4477aa', '#7a5ba8', '#3f9d6b', '#e8a33d', '#cc5a71', '#a3743f', '#aab2bd'];

const ranked = [];  // operator types by bytes times lifetime
{
  const weight = new Map();
  for (const box of boxes) weight.set(box.type, (weight.get(box.type) || 0) + box.bytes * (box.end - box.first));
  ranked.push(...[...weight].sort((a, b) => b[1] - a[1]).map(([type]) => type));
}
const typeColour = new Map(ranked.slice(0, TYPE_COLOURS.length).map((type, i) => [type, TYPE_COLOURS[i]]));
const sizes = boxes.reduce((range, box) => [Math.min(range[0], box.bytes), Math.max(range[1], box.bytes)], [Infinity, 0]);
const sizeClass = (bytes) => {
  const range = Math.log2(sizes[1]) - Math.log2(sizes[0]);
  if (!(range > 0)) return SIZE_COLOURS.length >> 1;
  const place = (Math.log2(bytes) - Math.log2(sizes[0])) / range;
  return Math.min(SIZE_COLOURS.length - 1, Math.floor(place * SIZE_COLOURS.length));
};
const state = { colour: isGraph && ranked.length > 1 ? 'type' : 'size', words: '', picked: -1, at: mostLive[0], tab: 'alive' };
// Neighbours of one operator differ slightly in lightness.
const lighter = (colour, part) => '#' + [1, 3, 5].map((at) => {
  const value = parseInt(colour.slice(at, at + 2), 16);
  return Math.round(value + (255 - value) * part).toString(16).padStart(2, '0');
}).join('');
const SHADES = [0, 0.2, 0.1];
const typeShades = new Map([...typeColour].map(([type, colour]) => [type, SHADES.map((part) => lighter(colour, part))]));
const otherShades = SHADES.map((part) => lighter(OTHER_COLOUR, part));
const colourOf = (box) => (state.colour === 'type'
  ? (typeShades.get(box.type) || otherShades)[box.id % SHADES.length]
  : SIZE_COLOURS[sizeClass(box.bytes)]);

function showColourLegend() {
  const items = [];
  const swatch = (colour, ...text) => element('li', [element('i', '', { style: `background:${colour}` }), ...text]);
  if (!boxes.length) {
    // Nothing is drawn.
  } else if (state.colour === 'type') {
    for (const [type, colour] of typeColour) items.push(swatch(colour, type || 'no operator'));
    const rest = ranked.length - typeColour.size;
    if (rest > 0) items.push(swatch(OTHER_COLOUR, `${plural(rest, 'other operator')}`));
  } else {
    const step = Math.pow(sizes[1] / sizes[0], 1 / SIZE_COLOURS.length);
    SIZE_COLOURS.forEach((colour, i) => {
      if (sizes[0] === sizes[1] && i !== sizeClass(sizes[0])) return;
      const least = Math.round(sizes[0] * Math.pow(step, i));
      items.push(swatch(colour, sizes[0] === sizes[1] ? sized(least) : `from ${sized(least)}`));
    });
  }
  if (boxes.some((box) => box.inside >= 0)) {
    items.push(element('li', 'Striped edge: inside the memory of another buffer', { class: 'quiet' }));
  }
  $('colour-legend').replaceChildren(...items);
}

// --- The top of the page ---------------------------------------------------------------------------------------------

function showFigures() {
  $('title').textContent = plan.title;
  $('subtitle').textContent = plan.subtitle;
  const figures = [];
  const figure = (name, value, note) => figures.push(
    element('div', [element('dt', name), element('dd', [value, ...(note ? [element('small', note)] : [])])]));
  const all = boxes.reduce((sum, box) => sum + box.bytes, 0);
  if (boxes.length) {
    figure(isGraph ? 'Feature memory (peak)' : 'Peak', sized(plan.peak), `${exact(plan.peak)} bytes`);
    figure('Lower bound', sized(plan.bound), 'the most that is live at once');
    figure('Peak / bound', plan.bound > 0 ? (plan.peak / plan.bound).toFixed(4) : '1',
           plan.optimal ? 'optimal: no plan is smaller' : 'the best plan found');
    figure('Without reuse', sized(all), all > 0 ? `the plan takes ${percent(plan.peak, all)} of it` : '');
  }
  if (plan.capacity > 0) {
    const over = plan.peak - plan.capacity;
    figure('Capacity', sized(plan.capacity), over > 0 ? `exceeded by ${sized(over)}` : 'the plan fits');
  }
  if (boxes.length || !isGraph) figure('Buffers', exact(boxes.length), isGraph ? 'in feature memory' : '');
  if (isGraph) {
    const fused = steps.filter((step) => step.parts.length > 1);
    figure('Steps', exact(steps.length), fused.length
      ? `${exact(fused.length)} of them fused from ${exact(fused.reduce((sum, step) => sum + step.parts.length, 0))} nodes`
      : 'none of them fused');
  }
  $('figures').replaceChildren(...figures);
}

function showBytes() {
  const homes = plan.homes.map((home, i) => ({ ...home, colour: HOME_COLOURS[i] })).filter((home) => home.bytes > 0);
  $('bytes-section').hidden = !isGraph || !homes.length;
  const sum = homes.reduce((all, home) => all + home.bytes, 0);
  $('bytes-bar').replaceChildren(...homes.map((home) => element('span', '', {
    style: `background:${home.colour};flex:${home.bytes / sum} 0 0`, title: `${home.name}: ${sized(home.bytes)}` })));
  $('bytes-legend').replaceChildren(
    ...homes.map((home) => element('li', [element('i', '', { style: `background:${home.colour}` }), `${home.name} `,
      element('b', sized(home.bytes)), element('span', ` ${percent(home.bytes, sum)}`, { class: 'quiet' })])),
    element('li', ['together ', element('b', sized(sum))]));
}

// --- Search and selection --------------------------------------------------------------------------------------------

const contains = (text) => text.toLowerCase().includes(state.words);
const stepMatches = (step) => contains(step.name) || contains(step.type) ||
  step.parts.some((part) => contains(part.name) || contains(part.type));
let matching = null;  // ids of buffers; null: all

function search(words) {
  state.words = words.trim().toLowerCase();
  matching = null;
  if (state.words) {
    matching = new Set(buffers.filter((buffer) => contains(buffer.name) || contains(buffer.type)).map((each) => each.id));
    // A fused node is found by the names of its original nodes; it writes the buffers that begin there.
    for (const step of steps) {
      if (!stepMatches(step)) continue;
      for (const id of step.buffers) if (buffers[id].first === step.at) matching.add(id);
    }
  }
  $('found').textContent = matching ? `${plural(matching.size, 'buffer')} found` : '';
  showTable();
  drawChart(true);
}

function pick(id) {
  state.picked = state.picked === id ? -1 : id;
  showDetails();
  for (const row of $('table').querySelectorAll('tr[data-id]')) {
    row.classList.toggle('picked', Number(row.dataset.id) === state.picked);
  }
  drawChart();
}

function showDetails() {
  const place = $('details');
  place.hidden = state.picked < 0;
  if (place.hidden) return;
  const buffer = buffers[state.picked];
  const rows = [];
  const row = (name, ...content) => rows.push(element('dt', name), element('dd', content));
  const link = (other) => {
    const made = element('a', other.name, { href: '#memory-section' });
    made.addEventListener('click', (event) => { event.preventDefault(); pick(other.id); });
    return made;
  };
  const linked = (ids) => ids.slice(0, 20).flatMap((id, i) => [i ? ', ' : '', link(buffers[id])])
    .concat(ids.length > 20 ? [` and ${exact(ids.length - 20)} more`] : []);
  if (buffer.type) row('Operator', buffer.type);
  if (buffer.shape) row('Tensor', buffer.shape);
  row('Bytes', `${exact(buffer.bytes)} (${sized(buffer.bytes)})`);
  if (isGraph) row('Memory', plan.homes[buffer.home].name);
  if (buffer.home === FEATURE) {
    row('Offset', `${exact(buffer.offset)} to ${exact(buffer.offset + buffer.bytes)}`);
    row('Alive', lifetime(buffer));
  }
  if (buffer.inside >= 0) {
    const other = buffers[buffer.inside];
    row('Shares memory', other.bytes === buffer.bytes ? 'takes the place of ' : 'is a part of ', link(other));
  }
  if (buffer.holds.length) row('Holds', ...linked(buffer.holds));
  const used = buffer.steps.map((at) => `${at} ${steps[at].name}`);
  if (used.length) row('Used by steps', used.slice(0, 12).join(', ') + (used.length > 12 ? ', …' : ''));
  const maker = steps[buffer.first];
  if (buffer.home === FEATURE && maker && maker.parts.length) {
    row('Fused from', maker.parts.map((part) => `${part.name} (${part.type})`).join(', '));
  }
  place.replaceChildren(element('h3', buffer.name), element('dl', rows));
}

// --- Tables ----------------------------------------------------------------------------------------------------------

const ROWS = 200;
const bytesCell = (bytes) => element('span', sized(bytes), { title: `${exact(bytes)} bytes` });
const shareCell = (part, whole) => element('span', [
  element('span', '', { class: 'bar', style: `width:${whole > 0 ? Math.round(70 * part / whole) : 0}px` }),
  percent(part, whole)], { class: 'share' });
function liveAt(time) {
  let low = 0, high = live.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (live[middle][0] <= time) low = middle + 1; else high = middle;
  }
  return low > 0 ? live[low - 1][1] : 0;
}
const aliveAt = (time) => boxes.filter((box) => box.first <= time && time < box.end);
const fusedSteps = steps.filter((step) => step.parts.length > 1);

// Per operator type: how often, what it writes, and the constants it is the first to read.
const typeRows = (() => {
  const rows = new Map();
  const rowOf = (type) => {
    if (!rows.has(type)) rows.set(type, { type, steps: 0, results: 0, constants: 0 });
    return rows.get(type);
  };
  for (const step of steps) rowOf(step.type).steps += 1;
  for (const buffer of buffers) {
    const maker = buffer.steps.length ? steps[buffer.steps[0]] : null;
    if (!maker) continue;
    if (plan.homes[buffer.home].constant) rowOf(maker.type).constants += buffer.bytes;
    else if (!plan.homes[buffer.home].given) rowOf(maker.type).results += buffer.bytes;
  }
  return [...rows.values()];
})();
const allResults = typeRows.reduce((sum, row) => sum + row.results, 0);
const allConstants = typeRows.reduce((sum, row) => sum + row.constants, 0);

const nameColumn = { title: 'Name', key: (row) => row.name, show: (row) => row.name, name: true };
const typeColumn = { title: 'Operator', key: (row) => row.type, show: (row) => row.type };
const bytesColumn = { title: 'Bytes', key: (row) => row.bytes, show: (row) => bytesCell(row.bytes), number: true };
const fromColumn = { title: isGraph ? 'First step' : 'From', key: (row) => row.first, number: true,
  show: (row) => (row.home === FEATURE ? exact(row.first) : '') };
const toColumn = { title: isGraph ? 'Last step' : 'To', key: (row) => row.end, number: true,
  show: (row) => (row.home === FEATURE ? exact(until(row)) : '') };
const offsetColumn = { title: 'Offset', key: (row) => row.offset, number: true,
  show: (row) => (row.home === FEATURE ? exact(row.offset) : '') };
const shapeColumn = { title: 'Tensor', key: (row) => row.shape, show: (row) => row.shape };
const relationColumn = { title: 'Shares memory', key: (row) => relation(row), show: (row) => relation(row) };
const onlyGraph = (...columns) => (isGraph ? columns : []);

let homeWanted = -1;
const tabs = {
  alive: {
    title: () => `Alive at ${isGraph ? 'step' : 'time'} ${exact(state.at)}`,
    rows: () => aliveAt(state.at).filter((box) => !matching || matching.has(box.id)),
    columns: [nameColumn, ...onlyGraph(typeColumn), bytesColumn,
      { title: 'Share', key: (row) => row.bytes, show: (row) => shareCell(row.bytes, liveAt(state.at)) },
      fromColumn, toColumn, offsetColumn, ...onlyGraph(relationColumn)],
    sort: 2, empty: 'Nothing matching is alive then.', picks: true,
    note: () => `${sized(liveAt(state.at))} are live at ${isGraph ? 'step' : 'time'} ${exact(state.at)}` +
      `${isGraph && steps[state.at] ? ` (${steps[state.at].name})` : ''}; the most, ${sized(mostLive[1])}, at ` +
      `${exact(mostLive[0])}. Click the lower chart for another moment.`,
  },
  buffers: {
    title: () => 'Buffers', sort: 2, empty: 'No matching buffer.', picks: true,
    rows: () => buffers.filter((each) => (!matching || matching.has(each.id)) && (homeWanted < 0 || each.home === homeWanted)),
    columns: [nameColumn, ...onlyGraph(typeColumn), bytesColumn,
      ...onlyGraph({ title: 'Memory', key: (row) => plan.homes[row.home].name, show: (row) => plan.homes[row.home].name }),
      fromColumn, toColumn,
      { title: isGraph ? 'Steps alive' : 'Lifetime', key: (row) => row.end - row.first, number: true,
        show: (row) => (row.home === FEATURE ? exact(row.end - row.first) : '') },
      offsetColumn, ...onlyGraph(shapeColumn, relationColumn)],
  },
  fused: {
    title: () => `Fused nodes (${exact(fusedSteps.length)})`, sort: 0, ascending: true,
    empty: fusedSteps.length ? 'No matching fused node.' : 'No node was fused.',
    rows: () => fusedSteps.filter((step) => !state.words || stepMatches(step)),
    columns: [
      { title: 'Step', key: (row) => row.at, show: (row) => exact(row.at), number: true }, nameColumn, typeColumn,
      { title: 'Nodes', key: (row) => row.parts.length, show: (row) => exact(row.parts.length), number: true },
      { title: 'Fused from', parts: true, key: (row) => row.parts.map((part) => part.type).join(), show: (row) => row.parts.map((part) =>
        element('span', [`${part.name} `, element('small', part.type)], { class: 'chip' })) }],
  },
  steps: {
    title: () => 'Steps', sort: 0, ascending: true, empty: 'No matching step.',
    rows: () => steps.filter((step) => !state.words || stepMatches(step)), moment: true,
    columns: [
      { title: 'Step', key: (row) => row.at, show: (row) => exact(row.at), number: true }, nameColumn, typeColumn,
      { title: 'Live bytes', key: (row) => liveAt(row.at), show: (row) => shareCell(liveAt(row.at), mostLive[1]) },
      { title: 'Bytes touched', key: (row) => touched(row), show: (row) => bytesCell(touched(row)), number: true }],
  },
  types: {
    title: () => 'Operators', sort: 2, empty: 'No operators.',
    rows: () => typeRows.filter((row) => !state.words || contains(row.type)),
    columns: [typeColumn, { title: 'Steps', key: (row) => row.steps, show: (row) => exact(row.steps), number: true },
      { title: 'Results', key: (row) => row.results, show: (row) => bytesCell(row.results), number: true },
      { title: 'of all', key: (row) => row.results, show: (row) => shareCell(row.results, allResults) },
      { title: 'Constants', key: (row) => row.constants, show: (row) => bytesCell(row.constants), number: true },
      { title: 'of all', key: (row) => row.constants, show: (row) => shareCell(row.constants, allConstants) }],
  },
};
const touched = (step) => step.buffers.reduce((sum, id) => sum + buffers[id].bytes, 0);
if (!isGraph) for (const name of ['fused', 'steps', 'types']) delete tabs[name];
if (!boxes.length) delete tabs.alive, state.tab = isGraph && fusedSteps.length ? 'fused' : 'buffers';
let shown = ROWS;

function showTabs() {
  $('tabs').replaceChildren(...Object.entries(tabs).map(([name, tab]) => {
    const button = element('button', tab.title(), { type: 'button', role: 'tab', 'aria-selected': name === state.tab });
    button.addEventListener('click', () => { state.tab = name; shown = ROWS; showTable(); });
    return button;
  }));
  const tools = [];
  if (state.tab === 'buffers' && isGraph) {
    const choice = element('select', [element('option', 'all memory', { value: -1 }),
      ...plan.homes.map((home, i) => (home.bytes > 0 ? element('option', home.name, { value: i }) : ''))]);
    choice.value = homeWanted;
    choice.addEventListener('change', () => { homeWanted = Number(choice.value); showTable(); });
    tools.push(element('label', ['In ', choice]));
  }
  $('tab-tools').replaceChildren(...tools);
}

function headerCell(tab, column, i) {
  const sorted = tab.sort === i;
  const button = element('button', column.title + (sorted ? (tab.ascending ? ' ▲' : ' ▼') : ''), { type: 'button' });
  button.addEventListener('click', () => {
    tab.ascending = sorted ? !tab.ascending : !column.number && typeof column.key(tab.rows()[0] || {}) === 'string';
    tab.sort = i;
    showTable();
  });
  const cell = element('th', button, { 'aria-sort': sorted ? (tab.ascending ? 'ascending' : 'descending') : 'none' });
  if (column.number) cell.className = 'number';
  return cell;
}

function bodyRow(tab, row) {
  const made = element('tr', tab.columns.map((column) => {
    const cell = element('td', column.show(row));
    if (column.number) cell.className = 'number';
    if (column.name) cell.className = 'name';
    if (column.parts) cell.className = 'parts';
    return cell;
  }));
  if (tab.picks) {
    made.className = row.id === state.picked ? 'picks picked' : 'picks';
    made.dataset.id = row.id;
    made.addEventListener('click', () => pick(row.id));
  }
  if (tab.moment) {
    made.className = 'picks';
    made.addEventListener('click', () => chooseMoment(row.at));
  }
  return made;
}

function showTable() {
  showTabs();
  const tab = tabs[state.tab];
  const key = tab.columns[tab.sort].key;
  const sign = tab.ascending ? 1 : -1;
  const keyed = tab.rows().map((row) => [key(row), row]);
  keyed.sort(([a], [b]) => sign * (typeof a === 'string' ? a.localeCompare(b, 'en', { numeric: true }) : a - b));
  const body = keyed.slice(0, shown).map(([, row]) => bodyRow(tab, row));
  $('table').replaceChildren(keyed.length
    ? element('table', [element('thead', element('tr', tab.columns.map((column, i) => headerCell(tab, column, i)))),
                        element('tbody', body)])
    : tab.empty);
  const note = tab.note ? [tab.note() + ' '] : [];
  if (keyed.length > shown) {
    const more = element('button', 'Show more', { type: 'button' });
    more.addEventListener('click', () => { shown += 5 * ROWS; showTable(); });
    note.push(`${exact(shown)} of ${exact(keyed.length)} rows. `, more);
  }
  $('table-note').replaceChildren(...note);
}

function chooseMoment(time) {
  state.at = isGraph ? Math.floor(time) : Math.round(time);
  if (tabs.alive) state.tab = state.tab === 'steps' ? 'steps' : 'alive';
  showTable();
  drawChart();
}
