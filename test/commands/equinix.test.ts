import { advance, settled } from '../doubles/simulated-clock.ts';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { UsageError } from '../../src/domain/errors.ts';
import {
  type OperatorStand,
  OTHERS,
  OURS,
  ownedBy,
  reservationId,
  SOURCE,
  startOperatorStand,
  TARGET,
} from './equinix-stand.ts';

let stand: OperatorStand;
afterEach(async () => {
  expect(stand.fake.violations()).toEqual([]);
  await stand.close();
});

const inFrankfurt = (n: number) => ({ id: reservationId(n), facility: 'fr2' });
const DEVICES = {
  reservations: [1, 2, 3, 4].map(inFrankfurt),
  devices: [
    { hostname: 't-ours', reservation: reservationId(1), tags: ownedBy(OURS) },
    { hostname: 't-orphan', reservation: reservationId(2) },
    { hostname: 't-foreign', reservation: reservationId(3), tags: ownedBy(OTHERS) },
    { hostname: 'stranger', reservation: reservationId(4), tags: ownedBy(OURS) },
  ],
};
const deviceId = (hostname: string) =>
  stand.fake.devices().find((each) => each.hostname === hostname)!.id;
const REBOOT = 'POST /devices/{id}/actions';
const RENAME = 'PUT /devices/{id}';
const DELETE = 'DELETE /devices/{id}';

describe('delete', () => {
  const MINE = ['delete', SOURCE, '--prefix', 't-', '--owner', OURS];

  test('asks for the end of the project id, renames, deletes; others stay', async () => {
    stand = await startOperatorStand(DEVICES);
    const { exitCode, notes } = await stand.run(MINE, SOURCE.slice(-4));
    expect(exitCode).toBe(0);
    expect(notes.join('\n')).toContain(`t-ours  ${deviceIdIn(notes, 't-ours')}  ${OURS}`);
    expect(notes.join('\n')).toMatch(/t-orphan {2}\S+ {2}nobody/);
    expect(stand.changes()).toEqual([RENAME, DELETE, RENAME, DELETE]);
    await advance(stand.clock, 1_000);
    expect(stand.hostnames().toSorted()).toEqual(['stranger', 't-foreign']);
  });

  const deviceIdIn = (notes: readonly string[], name: string) =>
    notes.find((line) => line.startsWith(name))?.split('  ')[1];

  test('a device keeps its new name while it goes', async () => {
    stand = await startOperatorStand(DEVICES, { timings: { deprovisioningMs: 60_000 } });
    await stand.run(MINE, SOURCE.slice(-4));
    expect(stand.hostnames()).toEqual([
      ...['deleted-t-ours', 'deleted-t-orphan', 't-foreign', 'stranger'],
    ]);
  });

  test.each(['0000', '', { key: 'ctrl-d' } as const, { key: 'ctrl-c' } as const])(
    '%j is no',
    async (answer) => {
      stand = await startOperatorStand(DEVICES);
      const { exitCode, json } = await stand.run([...MINE, '--json'], answer);
      expect(exitCode).toBe(1);
      expect(json).toMatchObject({ declined: true, items: [] });
      expect(stand.changes()).toEqual([]);
    },
  );

  test('with --wait it follows until the reservations are reusable', async () => {
    stand = await startOperatorStand(DEVICES);
    const { exitCode, json } = await stand.run([...MINE, '--wait', '--json'], SOURCE.slice(-4));
    expect(exitCode).toBe(0);
    const steps = ['deleted', 'reservation is free'];
    expect(json).toMatchObject({ items: [{ steps }, { steps }] });
    expect(stand.hostnames()).toEqual(['t-foreign', 'stranger']);
  });

  test('what was renamed already and not deleted is deleted now', async () => {
    stand = await startOperatorStand({ devices: [{ hostname: 'deleted-t-x' }] });
    await stand.run(MINE, SOURCE.slice(-4));
    expect(stand.changes()).toEqual([DELETE]);
  });

  test('failures are skipped and told, and the exit code says so', async () => {
    stand = await startOperatorStand({
      devices: [{ hostname: 't-locked', locked: true }, { hostname: 't-x' }],
    });
    const { exitCode, json } = await stand.run([...MINE, '--json'], SOURCE.slice(-4));
    expect(exitCode).toBe(1);
    expect(json).toMatchObject({
      items: [
        { name: 't-locked', result: 'failed', error: expect.stringContaining('locked') },
        { name: 't-x', result: 'done' },
      ],
    });
    expect(stand.hostnames()[0]).toBe('t-locked');
  });

  test('vector 26: a deletion whose reply is lost is settled by looking', async () => {
    stand = await startOperatorStand(DEVICES);
    const match = { method: 'DELETE' };
    stand.fake.addFault({ match, times: 1, effect: { type: 'drop', phase: 'after' } });
    expect((await stand.run(MINE, SOURCE.slice(-4))).exitCode).toBe(0);
  });

  test('with --all-owners every device is meant', async () => {
    stand = await startOperatorStand(DEVICES);
    const { exitCode, json } = await stand.run([
      ...['delete', SOURCE, '--all-owners', '--yes', '--expect-count', '4', '--json'],
    ]);
    expect(exitCode).toBe(0);
    expect((json as { items: unknown[] }).items).toHaveLength(4);
  });

  test('nothing to delete is a success', async () => {
    stand = await startOperatorStand({ devices: [{ hostname: 'stranger' }] });
    const { exitCode, out } = await stand.run(MINE, 'never asked');
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: 'there is nothing to do' });
  });

  test('an interrupt in the middle leaves the rest', async () => {
    stand = await startOperatorStand(DEVICES);
    stand.fake.addFault({ match: { method: 'DELETE' }, effect: { type: 'hang', phase: 'before' } });
    let interrupt: () => void = () => expect.unreachable('it did not begin');
    const args = [...MINE, '--json'];
    const running = stand.run(args, SOURCE.slice(-4), (hands) => (interrupt = hands.interrupt));
    while (!stand.changes().includes(DELETE)) await settled();
    interrupt();
    const { exitCode, json } = await running;
    expect(exitCode).toBe(1);
    expect(json).toMatchObject({ items: [{ result: 'failed' }, { result: 'left' }] });
  });
});

