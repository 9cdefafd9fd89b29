/*
 * The fleet, live. Data comes as server-sent events: one `snapshot` per connection, then `change`.
 * Everything from outside is put into the page as text, never as HTML.
 */

import { drawPools, drawPoolTimes, membershipsOf } from './pools.js';

/** In the order of a machine's life; names are those of the API, the metrics and the log. */
const STATES = [
  { name: 'Reserved', says: 'Hardware that waits to be used' },
  { name: 'Provisioned', says: 'Installed, its agent not started yet' },
  { name: 'AgentStarting', says: 'The agent is being started over SSH' },
  { name: 'Running', says: 'The agent reports in' },
  { name: 'Recovering', says: 'Silent for too long and being brought back' },
  { name: 'HandedOver', says: 'Its operating system was installed; others look after it' },
  { name: 'Quarantined', says: 'Left alone until somebody has looked at it' },
  { name: 'Deprovisioning', says: 'Being given back on request' },
  { name: 'Released', says: 'The provider no longer has it' },
];
const RANK = new Map(STATES.map(({ name }, rank) => [name, rank]));
const BUSY = new Set(['AgentStarting', 'Recovering', 'Deprovisioning']);
const ROWS_PER_STEP = 200;
const SILENCE_MAX_MS = 25_000;
const SPOKEN_EVERY_MS = 5_000;

const el = (id) => document.getElementById(id);

/** Everything the page knows. Records hold a machine, its search text, and its row while shown. */
const fleet = {
  ...{ records: new Map(), counts: null, order: [], orderStale: true },
  ...{ guard: null, needHuman: 0, unlisted: [], traits: [], pools: [], memberships: new Map() },
};
const choice = { states: new Set(), text: '', sort: 'slot', down: false, limit: ROWS_PER_STEP };
const link = { source: null, lastMessageAt: 0, live: false, base: null };

// Time.

/** The daemon's clock: its time at the snapshot plus what passed here since, so that skew is no matter. */
const nowMs = () => (link.base ? link.base.atMs + performance.now() - link.base.seenAt : 0);

/** 9s · 3m 05s · 2h 07m · 4d 3h */
function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value) => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  if (seconds < 86_400)
    return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
  return `${Math.floor(seconds / 86_400)}d ${Math.floor(seconds / 3600) % 24}h`;
}

// Data.

const textOf = (m) =>
  [m.slot, m.machineId, m.providerId, m.reservationId, m.address, m.state, m.substate, m.reason]
    .concat(m.holds, m.elsewhere ? 'elsewhere' : '')
    .concat((fleet.memberships.get(m.slot) ?? []).map(([text]) => text))
    .concat(fleet.traits.map(({ name }) => m[name]))
    .join('\n')
    .toLowerCase();

function upsert(machine, changed) {
  const record = fleet.records.get(machine.slot) ?? { row: null, flash: false };
  const before = record.machine;
  const moved = !before || before.state !== machine.state || before.substate !== machine.substate;
  record.flash ||= changed && moved;
  record.machine = machine;
  record.text = textOf(machine);
  record.drawn = false;
  if (!before || choice.sort !== 'slot') fleet.orderStale = true;
  fleet.records.set(machine.slot, record);
}

function forget(slot) {
  fleet.records.get(slot)?.row?.element.remove();
  if (fleet.records.delete(slot)) fleet.orderStale = true;
}

function takeSnapshot(message) {
  fleet.traits = message.traits;
  const present = new Set(message.machines.map(({ slot }) => slot));
  for (const slot of [...fleet.records.keys()]) if (!present.has(slot)) forget(slot);
  const known = fleet.counts !== null;
  for (const machine of message.machines) upsert(machine, known);
  takeFrame(message);
  link.base = { atMs: message.atMs, seenAt: performance.now() };
  showAbout(message);
}

function takeChange(message) {
  for (const slot of message.removed) forget(slot);
  for (const machine of message.upserts) upsert(machine, true);
  takeFrame(message);
}

