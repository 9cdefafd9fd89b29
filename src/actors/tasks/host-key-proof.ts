import { createHash, timingSafeEqual } from 'node:crypto';
import type { FleetProvider, HostKeySession } from '../../adapters/provider/port.ts';
import { fingerprintOf, type ShellSession } from '../../adapters/ssh/port.ts';
import {
  CommandFailed,
  HostKeyChanged,
  HostKeyRejected,
  isProviderError,
  ProviderError,
  RemoteFailure,
} from '../../domain/errors.ts';
import type { ProviderMachine } from '../../domain/machine.ts';
import type { HostKeyPolicy } from '../../domain/policy.ts';
import { INSTANCE_SECRET_PATH, SECRET_TAG } from '../../domain/provisioning/provider-tags.ts';

/** Why a host key was accepted. The last two are no proofs: the policy accepted the key. */
export type HostKeyEvidence =
  | 'pinned'
  | 'inventory'
  | 'provider'
  | 'secret'
  | 'first-use'
  | 'insecure';

interface HostKeyQuestion {
  readonly provider: FleetProvider;
  /** The provider's current entry: its tags and its inventory's key count. */
  readonly machine: ProviderMachine;
  /** Connected; no command has run yet. */
  readonly session: ShellSession;
  readonly policy: HostKeyPolicy;
  /** The key accepted before; null: none, or the system was reinstalled since. */
  readonly pinned: string | null;
  readonly signal: AbortSignal;
  /** Called when the host is not the known one. */
  readonly onChanged?: () => void;
}

/**
 * Checks that the remote host is the right machine before any other command runs there. Only the
 * command that reads its secret and the driver's key checks run earlier. Closes the session of a
 * wrong host.
 * @throws {HostKeyRejected} it is not, or nothing proves it and the policy requires proof.
 * @throws {RemoteFailure} it could not show its secret, for example before its first boot ended.
 * @throws {ProviderError} the provider could not be asked.
 */
export async function proveHostKey(question: HostKeyQuestion): Promise<HostKeyEvidence> {
  try {
    return await evidenceOf(question);
  } catch (error) {
    question.session.close();
    if (error instanceof HostKeyChanged) question.onChanged?.();
    throw error;
  }
}

async function evidenceOf(question: HostKeyQuestion): Promise<HostKeyEvidence> {
  const { machine, session, policy, pinned } = question;
  // This precedes the pin, which may come from a wrong first host; a person's entry is more
  // reliable.
  if (machine.hostKey !== undefined && policy !== 'insecure') {
    if (machine.hostKey !== session.hostKey)
      throw differs(session.hostKey, machine.hostKey, 'the one in the inventory');
  }
  if (pinned === session.hostKey) return 'pinned';
  if (pinned !== null) judgeHostKey(policy, pinned, session.hostKey);
  if (machine.hostKey === session.hostKey) return 'inventory';
  const ignorance = await providerKnows(question);
  if (ignorance === null) return 'provider';
  if (await secretIsRight(question)) return 'secret';
  judgeHostKey(policy, null, session.hostKey, ignorance);
  return policy === 'insecure' ? 'insecure' : 'first-use';
}

/**
 * @param cause why the key is unknown, and what to do.
 * @throws {HostKeyRejected} the host is not the pinned one, or needs a proof and has none.
 */
function judgeHostKey(
  policy: HostKeyPolicy,
  pinned: string | null,
  seen: string,
  cause?: Error,
): void {
  if (policy === 'insecure' || pinned === seen) return;
  if (pinned !== null) throw differs(seen, pinned, 'the pinned one');
  if (policy !== 'strict') return;
  const shown = `it shows ${fingerprintOf(seen)}`;
  throw new HostKeyRejected(`no host key is known, and policy is strict; ${shown}`, { cause });
}

/** Names both keys by their fingerprints, in OpenSSH's form. */
const differs = (seen: string, expected: string, which: string) =>
  new HostKeyChanged(
    `the host key ${fingerprintOf(seen)} differs from ${which}, ${fingerprintOf(expected)}`,
  );

/** Why the provider cannot tell; null: it knows the key. Throws any error but `not-implemented`. */
async function providerKnows({ provider, machine, session, signal }: HostKeyQuestion) {
  const key = Buffer.from(session.hostKey, 'base64');
  try {
    await provider.verifyHostKey(machine, key, { signal }, unprovedSession(session));
    return null;
  } catch (error) {
    if (isProviderError(error, 'not-implemented')) return error;
    if (!isProviderError(error, 'conflict')) throw error;
    throw new HostKeyChanged('the provider knows another host key', { cause: error });
  }
}

/** The rights of a driver on a host without proof: it may run commands. */
export const unprovedSession = (session: Pick<ShellSession, 'execute'>): HostKeySession => ({
  async execute({ argv, stdin = '' }, { signal }) {
    const end = await session.execute(argv, Buffer.from(stdin), signal).then(
      (written) => ({ exitCode: 0, ...written }),
      (error: unknown) => {
        if (error instanceof CommandFailed) return error;
        const kind = signal.aborted ? 'aborted' : 'transient';
        throw new ProviderError(kind, 'a command on the machine had no end', { cause: error });
      },
    );
    const { exitCode } = end;
    const [stdout, stderr] = [end.stdout, end.stderr].map((bytes) => Buffer.from(bytes).toString());
    return { exitCode, stdout: stdout!, stderr: stderr! };
  },
});

const NOTHING = new Uint8Array(0);
const HASH = /^[0-9a-f]{64}$/i;

/** False: no secret is expected, or it cannot be shown and the policy accepts any host. */
async function secretIsRight({ machine, session, policy, signal }: HostKeyQuestion) {
  const expected = machine.tags[SECRET_TAG];
  if (expected === undefined) return false;
  let shown: Buffer;
  try {
    shown = (await session.execute(['cat', INSTANCE_SECRET_PATH], NOTHING, signal)).stdout;
  } catch (error) {
    if (policy === 'insecure' && error instanceof RemoteFailure) return false;
    throw error;
  }
  if (isHashOf(expected, shown)) return true;
  throw new HostKeyChanged('bad instance secret');
}

function isHashOf(expected: string, shown: Buffer): boolean {
  if (!HASH.test(expected)) return false;
  const actual = createHash('sha256').update(shown).digest();
  return timingSafeEqual(actual, Buffer.from(expected, 'hex'));
}
