import {
  type HostKeyEvidence,
  proveHostKey,
  unprovedSession,
} from '../../actors/tasks/host-key-proof.ts';
import type { ShellSession } from '../../adapters/ssh/port.ts';
import { parseAddress } from '../../adapters/ssh/port.ts';
import {
  Denied,
  explain,
  FleetError,
  HostKeyRejected,
  isProviderError,
  RemoteFailure,
} from '../../domain/errors.ts';
import { mustReject } from '../requests.ts';
import { assertOurs, type ConformanceStage } from '../stage.ts';
import type { ConformanceStep } from '../step.ts';
import { must, StepFailed, StepSkipped, type Pending, pending } from '../waiting.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const NOTHING = new Uint8Array(0);

const existing: ConformanceStep = {
  id: 'existing',
  title: 'The test chooses an existing machine',
  needs: [],
  takes: ['listed'],
  gives: 'machine',
  async run(stage) {
    if (stage.raw.capabilities.create) throw new StepSkipped('the driver creates machines');
    const { reservation, plan } = stage.wishes;
    const machine = (await stage.list()).find(
      ({ id, reservationId, plan: its }) =>
        id !== null &&
        (reservation === null || [id, reservationId].includes(reservation)) &&
        (plan === null || its === plan),
    );
    if (machine === undefined) {
      const none = 'the inventory has no such machine';
      throw reservation === null ? new StepSkipped(none) : new StepFailed(none);
    }
    assertOurs(machine);
    stage.found.machine = machine;
    const { id } = await stage.refresh();
    must(id === machine.id, `requested machine ${machine.id}, but the driver returned ${id}`);
    return `${machine.id}`;
  },
};

const ssh: ConformanceStep = {
  id: 'ssh',
  title: 'SSH answers and accepts our key',
  needs: [],
  takes: ['machine'],
  async run(stage) {
    const session = await stage.until('SSH answers', bootWait(stage), () => tryConnect(stage));
    session.close();
    const { address, remoteUser } = stage.machine;
    return `${remoteUser} at ${address}`;
  },
};

const hostKey: ConformanceStep = {
  id: 'host-key',
  title: 'The host key is verified before any command runs',
  needs: [],
  takes: ['machine'],
  gives: 'trusted',
  async run(stage) {
    const proved = await stage.until('proof', bootWait(stage), () => tryProof(stage));
    const { evidence, session } = proved;
    try {
      stage.found.hostKey = session.hostKey;
      await checkVerifier(stage, proved);
    } finally {
      session.close();
    }
    return SHOWN[evidence];
  },
};

const SHOWN: Readonly<Record<HostKeyEvidence, string>> = {
  pinned: 'the key is the same as before',
  inventory: 'the inventory has the key',
  provider: 'the provider knows the key',
  secret: 'the machine showed its instance secret',
  'first-use': 'no proof of the key; the policy pins the first key',
  insecure: 'no proof of the key; the policy accepts any key',
};

interface Proved {
  readonly evidence: HostKeyEvidence;
  readonly session: ShellSession;
}

/**
 * Checks the driver's claim about its host key check. It may lack the check for a machine that it
 * did not create: an inventory does not know every key.
 */
async function checkVerifier(
  stage: ConformanceStage,
  { evidence, session }: Proved,
): Promise<void> {
  const { raw, machine } = stage;
  const verify = (bytes: Buffer) =>
    stage.ask('VerifyHostKey', (options) =>
      raw.verifyHostKey(machine, bytes, options, unprovedSession(session)),
    );
  const right = Buffer.from(session.hostKey, 'base64');
  const { hostKey: isAble, create } = raw.capabilities;
  const isKnown = evidence === 'provider' || evidence === 'inventory';
  if (!isAble || !(create || isKnown)) {
    await mustReject('verifyHostKey', ['not-implemented'], () => verify(right));
    return;
  }
  await verify(right);
  const wrong = Buffer.from(right);
  wrong[wrong.length - 1]! ^= 1;
  await mustReject('verifyHostKey of a wrong key', ['conflict'], () => verify(wrong));
}

/** A machine that the test created needs a proof under any policy. */
async function tryProof(stage: ConformanceStage): Promise<Proved | Pending> {
  const session = await tryConnect(stage);
  if ('pending' in session) return session;
  const { fleet: provider, machine, signal, found } = stage;
  const { create } = stage.raw.capabilities;
  const policy = create ? 'strict' : stage.ssh.policy;
  try {
    const question = { provider, machine, session, policy, pinned: found.hostKey, signal };
    return { session, evidence: await proveHostKey(question) };
  } catch (error) {
    // An abort may also have interrupted the driver's commands there.
    const isLate = !isEarly(error) && !isProviderError(error, 'transient');
    if (!isLate && !signal.aborted) return pending(explain(error));
    if (!(error instanceof HostKeyRejected)) throw error;
    const isUnknown = !create && machine.hostKey === undefined && policy === 'strict';
    if (isUnknown) throw new StepSkipped('the inventory knows no host key, and policy is strict');
    throw new StepFailed('no proof', { cause: error });
  }
}

