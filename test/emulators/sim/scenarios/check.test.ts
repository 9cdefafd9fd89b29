import { describe, expect, test } from 'vitest';
import { judge, type Surroundings } from '../../../../emulators/sim/scenarios/check.ts';
import type {
  ScenarioOutcome,
  ScenarioName,
} from '../../../../emulators/sim/scenarios/scenario.ts';
import type { ScenarioStage } from '../../../../emulators/sim/scenarios/scenario.ts';
import type { HostSnapshot } from '../../../../emulators/hosts/options.ts';

/** The sources' data for a scenario that kept every promise. */
const quiet = {
  scenario: 'storm' as ScenarioName,
  machines: 40,
  struck: [] as string[],
  running: 40,
  agents: 40,
  boots: 0,
  stops: 0,
  programs: 0,
  installs: 0,
  actions: {} as Record<string, number>,
  asked: {} as Record<string, number>,
  agentStarts: 0,
  shownHuman: 0,
  human: 0,
  peak: 0,
  peakOfPlace: 0,
  budget: 2,
  frozen: 12,
  frozenHere: 12.5,
  noticed: {} as Record<string, string>,
  left: {} as Record<string, string>,
  violations: [] as string[],
};
type ScenarioFacts = typeof quiet;
const many = (count: number, name = 'm') =>
  new Set(Array.from({ length: count }, (_, at) => `${name}${at}`));

async function verdictOn(change: Partial<ScenarioFacts>) {
  const told = { ...quiet, ...change };
  const { boots, stops, programs, installs, actions } = told;
  const seen = { boots, stops, programs, installs };
  const hosts = [...many(told.machines)].map((deviceId, at) => ({
    deviceId,
    powerless: false,
    agents: at < told.agents ? 1 : 0,
  })) as unknown as HostSnapshot[];
  const entries = hosts.map(({ deviceId }) => [deviceId, { view: { location: 'place' } }] as const);
  const stage = {
    machines: told.machines,
    hosts: { list: () => hosts },
    daemon: {
      guard: () => ({ frozenSeconds: 100 + told.frozenHere }),
      board: { entries: new Map(entries) },
    },
    mark: {},
    truth: {
      violations: () => told.violations,
      deeds: () => ({ seen, actions, actionsOf: new Map([['m0', actions]]), seenBy: new Map() }),
    },
    audit: {
      asked: async () => told.asked,
      agentStarts: async () => told.agentStarts,
      permits: async () => ({
        fleet: told.peak,
        byLocation: new Map([['place', told.peakOfPlace]]),
      }),
      frozenSeconds: async () => told.frozen,
      quarantined: async () => many(told.human),
      noticed: async () => new Map(Object.entries(told.noticed)),
    },
    shown: (state: string) => many(state === 'Running' ? told.running : told.shownHuman),
  } as unknown as ScenarioStage;
  const around: Surroundings = {
    name: told.scenario,
    stage,
    beganAtMs: Date.parse('2026-11-27T20:45:03.120Z'),
    frozenBefore: 100,
    left: new Map(Object.entries(told.left)),
  };
  const outcome: ScenarioOutcome = { struck: told.struck, budget: told.budget, broken: [] };
  return judge(around, outcome);
}

const restarted: Partial<ScenarioFacts> = {
  scenario: 'dead-agent',
  struck: ['m0'],
  stops: 1,
  asked: { restartingAgent: 1 },
  programs: 1,
  agentStarts: 1,
  peak: 0,
  peakOfPlace: 0,
  frozen: 0,
  frozenHere: 0,
  noticed: { m0: 'recoveryAsked restartingAgent' },
  left: { m0: 'Recovering' },
};
const lost: Partial<ScenarioFacts> = {
  scenario: 'rack',
  struck: ['m0', 'm1'],
  running: 38,
  agents: 38,
  human: 2,
  shownHuman: 2,
  actions: { reboot: 6, power_off: 4, power_on: 4, reinstall: 4 },
  asked: { rebooting: 6, powerCycling: 4, reinstalling: 4 },
  installs: 4,
  boots: 14,
  peak: 2,
  peakOfPlace: 2,
  frozen: 0,
  frozenHere: 0,
};

const rolled: Partial<ScenarioFacts> = {
  scenario: 'rolling',
  machines: 4,
  struck: ['m0', 'm1', 'm2', 'm3'],
  running: 4,
  agents: 4,
  actions: { reboot: 4 },
  asked: { rebooting: 4 },
  boots: 4,
  programs: 4,
  agentStarts: 4,
  peak: 1,
  peakOfPlace: 1,
  frozen: 0,
  frozenHere: 0,
};

