import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { DELIVERY_LIMIT_MS } from '../../src/domain/events/retries.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { becomesTrue, healthy, withFleet } from './simulated-fleet.ts';

const MACHINES = 4;
interface CloudEvent {
  readonly type: string;
  readonly data: { readonly machineId: string | null };
}
const signal = () => AbortSignal.timeout(240_000);

test('starts a simulated fleet, and recovers silent machines by the mildest means', async () => {
  await withFleet({ machines: MACHINES }, async ({ world, daemon }) => {
    const { emulator, hosts } = world;
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all machines run');
    const before = await daemon.bmdb.scan(signal());
    const victims = hosts.list().slice(0, 2);
    const [dead, hung] = victims.map(({ deviceId }) => deviceId) as [string, string];
    const bystander = hosts.list()[3]!;

    await hosts.loseAgent(dead);
    await hosts.hang(hung, true);
    const hostOf = (deviceId: string) => hosts.list().find((host) => host.deviceId === deviceId)!;
    await becomesTrue(() => hostOf(dead).agents > 0, 'the dead agent is restarted');
    await becomesTrue(() => hostOf(hung).seen.boots > 1, 'the machine that hangs is rebooted');
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all machines run again');
    expect(hostOf(hung).bootId, 'it was rebooted').not.toBe(victims[1]!.bootId);

    const after = await daemon.bmdb.scan(signal());
    const rowOf = (rows: typeof after, deviceId: string) =>
      rows.machines.find((row) => row.provided?.providerId === deviceId)!;
    for (const { deviceId } of victims) {
      const now = hostOf(deviceId);
      expect(now.agentPids.length, 'it has an agent again').toBeGreaterThan(0);
      const [old, fresh] = [rowOf(before, deviceId), rowOf(after, deviceId)];
      expect(fresh.machineId, 'it is the same machine').toBe(old.machineId);
      expect(fresh.agentStarted?.publicKey, 'with a new key').not.toBe(old.agentStarted?.publicKey);
      expect(fresh.heartbeat?.bootId).toBe(now.bootId);
      expect(fresh.work, 'nobody holds it').toEqual([]);
      expect(fresh.permit, 'its permit was given back').toBe(false);
    }
    // On a slow computer the agent may start too late, and its machine is rebooted in the end.
    const { machineId } = rowOf(after, dead);
    const lines = await daemon.bmdb.inspection.events({ machineId, limit: 100 }, signal());
    const asked = lines.filter(({ kind }) => kind === 'recoveryAsked');
    const [first] = asked.toSorted((a, b) => Number(a.seq) - Number(b.seq));
    expect(first?.reason, 'the mildest means came first').toBe('restartingAgent');
    const untouched = hosts.list().find((host) => host.deviceId === bystander.deviceId)!;
    expect(untouched.bootId, 'a healthy machine was left alone').toBe(bystander.bootId);
    expect(emulator.devices()).toHaveLength(MACHINES);
    expect(emulator.violations()).toEqual([]);
  });
}, 1_800_000);

const secretOf = (letter: string) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`;

test('recovers a machine that refuses SSH after its reboot once it accepts logins; signs the webhook, and stops in spite of a hanging one', async () => {
  const [pager, hung] = [await startWebhookReceiver(), await startWebhookReceiver(false)];
  const webhooks = {
    pager: { url: pager.url, types: ['machine.*'], secret: secretOf('p') },
    hung: { url: hung.url, types: ['access.revoked'], secret: secretOf('h') },
  };
  const told = () => {
    const library = new Webhook(webhooks.pager.secret);
    return pager.received.map(({ body, headers }) => library.verify(body, headers) as CloudEvent);
  };
  await withFleet({ machines: 1, webhooks }, async ({ world, daemon }) => {
    const { hosts } = world;
    await becomesTrue(() => healthy(daemon) === 1, 'it runs');
    const begun = async () => (await daemon.bmdb.webhooks.list(signal())).length;
    await becomesTrue(async () => (await begun()) === 2, 'webhooks are delivered to');
    const { deviceId } = hosts.list()[0]!;
    await hosts.refuseSsh(deviceId, true, 'connection');
    await hosts.loseAgent(deviceId);
    await becomesTrue(() => hosts.list()[0]!.seen.boots > 1, 'it is rebooted');
    await hosts.refuseSsh(deviceId, false);
    await becomesTrue(() => healthy(daemon) === 1, 'it runs again');
    expect(daemon.board.counts()).toEqual({ Running: 1 });

    const types = () => [...new Set(told().map(({ type }) => type))];
    // Whether its short silence is noticed is chance.
    const life = ['machine.recovering', 'machine.agent_started', 'machine.recovered'];
    await becomesTrue(() => life.every((type) => types().includes(type)), 'its life is told');
    const { machines } = await daemon.bmdb.scan(signal());
    const ofOther = told().filter(({ data }) => data.machineId !== machines[0]!.machineId);
    expect(ofOther).toEqual([]);

    const test = { type: 'webhook.test', actor: 'ann', reason: '' } as const;
    await daemon.bmdb.events.append({ ...test, details: { webhook: 'hung' } });
    await becomesTrue(() => hung.received.length > 0, 'one waits for its answer');
    const fromMs = performance.now();
    await daemon.stop();
    expect(performance.now() - fromMs).toBeLessThan(DELIVERY_LIMIT_MS - 3_000);
  });
  for (const receiver of [pager, hung]) receiver.close();
}, 1_800_000);