/** Looks the machine up and connects to its current address. */
export async function tryConnect(stage: ConformanceStage): Promise<ShellSession | Pending> {
  const machine = await stage.refresh();
  if (machine.failed) throw new StepFailed('the provider says that the machine failed');
  if (machine.address === null) return pending('it has no address yet');
  const { host, port } = parseAddress(machine.address, stage.ssh.port);
  try {
    const { remoteUser: username, hostKey = null, sshPassword: password } = machine;
    const target = { host, port, username, hostKey, ...(password && { password }) };
    return await stage.shell.connect(target, stage.signal);
  } catch (error) {
    if (stage.signal.aborted || !isPassing(error)) throw error;
    return pending(explain(error));
  }
}

/** A booting machine refuses, hangs, disconnects, or does not know our key yet. */
const isPassing = (error: unknown): boolean =>
  error instanceof FleetError &&
  !isProviderError(error) &&
  (error.retryable || error instanceof Denied);

/** A machine that boots or shuts down cannot prove itself. */
export const isEarly = (error: unknown): boolean =>
  error instanceof RemoteFailure || isPassing(error);

export const bootWait = ({ patience }: ConformanceStage) => ({
  timeoutMs: patience.bootMs,
  intervalMs: patience.probeMs,
});

/** Works in a session, if there is one, and closes it. */
export async function overSsh<T>(
  connecting: Promise<ShellSession | Pending>,
  work: (session: ShellSession) => Promise<T>,
): Promise<T | Pending> {
  const session = await connecting;
  if ('pending' in session) return session;
  try {
    return await work(session);
  } finally {
    session.close();
  }
}

const boot: ConformanceStep = {
  id: 'boot',
  title: 'The machine runs commands and has a boot id',
  needs: [],
  takes: ['trusted'],
  gives: 'booted',
  async run(stage) {
    stage.found.bootId = await stage.until('the boot probe', bootWait(stage), () =>
      tryBootId(stage),
    );
  },
};

/** Opens a new connection to the proved host only, and reads its boot id. */
export const tryBootId = (stage: ConformanceStage): Promise<string | Pending> =>
  overSsh(tryTrusted(stage), async (session) => {
    try {
      const { stdout } = await session.execute(['cat', BOOT_ID], NOTHING, stage.signal);
      const bootId = stdout.toString('utf8').trim();
      return bootId === '' ? pending('it has no boot id') : bootId;
    } catch (error) {
      if (stage.signal.aborted || !(error instanceof FleetError)) throw error;
      return pending(explain(error));
    }
  });

async function tryTrusted(stage: ConformanceStage): Promise<ShellSession | Pending> {
  const session = await tryConnect(stage);
  if ('pending' in session || session.hostKey === stage.found.hostKey) return session;
  session.close();
  throw new StepFailed('the host key changed without a reinstallation');
}

const command: ConformanceStep = {
  id: 'command',
  title: 'The requested command succeeds',
  needs: [],
  takes: ['booted'],
  async run(stage) {
    const text = stage.wishes.command;
    if (text === null) throw new StepSkipped('no --command was given');
    const session = await stage.until('SSH answers', bootWait(stage), () => tryTrusted(stage));
    try {
      const { stdout } = await session.execute(argvOf(text), NOTHING, stage.signal);
      return stdout.toString('utf8').trim().split('\n')[0] ?? '';
    } finally {
      session.close();
    }
  },
};

/** Characters without a special meaning to a shell. */
const PLAIN = /^[\w@%+:,./ -]+$/;

/** Runs plain words directly, and other texts in a shell. */
export function argvOf(text: string): string[] {
  return PLAIN.test(text) && text.trim() !== '' ? text.trim().split(/ +/) : ['sh', '-c', text];
}

const pause: ConformanceStep = {
  id: 'pause',
  title: 'The tester may look at the machine',
  needs: [],
  takes: ['booted'],
  async run(stage) {
    const { machine, wishes } = stage;
    const { host, port } = parseAddress(machine.address ?? '', stage.ssh.port);
    const line = `ssh -p ${port} ${machine.remoteUser}@${host}`;
    if (wishes.pause === null) throw new StepSkipped(`no --pause was given; ${line}`);
    await wishes.pause(line, stage.signal);
    return line;
  },
};

const release: ConformanceStep = {
  id: 'release',
  title: 'An existing machine is released and taken in again, and runs on',
  needs: [],
  takes: ['booted'],
  async run(stage) {
    const { raw, fleet, call, found, machineId: id } = stage;
    if (raw.capabilities.create) throw new StepSkipped('the driver creates machines');
    await fleet.deprovisionMachine(id, call);
    const order = { hostname: fleet.hostnameFor(id), witness: stage.newWitness() };
    const again = await fleet.createMachine({ ...order, unused: await stage.refresh() }, call);
    must(again.id === id, `machine ${id} was released, and ${again.id} was taken in`);
    const bootId = await stage.until('the boot probe', bootWait(stage), () => tryBootId(stage));
    must(bootId === found.bootId, 'it has booted since');
  },
};

export const RELEASE: readonly ConformanceStep[] = [release];
export const CONTACT: readonly ConformanceStep[] = [ssh, hostKey, boot, command, pause];
export const EXISTING: readonly ConformanceStep[] = [existing];
