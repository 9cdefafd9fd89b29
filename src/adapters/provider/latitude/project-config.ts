import type { ApiTimings } from '../../http/api.ts';
import { type Place, placesOf } from './names.ts';
import type { LatitudeSettings } from './settings.ts';

/** One configured project, in the words of the driver. */
export interface LatitudeConfig extends Pick<
  LatitudeSettings,
  | 'baseUrl'
  | 'namePrefix'
  | 'os'
  | 'billing'
  | 'sshKeyName'
  | 'onDeprovision'
  | 'readsPerMinute'
  | 'writesPerMinute'
  | 'pageSize'
> {
  /** Name of the provider, as slots, BMDB and metrics show it. */
  readonly name: string;
  readonly instanceSetId: string;
  /** Asked before each attempt, so that a rotated token is picked up. Never logged. */
  readonly token: () => string;
  /** OpenSSH line of the key that new machines let in; may change. */
  readonly publicKeyLine: string;
  /** OpenSSH lines of our earlier keys; may change. */
  readonly previousKeyLines: readonly string[];
  readonly projectId: string;
  readonly raid: LatitudeSettings['raid'];
  readonly places: readonly Place[];
  readonly timings: ApiTimings;
  /** How long after an installation was asked for `on` tells of what was before, milliseconds. */
  readonly staleOnMs: number;
  /** How long a new server may take to show up in the list, milliseconds. */
  readonly settleMs: number;
}

type Around = Pick<LatitudeConfig, 'name' | 'instanceSetId'> & {
  readonly publicKey: () => string;
  readonly previousKeys?: () => readonly string[];
};

/** What the file says, in the words of the driver. */
export function configOf(settings: LatitudeSettings, around: Around): LatitudeConfig {
  const { token, project, slots, raid, settle, namePrefix } = settings;
  const { connectTimeout, attemptTimeout, operationTimeout } = settings;
  const { baseUrl, os, billing, sshKeyName, onDeprovision } = settings;
  const { readsPerMinute, writesPerMinute, pageSize } = settings;
  return {
    ...{ baseUrl, namePrefix, os, billing, sshKeyName, onDeprovision },
    ...{ readsPerMinute, writesPerMinute, pageSize },
    name: around.name,
    instanceSetId: around.instanceSetId,
    token: () => token.read(),
    get publicKeyLine() {
      return around.publicKey();
    },
    get previousKeyLines() {
      return around.previousKeys?.() ?? [];
    },
    projectId: project,
    raid,
    places: placesOf(slots, namePrefix),
    settleMs: settle,
    staleOnMs: settings.staleOn,
    timings: {
      connectTimeoutMs: connectTimeout,
      attemptTimeoutMs: attemptTimeout,
      listPageTimeoutMs: attemptTimeout,
      operationTimeoutMs: operationTimeout,
      // A read is repeated after 1, 2 and 4 seconds, about.
      backoffInitialMs: 1_000,
      backoffMaximumMs: 4_000,
      pauseMaxMs: 5 * 60_000,
      authPauseMs: 60_000,
    },
  };
}
