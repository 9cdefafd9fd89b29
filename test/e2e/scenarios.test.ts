import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { ScenarioName, ScenarioReport } from '../../src/commands/scenarios/scenario.ts';
import { hasHaproxyFor } from '../support/haproxy.ts';
import { takeFreePort } from '../../src/simulator/hosts/free-port.ts';
import { hasPromtool } from '../deploy/promtool.ts';
import { shepherd } from './commands.ts';
import {
  alertsDiffer,
  recordingOf,
  scrapeUntil,
  wasSpent,
  wereLost,
  type Recording,
} from './scenario-alerts.ts';

/** As the issue has them: 300. By default as few as show it, three at a time. */
const wanted = process.env['SHEPHERD_SCENARIO_MACHINES'];
const machinesOr = (usual: number) => Number(wanted ?? usual);
const together = wanted === undefined ? describe.concurrent : describe;
const LIMIT_MS = 1_800_000;
const PORTS = new Set<number>();
const KEYS = [
  ...['scenario', 'machines', 'running', 'restarts', 'reboots', 'powerCycles', 'reinstalls'],
  ...['needsHuman', 'maxRecovering', 'budget', 'frozenSeconds', 'beganAt'],
];
const ROLLING_KEYS = [
  ...['refused', 'cut', 'minActiveSeen', 'outOfTurn', 'requests', 'ended', 'seconds'],
  'requestsPerSecond',
];

const dir = mkdtempSync(join(tmpdir(), 'shepherd-scenarios-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/**
 * Plays it as a person would; nothing may be left of it. What its daemon exported meanwhile raises
 * exactly these alerts.
 */
async function play(
  scenario: ScenarioName,
  machines: number,
  alerts: readonly string[] | ((recording: Recording) => readonly string[]),
): Promise<ScenarioReport> {
  const { code, report, stderr, recording } = await run(scenario, machines);
  if (code !== 0) throw new Error(`ended with ${code}: ${stderr}`);
  expect(Object.keys(report)).toEqual(KEYS);
  expect(recording.series.size, 'it was scraped').toBeGreaterThan(20);
  const expected = typeof alerts === 'function' ? alerts(recording) : alerts;
  if (hasPromtool) expect(await alertsDiffer(recording, expected)).toBe('');
  return report;
}

async function run(scenario: ScenarioName, machines: number, ...more: string[]) {
  const scratch = mkdtempSync(join(dir, scenario));
  const port = await takeFreePort(PORTS);
  const flags = ['--json', '--console-port', String(port), '--timeout', '850', ...more];
  const { ended } = shepherd(
    ['sim', '--scenario', scenario, '--machines', String(machines), ...flags],
    { TMPDIR: scratch },
  );
  const scrapes = await scrapeUntil(port, ended);
  const { code, stdout, stderr } = await ended;
  if (stdout === '') throw new Error(`ended with ${code}: ${stderr}`);
  expect(stdout.endsWith('\n') && stdout.trimEnd().split('\n').length, 'one line').toBe(1);
  expect(readdirSync(scratch), 'no directory is left').toEqual([]);
  expect(processesUsing(scratch), 'no process is left').toEqual([]);
  const report = JSON.parse(stdout) as ScenarioReport & Record<string, number>;
  return { code, stderr, report, recording: recordingOf(scrapes, report.beganAt) };
}

/** Processes whose environment names the directory. */
const processesUsing = (path: string): string[] =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(path));

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return ''; // It ended while we looked, or is not ours to read.
  }
}

const nothingDone = { restarts: 0, reboots: 0, powerCycles: 0, reinstalls: 0, needsHuman: 0 };

