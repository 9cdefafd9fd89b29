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

/** Why a host key was believed. The last two are no proofs: the policy let the key pass. */
export type HostKeyEvidence =
  | 'pinned'
  | 'inventory'
  | 'provider'
  | 'secret'
  | 'first-use'
  | 'insecure';

interface HostKeyQuestion {
  readonly provider: FleetProvider;
  /** As the provider shows it now: its tags and its inventory's key count. */
  readonly machine: ProviderMachine;
  /** Connected, and nothing was run on it yet. */
  readonly session: ShellSession;
  readonly policy: HostKeyPolicy;
  /** The key that was believed before; null: none, or the system was installed anew since. */
  readonly pinned: string | null;
  readonly signal: AbortSignal;
  /** Told when it is another host than the one that is known. */
  readonly onChanged?: () => void;
}

/**
 * Finds out whether the machine at the other end is the one it should be, before anything runs there but
 * the question for its secret, and what its driver runs to judge the key. Closes the session unless it is.
 * @throws {HostKeyRejected} it is not, or nothing proves it and the policy wants a proof.
 * @throws {RemoteFailure} it could not show its secret, as before the end of its first boot.
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
  // This comes before the pin, which may be the key of whoever answered first; a person knows better.
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
 * @param cause why nobody knows the key, and what to do about it.
 * @throws {HostKeyRejected} the host is not the one that was pinned, or must be proved and is not.
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

/** Names both keys by their fingerprints, as OpenSSH shows them. */
const differs = (seen: string, expected: string, which: string) =>
  new HostKeyChanged(
    `the host key ${fingerprintOf(seen)} differs from ${which}, ${fingerprintOf(expected)}`,
  );

/** Why the provider cannot tell; null: it knows the key. Any error but `not-implemented` is thrown. */
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

/** What a driver may do on a host that is not proved yet: run commands. */
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

/** False: there is no secret to ask for, or, where any host is good enough, it cannot be shown. */
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
