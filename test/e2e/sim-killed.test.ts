import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { shepherd, type Started } from './commands.ts';

const MACHINES = 12;
const KILLS = 3;
const dir = mkdtempSync(join(tmpdir(), 'shepherd-sim-killed-'));
let last: Started | undefined;
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

/** Resolves when it has said that all machines run. */
const allRun = ({ child, ended }: Started) =>
  new Promise<void>((resolve, reject) => {
    let said = '';
    child.stderr!.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes(`${MACHINES} of ${MACHINES} Running`)) resolve();
    });
    void ended.then(({ code, stderr }) => reject(new Error(`ended with ${code}: ${stderr}`)));
  });

test('C8: a simulator that is killed again and again has its machines back each time', async () => {
  for (let kill = 0; kill < KILLS; kill += 1) {
    const killed = sim();
    await allRun(killed);
    killed.child.kill('SIGKILL');
    await killed.ended;
  }
  const { code, stdout } = await sim('--exit-when-running', '--json').ended;
  expect(code).toBe(0);
  // None was lost, so none was recovered.
  const found = { machines: MACHINES, running: MACHINES, recoveries: 0, leaked: 0 };
  expect(JSON.parse(stdout)).toMatchObject(found);
}, 300_000);
