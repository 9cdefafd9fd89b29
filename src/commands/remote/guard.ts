import type { Fleet } from './answers.ts';
import { file, requireReason, type AskFlags } from './filing.ts';
import type { Session, Told } from './session.ts';
import { requireAmong } from './verbs.ts';

const WAIT_MS = 30_000;

/**
 * `shepherd fleet freeze|thaw`: asks the guard to stop recovery, or to let it go on.
 * @throws {UsageError} there is no such provider: nothing was done.
 */
export async function runGuardVerb(
  verb: 'freeze' | 'thaw',
  flags: AskFlags & { readonly provider?: string },
  session: Session,
): Promise<Told> {
  requireReason(flags);
  const { provider } = flags;
  if (provider !== undefined) {
    const { providers, cells } = await session.client.get<Fleet>('/fleet');
    requireAmong('provider', provider, [...providers, ...cells.map((each) => each.provider)]);
  }
  const body = { verb, scope: provider ?? 'fleet' };
  return file(body, { ...flags, waitMs: flags.wait ?? WAIT_MS }, session);
}
