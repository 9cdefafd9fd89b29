import { describe, expect, test } from 'vitest';
import {
  doingText,
  fleetStatus,
  hasNext,
  needsText,
  nextOfMachine,
  type StatusFacts,
} from '../../src/domain/fleet-status.ts';
import { headlineOf } from '../../src/domain/headline.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { rowOf, rowsIn } from '../support/fact-words.ts';
import { NOW_MS } from '../support/facts.ts';
import { testRows } from '../support/rows.ts';

const MINUTE = 60_000;
const calm: StatusFacts = {
  nowMs: NOW_MS,
  headline: headlineOf([{ word: 'healthy', machines: 12 }]),
  needHuman: 0,
  scopes: [],
  unlisted: [],
  machines: [],
};
const frozen = {
  scope: 'fleet',
  state: 'frozen',
  sinceMs: NOW_MS - MINUTE,
  reason: '10 of 12 started machines fell silent together',
  ends: 'It cannot end by itself while 10 are silent.',
  endsAtMs: null,
} as const;

describe('the status of a fleet', () => {
  test('needs nobody when all is well', () => {
    const told = fleetStatus(calm);
    expect(told).toEqual({ needs: [], doing: [], next: null });
    expect([needsText(told), doingText(told)]).toEqual(['nothing', 'nothing is under way']);
  });

  test('needs a person for a freeze, a provider that cannot be listed, and single machines', () => {
    const told = fleetStatus({
      ...calm,
      scopes: [frozen],
      unlisted: [{ provider: 'racks', sinceMs: 7, cause: 'connection refused' }],
      needHuman: 2,
    });
    expect(told.needs).toMatchObject([
      {
        ...{ kind: 'guard', scope: 'fleet', sinceMs: NOW_MS - MINUTE },
        title: 'recovery is frozen for the fleet',
        text: `${frozen.reason}. ${frozen.ends}`,
      },
      { kind: 'unlisted', scope: 'racks', sinceMs: 7, text: 'connection refused' },
      { kind: 'machines', title: '2 machines need a person' },
    ]);
  });

  test('needs a person when no daemon judges the fleet, and none for a grace time', () => {
    const blind = { ...frozen, state: 'blind', reason: 'no daemon is alive', ends: null } as const;
    expect(fleetStatus({ ...calm, scopes: [blind] }).needs).toMatchObject([
      { kind: 'guard', text: 'no daemon is alive' },
    ]);
    const deaf = {
      ...frozen,
      state: 'grace',
      reason: 'heartbeats are not being received',
    } as const;
    expect(fleetStatus({ ...calm, scopes: [deaf] }).needs).toMatchObject([
      { title: 'nothing is recovered in the fleet' },
    ]);
    const grace = { ...frozen, state: 'grace', endsAtMs: NOW_MS + MINUTE } as const;
    expect(fleetStatus({ ...calm, scopes: [grace] })).toMatchObject({
      needs: [],
      next: { atMs: NOW_MS + MINUTE, text: 'recovery begins again for the fleet' },
    });
  });

  test('lists the work that is under way', () => {
    const headline = headlineOf([
      { word: 'recovering', machines: 2 },
      { word: 'silent', machines: 3 },
      { word: 'starting', machines: 1 },
    ]);
    expect(doingText(fleetStatus({ ...calm, headline }))).toBe('2 recovering · 1 starting');
  });

  test('names the next event of the fleet', () => {
    const machines = [
      { atMs: NOW_MS + 3, text: 'later' },
      { atMs: NOW_MS + 2, text: 'first' },
      { atMs: NOW_MS - 1, text: 'it was' },
    ];
    expect(fleetStatus({ ...calm, machines }).next).toEqual(machines[1]);
    const thaw = { ...frozen, endsAtMs: NOW_MS + 1 };
    expect(fleetStatus({ ...calm, machines, scopes: [thaw] }).next).toEqual({
      atMs: NOW_MS + 1,
      text: 'recovery thaws for the fleet',
    });
  });
});

testRows(
  rowsIn(`
    Running late heard 2m → 8m racks/srv-1 counts as silent
    Running silent heard 20m, backoff Recovery +1m, next +2m → 2m recovery of racks/srv-1 is tried again
    Running silent barred heard 20m, backoff Recovery +1m → 40m racks/srv-1 needs a person, unless its agent reports
    Provisioned backingOff backoff AgentStart +1m → 1m the agent of racks/srv-1 is started again
    Running healthy heard 0 → null
  `),
)('names what comes next for a machine: %s: %s', (words, told) => {
  const [, state = '', substate = '', barred, facts] = /^(\w+) (\w+) (barred )?(.*)$/.exec(words)!;
  const next = nextOfMachine(
    {
      ...{ slot: 'racks/srv-1', state, substate, needsHuman: false },
      ...{ row: rowOf(facts!), isBarred: barred !== undefined },
    },
    { nowMs: NOW_MS, loss: DEFAULT_LOSS },
  );
  expect(next ? `${(next.atMs - NOW_MS) / MINUTE}m ${next.text}` : 'null').toBe(told);
});

test('names no timed event for a healthy machine', () => {
  expect(hasNext({ state: 'Running', substate: 'healthy' })).toBe(false);
  expect(hasNext({ state: 'Running', substate: 'silent' })).toBe(true);
});

test('a frozen pool needs a person', () => {
  const pools = [
    { pool: 'web', balancer: 'edge', frozen: { atMs: 7, reason: '3 members would leave at once' } },
    { pool: 'db', balancer: 'edge', frozen: null },
  ];
  expect(fleetStatus({ ...calm, pools }).needs).toEqual([
    {
      ...{ kind: 'pool', title: 'pool web at edge is frozen', sinceMs: 7, scope: null },
      text: '3 members would leave at once. "shepherd lb thaw web" accepts that',
    },
  ]);
});

test('machines with conditions need a person, too', () => {
  const headline = headlineOf([{ word: 'healthy', machines: 2 }], 1);
  expect(fleetStatus({ ...calm, headline }).needs).toMatchObject([
    { kind: 'conditions', title: '1 machine has a condition' },
  ]);
});
