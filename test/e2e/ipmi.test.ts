import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeSimConfig } from '../../emulators/sim/config-file.ts';
import { SIM_SET, type SimKind } from '../../emulators/sim/providers/provider.ts';
import { openWorldOn } from '../../emulators/sim/world.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { IPMI_LOGIN, startIpmiSim } from '../adapters/provider/static/resets/ipmi-sim.ts';
import { shepherd } from './commands.ts';
import { becomesTrue, PATIENT_AGENTS } from './simulated-fleet.ts';

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
