import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { writeSimConfig } from '../../emulators/sim/config-file.ts';
import { SIM_SET, type SimKind } from '../../emulators/sim/providers/provider.ts';
import { openWorldOn } from '../../emulators/sim/world.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { DELIVERY_LIMIT_MS } from '../../src/domain/events/retries.ts';
import { IPMI_LOGIN, startIpmiSim } from '../adapters/provider/static/resets/ipmi-sim.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { shepherd } from './commands.ts';
import { becomesTrue, healthy, PATIENT_AGENTS, withFleet } from './simulated-fleet.ts';

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

type IpmiSim = Awaited<ReturnType<typeof startIpmiSim>>;

/** A list with one machine, which IPMI switches off and on, and whose reset button is broken. */
const ipmiKind = (bmc: { sim?: IpmiSim }): SimKind => ({
  ...{ onePort: false, isKept: false },
  async start({ dir, hosts, publicLine }) {
    const id = 'srv-1';
    const Addr = (await hosts.assign({ id, hostname: id, authorizedKeys: [publicLine] })).address;
    const { port: SshPort, hostKey } = hosts.list()[0]!;
    await hosts.up(id);
    const sim = await startIpmiSim((request) => {
      if (request === 'power 0') void hosts.down(id);
      if (request === 'power 1') void hosts.up(id);
    });
    bmc.sim = sim;
    const Reset = { By: 'old', Addr: sim.host, Port: sim.port };
    const entry = { ID: id, Addr, SshPort, HostKey: `ssh-ed25519 ${hostKey}`, Location: '', Reset };
    writeFileSync(join(dir, 'machines.json'), JSON.stringify([entry]));
    const { username, password } = IPMI_LOGIN;
    return {
      ...{ name: 'rack', machines: 1, secrets: { IPMI: password }, slotOf: () => id },
      section: (refer) => ({
        ...{ driver: 'static', instanceSetId: SIM_SET, inventory: 'file:machines.json' },
        resets: { old: { kind: 'ipmi', username, password: refer('IPMI'), cipherSuite: 3 } },
        // A third attempt at a reboot would wait for five minutes.
        ladder: { rebooting: { attempts: 2 } },
      }),
      ...{ devices: () => [], claims: () => [], installs: () => [0], requests: () => [] },
      close: async () => undefined,
    };
  },
});

test('climbs from a soft shutdown over a reset to a power cycle of a hung machine by IPMI', async () => {
  const bmc: { sim?: IpmiSim } = {};
  const world = await openWorldOn(ipmiKind(bmc), { log: silentLog });
  const [{ hosts }, sim] = [world, bmc.sim!];
  const config = writeSimConfig(world, {
    ...{ agent: PATIENT_AGENTS, console: { listen: '127.0.0.1:0' } },
  });
  const daemon = shepherd(['run', '--config', config]);
  try {
    const { console: SHEPHERD_URL } = await daemon.started();
    const made = ['token', 'create', 'ann', '--role', 'admin', '--for', '1h', '--config', config];
    const SHEPHERD_TOKEN = (await shepherd(made).ended).stdout.trim();
    const command = async (...args: string[]) =>
      (await shepherd(args, { SHEPHERD_URL, SHEPHERD_TOKEN }).ended).stdout;
    const runs = async () =>
      /^state +Running · healthy/m.test(await command('machine', 'show', 'rack/srv-1'));
    await becomesTrue(runs, 'it runs');
    const before = hosts.bootId('srv-1');
    await sim.deafen();
    await hosts.hang('srv-1', true);
    await becomesTrue(() => sim.done().includes('power 1'), 'it is power-cycled');
    expect(sim.done()).toEqual(['shutdown 1', 'reset 1', 'power 0', 'power 1']);
    await becomesTrue(runs, 'it runs again');
    expect(hosts.bootId('srv-1')).not.toBe(before);
    const told = [await command('machine', 'history', 'rack/srv-1'), await command('events')];
    expect(told[0]).toMatch(/Asked: rebooting\n[^]*Asked: rebooting\n[^]*recovered: powerCycling/);
    expect(told[1]).toMatch(/machine\.recovered rack\/srv-1 by shepherd: powerCycling/);
    told.push(await command('machine', 'show', 'rack/srv-1'));
    expect(told.join('\n')).not.toContain(IPMI_LOGIN.password);
  } finally {
    daemon.child.kill('SIGTERM');
    const { code, stderr } = await daemon.ended;
    await world.close();
    expect.soft(code).toBe(0);
    expect.soft(stderr).not.toContain(IPMI_LOGIN.password);
  }
}, 1_800_000);
