import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import { hashOf } from '../../src/adapters/provider/core/instance-secret.ts';
import { INSTANCE_SECRET_PATH, SECRET_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import type { HostSnapshot } from '../../src/simulator/hosts/options.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { becomesTrue, healthy, withFleet } from './simulated-fleet.ts';

/** What the simulation itself puts on a machine's disk when it boots. */
const OWN_FILES = ['etc/hostname', 'proc/sys/kernel/random/boot_id'];
const filesOn = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(root, path)).isFile())
    .toSorted();

test('a new machine is believed for the secret that its first boot wrote', async () => {
  const log = recordingLog();
  await withFleet({ machines: 2, log }, async ({ world, daemon }) => {
    await becomesTrue(() => healthy(daemon) === 2, 'both machines run');
    const tags = world.fakequinix.devices().flatMap((device) => device.tags);
    const hashes = tags.filter((tag) => tag.startsWith(`${SECRET_TAG}=`));
    const secrets = world.hosts
      .list()
      .map(({ root }) => readFileSync(join(root, INSTANCE_SECRET_PATH), 'utf8'));
    const wanted = secrets.map((secret) => `${SECRET_TAG}=${hashOf(secret)}`);
    expect(hashes.toSorted()).toEqual(wanted.toSorted());
    const believed = log.lines.filter(({ message }) => message === 'the host key is believed');
    expect(believed.map(({ fields }) => fields)).toMatchObject([
      { evidence: 'secret' },
      { evidence: 'secret' },
    ]);
    const text = inspect(log.lines, { depth: Infinity });
    for (const secret of secrets) expect(text.includes(secret), 'it is in no log').toBe(false);
  });
}, 1_800_000);

test('a machine whose host key changed is set aside untouched, the other one runs on', async () => {
  await withFleet({ machines: 2 }, async ({ world, daemon }) => {
    const { hosts } = world;
    await becomesTrue(() => healthy(daemon) === 2, 'both machines run');
    const [victim, bystander] = hosts.list() as [HostSnapshot, HostSnapshot];
    const now = (of: HostSnapshot) => hosts.list().find((h) => h.deviceId === of.deviceId)!;
    const entryOf = (of: HostSnapshot) =>
      [...daemon.board.entries.values()].find(({ view }) => view.providerId === of.deviceId)!;
    const rowOf = async (of: HostSnapshot) =>
      (await daemon.bmdb.scan(AbortSignal.timeout(240_000))).machines.find(
        ({ provided }) => provided?.providerId === of.deviceId,
      )!;
    expect((await rowOf(victim)).hostKey, 'its key is pinned').toBe(victim.hostKey);

    const { publicLine } = await loadOrCreateSshKey(join(world.dir, 'ssh-key'));
    const { deviceId: id, hostname } = victim;
    await hosts.reinstalled(id, { id, hostname, authorizedKeys: [publicLine] });
    expect(now(victim).hostKey).not.toBe(victim.hostKey);
    await becomesTrue(() => entryOf(victim).state === 'Quarantined', 'it is set aside');

    expect(entryOf(victim)).toMatchObject({ substate: 'conflict' });
    expect(entryOf(victim).view.reason).toContain('host key');
    expect(now(victim).up, 'the stranger answered').toBe(true);
    expect(filesOn(now(victim).root), 'nothing was uploaded').toEqual(OWN_FILES);
    expect(now(victim).agentPids, 'nothing runs there').toEqual([]);
    const row = await rowOf(victim);
    expect(row).toMatchObject({ hostKey: victim.hostKey, permit: false, work: [] });
    expect(row.quarantine).toMatchObject({ kind: 'conflict', untilMs: null });

    expect(entryOf(bystander)).toMatchObject({ state: 'Running', substate: 'healthy' });
    expect(now(bystander).bootId, 'the other machine was left alone').toBe(bystander.bootId);
    expect(now(bystander).agentPids).toEqual(bystander.agentPids);
    expect(daemon.board.counts()).toEqual({ Running: 1, Quarantined: 1 });
  });
}, 1_800_000);
