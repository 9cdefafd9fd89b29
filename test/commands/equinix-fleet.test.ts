import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { Unreachable } from '../../src/domain/errors.ts';
import {
  type OperatorStand,
  OURS,
  ownedBy,
  reservationId,
  SOURCE,
  startOperatorStand,
  TARGET,
} from './equinix-stand.ts';

let stand: OperatorStand;
afterEach(() => stand.close());

const WORLD = {
  reservations: [1, 2].map((n) => ({ id: reservationId(n), facility: 'fr2' })),
  devices: [
    { hostname: 't-machine', reservation: reservationId(1), tags: ownedBy(OURS) },
    { hostname: 't-orphan', reservation: reservationId(2), tags: ownedBy(OURS) },
  ],
};
const deviceId = (hostname: string) =>
  stand.fake.devices().find((each) => each.hostname === hostname)!.id;
const SLOT = `metal/${reservationId(1)}`;

/** The BMDB of the configuration knows one of the two devices. */
async function start(knows = async () => new Map([[deviceId('t-machine'), SLOT]])) {
  stand = await startOperatorStand(WORLD, {}, knows);
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-equinix-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const [file, token] = [join(directory, 'shepherd.yaml'), join(directory, 'token')];
  writeFileSync(token, stand.fake.tokens.user);
  chmodSync(token, 0o600);
  const providers = {
    equinix: {
      driver: 'equinix',
      baseUrl: stand.fake.url,
      token: 'file:token',
      username: 'tester',
      projectId: SOURCE,
      devicePrefix: 't-',
      sshKeyLabel: 'fleet',
      instanceSetId: OURS,
    },
  };
  const parts = {
    database: { embedded: { dataDir: 'db' } },
    agent: { endpoint: 'fleet.example.net:4241' },
    agentServer: { devCertificates: { dir: 'certificates' } },
    ssh: { keyPath: 'ssh_key' },
  };
  writeFileSync(file, stringify({ ...parts, providers }));
  return ['--config', file, '--token-file', token, '--prefix', 't-', '--owner', OURS];
}
const USE = (verb: string) =>
  expect.stringContaining(`use shepherd machine ${verb} ${SLOT}`) as string;

test('A9: delete leaves alone what the BMDB knows, and names the verb to use instead', async () => {
  const access = await start();
  const { exitCode, notes, json } = await stand.run(
    ['delete', SOURCE, ...access, '--json'],
    SOURCE.slice(-4),
  );
  expect(notes).toContainEqual(USE('deprovision'));
  expect(exitCode, 'not everything was done').toBe(1);
  expect(json).toMatchObject({ machines: [SLOT], items: [{ name: 't-orphan', result: 'done' }] });
  expect(stand.hostnames()).toContain('t-machine');
});

test.each([['--all'], ['--device']])('A9: reboot %s leaves it alone too', async (which) => {
  const access = await start();
  const whom = which === '--all' ? [which] : [which, deviceId('t-machine')];
  const { exitCode, notes } = await stand.run(['reboot', SOURCE, ...access, ...whom], '1');
  expect(notes).toContainEqual(USE('reboot'));
  expect(exitCode).toBe(1);
  expect(stand.changes()).toHaveLength(which === '--all' ? 1 : 0);
});

test('A9: yoink takes no machine of the fleet', async () => {
  const access = await start();
  const kind = ['--spec', 'm3.large.x86', '--metro', 'fr', '--count', '2'];
  const { exitCode, notes } = await stand.run(
    ['yoink', ...access, '--source-project', SOURCE, '--target-project', TARGET, ...kind],
    '2',
  );
  expect(notes).toContainEqual(USE('deprovision'));
  expect(notes.join('\n')).toContain('only 1 of 2');
  expect([exitCode, stand.changes()]).toEqual([1, []]);
});

test('A9: a BMDB that cannot be asked stops everything', async () => {
  const access = await start(() => Promise.reject(new Unreachable('no database')));
  const running = stand.run(['delete', SOURCE, ...access], SOURCE.slice(-4));
  await expect(running).rejects.toThrow('no database');
  expect(stand.changes()).toEqual([]);
});

test('A9: without a configuration a command says that it cannot know', async () => {
  await start();
  const args = ['reboot', SOURCE, '--device', deviceId('t-machine'), '--prefix', 't-'];
  const { exitCode, notes } = await stand.run(args);
  expect(notes.join('\n')).toMatch(/nobody can know .* use shepherd machine reboot/s);
  expect([exitCode, stand.changes().length]).toEqual([0, 1]);
});

test('A6: list says that it waits and why, and gives up', async () => {
  await start();
  stand.fake.addFault({ effect: { type: 'hang', phase: 'before' } });
  let notes: readonly string[] = [];
  const args = ['list', '--project', SOURCE, '--timeout', '60s'];
  const running = stand.run(args, undefined, (hands) => (notes = hands.notes));
  await expect(running).rejects.toThrow(/gave up after 60 s: http.* has not answered yet/);
  expect(notes[0]).toMatch(/^waiting for \d+ s: http.* has not answered yet/);
});

test('A6: list says that it was told to slow down', async () => {
  await start();
  const headers = { 'Retry-After': '30' };
  stand.fake.addFault({ times: 1, effect: { type: 'status', code: 429, headers } });
  const { notes } = await stand.run(['list', '--project', SOURCE]);
  expect(notes.join('\n')).toMatch(/^waiting for \d+ s: .*the last answer was 429, too many/m);
});

test('A6: a deceiving name is shown as what it is', async () => {
  const projects = [{ id: SOURCE, name: 'fleet\u202e\u200b' }];
  stand = await startOperatorStand({ ...WORLD, projects });
  const { out } = await stand.run(['list', '--project', SOURCE]);
  expect(out).toContain('fleet\\u{202e}\\u{200b}');
});
