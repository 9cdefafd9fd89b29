import { readFileSync } from 'node:fs';
import { withTimeLimit } from '../../clock/port.ts';
import { ProviderError } from '../../../domain/errors.ts';
import type { Controller } from '../../../domain/machine.ts';
import { isNetwork } from '../../../domain/recovery/rungs.ts';
import { createTurnGroups } from '../../driver-kit/turns.ts';
import type { DriverContext, CallOptions, OperationRef } from '../port.ts';
import { createBmc, type Bmc, type Wire } from './client/bmc.ts';
import { isNever, refusalIn, unlessAbsent } from './client/errors.ts';
import { resetKey, resetOf, type System, type ResetAction } from './client/system.ts';
import type { BmcEntry } from './entries.ts';
import type { Settings } from './settings.ts';

/** Result of an identity check. */
export type Identity = 'same' | 'unproved';

/**
 * Whether the system is the entry's: blades move, and BMC addresses are reused.
 * @returns `unproved`: the entry or the BMC has neither serial number nor UUID.
 * @throws {ProviderError} `conflict`: it is another system.
 */
export function checkIdentity(entry: BmcEntry, system: System): Identity {
  const pairs = [
    ['serial number', entry.serial, told(system.serial, serviceTagOf(system))],
    ['UUID', entry.uuid, told(system.uuid?.toLowerCase() ?? null)],
  ] as const;
  const compared = pairs.filter(([, ours, theirs]) => ours !== null && theirs.length > 0);
  const wrong = compared.find(([, ours, theirs]) => !theirs.includes(ours!));
  if (wrong) {
    const [what] = wrong;
    throw new ProviderError(
      'conflict',
      `${entry.bmc} belongs to another machine than ${entry.id}: the ${what} differs from the inventory's`,
    );
  }
  return compared.length > 0 ? 'same' : 'unproved';
}

const told = (...values: readonly (string | null)[]): readonly string[] =>
  values.filter((value) => value !== null);

/** Printed on a Dell, and called serial number elsewhere. */
const serviceTagOf = ({ manufacturer, sku }: System): string | null =>
  /dell/i.test(manufacturer ?? '') ? sku : null;

const LOGOUT_MS = 5_000;
const CLOSE_MS = 7_000;

/** The BMCs of an inventory, one object for each. */
export function createRack(options: Settings, context: DriverContext) {
  const { clock } = context;
  const { auth, credentials, bmcParallelism: parallelism } = options;
  const ca = options.caFile !== undefined && { ca: readFileSync(options.caFile, 'utf8') };
  const limits = { connectTimeoutMs: options.connectTimeout, timeoutMs: options.readTimeout };
  const pace = { gapMs: options.bmcGap, authPauseMs: options.authPause };
  const turns = createTurnGroups(
    {
      each: { maxConcurrency: 1, gapMs: 0, bulkLast: true },
      together: { maxConcurrency: parallelism, gapMs: 0, bulkLast: true },
    },
    { clock },
  );
  const deps = { ...context, turns };
  const bmcs = new Map<string, Bmc>();
  const leaving = new Set<Promise<void>>();

  const keyOf = (entry: BmcEntry) => `${entry.bmc} ${entry.certSha256 ?? ''} ${entry.credentials}`;

  function open({ bmc: url, certSha256: sha256, credentials: login }: BmcEntry): Bmc {
    const trust = { ...(sha256 !== null && { sha256 }), ...ca };
    return createBmc({ url, trust, limits, ...pace, auth, credentials: credentials[login]! }, deps);
  }

  /** Ends its session, whatever the result. */
  function leave(bmc: Bmc, limitMs: number): Promise<void> {
    const left = withTimeLimit(clock, { ms: limitMs }, bmc.logout).finally(() =>
      leaving.delete(left),
    );
    leaving.add(left);
    return left;
  }

  return {
    of(entry: BmcEntry): Bmc {
      const key = keyOf(entry);
      const bmc = bmcs.get(key) ?? open(entry);
      bmcs.set(key, bmc);
      return bmc;
    },
    all: (): readonly Bmc[] => [...bmcs.values()],
    /** Logs out from BMCs that no entry names any more, and forgets them. */
    keep(entries: Iterable<BmcEntry>): void {
      const kept = new Set([...entries].map(keyOf));
      for (const [key, bmc] of bmcs) {
        if (kept.has(key)) continue;
        bmcs.delete(key);
        void leave(bmc, LOGOUT_MS);
      }
    },
    /** Logs out everywhere. */
    async close(): Promise<void> {
      const isFew = bmcs.size <= parallelism;
      for (const bmc of bmcs.values()) void leave(bmc, isFew ? LOGOUT_MS : CLOSE_MS);
      bmcs.clear();
      await Promise.allSettled(leaving);
      turns.stop();
    },
  };
}
export interface Restart {
  readonly bmc: Bmc;
  readonly rack: readonly Bmc[];
  /** Last check before the request. @throws {ProviderError} */
  readonly check: () => Promise<void>;
}