/** What is said of the fleet as a whole. A change without the guard leaves it as it was. */
function takeFrame({ counts, needHuman, guard = fleet.guard, unlisted = fleet.unlisted, pools }) {
  Object.assign(fleet, { counts, needHuman, guard, unlisted });
  if (pools) takePools(pools);
}

/** A machine shows what it is to its pools: those of which that changed are drawn anew. */
function takePools(pools) {
  const before = fleet.memberships;
  Object.assign(fleet, { pools, memberships: membershipsOf(pools) });
  for (const slot of new Set([...before.keys(), ...fleet.memberships.keys()])) {
    const record = fleet.records.get(slot);
    const same = String(before.get(slot)) === String(fleet.memberships.get(slot));
    if (record && !same) Object.assign(record, { text: textOf(record.machine), drawn: false });
  }
}

// Choosing and ordering.

/** By code point, as the API pages do. */
const compareText = (a, b) => (a < b ? -1 : Number(a > b));
const bySlot = (a, b) => compareText(a.machine.slot, b.machine.slot);
const missingLast = (a, b) => (a === null) - (b === null);
const ORDERS = {
  slot: bySlot,
  state: (a, b) =>
    RANK.get(a.machine.state) - RANK.get(b.machine.state) ||
    compareText(a.machine.substate, b.machine.substate),
  heartbeat: (a, b) =>
    missingLast(a.machine.lastHeartbeatAtMs, b.machine.lastHeartbeatAtMs) ||
    b.machine.lastHeartbeatAtMs - a.machine.lastHeartbeatAtMs,
  since: (a, b) => b.machine.sinceMs - a.machine.sinceMs,
};

const byTrait = (name) => (a, b) =>
  missingLast(a.machine[name], b.machine[name]) || compareText(a.machine[name], b.machine[name]);

/** Equal machines stay in the order of their slots, whichever way the column points. */
function ordered() {
  if (!fleet.orderStale) return fleet.order;
  const compare = ORDERS[choice.sort] ?? byTrait(choice.sort);
  const sign = choice.down ? -1 : 1;
  fleet.order = [...fleet.records.values()].sort((a, b) => sign * compare(a, b) || bySlot(a, b));
  fleet.orderStale = false;
  return fleet.order;
}

function matching() {
  const words = choice.text.toLowerCase().split(/\s+/).filter(Boolean);
  return ordered().filter(
    ({ machine, text }) =>
      (choice.states.size === 0 || choice.states.has(machine.state)) &&
      words.every((word) => text.includes(word)),
  );
}

// Rows.

const setText = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};
const make = (tag, className, ...children) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
};

/** Those that have a column: each that some machine has. */
let drawnTraits = [];
const traitClass = (name) => `c-trait c-${name}`;

function drawTraits() {
  const traits = fleet.traits.filter(({ name }) =>
    ordered().some(({ machine }) => machine[name] !== null),
  );
  const namesOf = (some) => some.map(({ name }) => name).join();
  if (namesOf(traits) === namesOf(drawnTraits)) return;
  drawnTraits = traits;
  for (const head of document.querySelectorAll('th.c-trait')) head.remove();
  document.querySelector('th.c-address').after(...traits.map(drawHead));
  drawSort();
  for (const record of fleet.records.values()) dropRow(record);
}

function drawHead({ name, label }) {
  const button = make('button', '', label);
  button.type = 'button';
  const head = make('th', traitClass(name), button);
  head.scope = 'col';
  head.dataset.sort = name;
  return head;
}

function dropRow(record) {
  record.row?.element.remove();
  record.row = null;
}