describe('consent', () => {
  const DELETE_ALL = ['delete', SOURCE, '--all-owners'];

  test.each([
    ['no terminal', []],
    ['--yes alone', ['--yes']],
  ])('%s is refused before any call', async (_, more) => {
    stand = await startOperatorStand(DEVICES);
    await expect(stand.run([...DELETE_ALL, ...more])).rejects.toBeInstanceOf(UsageError);
    expect(stand.fake.requests()).toEqual([]);
  });

  test('--yes is refused at another number than expected', async () => {
    stand = await startOperatorStand(DEVICES);
    const { exitCode, notes } = await stand.run([
      ...[...DELETE_ALL, '--yes', '--expect-count', '3'],
    ]);
    expect(exitCode).toBe(1);
    expect(notes.join('\n')).toContain('3 were expected, but it is 4');
    expect(stand.changes()).toEqual([]);
  });

  test('who is meant must be said', async () => {
    stand = await startOperatorStand(DEVICES);
    for (const more of [[], ['--prefix', '']]) {
      const running = stand.run(['delete', SOURCE, ...more], SOURCE.slice(-4));
      await expect(running).rejects.toThrow('say which devices are meant');
    }
    expect(stand.fake.requests()).toEqual([]);
  });

  test('a dry run needs no terminal and changes nothing', async () => {
    stand = await startOperatorStand(DEVICES);
    const { exitCode, json } = await stand.run([...DELETE_ALL, '--dry-run', '--json']);
    expect(exitCode).toBe(0);
    expect(json).toMatchObject({ items: Array(4).fill({ result: 'planned' }) });
    expect(stand.changes()).toEqual([]);
  });
});

