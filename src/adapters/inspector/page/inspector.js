/*
 * Actors, live. Events come over a web socket in the Stately inspector's own form; this page lists
 * them itself, and hands them on to the inspector in a frame when asked to. All text from outside
 * is put into the page as text.
 */

const STATELY_ORIGIN = 'https://stately.ai';
const STATELY_URL = `${STATELY_ORIGIN}/inspect`;
const ANSWER_WITHIN_MS = 15_000;
const EVENTS_KEPT = 50;
const ACTORS_KEPT = 1_000;
const FINISHED_KEPT = 50;

const el = (id) => document.getElementById(id);
const setText = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

/** By session id: the latest registration and snapshot, recent events, and the line in the list. */
const actors = new Map();
/** The machine that the address chooses; empty: the supervisor and the first cell. */
const slot = new URLSearchParams(location.search).get('slot') ?? '';
const view = { chosen: null, filter: '', drawing: false, dropped: 0 };
const frame = { element: null, connected: false };

// Events in.

function take(message) {
  if (message.type === 'shepherd.dropped') {
    view.dropped += message.count;
  } else {
    remember(message);
    passOn(message);
  }
  drawSoon();
}

function remember(message) {
  const actor = actorOf(message.sessionId);
  if (message.type === '@xstate.event') {
    const at = new Date(Number(message.createdAt)).toLocaleTimeString();
    actor.events.unshift(`${at}  ${message.event.type}`);
    actor.events.length = Math.min(actor.events.length, EVENTS_KEPT);
    return;
  }
  if (message.type === '@xstate.actor') actor.registration = message;
  else actor.update = message;
  actor.snapshot = message.snapshot;
  if (isOver(actor)) forgetOldFinished();
}

const isOver = ({ snapshot }) => (snapshot?.status ?? 'active') !== 'active';

/** Tasks come and go; the last ones that went are worth a look. */
function forgetOldFinished() {
  const finished = [...actors.values()].filter(isOver);
  for (const { id } of finished.slice(0, -FINISHED_KEPT)) forget(id);
}

function actorOf(id) {
  if (!actors.has(id)) {
    if (actors.size >= ACTORS_KEPT) forget(actors.keys().next().value);
    actors.set(id, {
      id,
      events: [],
      snapshot: null,
      registration: null,
      update: null,
      line: null,
    });
  }
  return actors.get(id);
}

function forget(id) {
  actors.get(id)?.line?.item.remove();
  actors.delete(id);
}

// The inspector in its frame.

function passOn(message) {
  if (frame.connected) frame.element.contentWindow.postMessage(message, STATELY_ORIGIN);
}

function openStately() {
  el('consent').hidden = true;
  frame.element = document.createElement('iframe');
  frame.element.title = 'Stately inspector';
  frame.element.src = STATELY_URL;
  el('stately').append(frame.element);
  setTimeout(() => {
    el('unanswered').hidden = frame.connected;
    frame.element.hidden = !frame.connected;
  }, ANSWER_WITHIN_MS);
}

/** The inspector says when it listens; it then wants to hear of everything that is there. */
function onFrameMessage({ origin, source, data }) {
  if (origin !== STATELY_ORIGIN || source !== frame.element?.contentWindow) return;
  if (data?.type !== '@statelyai.connected') return;
  frame.connected = true;
  frame.element.hidden = false;
  el('unanswered').hidden = true;
  for (const { registration, update } of actors.values()) {
    if (registration) passOn(registration);
    if (update) passOn(update);
  }
}

// The list.

/** `a`, `a.b`, or for parallel regions `a | b.c`. */
function valueText(value) {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  const parts = Object.entries(value).map(([name, inner]) => {
    const rest = valueText(inner);
    return rest ? `${name}.${rest}` : name;
  });
  return parts.join(' | ');
}

function depthOf(actor) {
  let depth = 0;
  let at = actor;
  while (depth < 3 && (at = actors.get(at.registration?.parentId))) depth += 1;
  return depth;
}

