import { explain, isProviderError, ProviderError, UsageError } from '../../../../domain/errors.ts';
import type { Secret } from '../../../../settings/secret.ts';
import { sleep } from '../../../clock/port.ts';
import { asUnknown } from '../../../driver-kit/errors.ts';
import { ProgramFailure } from '../../../driver-kit/program.ts';
import { createTurnGroups } from '../../../driver-kit/turns.ts';
import type { CallOptions, DriverContext, DriverMachine, OperationRef } from '../../port.ts';
import type { HostEntry } from '../../../driver-kit/inventory/entries.ts';

/** `unknown` is never taken for `off`. */
export type Power = 'on' | 'off' | 'unknown';
/** What can be asked of a machine's power. `graceful`: its system restarts, or shuts down. */
export type SwitchAction = 'on' | 'off' | 'reset' | 'cycle' | 'graceful';
/** A change that the fleet asks for. */
export type PowerWish = 'on' | 'off' | 'reboot gracefully' | 'reboot by force';

type Host = Pick<HostEntry, 'id' | 'address'>;

/** Switches the power of machines by one means; it repeats nothing. */
export interface PowerSwitch<Reset> {
  /** Calls with the same key run one after the other. */
  keyOf(reset: Reset, host: Host): string;
  /** A graceful request shuts the system down, and the machine must then be switched on. */
  readonly gracefulStaysOff: boolean;
  /** @throws {ProviderError} */
  read(reset: Reset, host: Host, signal: AbortSignal): Promise<Power>;
  /** @throws {ProviderError} `conflict`: it is another machine. */
  checkIdentity?(reset: Reset, host: Host, signal: AbortSignal): Promise<void>;
  /**
   * @throws {ProviderError} `not-implemented`: impossible here, and nothing was changed.
   *   `outcome: 'unknown'`: the answer was lost.
   */
  act(action: SwitchAction, reset: Reset, host: Host, signal: AbortSignal): Promise<void>;
}

/** A machine of the list with the data of its means. */
export interface SwitchedEntry<Reset> extends Host {
  readonly reset: Reset;
}

/** What a BMC or program says of a machine. It overrides the list. */
export type MeansView = Partial<DriverMachine>;

export const viewOf = (power: Power): MeansView => ({
  power,
  ...(power === 'off' && { status: 'Stopped' as const }),
});

/** A call that changes a machine. */
export interface ResetCall {
  readonly call: CallOptions;
  /** The machine as the means sees it, for the check of its owner. */
  readonly show: (view: MeansView) => DriverMachine;
}

/** A configured means, for the entries that name it. */
export interface ResetMeans<Entry> {
  /** From memory, without waiting for a machine's BMC. */
  list(entries: readonly Entry[], call: CallOptions): Promise<ReadonlyMap<string, MeansView>>;
  /** Reads one machine; its power is unknown if it cannot be read. */
  look(entry: Entry, call: CallOptions): Promise<MeansView>;
  /**
   * @throws {ProviderError} `conflict`: another machine. `transient` with `outcome: 'unknown'`: the
   *   answer was lost; a reset is never repeated.
   */
  change(entry: Entry, wish: PowerWish, given: ResetCall): Promise<OperationRef>;
  stop(): Promise<void>;
}

const TOGETHER_MAX = 16;
/** For this long, the power that was read last is the answer. */
const FRESH_MS = 5_000;
/** After a failure the power counts as unknown for this long, and is not read. */
const REST_MS = 30_000;
/** How long a system has for its shutdown, and how often the power is read meanwhile. */
const SHUTDOWN_MS = 2 * 60_000;
const LOOK_MS = 5_000;
const ON_TRIES = 3;

/** Actions that carry out a wish, best first; each further one only if those before cannot be. */
export function actionsFor(wish: PowerWish, power: Power): readonly SwitchAction[] {
  if (wish === 'on' || wish === 'off') return [wish];
  if (power === 'off') return ['on'];
  return wish === 'reboot gracefully' ? ['graceful', 'reset', 'cycle'] : ['reset', 'cycle'];
}

