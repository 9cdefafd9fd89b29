import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LiveMachine } from '../../../src/console/views.ts';
import type { Explanation } from '../../../src/domain/explanation/types.ts';
import { slotIdOf, type Slot } from '../../../src/domain/ids.ts';
import type { Provider } from '../../../src/adapters/provider/port.ts';
import { BEFORE_ALL } from '../../../src/adapters/bmdb/port.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import {
  createPlayedWorld,
  type PlayedDaemon,
  type PlayedWorld,
} from '../../support/played-world.ts';

/** One daemon in virtual time, and one machine that cannot be recovered. */

const MINUTE = 60_000;

interface Observation {
  readonly atMs: number;
  readonly place: string;
  readonly live: LiveMachine;
  /** The first with a time, otherwise the first. */
  explanation: Explanation;
}

let world: PlayedWorld;
let played: PlayedDaemon;
let broken: Slot;
const seen: Observation[] = [];
const signal = new AbortController().signal;

beforeAll(async () => {
  world = createPlayedWorld({ seed: 3, locations: { hall: 4 } });
  played = await world.start({ name: 'one' });
  const { board, insight } = played.daemon;
  await advance(world.clock, 12 * MINUTE);
  const host = [...world.hosts.values()][2]!;
  const address = [...world.hosts].find(([, each]) => each === host)![0];
  broken = [...board.entries.values()].find(({ view }) => address.startsWith(view.address!))!.view
    .slot;
  const look = () => {
    host.unreachable = true;
    const { state, substate } = board.entries.get(broken)!;
    const place = `${state} · ${substate}`;
    const live = insight.live(broken)!;
    const before = seen.at(-1);
    if (before?.place === place && before.live.task?.at === live.task?.at) {
      // A request becomes visible a moment after it is written.
      if (before.explanation.next.atMs === null) before.explanation = insight.glance(broken)!;
      return;
    }
    seen.push({ atMs: live.atMs, place, live, explanation: insight.glance(broken)! });
  };
  host.killAgent();
  for (let looks = 0; looks < 40; looks++) {
    if (seen.at(-1)?.place === 'Quarantined · needsHuman') break;
    await advance(world.clock, 5 * MINUTE, look);
  }
});
afterAll(async () => {
  await Promise.all([played.daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});

const placesSeen = () => seen.map(({ place }) => place);

describe('V16: a recovery', () => {
  test('shows each rung in order, and ends with a person', () => {
    const rungs = placesSeen().filter((place) => /rebooting|powerCycling|Quarantined/.test(place));
    expect([...new Set(rungs)]).toEqual([
      'Recovering · rebooting',
      'Recovering · powerCycling',
      'Quarantined · needsHuman',
    ]);
  });

  test('shows to the second when a rung is given up, and when its cool-down ends', () => {
    const offs = seen.slice(0, -1).flatMap(({ place, live, explanation: { next } }, at) => {
      const isTimed = /awaitingBoot/.test(live.task?.at ?? '') || /coolingDown/.test(place);
      return isTimed ? [{ place, off: seen[at + 1]!.atMs - next.atMs! }] : [];
    });
    expect(new Set(offs.map(({ place }) => place)).size).toBe(3);
    for (const { place, off } of offs) {
      // After a cool-down the machine waits for its permit, a moment longer for each setback.
      const atMost = place.endsWith('coolingDown') ? 20_000 : 1_000;
      expect(off, place).toBeGreaterThanOrEqual(-1_000);
      expect(off, place).toBeLessThanOrEqual(atMost);
    }
  });

  test('shows the state of the task’s chart, and the previous state', () => {
    const rebooting = seen.find(({ place }) => place === 'Recovering · rebooting')!;
    expect(rebooting.live).toMatchObject({
      life: 'Recovering.working',
      requests: 'idle',
      task: { chart: 'recovery', at: expect.stringMatching(/^rebooting\./) },
      agrees: true,
      last: { from: { state: 'Recovering' }, to: { state: 'Recovering', substate: 'rebooting' } },
    });
    expect(played.metrics.total('shepherd_state_mismatch_total')).toBe(0);
  });
});

test('V15: counts a late machine as silent just after the announced time', () => {
  const at = seen.findIndex(({ place }) => place === 'Running · late');
  const [late, after] = [seen[at]!, seen[at + 1]!];
  expect(late.live.timer).toMatchObject({
    from: { state: 'Running', substate: 'late' },
    to: { state: 'Running', substate: 'silent' },
  });
  expect(Math.abs(after.atMs - late.explanation.next.atMs!)).toBeLessThanOrEqual(1_000);
});

test('V13: gives an event the reason in the sentence of its machine', async () => {
  const { events } = await world.bmdb.events.read({ after: BEFORE_ALL, limit: 1_000 }, signal);
  const [event, ...others] = events.filter(({ type }) => type === 'machine.needs_human');
  expect([event!.slotId, others]).toEqual([slotIdOf(broken), []]);
  const { sentence } = (await played.daemon.insight.explain(broken, signal))!;
  // A sentence has at most 240 characters.
  const [, reason = ''] = /because (.*?)…?; nothing is done/s.exec(sentence)!;
  expect(reason.length).toBeGreaterThan(60);
  expect(event!.reason.startsWith(reason), sentence).toBe(true);
});

test('recovers each of two machines by the means that it has, and says what the other lacks', async () => {
  const mixed = createPlayedWorld({ seed: 5, locations: { hall: 6 } });
  let bare: string | null = null;
  const rebooted: string[] = [];
  const driven = (provider: Provider): Provider => ({
    ...provider,
    async listMachines(...given) {
      const { machines, ...rest } = await provider.listMachines(...given);
      const lacks = ['reboot', 'power'] as const;
      return {
        ...rest,
        machines: machines.map((each) => (each.id === bare ? { ...each, lacks } : each)),
      };
    },
    rebootMachine: (id, ...rest) => (rebooted.push(id), provider.rebootMachine(id, ...rest)),
  });
  const { daemon } = await mixed.start({ name: 'one', driven });
  await advance(mixed.clock, 12 * MINUTE);
  const lost = [...mixed.hosts].slice(0, 2).map(([address, host]) => {
    host.killAgent();
    const { view } = [...daemon.board.entries.values()].find((each) =>
      address.startsWith(each.view.address!),
    )!;
    return { host, slot: view.slot, id: view.providerId! };
  });
  const [first, second] = lost as [(typeof lost)[0], (typeof lost)[0]];
  bare = first.id;
  for (let looks = 0; looks < 20; looks++) {
    await advance(mixed.clock, 5 * MINUTE, () => {
      for (const { host } of lost) host.unreachable = true;
    });
  }
  expect(new Set(rebooted), 'only the other one').toEqual(new Set([second.id]));
  const { sentence } = (await daemon.insight.explain(first.slot, signal))!;
  expect(sentence).toMatch(/it needs a person; .*next: restart of its agent/);
  const barsOf = (slot: Slot) =>
    daemon.insight
      .ladder(slot)!
      .rungs.flatMap(({ rung, bar }) =>
        ['rebooting', 'powerCycling'].includes(rung) ? [bar] : [],
      );
  expect(barsOf(first.slot)).toEqual(Array(2).fill('this machine has no means for it'));
  expect(barsOf(second.slot)).toEqual([null, null]);
  await Promise.all([daemon.stop(), advance(mixed.clock, MINUTE)]);
  mixed.end();
});