function makeRow() {
  const badge = { state: make('b'), substate: make('span') };
  const slot = { provider: make('i'), id: make('span') };
  const why = { chips: make('span'), reason: make('span') };
  const cells = {
    state: make('td', 'c-state', make('span', 'badge', badge.state, badge.substate)),
    slot: make('td', 'c-slot', slot.provider, slot.id),
    id: make('td', 'c-id'),
    address: make('td', 'c-address'),
    traits: drawnTraits.map(({ name }) => make('td', traitClass(name))),
    heartbeat: make('td', 'c-heartbeat'),
    since: make('td', 'c-since'),
    reason: make('td', 'c-reason', make('div', '', why.chips, why.reason)),
  };
  return { element: make('tr', '', ...Object.values(cells).flat()), cells, badge, slot, why };
}

function chipsOf(machine) {
  const holds = machine.holds.map((hold) => [hold, `An operator's hold: ${hold}`]);
  const chips = [...holds, ...(fleet.memberships.get(machine.slot) ?? [])];
  return machine.elsewhere ? [...chips, ['elsewhere', 'Another daemon works on it']] : chips;
}

function drawRow(record) {
  const { machine, row } = record;
  const { element, cells, badge, slot, why } = row;
  element.dataset.state = machine.state;
  element.dataset.slot = machine.slot;
  element.dataset.late = machine.substate;
  element.toggleAttribute('data-busy', BUSY.has(machine.state));
  element.toggleAttribute('data-alarm', machine.state === 'Quarantined');
  setText(badge.state, machine.state);
  setText(badge.substate, machine.substate);
  const cut = machine.slot.indexOf('/') + 1;
  setText(slot.provider, machine.slot.slice(0, cut));
  setText(slot.id, machine.slot.slice(cut));
  cells.slot.title = machine.slot;
  setField(cells.id, machine.providerId);
  setField(cells.address, machine.address);
  drawnTraits.forEach(({ name }, at) => setField(cells.traits[at], machine[name]));
  why.chips.replaceChildren(...chipsOf(machine).map(drawChip));
  setText(why.reason, machine.reason ?? '');
  cells.reason.title = machine.reason ?? '';
  record.drawn = true;
}

const drawChip = ([text, title]) => {
  const chip = make('span', 'chip', text);
  chip.title = title;
  return chip;
};

function setField(cell, value) {
  setText(cell, value ?? '–');
  if (value === null) cell.removeAttribute('title');
  else cell.title = value;
}

function drawTimes({ machine, row }, now) {
  const heard = machine.lastHeartbeatAtMs;
  setText(row.cells.heartbeat, heard === null ? '–' : `${span(now - heard)} ago`);
  setText(row.cells.since, span(now - machine.sinceMs));
}

const calm = matchMedia('(prefers-reduced-motion: reduce)');

/** A short glow in the colour of the state it came to. */
function flash(record) {
  record.flash = false;
  if (calm.matches) return;
  const colour = getComputedStyle(record.row.element).getPropertyValue('--c');
  const glow = `color-mix(in oklab, ${colour} 30%, transparent)`;
  const frames = [{ backgroundColor: glow }, { backgroundColor: 'transparent' }];
  record.row.element.animate(frames, { duration: 1600, easing: 'ease-out' });
}

function drawRows(chosen) {
  const body = el('rows');
  const now = nowMs();
  const shown = new Set(chosen.slice(0, choice.limit));
  for (const record of fleet.records.values()) {
    if (!shown.has(record)) dropRow(record);
  }
  let at = body.firstElementChild;
  for (const record of shown) {
    if (!record.row) Object.assign(record, { row: makeRow(), drawn: false });
    if (!record.drawn) drawRow(record);
    drawTimes(record, now);
    if (record.row.element === at) at = at.nextElementSibling;
    else body.insertBefore(record.row.element, at);
    if (record.flash) flash(record);
  }
}

// Everything around the rows.

const tiles = new Map();

function makeTiles() {
  for (const { name, says } of STATES) {
    const tile = make('button', 'tile', make('b', '', '–'), make('span', '', name));
    tile.type = 'button';
    tile.title = says;
    tile.dataset.state = name;
    tile.addEventListener('click', () => choose({ toggle: name }));
    const part = make('i');
    part.dataset.state = name;
    tiles.set(name, { tile, part, figure: tile.firstElementChild });
    el('tiles').append(tile);
    el('bar').append(part);
  }
}

