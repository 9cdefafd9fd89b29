import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'vitest';
import type { FaultKind } from '../../../../src/adapters/provider/stub/fault-kinds.ts';
import type { FaultRule } from '../../../../src/adapters/provider/stub/faults.ts';
import { createSshMachines } from '../../../../src/adapters/provider/stub/host/ssh-machines.ts';
import { INSTANCE_SECRET_PATH } from '../../../../src/domain/provisioning/provider-tags.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import type { Proof } from './proofs-calls.ts';
import { createStubStand, errorOf, type StubStand } from './stand.ts';
import { newLogin, type Login, type Ssh, sshTo } from './ssh-to.ts';

export const CAT_SECRET = `cat ${INSTANCE_SECRET_PATH}`;
export const CAT_BOOT_ID = 'cat /proc/sys/kernel/random/boot_id';

export interface MachineStand extends StubStand {
  readonly login: Login;
  /** Where the machine is reached, once that is known. */
  addressOf(id: string): Promise<string>;
  ssh(id: string): Promise<Ssh>;
}

/** A stub whose machines answer SSH; the stub's time is virtual all the same. */
export function createMachineStand(faults: readonly FaultRule[] = []): MachineStand {
  const login = newLogin();
  const open: Ssh[] = [];
  const stand = createStubStand(faults, {
    without: [],
    publicKey: login.publicKey,
    machines: (known, clock) => createSshMachines({ clock, log: silentLog, faults: known }),
  });
  async function addressOf(id: string): Promise<string> {
    await expect.poll(async () => (await stand.get(id)).address).not.toBeNull();
    return (await stand.get(id)).address!;
  }
  return {
    ...stand,
    login,
    addressOf,
    async ssh(id) {
      const session = await sshTo(await addressOf(id), login);
      open.push(session);
      return session;
    },
    async close() {
      for (const session of open) session.close();
      await stand.close();
    },
  };
}

/** A proof on one machine that is up. */
const onMachine =
  (
    rules: FaultRule | readonly FaultRule[],
    prove: (stand: MachineStand, id: string) => Promise<void>,
  ): Proof =>
  async () => {
    const stand = createMachineStand([rules].flat());
    await prove(stand, await stand.running());
    return stand;
  };

/** A proof by commands on one connection. */
const onSession = (
  rules: FaultRule | readonly FaultRule[],
  prove: (ssh: Ssh, stand: MachineStand) => Promise<void>,
): Proof => onMachine(rules, async (stand, id) => prove(await stand.ssh(id), stand));

const listing = async (ssh: Ssh) =>
  (await ssh.run('runner --list')).stdout.split('\n').slice(0, -1);

