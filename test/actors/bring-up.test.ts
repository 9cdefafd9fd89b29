import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { BoardEntry } from '../../src/actors/board.ts';
import { advance, settled } from '../doubles/simulated-clock.ts';
import { createPlayedWorld, type PlayedDaemon, type PlayedWorld } from '../support/played-world.ts';

/**
 * Costs of a machine in the actor systems, counted from a reservation to a reporting agent, and at
 * rest. A figure may fall; a change that raises it must say why.
 */
const MINUTE = 60_000;
const MACHINES = 10;
const PER_MACHINE = { events: 32, microsteps: 17, snapshots: 32, actors: 11 };

let world: PlayedWorld;
let played: PlayedDaemon;
let counts: Record<keyof typeof PER_MACHINE, number>;
let entries: BoardEntry[];

const NAMES: Partial<Record<InspectionEvent['type'], keyof typeof PER_MACHINE>> = {
  '@xstate.event': 'events',
  '@xstate.microstep': 'microsteps',
  '@xstate.snapshot': 'snapshots',
  '@xstate.actor': 'actors',
};
const isInCell = (ref: AnyActorRef): boolean =>
  ref._parent ? isInCell(ref._parent) : ref.id.startsWith('cell-');
const inspect = ({ type, actorRef }: InspectionEvent) => {
  const name = NAMES[type];
  if (name && isInCell(actorRef as AnyActorRef)) counts[name] += 1;
};
const none = () => ({ events: 0, microsteps: 0, snapshots: 0, actors: 0 });
const shown = () => [...played.daemon.board.entries.values()];
const areHealthy = () =>
  shown().length === MACHINES && shown().every(({ substate }) => substate === 'healthy');

beforeEach(async () => {
  [counts, entries] = [none(), []];
  world = createPlayedWorld({
    seed: 1,
    locations: { rack: MACHINES },
    config: {
      provisioner: { concurrentCreations: MACHINES, deviceCreationRate: '0s' },
      initializer: { loopParallelism: 3 },
    },
    ofProvider: { callsPerSecond: 0 },
  });
  played = await world.start({ name: 'one', inspect });
  played.daemon.parts.changes.subscribe((change) => {
    if (change.type === 'changed') entries.push(change.entry);
  });
  for (let at = 0; at < 20 && !areHealthy(); at += 1) await advance(world.clock, MINUTE);
});
afterEach(async () => {
  const stopped = played.daemon.stop();
  await advance(world.clock, MINUTE);
  await stopped;
  world.end();
  await settled();
  expect(world.clock.pending).toBe(0);
});

test('needs a fixed number of events to bring up a machine, each step visible', () => {
  expect(areHealthy()).toBe(true);
  for (const [name, most] of Object.entries(PER_MACHINE)) {
    const each = counts[name as keyof typeof PER_MACHINE] / MACHINES;
    expect(each, name).toBeLessThanOrEqual(most);
  }
  const [{ view }] = entries as [BoardEntry];
  const ofOne = entries.filter((entry) => entry.view.slot === view.slot);
  const places = ofOne.map(({ state, substate }) => `${state} ${substate}`);
  const moves = places.filter((place, at) => place !== places[at - 1]);
  expect(moves.slice(moves.indexOf('Provisioned waiting'))).toEqual([
    'Provisioned waiting',
    'AgentStarting claiming',
    'AgentStarting connecting',
    'AgentStarting verifying',
    'AgentStarting uploading',
    'AgentStarting executing',
    'AgentStarting recording',
    'Running awaitingHeartbeat',
    'Running healthy',
  ]);
});

test('costs actors nothing while a fleet is idle or machines are late', async () => {
  counts = none();
  await advance(world.clock, 10 * MINUTE);
  expect(counts).toEqual(none());
  expect(areHealthy()).toBe(true);
  for (const host of world.hosts.values()) host.killAgent();
  await advance(world.clock, 3 * MINUTE);
  expect(shown().map(({ substate }) => substate)).toEqual(shown().map(() => 'late'));
  expect(counts).toEqual(none());
});