describe('list', () => {
  const WORLD = {
    plans: [{ slug: 'c3.small.x86', name: 'C3.Small.x86' }],
    reservations: [
      inFrankfurt(1),
      { ...inFrankfurt(2), plan: 'c3.small.x86' },
      { ...inFrankfurt(3), spare: true },
      { id: reservationId(4), facility: 'am6' },
      { id: reservationId(5), facility: 'am6', project: 'elsewhere' },
    ],
    devices: [{ hostname: 'x', reservation: reservationId(4) }],
  };
  const line = (metro: string, plan: string, counts: object) => ({
    metro,
    plan,
    available: 0,
    inUse: 0,
    notProvisionable: 0,
    ...counts,
  });

  test('counts a project by metro, plan and class, with its name', async () => {
    stand = await startOperatorStand(WORLD);
    const { exitCode, json } = await stand.run(['list', '--project', SOURCE, '--json']);
    const byPlan = [
      line('am', 'm3.large.x86', { total: 1, inUse: 1 }),
      line('fr', 'c3.small.x86', { total: 1, available: 1 }),
      line('fr', 'm3.large.x86', { total: 2, available: 1, notProvisionable: 1 }),
    ];
    const byProject = byPlan.map((each) => ({ project: 'fleet', ...each }));
    expect(json).toEqual({ reservations: 4, complete: true, byPlan, byProject });
    expect(exitCode).toBe(0);
  });

  test('counts an organisation, project by project', async () => {
    stand = await startOperatorStand(WORLD);
    const { out } = await stand.run(['list', '--organization', stand.fake.organizationId]);
    expect(out).toContain('5 reservations');
    expect(out).toMatch(/^am +m3\.large\.x86 +2 +1 +1 +0$/m);
    expect(out).toMatch(/^elsewhere +am +m3\.large\.x86 +1 +1 +0 +0$/m);
  });

  test.each([[[]], [['--project', SOURCE, '--organization', TARGET]], [['--project', 'x']]])(
    '%j is a wrong command line',
    async (more) => {
      stand = await startOperatorStand({});
      await expect(stand.run(['list', ...more])).rejects.toBeInstanceOf(UsageError);
      expect(stand.fake.requests()).toEqual([]);
    },
  );
});

describe('move', () => {
  test('asks for the number, moves each, and skips what is there already', async () => {
    stand = await startOperatorStand({ reservations: [1, 2].map(inFrankfurt) });
    expect((await stand.run(['move', SOURCE, TARGET], '3')).exitCode).toBe(1);
    expect(stand.changes()).toEqual([]);
    expect((await stand.run(['move', SOURCE, TARGET], '2')).exitCode).toBe(0);
    expect(stand.fake.reservations().map(({ projectId }) => projectId)).toEqual([TARGET, TARGET]);
    const again = await stand.run(['move', SOURCE, TARGET], 'never asked');
    expect(again.out).toBe('there is nothing to do');
  });

  test('one that cannot be moved does not keep the others', async () => {
    stand = await startOperatorStand(DEVICES);
    stand.fake.devices();
    const { exitCode, json } = await stand.run([
      'move',
      SOURCE,
      TARGET,
      '--yes',
      '--expect-count',
      '4',
      '--json',
    ]);
    expect(exitCode).toBe(1);
    expect(json).toMatchObject({ items: Array(4).fill({ result: 'failed' }) });
  });
});

