import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { hasHaproxyFor } from '../support/haproxy.ts';
import { testRows } from '../support/rows.ts';
import { processesUsing, shepherd } from './commands.ts';

const LIMIT_MS = 1_800_000;
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

/** Runs the scenario like a person; nothing of it may remain. */
async function play(scenario: string, machines: number, ...more: string[]) {
  const scratch = mkdtempSync(join(dir, scenario));
  const flags = ['--json', '--console-port', '0', '--timeout', '850', ...more];
  const { code, stdout, stderr } = await shepherd(
    ['sim', '--scenario', scenario, '--machines', String(machines), ...flags],
    { TMPDIR: scratch },
  ).ended;
  if (stdout === '') throw new Error(`ended with ${code}: ${stderr}`);
  expect(stdout.endsWith('\n') && stdout.trimEnd().split('\n').length, 'one line').toBe(1);
  expect(readdirSync(scratch), 'no directory is left').toEqual([]);
  expect(processesUsing(scratch), 'no process is left').toEqual([]);
  return { code, stderr, report: JSON.parse(stdout) as Record<string, number> };
}

/** The command itself judges whether the scenario kept its promise. */
test.each([
  ['storm', 30, { running: 30, restarts: 0, reboots: 0, maxRecovering: 0 }],
  ['rack', 40, { running: 36, needsHuman: 4, reboots: 12, powerCycles: 8, reinstalls: 8 }],
  ['flap', 20, { running: 18, needsHuman: 2, restarts: 4, reboots: 4, reinstalls: 2 }],
  // A restart needs no permit.
  ['dead-agent', 20, { running: 20, restarts: 2, reboots: 0, maxRecovering: 0 }],
] as const)(
  'V56 %s: keeps its promise',
  async (scenario, machines, expected) => {
    const { code, report, stderr } = await play(scenario, machines);
    expect(code, stderr).toBe(0);
    expect(Object.keys(report)).toEqual(KEYS);
    expect(report).toMatchObject({ machines, ...expected });
  },
  LIMIT_MS,
);

test.runIf(hasHaproxyFor('the scenario rolling'))(
  'rolling: cuts clients without draining, and says so',
  async () => {
    const { code, report, stderr } = await play('rolling', 4, '--no-drain');
    expect(code).toBe(1);
    expect(stderr).toMatch(/rolling broke its promise:[^]* held connections were cut/);
    expect(Object.keys(report)).toEqual([...KEYS, ...ROLLING_KEYS]);
    expect(report['reboots']).toBe(4);
    expect(report['cut']).toBeGreaterThan(0);
  },
  LIMIT_MS,
);

testRows([
  ['an unknown scenario', ['--scenario', 'flood'], /storm, rack, flap, dead-agent/],
  ['too few machines', ['--scenario', 'rack', '--machines', '29'], /at least 30 machines/],
  ['draining left out', ['--scenario', 'storm', '--no-drain'], /only with --scenario rolling/],
  ['no traffic to lose', ['--no-drain'], /only with --scenario rolling/],
  ['with chaos', ['--scenario', 'storm', '--chaos'], /cannot be used with.*--chaos/],
  ['with a directory', ['--scenario', 'storm', '--data-dir', dir], /cannot be used.*--data-dir/],
] as const)(
  'refuses contradictory options with one clear message: %s',
  async (_, flags, message) => {
    const { code, stdout, stderr } = await shepherd(['sim', ...flags]).ended;
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  },
);