export interface BmcCareOptions {
  readonly mayReset: boolean;
  /** Whether the address accepts connections. */
  readonly listens: (url: string) => Promise<boolean>;
}

/** A hanging BMC without connections for this long counts as disconnected. */
const AWAY_MS = 15 * 60_000;
const TYPES = ['GracefulRestart', 'ForceRestart'];
const MANAGER = 'the manager';
const ID_LENGTH_MAX = 128;

/** Tracks hanging BMCs: logs them, and resets them on request. */
export function createBmcCare(
  { mayReset, listens }: BmcCareOptions,
  { clock, log, metrics, name }: DriverContext,
) {
  /** With the time of each BMC's last accepted connection, by the monotonic clock. */
  const hanging = new Map<Bmc, number>();

  function note(bmc: Bmc, hangs: boolean) {
    const isNews = hangs !== hanging.has(bmc);
    if (hangs) hanging.set(bmc, clock.monotonic());
    else hanging.delete(bmc);
    if (!isNews) return;
    const fields = { bmc: bmc.url };
    metrics.set('redfish_bmc_unresponsive', { provider: name }, hanging.size);
    if (hangs) log.error(fields, 'a BMC accepts connections but answers nothing');
    else log.info(fields, 'a BMC no longer hangs');
  }

  const managerOf = ({ lasting }: Bmc) => lasting.get(MANAGER) as ResetAction | undefined;

  /** Beyond what the fleet knows, counts BMCs that have begun to be silent. */
  const isLikelyNetwork = (rack: readonly Bmc[]) =>
    isNetwork({
      hanging: rack.filter((bmc) => hanging.has(bmc) || bmc.standing.isTroubled()).length,
      of: rack.length,
    });

  /** Uses the first type that the BMC accepts. */
  async function send({ cannot }: Bmc, wire: Wire, action: ResetAction): Promise<string> {
    const types = TYPES.filter((type) => (action.allowed ?? TYPES).includes(type));
    for (const type of types.filter((one) => !cannot.has(resetKey(action.target, one)))) {
      try {
        await wire.send('POST', action.target, { ResetType: type });
        return type;
      } catch (error) {
        const refusal = refusalIn(error);
        if (!refusal || !isNever(refusal)) throw error;
        cannot.add(resetKey(action.target, type));
      }
    }
    throw new ProviderError('not-implemented', 'the BMC cannot be reset');
  }

  return {
    /** Reads a BMC's reset action in advance, while it still answers. */
    async prepare({ lasting }: Bmc, wire: Wire, { managers: [manager] }: System): Promise<void> {
      if (!mayReset || manager === undefined || lasting.has(MANAGER)) return;
      const found = await unlessAbsent(wire.get(manager));
      const action = resetOf(found?.json?.['Actions'], '#Manager.Reset');
      if (action) lasting.set(MANAGER, action);
    },
    /** The BMC answered a request, which proves that it no longer hangs. */
    answered: (bmc: Bmc): void => note(bmc, false),
    /** A round of a BMC has ended. */
    async attend(bmc: Bmc, rack: readonly Bmc[]): Promise<void> {
      for (const other of hanging.keys()) if (!rack.includes(other)) note(other, false);
      const atMs = hanging.get(bmc);
      if (atMs === undefined && !bmc.standing.isSilent()) return;
      if (await listens(bmc.url)) note(bmc, true);
      else if (atMs !== undefined && clock.monotonic() - atMs >= AWAY_MS) note(bmc, false);
    },
    /** Undefined: the BMC may not be reset, or its reset action is unknown. */
    shown: (bmc: Bmc): Controller | undefined =>
      mayReset && managerOf(bmc)
        ? { id: new URL(bmc.url).host.slice(0, ID_LENGTH_MAX), hangs: hanging.has(bmc) }
        : undefined,
    /**
     * Resets a hanging BMC.
     * @throws {ProviderError} `conflict`: it does not hang, or the network is the likely cause.
     */
    async restart({ bmc, rack, check }: Restart, { signal }: CallOptions): Promise<OperationRef> {
      const { url } = bmc;
      const action = managerOf(bmc);
      const type = await bmc.inTurn({ signal, urgent: true }, async (wire) => {
        // Checked again within its turn: it may have answered meanwhile.
        if (!action || !hanging.has(bmc))
          throw new ProviderError('conflict', `${url} does not hang`);
        if (isLikelyNetwork(rack)) {
          throw new ProviderError(
            'conflict',
            `so many BMCs are silent that the cause is not ${url} alone`,
          );
        }
        await check();
        log.warn({ bmc: url }, 'a hanging BMC is reset; its machine keeps running');
        return send(bmc, wire, action);
      });
      return { operationRef: `${type} ${url} ${new Date(clock.now()).toISOString()}` };
    },
  };
}