test('rolling: reboots each machine once, and does nothing more', async () => {
  expect((await verdictOn(rolled)).broken).toEqual([]);
  const [less, more] = [3, 5].map((reboots) => ({
    ...rolled,
    actions: { reboot: reboots },
    asked: { rebooting: reboots },
    boots: reboots,
  }));
  expect((await verdictOn(less!)).broken).toEqual(['3 of 4 machines were rebooted']);
  expect((await verdictOn(more!)).broken).toEqual([
    '1 reboots, power cycles and reinstallations that nobody ordered',
  ]);
});

test('reports its keys in order, from machines, provider and database', async () => {
  const { report, broken } = await verdictOn(lost);
  expect(broken).toEqual([]);
  expect(JSON.stringify(report)).toBe(
    '{"scenario":"rack","machines":40,"running":38,"restarts":0,"reboots":6,"powerCycles":4,' +
      '"reinstalls":4,"needsHuman":2,"maxRecovering":2,"budget":2,"frozenSeconds":0,' +
      '"beganAt":"2026-11-27T20:45:03.120Z"}',
  );
});

test.each<[string, Partial<ScenarioFacts>]>([
  ['a storm in which nothing is done', {}],
  ['an agent that is restarted', restarted],
  ['machines that end with a human', lost],
])('%s keeps the promise', async (_, told) => {
  expect((await verdictOn(told)).broken).toEqual([]);
});

describe('broken', () => {
  test.each<[string, Partial<ScenarioFacts>, RegExp]>([
    ['a machine that does not run', { running: 39, agents: 39 }, /^39 of 40 machines run$/],
    ['a storm without a freeze', { frozen: 0, frozenHere: 0 }, /never frozen/],
    [
      'a restart in a storm',
      { ...restarted, scenario: 'storm', frozen: 9, frozenHere: 9 },
      /1 agents were restarted/,
    ],
    [
      'a reboot for a dead agent',
      {
        ...restarted,
        actions: { reboot: 1 },
        asked: { restartingAgent: 1, rebooting: 1 },
        boots: 1,
      },
      /^1 reboots, power cycles/,
    ],
    ['a human needed for nothing', { human: 1, shownHuman: 1 }, /^1 machines need a human/],
    ['more than the budget', { ...lost, peak: 3 }, /3 machines were recovering at once/],
    ['a rack whose permits nobody saw', { ...lost, peak: 0, peakOfPlace: 0 }, /^0 .* 2 could have/],
    ['a rack that used not all of its budget', { ...lost, peak: 1 }, /^1 machines were recovering/],
    ['a reboot without a permit', { ...rolled, peak: 0, peakOfPlace: 0 }, /^0 machines were/],
    ['more than a location may have', { ...lost, peakOfPlace: 3 }, /3 recovering at once in place/],
    ['a bystander in the log', { noticed: { m7: 'workFailed x' } }, /bystander m7: workFailed x/],
    ['a bystander that was not Running', { left: { m7: 'Recovering' } }, /m7 was Recovering/],
    ['a world that cannot be', { violations: ['two devices'] }, /inconsistent: two devices/],
  ])('%s', async (_, told, text) => {
    expect((await verdictOn(told)).broken).toEqual([expect.stringMatching(text)]);
  });

  test.each<[string, Partial<ScenarioFacts>, RegExp]>([
    ['reboots', { ...lost, asked: { ...lost.asked, rebooting: 7 } }, /reboots: 6 .* 7 by the log/],
    ['restarts', { ...restarted, asked: { restartingAgent: 2 } }, /restarts: 1 .* 2 by the log/],
    ['power cycles', { ...lost, asked: { ...lost.asked, powerCycling: 3 } }, /power cycles: 4/],
    ['reinstallations', { ...lost, installs: 3 }, /reinstallations: 4 .* 3 by the machines, 4/],
    ['boots', { ...lost, boots: 13 }, /boots: 13 by the machines, 14 by the provider/],
    ['agents that run', { agents: 39 }, /agents that run: 39 by the machines, 40 by the daemon/],
    ['agents started', { ...restarted, agentStarts: 2 }, /agents started: 1 .* 2 by the log/],
    ['those that need a human', { ...lost, shownHuman: 1 }, /need a human: 1 by the daemon, 2/],
    ['the freeze', { frozenHere: 30 }, /frozen for 12 s by the database, 30 s by the daemon/],
  ])('sources that do not agree on %s', async (_, told, text) => {
    expect((await verdictOn(told)).broken).toEqual([expect.stringMatching(text)]);
  });
});