/** Parents before their children, in the order in which they appeared. */
function inTreeOrder() {
  const children = Map.groupBy(actors.values(), ({ registration }) => {
    const parent = registration?.parentId;
    return actors.has(parent) ? parent : null;
  });
  const walk = (parent) =>
    (children.get(parent) ?? []).flatMap((actor) => [actor, ...walk(actor.id)]);
  return walk(null);
}

function makeLine(actor) {
  const item = document.createElement('li');
  const button = document.createElement('button');
  const name = document.createElement('span');
  const value = document.createElement('span');
  value.className = 'value';
  button.type = 'button';
  button.append(name, value);
  button.addEventListener('click', () => {
    view.chosen = actor.id;
    drawSoon();
  });
  item.append(button);
  return { item, button, name, value };
}

function drawLine(actor) {
  actor.line ??= makeLine(actor);
  const { item, button, name, value } = actor.line;
  name.className = `name depth-${depthOf(actor)}`;
  setText(name, actor.registration?.name ?? actor.id);
  setText(value, valueText(actor.snapshot?.value) || (actor.snapshot?.status ?? ''));
  item.toggleAttribute('data-over', isOver(actor));
  item.hidden = !`${name.textContent} ${value.textContent}`.toLowerCase().includes(view.filter);
  button.setAttribute('aria-current', String(actor.id === view.chosen));
  return item;
}

function drawDetail() {
  const actor = actors.get(view.chosen);
  el('chosen').hidden = !actor;
  el('unchosen').hidden = Boolean(actor);
  if (!actor) return;
  setText(el('name'), actor.registration?.name ?? actor.id);
  setText(el('value'), valueText(actor.snapshot?.value));
  setText(el('status'), actor.snapshot?.status ?? '');
  setText(el('context'), JSON.stringify(actor.snapshot?.context, null, 2) ?? 'none');
  const lines = actor.events.map((text) => {
    const line = document.createElement('li');
    line.textContent = text;
    return line;
  });
  el('events').replaceChildren(...lines);
}

function draw() {
  const list = el('list');
  let at = list.firstElementChild;
  for (const actor of inTreeOrder()) {
    const item = drawLine(actor);
    if (item === at) at = at.nextElementSibling;
    else list.insertBefore(item, at);
  }
  el('nobody').hidden = actors.size > 0;
  const isThere = [...actors.values()].some(({ registration }) => registration?.name === slot);
  el('missing').hidden = slot === '' || isThere;
  setText(el('dropped'), view.dropped ? `${view.dropped} events of bursts not shown` : '');
  drawDetail();
}

function drawSoon() {
  if (view.drawing) return;
  view.drawing = true;
  requestAnimationFrame(() => {
    view.drawing = false;
    draw();
  });
}

// The connection, and what the reader chooses.

function showLink(state, text) {
  el('connection').dataset.link = state;
  setText(el('connection'), text);
}

function connect() {
  const socket = new WebSocket(`ws://${location.host}/events${location.search}`);
  socket.addEventListener('open', () => {
    for (const id of [...actors.keys()]) forget(id);
    showLink('live', 'Live');
    drawSoon();
  });
  socket.addEventListener('message', ({ data }) => take(JSON.parse(data)));
  socket.addEventListener('close', ({ reason }) => {
    showLink('reconnecting', reason || 'Reconnecting');
    setTimeout(connect, 1_000);
  });
}

function showTab(name) {
  for (const tab of ['actors', 'stately']) {
    el(tab).hidden = tab !== name;
    el(`tab-${tab}`).setAttribute('aria-selected', String(tab === name));
  }
}

el('tab-actors').addEventListener('click', () => showTab('actors'));
el('tab-stately').addEventListener('click', () => showTab('stately'));
el('open').addEventListener('click', openStately);
el('search').addEventListener('input', ({ target }) => {
  view.filter = target.value.toLowerCase();
  drawSoon();
});
addEventListener('message', onFrameMessage);
el('slot').value = slot;
el('subject').addEventListener('submit', (event) => {
  event.preventDefault();
  const wanted = el('slot').value.trim();
  location.search = wanted === '' ? '' : `?slot=${encodeURIComponent(wanted)}`;
});
connect();
