import type { CallOptions, SweepReport } from '../port.ts';
import type { Parts } from './deps.ts';
import { ourName } from './names.ts';
import { nullIfGone } from './servers.ts';

const HOUR_MS = 3_600_000;

/**
 * Claims of creations that never renamed their server, and keys that were set aside and are earlier keys
 * of ours; both an hour old at least, or of an age that nobody knows.
 */
export async function sweepLeftovers(
  { config, client, servers, claims, ourKey, clock }: Parts,
  { dryRun, ...how }: Pick<CallOptions, 'signal'> & { readonly dryRun: boolean },
): Promise<SweepReport> {
  const removed: { kind: string; id: string }[] = [];
  const { ours } = await claims.all(how);
  for (const claim of ours.values()) {
    if (claim.phase !== 'claimed' || clock.now() - claim.sinceMs < HOUR_MS) continue;
    // One that is not shown may be again.
    const server = await servers.read(claim.server, how).catch(nullIfGone);
    if (!server || server.name === ourName(config, claim.witness)) continue;
    if (!dryRun) await claims.drop(claim, how);
    removed.push({ kind: 'claim', id: String(claim.server) });
  }
  const old = `${config.sshKeyName}-old-`;
  for (const { name, md5, createdAt } of await client.listKeys(how)) {
    const ageMs = clock.now() - Date.parse(createdAt ?? '');
    if (!name.startsWith(old) || !ourKey.isPrevious(md5) || ageMs < HOUR_MS) continue;
    if (!dryRun) await client.deleteKey(md5, how);
    removed.push({ kind: 'ssh-key', id: md5 });
  }
  return { removed };
}
