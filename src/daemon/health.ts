import type { UnlistedHere } from '../actors/listing-health.ts';
import type { Mirror } from '../actors/mirror.ts';
import type { SessionKeeper } from '../actors/session-keeper.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { HealthCheck, HealthReport } from '../console/port.ts';

export interface HealthDeps {
  readonly keeper: SessionKeeper;
  readonly mirror: Mirror;
  readonly clock: Clock;
  /** Period of the full scan. */
  readonly scanMs: number;
  /** Providers that cannot be listed now. */
  readonly unlisted: () => readonly UnlistedHere[];
}

/** Scans may fail for this many periods before the daemon counts as not ready. */
const PERIODS_MAX = 3;
const PATIENCE_MIN_MS = 10_000;

/**
 * What `/readyz` says: a live session, and rows that are not stale. A provider that cannot be listed
 * is named, and makes nothing unready: machines are watched and started all the same, and to end the
 * daemon for it would mend nothing.
 */
export const healthOf =
  ({ keeper, mirror, clock, scanMs, unlisted }: HealthDeps) =>
  (): HealthReport => {
    const session = keeper.current();
    const scannedAt = mirror.lastScanAt();
    const age = scannedAt === null ? null : clock.monotonic() - scannedAt;
    const fresh = age !== null && age < Math.max(PATIENCE_MIN_MS, PERIODS_MAX * scanMs);
    return {
      checks: {
        session: {
          ok: session !== null,
          detail: session ? `session ${session.sessionId} is alive` : 'no live session',
        },
        database: {
          ok: fresh,
          detail: age === null ? 'never scanned' : `last scan ${Math.round(age / 1_000)} s ago`,
        },
        ...Object.fromEntries(unlisted().map(checkOf)),
      },
    };
  };

const checkOf = ({ provider, sinceMs, cause }: UnlistedHere): [string, HealthCheck] => [
  `provider ${provider}`,
  {
    ...{ ok: false, degraded: true },
    detail: `cannot be listed since ${new Date(sinceMs).toISOString()}: ${cause}`,
  },
];
