import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { shepherd, type StartedCommand } from './commands.ts';

const MACHINES = 12;
const KILLS = 3;
const dir = mkdtempSync(join(tmpdir(), 'shepherd-sim-killed-'));
let last: StartedCommand | undefined;
afterEach(async () => {
  last?.child.kill('SIGINT');
  await last?.ended;
  rmSync(dir, { recursive: true, force: true });
});

const sim = (...more: string[]) => {
  last = shepherd([
    ...['sim', '--light', '--machines', String(MACHINES), '--data-dir', dir],
    ...['--console-port', '0', ...more],
  ]);
  return last;
};

/** Resolves when it has reported all machines as running. */
const allRun = ({ said }: StartedCommand) =>
  said((log) => log.includes(`${MACHINES} of ${MACHINES} Running`));

/** A second terminal needs no setting: the simulator made a context. */
async function isFound(): Promise<void> {
  const { code, stdout, stderr } = await shepherd(['machines', '-o', 'name']).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.trimEnd().split('\n')).toHaveLength(MACHINES);
}

async function isSaidToBeKilled(): Promise<void> {
  const { code, stdout, stderr } = await shepherd(['machines']).ended;
  expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
  expect(stderr).toMatch(/no console answers .* a killed simulator left the context/);
}

test('C8: returns its machines to a simulator that is killed again and again', async () => {
  for (let kill = 0; kill < KILLS; kill += 1) {
    const killed = sim();
    await allRun(killed);
    await isFound();
    killed.child.kill('SIGKILL');
    await killed.ended;
    await isSaidToBeKilled();
  }
  const { code, stdout } = await sim('--exit-when-running', '--json').ended;
  expect(code).toBe(0);
  // None was lost, so none was recovered.
  const found = { machines: MACHINES, running: MACHINES, recoveries: 0, leaked: 0 };
  expect(JSON.parse(stdout)).toMatchObject(found);
}, 1_800_000);