function drawCounts() {
  for (const { name } of STATES) {
    const { tile, part, figure } = tiles.get(name);
    const count = fleet.counts?.[name];
    setText(figure, count === undefined ? '–' : count.toLocaleString('en'));
    tile.toggleAttribute('data-none', !count);
    tile.setAttribute('aria-pressed', String(choice.states.has(name)));
    part.toggleAttribute('data-some', Boolean(count));
    part.style.flexGrow = count ?? 0;
  }
}

function drawHeadline() {
  if (!fleet.counts) return;
  const running = fleet.counts.Running;
  const total = fleet.records.size - fleet.counts.Released;
  setText(el('running'), running.toLocaleString('en'));
  const noun = total === 1 ? 'machine' : 'machines';
  const rest = total ? `of ${total.toLocaleString('en')} ${noun} Running` : noun;
  setText(el('headline-rest'), rest);
  document.title = `${running}/${total} Running · Shepherd`;
}

/** For those who listen: the counts, in words, not more often than one can follow. */
function speak() {
  if (!fleet.counts) return;
  const parts = STATES.map(({ name }) => [fleet.counts[name], name]).filter(([count]) => count > 0);
  setText(
    el('spoken'),
    parts.map(([count, name]) => `${count} ${name}`).join(', ') || 'No machines',
  );
}

const EMPTY = {
  waiting: ['Connecting to Shepherd', 'The fleet appears here as soon as the daemon answers.'],
  fleet: [
    'No machines yet',
    'Shepherd shows every slot that a provider lists: free reservations, and the machines that run ' +
      'on them. Until the first complete listing this page is empty; if it stays so, look at ' +
      'Readiness below and at the log.',
  ],
  filter: ['No machine matches', 'Other machines are hidden by the search or the chosen states.'],
};

function drawEmpty(chosen) {
  const why = !fleet.counts ? 'waiting' : fleet.records.size === 0 ? 'fleet' : 'filter';
  el('table').hidden = chosen.length === 0;
  el('empty').hidden = chosen.length > 0;
  setText(el('empty-title'), EMPTY[why][0]);
  setText(el('empty-text'), EMPTY[why][1]);
}

function drawExtent(chosen) {
  const [all, some] = [fleet.records.size, chosen.length];
  const filtered = choice.states.size > 0 || choice.text.trim() !== '';
  const figure = (count) => count.toLocaleString('en');
  setText(el('shown'), filtered && all ? `${figure(some)} of ${figure(all)} machines` : '');
  el('clear').hidden = !filtered;
  const hidden = some - choice.limit;
  el('more').hidden = hidden <= 0;
  setText(el('more'), `Show ${Math.min(hidden, ROWS_PER_STEP)} more (${figure(hidden)} not shown)`);
}

// Whether anything is recovered now.

/** By how grave it is; `watching` needs no words. */
const GUARD = {
  blind: 'Nothing is recovered: Shepherd cannot see how the fleet is',
  frozen: 'Recovery is frozen',
  grace: 'Nothing is recovered yet: grace after an outage or a start',
  suspicious: 'Nothing is recovered: too many machines are quiet at once',
};
const scopeName = (scope) => (scope === 'fleet' ? 'The fleet' : `Provider ${scope}`);

let drawnGuard = null;

/** Only when it is another one: whoever listens is told each time. */
function drawGuard() {
  const { guard } = fleet;
  if (guard === drawnGuard) return;
  drawnGuard = guard;
  const title = guard && GUARD[guard.state];
  el('guard').hidden = !title;
  if (!title) return;
  el('guard').dataset.guard = guard.state;
  setText(el('guard-title'), title);
  const scopes = guard.scopes.filter(({ state }) => GUARD[state]);
  el('guard-scopes').replaceChildren(...scopes.map(drawScope));
  drawGuardTimes();
}