describe('reboot', () => {
  const MINE = ['--prefix', 't-', '--owner', OURS];

  test('one device, without a question', async () => {
    stand = await startOperatorStand(DEVICES);
    const one = ['--device', deviceId('t-ours')];
    expect((await stand.run(['reboot', SOURCE, ...one, ...MINE])).exitCode).toBe(0);
    expect(stand.changes()).toEqual([REBOOT]);
  });

  test('not one of another name, owner or project', async () => {
    stand = await startOperatorStand(DEVICES);
    for (const name of ['t-foreign', 'stranger']) {
      const one = ['--device', deviceId(name)];
      const running = stand.run(['reboot', SOURCE, ...one, ...MINE]);
      await expect(running).rejects.toThrow('--all-owners');
    }
    const elsewhere = ['reboot', TARGET, '--device', deviceId('t-ours'), ...MINE];
    await expect(stand.run(elsewhere)).rejects.toThrow('is not in project');
    expect(stand.changes()).toEqual([]);
  });

  test('all that are meant, after the number', async () => {
    stand = await startOperatorStand(DEVICES);
    const all = ['reboot', SOURCE, '--all', ...MINE];
    expect((await stand.run(all, '4')).exitCode).toBe(1);
    expect((await stand.run(all, '2')).exitCode).toBe(0);
    expect(stand.changes()).toEqual([REBOOT, REBOOT]);
  });

  test('either --device or --all', async () => {
    stand = await startOperatorStand(DEVICES);
    for (const more of [[], ['--all', '--device', deviceId('t-ours')]]) {
      const running = stand.run(['reboot', SOURCE, ...more, ...MINE], '2');
      await expect(running).rejects.toBeInstanceOf(UsageError);
    }
  });
});

describe('who asks', () => {
  const dir = () => {
    const place = mkdtempSync(join(tmpdir(), 'shepherd-equinix-'));
    onTestFinished(() => rmSync(place, { recursive: true }));
    return place;
  };

  test('a key on the command line is refused', async () => {
    stand = await startOperatorStand({});
    const running = stand.run(['list', '--project', SOURCE, '--token', stand.fake.tokens.user]);
    await expect(running).rejects.toThrow('no API key on the command line');
  });

  test('a key from a file that only its owner may read', async () => {
    stand = await startOperatorStand({});
    const place = dir();
    const file = join(place, 'token');
    writeFileSync(file, `${stand.fake.tokens.user}\n`, { mode: 0o644 });
    chmodSync(file, 0o644);
    const args = ['list', '--project', SOURCE, '--token-file', file];
    await expect(stand.run(args)).rejects.toBeInstanceOf(UsageError);
    chmodSync(file, 0o600);
    expect((await stand.run(args)).exitCode).toBe(0);
  });

  test('everything from the provider of a configuration', async () => {
    stand = await startOperatorStand(DEVICES);
    const place = dir();
    const file = join(place, 'shepherd.yaml');
    writeFileSync(file, JSON.stringify(configuration(stand)));
    const args = ['delete', SOURCE, '--config', file, '--dry-run', '--json'];
    const { json } = await stand.run(args);
    const names = (json as { items: { name: string }[] }).items.map(({ name }) => name);
    expect(names).toEqual(['t-orphan', 't-ours']);
  });

  const configuration = ({ fake }: OperatorStand) => ({
    database: { embedded: { dataDir: 'db' } },
    agent: { endpoint: 'fleet.example.net:4241' },
    agentServer: { devCertificates: { dir: 'certificates' } },
    ssh: { keyPath: 'ssh_key' },
    providers: {
      metal: {
        driver: 'equinix',
        baseUrl: fake.url,
        token: '${EQUINIX_TOKEN}',
        username: 'tester',
        projectId: SOURCE,
        instanceSetId: OURS,
        devicePrefix: 't-',
        sshKeyLabel: 'shepherd',
        apiRate: '0s',
      },
    },
  });

  test('a wrong key is one clear failure', async () => {
    stand = await startOperatorStand(DEVICES);
    stand.fake.addFault({ effect: { type: 'tokenRevoked' } });
    const running = stand.run(['list', '--project', SOURCE]);
    await expect(running).rejects.toMatchObject({ code: 'auth' });
  });
});
