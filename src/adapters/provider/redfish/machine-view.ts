import { SET_ID_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Controller, HeldSecret } from '../../../domain/machine.ts';
import { targetOf } from '../../kit/inventory/host-entries.ts';
import type { DriverMachine } from '../port.ts';
import type { System } from './client/system.ts';
import type { BmcEntry } from './entries.ts';
import { setIdIn } from './owner-mark.ts';

/** What was seen of a machine, and when. */
export interface Sighting {
  /** As its BMC said it. */
  readonly power: string | null;
  /** Of the asset tag; null: it carries no mark. */
  readonly setId: string | null;
  /** By the monotonic clock. */
  readonly seenMs: number;
}

export const sightingOf = ({ power, assetTag }: System, seenMs: number): Sighting => ({
  power,
  setId: setIdIn(assetTag),
  seenMs,
});

/** "off" must be really seen: a power cycle builds on it. */
export const powerOf = (sighting: Sighting | null): 'on' | 'off' | 'unknown' =>
  sighting?.power === 'On' ? 'on' : sighting?.power === 'Off' ? 'off' : 'unknown';

const AT_REST = new Set(['Off', 'PoweringOff', 'PoweringOn', 'Paused']);

export interface Shown {
  readonly entry: BmcEntry;
  /** Null: nothing is known, or what was known is too old. */
  readonly sighting: Sighting | null;
  /** Whether its SSH port answers; null: nothing is known. */
  readonly answers: boolean | null;
  readonly instanceSetId: string;
  readonly sshUser: string;
  /** Undefined: it is not to be restarted. */
  readonly controller: Controller | undefined;
  readonly sshPassword: HeldSecret | undefined;
}

/** The inventory is the mark, unless the machine itself carries that of another set. */
export function machineOf(shown: Shown): DriverMachine {
  const { entry, sighting, answers, instanceSetId, sshUser, sshPassword, controller } = shown;
  const isAtRest = AT_REST.has(sighting?.power ?? '');
  return {
    id: entry.id,
    reservationId: null,
    availability: 'PossiblyUsed',
    plan: entry.plan,
    location: entry.location,
    address: targetOf(entry),
    remoteUser: entry.sshUser ?? sshUser,
    status: isAtRest ? 'Stopped' : answers === true ? 'Running' : 'Unknown',
    power: powerOf(sighting),
    tags: { [SET_ID_TAG]: sighting?.setId ?? instanceSetId },
    ...(entry.hostKey !== null && { hostKey: entry.hostKey }),
    ...(sshPassword && { sshPassword }),
    ...(controller && { controller }),
  };
}

/** The id as a host name: lower case, letters, digits and hyphens, at most 63. */
export const hostnameOf = (id: string): string =>
  id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '-')
    .slice(0, 63);