function drawScope({ scope, state, reason, sinceMs, started, silent }) {
  const since = make('time');
  since.dataset.since = sinceMs ?? '';
  const figures = started ? `${silent} of ${started} silent` : '';
  const parts = [
    ...[make('b', '', scopeName(scope)), make('span', 'chip', state), since],
    ...[make('span', 'why', reason ?? ''), make('span', 'figures', figures)],
  ];
  const item = make('li', '', ...parts);
  item.dataset.scope = scope;
  item.dataset.guard = state;
  return item;
}

let drawnUnlisted = null;

function drawUnlisted() {
  const { unlisted } = fleet;
  if (unlisted === drawnUnlisted) return;
  drawnUnlisted = unlisted;
  el('unlisted').hidden = unlisted.length === 0;
  el('unlisted-providers').replaceChildren(
    ...unlisted.map(({ provider, sinceMs, cause }) => {
      const since = make('time');
      since.dataset.since = sinceMs;
      const name = make('b', '', scopeName(provider));
      const item = make('li', '', name, since, make('span', 'why', cause));
      item.dataset.provider = provider;
      return item;
    }),
  );
  drawGuardTimes();
}

let drawnPools = null;

function drawAllPools() {
  const { pools } = fleet;
  if (pools === drawnPools) return;
  drawnPools = pools;
  drawPools(el('pools'), el('pools-list'), pools);
  drawPoolTimes(el('pools'), nowMs(), span);
}

function drawGuardTimes() {
  for (const since of document.querySelectorAll('#guard-scopes time, #unlisted time')) {
    const known = since.dataset.since !== '';
    setText(since, known ? `for ${span(nowMs() - Number(since.dataset.since))}` : '');
  }
}

function drawNeedHuman() {
  const { needHuman } = fleet;
  el('need-human').hidden = !needHuman;
  const which =
    needHuman === 1 ? '1 machine needs' : `${needHuman.toLocaleString('en')} machines need`;
  setText(el('need-human-text'), `${which} a human: recovery has done what it may.`);
}

function drawSort() {
  for (const head of document.querySelectorAll('th[data-sort]')) {
    const here = head.dataset.sort === choice.sort;
    if (here) head.setAttribute('aria-sort', choice.down ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  }
}

function draw() {
  const chosen = matching();
  drawGuard();
  drawUnlisted();
  drawAllPools();
  drawNeedHuman();
  drawCounts();
  drawHeadline();
  drawEmpty(chosen);
  drawExtent(chosen);
  drawTraits();
  drawRows(chosen);
}

/** At most one drawing per frame, however many messages came. */
let drawing = false;
function drawSoon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    draw();
  });
}

function showAbout({ version, inspectorUrl, mayEraseDisks, traits }) {
  setText(el('version'), version);
  const searched = ['slot', 'id', 'address', ...traits.map(({ name }) => name), 'reason'];
  el('search').placeholder = `Search ${searched.join(', ')}`;
  el('erasing').hidden = mayEraseDisks.length === 0;
  const names = mayEraseDisks.join(', ');
  setText(
    el('erasing'),
    `Recovery may erase disks of ${names}: what nothing else brings back is reinstalled.`,
  );
  const inspector = el('inspector');
  inspector.hidden = !/^https?:\/\//.test(inspectorUrl ?? '');
  if (!inspector.hidden) inspector.href = inspectorUrl;
}

// What the reader chooses.

function choose({ toggle, text, sort, clear, needHuman }) {
  if (needHuman) Object.assign(choice, { states: new Set(['Quarantined']), text: 'needsHuman' });
  if (clear) Object.assign(choice, { states: new Set(), text: '' });
  if (toggle && !choice.states.delete(toggle)) choice.states.add(toggle);
  if (text !== undefined) choice.text = text;
  if (sort) {
    choice.down = choice.sort === sort && !choice.down;
    choice.sort = sort;
    fleet.orderStale = true;
  }
  choice.limit = ROWS_PER_STEP;
  if (clear || needHuman) el('search').value = choice.text;
  keepInAddress();
  drawSort();
  drawSoon();
}

