import type { Log } from '../../adapters/log/port.ts';
import type { GuardPicture, GuardStanding } from '../../domain/recovery/standing.ts';

interface Known extends GuardPicture {
  readonly standings: readonly GuardStanding[];
}

/**
 * Says in the log what changed between two assessments. A freeze that nobody asked for is worth waking
 * somebody up: `error`, with the numbers and what to do.
 */
export function reportGuard(log: Log, before: Known, after: Known): void {
  reportFreezes(log, before, after);
  const known = new Map(before.standings.map((each) => [each.scope, each]));
  for (const { scope, state, reason } of after.standings) {
    const was = known.get(scope)?.state ?? 'watching';
    if (was === state) continue;
    if (state === 'suspicious') log.warn({ scope, reason }, SUSPICIOUS);
    if (state === 'grace') log.info({ scope, reason }, GRACE);
    if (state === 'watching' && was !== 'frozen') log.info({ scope, was }, WATCHING);
  }
}

function reportFreezes(log: Log, before: Known, after: Known): void {
  const frozenBefore = new Set(before.rows.filter(isFrozen).map(({ scope }) => scope));
  for (const row of after.rows) {
    const { scope, frozen } = row;
    if (!frozen) {
      if (frozenBefore.has(scope)) log.info({ scope }, THAWED);
      continue;
    }
    if (frozenBefore.has(scope)) continue;
    const { kind, by, reason } = frozen;
    const counts = after.counts.find((each) => each.scope === scope) ?? {};
    const fields = { ...counts, scope, kind, by, reason };
    if (kind === 'manual') log.warn(fields, FROZEN_BY_HAND);
    else log.error(fields, FROZEN);
  }
}

const isFrozen = ({ frozen }: GuardPicture['rows'][number]): boolean => frozen !== null;

const FROZEN =
  'recovery is frozen: too many machines fell silent or out of reach together, so look at the ' +
  'network, the agent server and the provider first; none is recovered before they are back, or ' +
  'before somebody says that they are gone: `shepherd fleet thaw`';
const FROZEN_BY_HAND = 'recovery is frozen by an operator, until an operator thaws it';
const THAWED = 'recovery is thawed: what is still silent is looked at anew';
const SUSPICIOUS = 'so many machines are late or silent at once that none is recovered for now';
const GRACE = 'machines are not recovered until heartbeats have been taken in for long enough';
const WATCHING = 'the guard has nothing against recovery';
