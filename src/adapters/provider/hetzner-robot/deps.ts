import { ProviderError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Locks } from '../../kit/locks.ts';
import type { Log } from '../../log/port.ts';
import type { ClaimStore } from './claims.ts';
import type { RobotClient } from './client/client.ts';
import type { OurKey } from './our-key.ts';
import type { Servers } from './servers.ts';
import type { RobotConfig } from './settings.ts';
import type { Systems } from './systems.ts';

/** What every part of the driver works with. */
export interface Parts {
  readonly config: RobotConfig;
  readonly client: RobotClient;
  readonly servers: Servers;
  readonly claims: ClaimStore;
  readonly systems: Systems;
  readonly ourKey: OurKey;
  readonly clock: Clock;
  readonly log: Log;
  /** By server: what goes to the rescue system goes there one after the other. */
  readonly locks: Locks;
}

/** Time that a machine needs before a look at it tells anything. */
export const RESET_FLOOR_MS = 15_000;
export const LOOK_GAP_MS = 10_000;

/** The same error, of a change that may have been carried out. */
export function asUnknown(error: unknown): unknown {
  if (!(error instanceof ProviderError) || error.outcome === 'unknown') return error;
  const { kind, message, cause, rateLimit } = error;
  return new ProviderError(kind, message, {
    cause,
    outcome: 'unknown',
    ...(rateLimit && { rateLimit }),
  });
}
