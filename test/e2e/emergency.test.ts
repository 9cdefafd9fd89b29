import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { insertMachine, startPgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { machineRow, MINUTE, providedOf, startedAt } from '../contracts/bmdb-rows.ts';
import { machineId } from '../../src/domain/ids.ts';
import { startEquinixEmulator } from '../../emulators/equinix/emulator.ts';
import { metalIn } from '../config/examples.ts';
import { PATIENCE } from '../support/patience.ts';
import { shepherd } from './commands.ts';

const ID = machineId('00000000-0000-4000-8000-00000000000a');

test('shows machines and accepts requests in a console beside the database when no daemon is left', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-emergency-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const server = await startPgServer();
  onTestFinished(() => server.stop());
  const now = Date.now();
  const machine = { machineId: ID, provided: providedOf('one', { reservationId: 'slot-1' }) };
  await insertMachine(server.sql, machineRow(now, { ...machine, ...startedAt(now - 5 * MINUTE) }));
  const file = join(directory, 'shepherd.yaml');
  // The provider refuses our token, but the daemon still shows the recorded rows.
  const fake = await startEquinixEmulator({
    ...{ listen: { host: '127.0.0.1', port: 0 }, profile: 'fast', reservations: 1 },
  });
  onTestFinished(() => fake.close());
  const { metal } = metalIn(directory).providers;
  writeFileSync(
    file,
    JSON.stringify({
      database: { url: '${DATABASE_URL}' },
      providers: { metal: { ...metal, baseUrl: fake.url, projectId: fake.projectId } },
      ssh: { keyPath: 'ssh-key' },
      agentServer: { devCertificates: { dir: 'certificates' } },
      agent: { endpoint: '127.0.0.1:1' },
      console: { listen: '127.0.0.1:0' },
      log: { format: 'json' },
    }),
  );
  const env = { DATABASE_URL: server.url, METAL_TOKEN: 'wrong' };
  const making = ['token', 'create', 'ann', '--role', 'admin', '--config', file];
  const made = await shepherd(making, env).ended;
  expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('the role admin') });

  const { child, ended, started } = shepherd(['run', '--roles', 'console', '--config', file], env);
  const { console: url } = await started();
  const known = { SHEPHERD_URL: url, SHEPHERD_TOKEN: made.stdout.trim() };
  const run = (...args: string[]) => shepherd(args, known).ended;
  await vi.waitFor(async () => {
    const { stdout } = await run('machines');
    expect(stdout).toContain('metal/slot-1  Running');
    expect(stdout).toContain('no daemon is alive: nothing is done to any machine');
  }, PATIENCE);
  expect((await run('machine', 'show', 'metal/slot-1')).stdout).toMatch(
    new RegExp(`^machine +${ID}$`, 'm'),
  );
  const why = ['--reason', 'the rack burns'];
  const held = await run('machine', 'hold', ID, '--kind', 'no-recover', ...why, '--wait', '1s');
  expect(held).toMatchObject({ code: 3, stdout: expect.stringContaining('no daemon is alive') });
  expect(await run('machine', 'reboot', ID, ...why)).toMatchObject({
    ...{ code: 0, stdout: expect.stringMatching(/^reboot metal\/slot-1: submitted: valid until/) },
  });
  const { rows } = await server.sql.query('SELECT verb FROM operator_intents ORDER BY verb');
  expect(rows).toEqual([{ verb: 'hold' }, { verb: 'reboot' }]);

  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 0 });
  const alone = await run('machines');
  expect(alone.code).toBe(5);
  expect(alone.stderr).toContain('"shepherd run --roles console --config FILE"');
});