together('a scenario keeps its promise', () => {
  test(
    'V56 storm: the agent server is out of reach; nothing is done to any machine',
    async () => {
      const machines = machinesOr(30);
      // Nobody is heard for half an hour of life.
      const report = await play('storm', machines, ['GuardFrozen', 'MachinesLost']);
      expect(report).toMatchObject({ ...nothingDone, machines, running: machines });
      expect(report).toMatchObject({ maxRecovering: 0 });
      expect(report.frozenSeconds).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  test(
    'V56 rack: machines without power end with a human, a few at a time; the others never notice',
    async () => {
      const machines = machinesOr(40);
      const rack = Math.min(30, Math.round(machines / 10));
      const report = await play('rack', machines, (recording) => [
        ...(wasSpent(recording) ? ['BudgetSpent'] : []),
        ...['MachinesLost', 'NeedHuman', 'ReinstallsMany'],
      ]);
      expect(report).toMatchObject({ machines, running: machines - rack, needsHuman: rack });
      const { maxRecovering, budget } = report;
      expect(budget).toBeGreaterThan(1);
      expect(budget).toBeLessThan(rack);
      expect(maxRecovering).toBe(budget);
      // Three reboots, two power cycles and two reinstallations of each, and no more.
      expect(report).toMatchObject({ restarts: 0, reboots: 3 * rack, powerCycles: 2 * rack });
      expect(report.reinstalls).toBe(2 * rack);
    },
    LIMIT_MS,
  );

  test(
    'V56 flap: agents that die again and again are tried on so often and no more',
    async () => {
      const machines = machinesOr(20);
      const struck = Math.min(10, Math.floor(machines / 20) || 2);
      const report = await play('flap', machines, (recording) => [
        // Each comes back each time: how long one is away is for its boots to say.
        ...(wereLost(recording) ? ['MachinesLost'] : []),
        ...(wasSpent(recording) ? ['BudgetSpent'] : []),
        ...['NeedHuman', 'ReinstallsMany'],
      ]);
      expect(report.running).toBe(machines - report.needsHuman);
      expect(report.needsHuman).toBe(Math.max(2, struck));
      const { needsHuman: each, maxRecovering, budget } = report;
      expect(report).toMatchObject({ restarts: 2 * each, reboots: 2 * each });
      expect(report).toMatchObject({ powerCycles: each, reinstalls: each });
      expect(maxRecovering).toBeLessThanOrEqual(budget);
    },
    LIMIT_MS,
  );
});

// By themselves: beside other fleets, machines cannot be reached in time, which the guard rightly tells.
describe.runIf(hasHaproxyFor('the scenario rolling'))('rolling', () => {
  test(
    'all machines are rebooted, and no client notices',
    async () => {
      // Three at a time: more would only take longer.
      const machines = Math.min(machinesOr(6), 12);
      const { code, report, stderr } = await run('rolling', machines);
      expect(stderr).toBe('');
      expect(code).toBe(0);
      expect(Object.keys(report)).toEqual([...KEYS, ...ROLLING_KEYS]);
      expect(report).toMatchObject({
        ...nothingDone,
        machines,
        running: machines,
        reboots: machines,
      });
      expect(report).toMatchObject({ refused: 0, cut: 0, outOfTurn: 0 });
      expect(report['minActiveSeen']).toBeGreaterThanOrEqual(machines - 3);
      expect(report['requestsPerSecond']).toBeGreaterThanOrEqual(50);
    },
    LIMIT_MS,
  );

  test(
    'without draining clients are cut, and it says so',
    async () => {
      const { code, report, stderr } = await run('rolling', 4, '--no-drain');
      expect(code).toBe(1);
      expect(stderr).toMatch(/rolling broke its promise:[^]* held connections were cut/);
      expect(report['reboots']).toBe(4);
      expect(report['cut']).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );
});

// Alone: it is about seconds, and the others keep the computer busy.
test(
  'V56 dead-agent: a killed agent is restarted over SSH, its machine is not touched',
  async () => {
    const machines = machinesOr(20);
    const report = await play('dead-agent', machines, []);
    const restarts = Math.min(5, Math.floor(machines / 10));
    expect(report).toMatchObject({ ...nothingDone, machines, running: machines, restarts });
    expect(report.maxRecovering, 'a restart needs no permit').toBe(0);
  },
  LIMIT_MS,
);

describe('what makes no sense is refused with one clear message', () => {
  const mistakes: [string, string[], RegExp][] = [
    ['unknown scenario', ['--scenario', 'flood'], /storm, rack, flap, dead-agent/],
    ['too few machines', ['--scenario', 'rack', '--machines', '29'], /at least 30 machines/],
    ['draining left out', ['--scenario', 'storm', '--no-drain'], /is for --scenario rolling/],
    ['no traffic to lose', ['--no-drain'], /is for --scenario rolling/],
    ['with chaos', ['--scenario', 'storm', '--chaos'], /cannot be used with.*--chaos/],
    [
      'with a directory',
      ['--scenario', 'storm', '--data-dir', dir],
      /cannot be used with.*--data-dir/,
    ],
  ];
  test.each(mistakes)('%s', async (_, flags, message) => {
    const { code, stdout, stderr } = await shepherd(['sim', ...flags]).ended;
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });
});