/** The choice lives in the address, so that it survives a reload and can be passed on. */
function keepInAddress() {
  const params = new URLSearchParams();
  if (choice.states.size) params.set('state', [...choice.states].join(','));
  if (choice.text.trim()) params.set('q', choice.text.trim());
  const hash = params.size ? `#${params.toString().replaceAll('%2C', ',')}` : location.pathname;
  history.replaceState(null, '', hash);
}

function takeFromAddress() {
  const params = new URLSearchParams(location.hash.slice(1));
  const states = (params.get('state') ?? '').split(',').filter((name) => RANK.has(name));
  choice.states = new Set(states);
  choice.text = params.get('q') ?? '';
  el('search').value = choice.text;
}

function listenToReader() {
  const search = el('search');
  search.addEventListener('input', () => choose({ text: search.value }));
  el('clear').addEventListener('click', () => {
    choose({ clear: true });
    search.focus();
  });
  el('need-human-show').addEventListener('click', () => choose({ needHuman: true }));
  el('more').addEventListener('click', () => {
    choice.limit += ROWS_PER_STEP;
    drawSoon();
  });
  el('table').tHead.addEventListener('click', ({ target }) => {
    if (target.closest('button')) choose({ sort: target.closest('th').dataset.sort });
  });
  addEventListener('hashchange', () => {
    takeFromAddress();
    drawSoon();
  });
  addEventListener('keydown', (event) => {
    if (
      event.key === '/' &&
      !event.ctrlKey &&
      !event.metaKey &&
      document.activeElement !== search
    ) {
      event.preventDefault();
      search.focus();
    }
    if (event.key === 'Escape' && document.activeElement === search) choose({ clear: true });
  });
}

// The connection.

const LINK_TEXT = { connecting: 'Connecting', live: 'Live', reconnecting: 'Reconnecting' };

function showLink() {
  const state = link.live ? 'live' : link.base ? 'reconnecting' : 'connecting';
  el('connection').dataset.link = state;
  setText(el('connection'), LINK_TEXT[state]);
  const stale = state === 'reconnecting';
  el('stale').hidden = !stale;
  el('table').classList.toggle('stale', stale);
  if (stale) {
    const age = span(performance.now() - link.lastMessageAt);
    setText(
      el('stale'),
      `The connection to Shepherd is lost; trying again. What you see is ${age} old.`,
    );
  }
}

function heard(live) {
  link.lastMessageAt = performance.now();
  link.live = live;
  showLink();
}

function connect() {
  link.source?.close();
  const source = new EventSource('/events');
  link.source = source;
  link.openedAt = performance.now();
  const on = (type, take) =>
    source.addEventListener(type, (event) => {
      take(JSON.parse(event.data));
      heard(true);
      drawSoon();
    });
  on('snapshot', takeSnapshot);
  on('change', takeChange);
  source.addEventListener('tick', () => heard(true));
  source.addEventListener('error', () => {
    link.live = false;
    showLink();
  });
}

/** The browser retries a broken stream by itself, but neither a refused nor a silently dead one. */
function watchLink() {
  const since = performance.now() - Math.max(link.lastMessageAt, link.openedAt);
  const refused = link.source.readyState === EventSource.CLOSED && since > 2_000;
  if (refused || since > SILENCE_MAX_MS) {
    link.live = false;
    connect();
  }
}

function everySecond() {
  watchLink();
  showLink();
  if (document.hidden) return;
  drawGuardTimes();
  drawPoolTimes(el('pools'), nowMs(), span);
  const now = nowMs();
  for (const record of fleet.records.values()) if (record.row) drawTimes(record, now);
}

makeTiles();
takeFromAddress();
listenToReader();
drawSort();
draw();
connect();
setInterval(everySecond, 1_000);
setInterval(speak, SPOKEN_EVERY_MS);
