import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import type { ConsoleDeps } from '../../../src/console/console.ts';
import { PROBLEM_CODES, PROBLEMS } from '../../../src/console/api/problem.ts';
import type { FleetView } from '../../../src/console/port.ts';
import { createMachineHistory } from '../../../src/daemon/views/machine-history.ts';
import type { NewEvent } from '../../../src/domain/events/fleet-event.ts';
import { providerName, slot } from '../../../src/domain/ids.ts';
import type { SlotFacts } from '../../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { STATES, SUBSTATES } from '../../../src/domain/states.ts';
import { idOf, machineStand, slotName } from '../../commands/machine-stand.ts';
import { createMemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { playScenes } from '../../support/scenes.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { providersView, providerSummary } from '../scripted-providers.ts';
import { askApi, openConsole } from './console-stand.ts';

const MINUTE = 60_000;
const FLEET = [
  machine('c', {
    ...{ state: 'Running', substate: 'healthy', address: '127.0.0.1:2201' },
    conditions: 'disk-failing,raid-degraded',
  }),
  machine('a', {
    ...{ state: 'Running', substate: 'late', location: 'da11', holds: ['no-recover'] },
    labels: 'rack=b4,team=web',
  }),
  machine('d', { state: 'Quarantined', substate: 'needsHuman', reason: 'Disk FELL out' }),
  machine('b', { sinceMs: AT_MS - 5 * MINUTE }),
];
const EVERYWHERE = STATES.flatMap((state) =>
  SUBSTATES[state].map((substate) => machine(`${state}.${substate}`, { state, substate })),
);
const named = (id: string, machineId: string) =>
  machine(id, { machineId, providerId: `device-${id}`, address: `192.0.2.${id.length}` });

const HOSTS: Readonly<Record<string, string>> = {
  ...{ a: 'Web-1.example.org', b: 'both', c: '192.0.2.9' },
};
const addressed: FleetView = {
  ...scriptedFleet(
    machine('a', { address: '192.0.2.7:2201' }),
    machine('b', { address: '[2001:db8::7]:22' }),
    machine('c', { address: 'both:22' }),
    machine('d', { address: '192.0.2.70:22' }),
    machine('e', { address: '2001:db8::9' }),
  ),
  facts: (name) => ({ listed: { hostname: HOSTS[name.split('/')[1]!] ?? null } }) as SlotFacts,
};

async function lived() {
  const stand = machineStand();
  const id = stand.add(1, { agentStarted: null, heartbeat: null });
  const session = await stand.daemon();
  await stand.submit({ verb: 'hold', kind: 'no-recover', untilMs: null }, slotName(1));
  stand.clock.increment(MINUTE);
  const work = await session.claim('ShepherdAgentStart', id);
  stand.clock.increment(MINUTE);
  await work.fail({ initialMs: 1_000, exponent: 1, maximumMs: 0 }, 'no route');
  return createMachineHistory(stand.bmdb.inspection, (place) =>
    place === slot('metal', 'slot-1') ? id : null,
  );
}

const FREEZE: NewEvent = {
  ...{ type: 'guard.frozen', actor: 'ann', reason: 'fire' },
  details: { scope: 'fleet', kind: 'manual' },
};
const HOLD: NewEvent = {
  ...{ type: 'hold.expired', actor: 'ann', reason: 'looked at', details: { kind: 'no-start' } },
  ...{ provider: providerName('rack'), slotId: 'a/b', machineId: idOf(1) },
};
async function happened(...events: readonly NewEvent[]) {
  const around = { clock: systemClock, random: systemRandom };
  const bmdb = createMemBmdb({ ...around, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  for (const event of events) await bmdb.events.append(event);
  return bmdb.events;
}
const fleetOf = (...ids: readonly string[]) => scriptedFleet(...ids.map((id) => machine(id)));

const CONSOLES: Readonly<Record<string, () => Promise<Partial<ConsoleDeps>>>> = {
  'four machines': async () => ({ fleet: scriptedFleet(...FLEET) }),
  'a machine in each place': async () => ({ fleet: scriptedFleet(...EVERYWHERE) }),
  'two machines with ids that begin alike': async () => ({
    fleet: scriptedFleet(named('abcd-1', '11112222'), named('abcd-22', '11113333')),
  }),
  'machines with addresses and host names': async () => ({ fleet: addressed }),
  'a provider of five slots': async () => ({
    ...{ fleet: fleetOf('a', 'b', 'c', 'd', 'e'), providers: providersView(providerSummary()) },
  }),
  'a machine that lived': async () => ({ history: await lived() }),
  'four events': async () => ({ events: await happened(FREEZE, HOLD, FREEZE, HOLD) }),
  nothing: async () => ({}),
};

/** The names of found machines; of other answers everything but the times. */
function toldOf(body: Record<string, unknown>): string {
  const found = body['machines'] ?? body['lines'] ?? body['slots'];
  if (body['code'] !== undefined) {
    const [first] = (body['errors'] ?? []) as readonly { readonly pointer: string }[];
    return [body['code'], first?.pointer, body['detail']].flatMap((part) => part ?? []).join(' ');
  }
  const { total, next, more } = body;
  const about = JSON.stringify({ total, next, more }, (_, value: unknown) => value ?? undefined);
  if (Array.isArray(found)) {
    const names = found.map((each: Record<string, string | boolean>) =>
      [
        each['slot']?.toString().replace('equinix/', ''),
        ...[each['by'], each['use'], each['of'], each['kind'], each['isFailure'] && 'failure'],
      ]
        .filter(Boolean)
        .join(' '),
    );
    return `${names.join(', ')} ${about}`;
  }
  return JSON.stringify(body, (key, value: unknown) =>
    key.endsWith('Ms') ? 0 : (value ?? undefined),
  );
}

/** Number and event type of each line of text. */
function linesOf(text: string): string {
  expect(text).toMatch(/\n$/);
  const lines = text.trimEnd().split('\n');
  const events = lines.map((line) => JSON.parse(line) as Record<'number' | 'type', string>);
  return `lines: ${events.map(({ number, type }) => `${number} ${type}`).join(', ')}`;
}

interface ConsoleHolder {
  console: Awaited<ReturnType<typeof openConsole>> | null;
}

test('answers reads and refuses meaningless ones by the table', () =>
  playScenes<ConsoleHolder>(import.meta.dirname, 'reading', {
    open: async () => ({ console: null }),
    async run({ console }, _, line) {
      const [path = '', accept = 'application/json'] = line.split(' | ');
      const url = `${console!.url}api/v1/${encodeURI(path).replaceAll('+', '%2B')}`;
      const answer = await fetch(url, { headers: { accept } });
      const { status, headers } = answer;
      const text = await answer.text();
      const isLines = headers.get('content-type')?.startsWith('application/x-ndjson');
      const told = isLines ? linesOf(text) : toldOf(JSON.parse(text) as Record<string, unknown>);
      const link = headers.get('link');
      expect(text).not.toContain('NaN');
      return `${status} ${told}${link === null ? '' : `\nlink: ${link}`}`;
    },
    steps: {
      console: async (shown, name) =>
        void (shown.console = await openConsole(await CONSOLES[name]!())),
    },
  }));

test('V40: gives a problem its media type, a code of the list, and a page at its type', async () => {
  const shown = await openConsole();
  const { status, headers, body } = await askApi<object>(shown, 'pools/nowhere?x=1');
  expect([status, headers.get('content-type')]).toEqual([404, 'application/problem+json']);
  expect(body).toEqual({
    ...{ type: '/problems/not-found', title: PROBLEMS['not-found'].title, status: 404 },
    ...{ detail: 'No pool is named nowhere', instance: '/api/v1/pools/nowhere', code: 'not-found' },
  });
  for (const code of PROBLEM_CODES) {
    const page = await fetch(`${shown.url}problems/${code}`);
    const about = expect.stringContaining(PROBLEMS[code].about);
    expect([page.status, await page.text()]).toEqual([200, about]);
  }
  expect((await fetch(`${shown.url}problems/nothing`)).status).toBe(404);
});