/** The machine itself, over SSH. */
export const machineProofs = {
  'host-key-changed': onMachine(
    { fault: 'host-key-changed', amount: 60_000 },
    async (stand, id) => {
      const first = (await stand.ssh(id)).hostKey;
      expect((await stand.ssh(id)).hostKey).toEqual(first);
      stand.clock.increment(60_000);
      expect((await stand.ssh(id)).hostKey).not.toEqual(first);
    },
  ),
  'secret-missing': onSession({ fault: 'secret-missing' }, async (ssh) => {
    expect((await ssh.run(CAT_SECRET)).code).toBe(1);
  }),
  'secret-wrong': onSession({ fault: 'secret-wrong' }, async (ssh, stand) => {
    const { stdout, code } = await ssh.run(CAT_SECRET);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[0-9a-f]{40}$/);
    const [device] = stand.account.world.devices();
    expect(device!.installation.initCommand).not.toContain(stdout);
  }),
  'auth-refused': onMachine({ fault: 'auth-refused', calls: [1] }, async (stand, id) => {
    expect((await errorOf(stand.ssh(id))).message).toMatch(/authentication/);
    expect((await (await stand.ssh(id)).run('true')).code).toBe(0);
  }),
  'accept-then-hang': onMachine({ fault: 'accept-then-hang', times: 1 }, async (stand, id) => {
    const [host, port] = (await stand.addressOf(id)).split(':');
    const socket = connect(Number(port), host);
    await once(socket, 'connect');
    let heard = 0;
    socket.on('data', ({ length }) => {
      heard += length;
    });
    // The next connection is answered, so the first one would have been.
    await (await stand.ssh(id)).run('true');
    expect(heard).toBe(0);
    socket.destroy();
  }),
  'slow-bytes': onSession({ fault: 'slow-bytes', amount: 1_000 }, async (ssh, stand) => {
    let ended = false;
    const echo = ssh.run('echo abc').then((result) => {
      ended = true;
      return result;
    });
    await expect.poll(() => stand.clock.pending).toBe(1);
    await advance(stand.clock, 3_999);
    expect(ended).toBe(false);
    await advance(stand.clock, 1);
    expect(await echo).toEqual({ code: 0, stdout: 'abc\n' });
  }),
  'drop-mid-command': onMachine({ fault: 'drop-mid-command', times: 1 }, async (stand, id) => {
    const ssh = await stand.ssh(id);
    expect(await ssh.runUnfinished('echo 0123456789')).toBe('01234');
    expect(await (await stand.ssh(id)).run('echo 0123456789')).toMatchObject({ code: 0 });
  }),
  'output-flood': onSession({ fault: 'output-flood', amount: 2_000_000 }, async (ssh) => {
    expect((await ssh.run('true')).stdout.length).toBe(2_000_000);
  }),
  'boot-time': onSession({ fault: 'boot-time', amount: 60_000 }, async (ssh, { clock }) => {
    expect((await ssh.run('true')).code).toBe(1);
    expect(await ssh.run('systemctl is-system-running')).toEqual({ code: 1, stdout: 'starting\n' });
    clock.increment(60_000);
    expect((await ssh.run('true')).code).toBe(0);
    expect(await ssh.run('systemctl is-system-running')).toEqual({ code: 0, stdout: 'running\n' });
  }),
  'broken-time': onSession({ fault: 'broken-time', amount: 60_000 }, async (ssh, { clock }) => {
    expect((await ssh.run('true')).code).toBe(0);
    clock.increment(60_000);
    expect((await ssh.run('true')).code).not.toBe(0);
    expect((await ssh.run(CAT_SECRET)).code).not.toBe(0);
  }),
  'reports-broken': onSession(
    { fault: 'reports-broken', amount: 60_000 },
    async (ssh, { clock }) => {
      await ssh.run('runner --start one');
      expect(await listing(ssh)).toEqual(['one']);
      clock.increment(60_000);
      expect(await listing(ssh)).toEqual(['one', 'broken']);
    },
  ),
  'runner-missing': onSession({ fault: 'runner-missing' }, async (ssh) => {
    expect((await ssh.run('runner --list')).code).toBe(127);
  }),
  'runner-crashes': onSession({ fault: 'runner-crashes' }, async (ssh) => {
    expect((await ssh.run('runner --start one')).code).toBe(0);
    expect(await listing(ssh)).toEqual([]);
  }),
  'slow-detach': onSession({ fault: 'slow-detach', amount: 10_000 }, async (ssh, stand) => {
    const start = ssh.run('runner --start one');
    await expect.poll(() => stand.clock.pending).toBe(1);
    expect(await listing(ssh)).toEqual([]);
    await advance(stand.clock, 10_000);
    await start;
    expect(await listing(ssh)).toEqual(['one']);
  }),
  'slow-run-lock': onSession({ fault: 'slow-run-lock', amount: 10_000 }, async (ssh, { clock }) => {
    await ssh.run('runner --start one');
    await ssh.run('runner --end one');
    expect(await listing(ssh)).toEqual(['one stale']);
    clock.increment(10_000);
    expect(await listing(ssh)).toEqual([]);
  }),
  'stuck-run-lock': onSession({ fault: 'stuck-run-lock' }, async (ssh, { clock }) => {
    await ssh.run('runner --start one');
    await ssh.run('runner --end one');
    clock.increment(100 * 3_600_000);
    expect(await listing(ssh)).toEqual(['one stale']);
  }),
} as const satisfies Partial<Readonly<Record<FaultKind, Proof>>>;
