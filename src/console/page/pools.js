/*
 * The pools of load balancers: how each stands at each of its balancers, and its members. Drawn anew
 * only when they are other ones; which of them are unfolded stays as the reader left it.
 */

const make = (tag, className, ...children) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
};

/** Members of a pool that are few enough to be shown without being asked for. */
const UNFOLDED_MAX = 12;
const MEMBER_STATES = ['active', 'warming', 'joining', 'draining', 'drained'];

const folds = new Map();
const nameOf = ({ pool, balancer }) => `${pool}@${balancer}`;

/** What each machine is to its pools, by its slot: a short text, and what stands behind it. */
export function membershipsOf(pools) {
  const found = new Map();
  for (const pool of pools) {
    for (const member of pool.members) {
      if (member.slot === null) continue;
      const said = member.note === null ? '' : `: ${member.note}`;
      const title = `Pool ${pool.pool} at balancer ${pool.balancer}: ${wordsOf(member)}${said}`;
      const chips = found.get(member.slot) ?? [];
      found.set(member.slot, [...chips, [`${nameOf(pool)} ${member.state}`, title]]);
    }
  }
  return found;
}

/** Draws all pools into the section, which is hidden where there are none. */
export function drawPools(section, list, pools) {
  section.hidden = pools.length === 0;
  list.replaceChildren(...pools.map(drawPool));
}

/** Times of what is drawn, by the daemon's clock. */
export function drawPoolTimes(section, nowMs, span) {
  for (const node of section.querySelectorAll('time')) {
    const { at, says } = node.dataset;
    const text = at === '' ? 'not settled yet' : says.replace('…', span(nowMs - Number(at)));
    if (node.textContent !== text) node.textContent = text;
  }
}

const timeOf = (atMs, says) => {
  const node = make('time');
  node.dataset.at = atMs ?? '';
  node.dataset.says = says;
  return node;
};

function drawPool(pool) {
  const name = nameOf(pool);
  const head = make(
    'summary',
    '',
    make('b', '', pool.pool),
    make('span', 'at', `at ${pool.balancer}${pool.driver === null ? '' : ` (${pool.driver})`}`),
    make('span', 'chip', pool.state ?? 'nobody tends it yet'),
    ...troublesOf(pool),
    timeOf(pool.settledAtMs, 'settled … ago'),
    make('span', 'figures', countsOf(pool)),
  );
  const fold = make('details', '', head, ...wordsFor(pool), membersTable(pool.members));
  fold.open = folds.get(name) ?? pool.members.length <= UNFOLDED_MAX;
  fold.addEventListener('toggle', () => folds.set(name, fold.open));
  const item = make('li', '', fold);
  item.dataset.pool = name;
  item.dataset.lb = pool.frozen ? 'frozen' : (pool.state ?? '');
  return item;
}

const troublesOf = ({ state, frozen, paused, tornDown }) =>
  [frozen && 'frozen', paused && 'paused', tornDown && 'torn down']
    .filter((text) => text && text !== state)
    .map((text) => make('span', 'chip alarm', text));

function wordsFor({ balancer, isTended, reason, frozen, paused, tornDown }) {
  const lines = [
    !isTended && `No daemon tends balancer ${balancer} now.`,
    reason,
    frozen && `Frozen: ${frozen.reason}`,
    paused && `Paused by ${paused.by}: ${paused.reason}`,
    tornDown && `Torn down by ${tornDown.by}: ${tornDown.reason}`,
  ];
  return lines.filter(Boolean).map((text) => make('p', 'why', text));
}

function countsOf({ members, minActive }) {
  const counts = MEMBER_STATES.map((state) => [
    members.filter((member) => member.state === state).length,
    state,
  ]).filter(([count]) => count > 0);
  const told = counts.map(([count, state]) => `${count} ${state}`).join(', ') || 'no members';
  return `${told}; at least ${minActive} active`;
}

function membersTable(members) {
  if (members.length === 0) return make('p', 'why', 'No machine is a member.');
  const heads = ['Member', 'State', 'For', 'Health', 'Sessions', 'Note'];
  const head = make('tr', '', ...heads.map((text) => make('th', '', text)));
  const rows = members.map((member) => {
    const row = make(
      'tr',
      '',
      make('td', '', member.slot ?? member.machineId),
      make('td', '', make('span', 'member', wordsOf(member))),
      make('td', '', timeOf(member.sinceMs, '…')),
      make('td', '', member.health ?? '–'),
      make('td', '', member.sessions === null ? '–' : String(member.sessions)),
      make('td', 'note', member.note ?? ''),
    );
    row.dataset.member = member.state;
    return row;
  });
  return make('table', '', make('thead', '', head), make('tbody', '', ...rows));
}

/** As the command line says it. */
const wordsOf = ({ state, how, waived, refused }) =>
  [state + (how === null ? '' : ` (${how})`), waived && 'waived', refused && 'refused']
    .filter(Boolean)
    .join(', ');
