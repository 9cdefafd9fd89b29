import { createHash } from 'node:crypto';
import { UsageError, ProviderError } from '../../domain/errors.ts';
import type { Witness } from '../../domain/ids.ts';
import type { ProviderMachine } from '../../domain/machine.ts';
import { facetsOf } from '../../domain/provisioning/provider-holds.ts';
import {
  INSTANCE_SECRET_PATH,
  PLAN_TAG,
  SECRET_TAG,
  SET_ID_TAG,
  TAG_PREFIX,
  WITNESS_TAG,
  type Tags,
} from '../../domain/provisioning/provider-tags.ts';
import type { Random } from '../clock/port.ts';
import type {
  ReinstallRequest,
  AttemptProgress,
  CallOptions,
  CreateRequest,
  DriverMachine,
  FleetCreateRequest,
  Provider,
} from '../provider/port.ts';
import type { Calls, Running } from './calls.ts';
import { faultOf, nameOfEntry } from './entries.ts';
import type { Scrubber } from './redaction.ts';

export const SECRET_DIGITS = 40;
/** Vendors limit user data. */
const SCRIPT_BYTES = 1023;

/** 40 hex digits; two unguessable UUIDs have more entropy. */
export const newSecret = ({ uuid }: Pick<Random, 'uuid'>): string =>
  hashOf(`${uuid()} ${uuid()}`).slice(0, SECRET_DIGITS);

/** 64 hex digits; a machine's tag. Only this hash of a secret is ever stored or shown. */
export const hashOf = (secret: string): string =>
  createHash('sha256').update(secret, 'utf8').digest('hex');

/**
 * First-boot script: stores the secret where the host-key proof reads it, then runs the site's own
 * lines.
 * @throws {UsageError} the script reaches 1 KiB.
 */
export function initCommand(secret: string, site: string): string {
  const script = [
    '#!/bin/sh',
    'umask 0077',
    `mkdir -p ${INSTANCE_SECRET_PATH.slice(0, INSTANCE_SECRET_PATH.lastIndexOf('/'))}`,
    'umask 0177',
    `printf %s ${secret} > ${INSTANCE_SECRET_PATH}`,
    'umask 0022',
    site,
  ].join('\n');
  const excess = Buffer.byteLength(script) - SCRIPT_BYTES;
  if (excess <= 0) return script;
  throw new UsageError(`initCommand is ${excess} bytes too long; shorten it`);
}

export interface FirstBootOptions {
  readonly instanceSetId: string;
  /** Tags of every created machine; the machine's own tags take precedence. */
  readonly sharedTags: Tags;
  /** Operating system of new machines; null: the driver's default. */
  readonly image: string | null;
  /** The site's own first-boot lines. */
  readonly initCommand: string;
  /** May change; new machines get the current value. */
  readonly publicKey: string;
}

/** Tags, key and first-boot script that the core gives a new machine. */
export function createFirstBoot(
  options: FirstBootOptions,
  { keep, random }: Pick<Scrubber, 'keep'> & { readonly random: Random },
) {
  const { instanceSetId, sharedTags, image, initCommand: site } = options;
  // Finds out now, not with the first machine, if the script is too long.
  initCommand('0'.repeat(SECRET_DIGITS), site);

  /** Each request has its own secret. */
  function boot(tags: Tags): ReinstallRequest {
    const secret = newSecret(random);
    const script = initCommand(secret, site);
    keep(site, secret, script);
    return {
      image,
      tags: { ...sharedTags, ...tags, [SECRET_TAG]: hashOf(secret) },
      initCommand: script,
      publicKey: options.publicKey,
    };
  }

  return {
    forCreation: (plan: string, witness: Witness) =>
      boot({ [SET_ID_TAG]: instanceSetId, [WITNESS_TAG]: witness, [PLAN_TAG]: plan }),
    forReinstallation: (machine: ProviderMachine) => boot(ourTags(machine)),
  };
}

/** Tags that only we may write. */
export const ourTags = ({ tags }: Pick<ProviderMachine, 'tags'>): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => key.startsWith(TAG_PREFIX)));

/**
 * Requests one machine from the driver; returns it with its tags.
 * @throws {ProviderError} `invalid`: the slot is no free capacity. Rethrows the error of
 *   `onAttempt`: that attempt was not made.
 */
export async function createOne(
  deps: {
    readonly provider: Provider;
    readonly ask: Calls['ask'];
    readonly boot: ReturnType<typeof createFirstBoot>;
  },
  request: FleetCreateRequest,
  running: Running,
): Promise<{ readonly made: DriverMachine; readonly tags: Tags }> {
  const { provider, boot } = deps;
  const { unused, hostname, witness, resumed = false } = request;
  refuseUnusable(unused);
  const announcements = createAnnouncements(request);
  const order: CreateRequest = {
    ...boot.forCreation(unused.plan, witness),
    unused,
    hostname,
    plan: unused.plan,
    resumed,
    onAttempt: announcements.onAttempt,
  };
  const create = async (options: CallOptions) => {
    const made = await provider.createMachine(order, options);
    refuseUnlikely(made, unused);
    return made;
  };
  const made = await deps.ask('Create', running, create).catch((error: unknown) => {
    throw announcements.reasonOf(error);
  });
  return { made, tags: order.tags };
}

function refuseUnusable(unused: ProviderMachine | undefined): void {
  if (unused && unused.availability !== 'KnownUsed' && unused.ownership !== 'foreign') return;
  throw new ProviderError('invalid', 'a creation needs free capacity of this provider');
}

/** A machine may exist, but the driver cannot identify it. */
function refuseUnlikely(made: DriverMachine, { reservationId }: ProviderMachine): void {
  const fault = faultOf(made) ?? mismatch(made, reservationId);
  if (fault === null) return;
  throw new ProviderError(
    'permanent',
    `the driver returned machine ${nameOfEntry(made)}: ${fault}`,
    { outcome: 'unknown' },
  );
}

function mismatch(made: DriverMachine, reservationId: string | null): string | null {
  if (made.id === null) return 'it has no id';
  if (made.availability === 'KnownUnused') return 'it is free';
  const isOther = made.reservationId !== null && made.reservationId !== reservationId;
  return reservationId !== null && isOther ? `it is on ${made.reservationId}` : null;
}

/** Remembers which `onAttempt` failed, however the driver wraps the error. */
function createAnnouncements({ onAttempt }: Pick<FleetCreateRequest, 'onAttempt'>) {
  let refused: { readonly cause: unknown } | null = null;
  return {
    async onAttempt(progress: AttemptProgress): Promise<void> {
      try {
        await onAttempt?.(progress);
      } catch (cause) {
        refused = { cause };
        throw cause;
      }
    },
    /** The error with which the creation rejects. */
    reasonOf(error: unknown): unknown {
      if (!refused) return error;
      const { cause } = refused;
      return stems(error, cause) || facetsOf(error).outcome === 'not-done' ? cause : error;
    },
  };
}

/** Whether the error is `from`, or was caused by it. */
function stems(error: unknown, from: unknown): boolean {
  for (let at = error, depth = 0; depth < 16; depth++) {
    if (at === from) return true;
    if (!(at instanceof Error)) return false;
    at = at.cause;
  }
  return false;
}
