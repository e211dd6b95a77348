// SPDX-License-Identifier: Apache-2.0
// What the page does beyond being read: a filter of findings, and the memory at one moment of a chart.
'use strict';

window.addEventListener('error', (event) => {
  const root = document.documentElement;
  root.dataset.errors = (root.dataset.errors || '') + event.message + '\n';
});

const $ = (id) => document.getElementById(id);
const findings = [...document.querySelectorAll('.finding')];

function filter() {
  const words = $('search').value.trim().toLowerCase();
  const kinds = new Set([...document.querySelectorAll('.kind:checked')].map((box) => box.value));
  let count = 0;
  for (const finding of findings) {
    finding.hidden = !kinds.has(finding.dataset.kind) || !finding.textContent.toLowerCase().includes(words);
    if (!finding.hidden) ++count;
  }
  $('shown').textContent = count === findings.length ? '' : `${count} of ${findings.length} shown`;
}

if ($('tools')) {
  $('tools').hidden = false;
  $('search').addEventListener('input', filter);
  for (const box of document.querySelectorAll('.kind')) box.addEventListener('change', filter);
  const setAll = (open) => { for (const finding of findings) if (!finding.hidden) finding.open = open; };
  $('unfold').addEventListener('click', () => setAll(true));
  $('fold').addEventListener('click', () => setAll(false));
}

// In a narrow window the lanes begin where the later operation is in view.
for (const finding of findings) {
  const later = finding.querySelector('.lanes .later');
  if (!later) continue;
  const frame = later.closest('.scroll');
  const reveal = () => { frame.scrollLeft += later.getBoundingClientRect().right + 12 - frame.getBoundingClientRect().right; };
  finding.addEventListener('toggle', reveal, { once: true });
  if (finding.open) reveal();
}

// A link to #finding-3 shows it unfolded.
function openTarget() {
  const target = findings.find((finding) => `#${finding.id}` === location.hash);
  if (target) { target.open = true; target.scrollIntoView(); }
}
window.addEventListener('hashchange', openTarget);
openTarget();

function sized(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) bytes /= 1024, ++unit;
  return (unit === 0 ? bytes : bytes.toFixed(bytes < 10 ? 2 : 1)) + ' ' + units[unit];
}
const timed = (ms) => (ms >= 1000 ? `${(ms / 1000).toFixed(3)} s` : `${ms.toPrecision(3)} ms`);

const data = JSON.parse($('data').textContent);
for (const chart of document.querySelectorAll('.timeline')) {
  const { owners, steps, end } = data[Number(chart.dataset.series)];
  const tip = chart.closest('figure').querySelector('.tip');
  const cursor = chart.querySelector('.cursor');
  const plot = chart.querySelector('.plot');
  let at = -1;

  function show(place, time) {
    at = Math.max(0, Math.min(steps.length - 1, place));
    const sums = steps[at][1];
    const parts = owners.map((owner, i) => [owner, sums[i]]).filter(([, bytes]) => bytes > 0).sort((a, b) => b[1] - a[1]);
    const together = sums.reduce((sum, bytes) => sum + bytes, 0);
    tip.textContent = `${timed(time === undefined ? steps[at][0] : time)}: ${sized(together)}` +
      (parts.length ? ` (${parts.map(([owner, bytes]) => `${owner} ${sized(bytes)}`).join(', ')})` : '');
    cursor.hidden = false;
    cursor.style.left = `${100 * (time === undefined ? steps[at][0] : time) / end}%`;
  }

  plot.addEventListener('pointermove', (event) => {
    const frame = plot.getBoundingClientRect();
    const time = Math.max(0, Math.min(1, (event.clientX - frame.left) / frame.width)) * end;
    show(steps.findLastIndex((step) => step[0] <= time), time);
  });
  chart.addEventListener('keydown', (event) => {
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: steps.length - 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(moves[event.key]);
  });
}

document.documentElement.dataset.state = 'ready';