/** Carries out the fleet's calls by a power switch. */
export function createSwitched<Reset>(
  power: PowerSwitch<Reset>,
  { clock, log, waitsForTurn }: Pick<DriverContext, 'clock' | 'log' | 'waitsForTurn'>,
): ResetMeans<SwitchedEntry<Reset>> {
  type Entry = SwitchedEntry<Reset>;
  const known = new Map<string, { readonly power: Power; readonly atMs: number }>();
  const failed = new Map<string, { readonly cause: string; readonly atMs: number }>();
  const one = { maxConcurrency: 1, gapMs: 0 };
  const together = { maxConcurrency: TOGETHER_MAX, gapMs: 0 };
  const turns = createTurnGroups({ each: one, together }, { clock });

  async function inTurn<T>(
    { reset, ...host }: Entry,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const key = power.keyOf(reset, host);
    const wait = waitsForTurn?.();
    const end = await turns
      .take(key, { signal })
      .catch((cause: unknown) => {
        throw new ProviderError('aborted', `the turn at ${key} did not come`, { cause });
      })
      .finally(() => wait?.end());
    try {
      return await work();
    } finally {
      end();
    }
  }

  async function read(entry: Entry, signal: AbortSignal): Promise<Power> {
    try {
      const found = await power.read(entry.reset, entry, signal);
      known.set(entry.id, { power: found, atMs: clock.monotonic() });
      if (failed.delete(entry.id)) log.info({ machine: entry.id }, 'its power can be read again');
      return found;
    } catch (error) {
      known.delete(entry.id);
      if (isProviderError(error) && error.kind !== 'aborted') {
        const cause = explain(error);
        const isNews = failed.get(entry.id)?.cause !== cause;
        failed.set(entry.id, { cause, atMs: clock.monotonic() });
        if (isNews) log.warn({ machine: entry.id, cause }, 'its power cannot be read');
      }
      throw error;
    }
  }

  const isRecent = (seen: { readonly atMs: number } | undefined, ms: number) =>
    seen !== undefined && clock.monotonic() - seen.atMs <= ms;

  /** The power as read just now; unknown if it cannot be read. @throws {ProviderError} `aborted` */
  async function look(entry: Entry, signal: AbortSignal): Promise<Power> {
    const seen = known.get(entry.id);
    if (isRecent(seen, FRESH_MS)) return seen!.power;
    if (isRecent(failed.get(entry.id), REST_MS)) return 'unknown';
    return inTurn(entry, signal, () => read(entry, signal)).catch((error: unknown) => {
      if (!isProviderError(error) || error.kind === 'aborted') throw error;
      return 'unknown';
    });
  }

  /** Sends one action. If its answer is lost, the power tells about `on` and `off`, never about a reset. */
  async function send(action: SwitchAction, entry: Entry, signal: AbortSignal): Promise<void> {
    try {
      await power.act(action, entry.reset, entry, signal);
    } catch (error) {
      if (!isProviderError(error) || error.outcome !== 'unknown' || signal.aborted) throw error;
      const isTold = action === 'on' || action === 'off';
      if (!isTold || (await read(entry, signal).catch(() => 'unknown')) !== action) throw error;
    } finally {
      known.delete(entry.id);
    }
  }

  /** @returns the action that was sent; null: none was needed. */
  async function attempt(
    entry: Entry,
    wish: PowerWish,
    { call, show }: ResetCall,
  ): Promise<SwitchAction | null> {
    const { signal } = call;
    await power.checkIdentity?.(entry.reset, entry, signal);
    const before = await read(entry, signal);
    call.requireOurs(show(viewOf(before)));
    if (before === wish) return null;
    const actions = actionsFor(wish, before);
    for (const [index, action] of actions.entries()) {
      await call.beforeSending?.();
      try {
        await send(action, entry, signal);
        return action;
      } catch (error) {
        const isLast = index === actions.length - 1;
        if (isLast || !isProviderError(error, 'not-implemented')) throw error;
      }
    }
    throw new ProviderError('not-implemented', `nothing can ${wish}`);
  }

  /**
   * Waits until a system has shut down, and switches the machine on again. Returns false if the
   * system still runs after its time: it may hang.
   */
  async function finishShutdown(entry: Entry, { signal, deadline }: CallOptions): Promise<boolean> {
    const untilMs = Math.min(clock.now() + SHUTDOWN_MS, deadline.getTime() - 2 * LOOK_MS);
    const pause = () => sleep(clock, LOOK_MS, signal);
    for (;;) {
      if (clock.now() >= untilMs) return false;
      await pause();
      const now = await inTurn(entry, signal, () => read(entry, signal)).catch(() => 'unknown');
      if (now === 'off') break;
    }
    for (let tries = ON_TRIES; ; tries -= 1) {
      try {
        await inTurn(entry, signal, () => send('on', entry, signal));
        return true;
      } catch (error) {
        if (tries === 1) throw asUnknown(error, `${entry.id} was shut down and not switched on`);
      }
      await pause();
    }
  }

  return {
    async list(entries) {
      const ids = new Set(entries.map(({ id }) => id));
      for (const map of [known, failed]) {
        for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
      }
      const lastOf = (id: string): Power => {
        const seen = known.get(id);
        return isRecent(seen, REST_MS) ? seen!.power : 'unknown';
      };
      return new Map(entries.map(({ id }) => [id, viewOf(lastOf(id))]));
    },
    look: async (entry, { signal }) => viewOf(await look(entry, signal)),
    async change(entry, wish, given) {
      const { signal } = given.call;
      const action = await inTurn(entry, signal, () => attempt(entry, wish, given));
      const operationRef = `${action ?? 'already'} ${entry.id} ${new Date(clock.now()).toISOString()}`;
      if (action !== 'graceful') return { operationRef };
      const isBooting = power.gracefulStaysOff && (await finishShutdown(entry, given.call));
      return { operationRef, isGraceful: !isBooting };
    },
    stop: async () => turns.stop(),
  };
}

/** @throws {ProviderError} `auth`: the secret's variable or file is gone since the start. */
export function readSecret(secret: Secret): string {
  try {
    return secret.read();
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    throw new ProviderError('auth', `a secret of the reset is missing: ${explain(cause)}`, {
      cause,
    });
  }
}

/** What a run of a program does, for messages, and whether it changes the machine. */
export interface ResetRun {
  readonly doing: string;
  readonly changing: boolean;
}

/** The port's error for a program that gave no result. */
export function runFailure(cause: unknown, { doing, changing }: ResetRun, hint = ''): unknown {
  if (!(cause instanceof ProgramFailure)) return cause;
  const { reason, message } = cause;
  const isStarted = reason !== 'not-started';
  const kind = reason === 'aborted' || reason === 'oversize' ? KIND[reason] : 'transient';
  const text = `${doing}: ${message}${isStarted ? '' : hint}`;
  const outcome = isStarted && changing ? 'unknown' : 'not-done';
  return new ProviderError(kind, text, { cause, outcome });
}
const KIND = { aborted: 'aborted', oversize: 'permanent' } as const;
