import type { UnlistedHere } from '../actors/providers/listings.ts';
import type { Mirror } from '../actors/mirror/mirror.ts';
import type { SessionKeeper } from '../actors/session-keeper.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { HealthCheck, HealthReport } from '../console/port.ts';
import { explain } from '../domain/errors.ts';

export interface HealthDeps {
  readonly keeper: Pick<SessionKeeper, 'current'>;
  readonly mirror: Pick<Mirror, 'lastScanAt'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Interval of full scans; null: this daemon does not read the fleet. */
  readonly scanMs: number | null;
  /** Providers that cannot be listed now. */
  readonly unlisted: () => readonly UnlistedHere[];
}

/** Scans may fail for this many periods before the daemon counts as not ready. */
const PERIODS_MAX = 3;
const PATIENCE_MIN_MS = 10_000;
/** A database answer stays valid for this long, so that frequent queries add no load. */
const ANSWER_MS = 1_000;

/**
 * The answer of `/readyz`: a live session, fresh rows, and a database that answers now. An unlisted
 * provider is named but does not make the daemon unready: machines are still watched and started,
 * and a restart would fix nothing.
 */
export function healthOf(deps: HealthDeps): () => Promise<HealthReport> {
  const { keeper, mirror, clock, scanMs, unlisted } = deps;
  const askDatabase = databaseProbe(deps);
  return async () => {
    const silence = await askDatabase();
    const session = keeper.current();
    const scannedAt = mirror.lastScanAt();
    const age = scannedAt === null ? null : clock.monotonic() - scannedAt;
    const fresh =
      scanMs === null || (age !== null && age < Math.max(PATIENCE_MIN_MS, PERIODS_MAX * scanMs));
    const scanned =
      scanMs === null
        ? 'answers'
        : age === null
          ? 'never scanned'
          : `last scan ${Math.round(age / 1_000)} s ago`;
    return {
      checks: {
        session: {
          ok: session !== null,
          detail: session ? `session ${session.sessionId} is alive` : 'no live session',
        },
        database: {
          ok: fresh && silence === null,
          detail: silence === null ? scanned : `${scanned}; ${silence}`,
        },
        ...Object.fromEntries(unlisted().map(checkOf)),
      },
    };
  };
}

const checkOf = ({ provider, sinceMs, cause }: UnlistedHere): [string, HealthCheck] => [
  `provider ${provider}`,
  {
    ok: false,
    degraded: true,
    detail: `cannot be listed since ${new Date(sinceMs).toISOString()}: ${cause}`,
  },
];

/**
 * Tests the database by extending the session, which a daemon depends on: also at the end of an
 * outage. One test at a time.
 * @returns why the database does not answer; null: it does, or there is no session.
 */
function databaseProbe({ keeper, clock }: HealthDeps): () => Promise<string | null> {
  let asked: Promise<string | null> | null = null;
  let validUntilMs = 0;
  const ask = async () => {
    try {
      await keeper.current()?.poke();
      return null;
    } catch (error) {
      return explain(error);
    } finally {
      validUntilMs = clock.monotonic() + ANSWER_MS;
    }
  };
  return () => {
    if (clock.monotonic() >= validUntilMs) asked = null;
    if (asked === null) {
      validUntilMs = Number.POSITIVE_INFINITY;
      asked = ask();
    }
    return asked;
  };
}
