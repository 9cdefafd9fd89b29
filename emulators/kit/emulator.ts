import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Activity, createActivity } from './activity.ts';
import { ADMIN_PATH, createAdmin } from './admin.ts';
import { createApi, type EmulatedApi } from './api.ts';
import { type EmulatorClock, type ManualClock, realClock } from './clock.ts';
import type { FaultRules, ActiveRule } from './fault-rules.ts';
import {
  type CommonEffect,
  type CommonMatch,
  createFaults,
  type FaultForm,
  type FaultStore,
  type KnownValues,
  type RuleSubject,
} from './faults.ts';
import { createJournal, type Journal, type JournalEntry } from './journal.ts';
import { listen, type ListenAt, ListenError } from './listen.ts';
import { type EmulatorLog, silentLog } from './log.ts';
import { createGenerator, type Generator } from './random.ts';

/** Start options of every emulator. */
export interface EmulatorOptions<FaultRule> {
  /** The caller restricts this to loopback; port 0: free ports. Admin routes have the next port. */
  readonly listen: ListenAt;
  /**
   * Seed of ids and chance, not of secrets: equal seed, clock and requests give equal ids and
   * faults. Default 1.
   */
  readonly seed?: number;
  /** Default: the real clock. A manual clock stands still until it is advanced. */
  readonly clock?: EmulatorClock | ManualClock;
  readonly faults?: readonly FaultRule[];
  /** Default: no log. */
  readonly log?: EmulatorLog;
}

/** What every emulator offers its owner. */
export interface Emulator<FaultRule, Fault, Entry = JournalEntry> {
  /** The API's base, without a trailing slash. */
  readonly url: string;
  readonly adminUrl: string;
  /** For `X-Fake-Admin`. */
  readonly adminToken: string;
  /** The journal's entries after `seq`, oldest first. */
  requests(afterSeq?: number): readonly Entry[];
  /** Replaces a rule with the same id. @throws {z.ZodError} it is invalid, or never strikes. */
  addFault(rule: FaultRule): Fault;
  faults(): readonly Fault[];
  /** @returns whether the fault existed. */
  removeFault(id: string): boolean;
  clearFaults(): void;
  /** Time of its own clock, milliseconds. */
  now(): number;
  /** Moves a manual clock, and waits for everything due. Rejects if the clock is not manual. */
  advance(ms: number): Promise<void>;
  /** Ends all timers and sockets at once. Idempotent. */
  close(): Promise<void>;
}

type Typed = { readonly type: string };

/** What an emulator's parts share. */
export interface Base<Match extends CommonMatch, Effect extends Typed> {
  readonly clock: EmulatorClock;
  /** Separate from `ids`, so that faults do not change the created objects. */
  readonly chance: Generator;
  readonly ids: Generator;
  readonly faults: FaultRules<Match, Effect, RuleSubject>;
  readonly journal: Journal;
  /** Running requests. */
  readonly requests: Activity;
  readonly log: EmulatorLog;
}

/** Keeps the stream of chance apart from that of ids. */
const CHANCE_SALT = 0x9e3779b9;

/** @param kept store of rules and request count, if they outlive the process. */
export function baseOf<Match extends CommonMatch, Effect extends Typed, Input>(
  {
    clock = realClock,
    seed = 1,
    log = silentLog,
  }: Omit<EmulatorOptions<Input>, 'listen' | 'faults'>,
  form: FaultForm<Match, Effect, Input>,
  kept?: {
    readonly store: FaultStore<Match, Effect> & { requestCount: number };
    readonly changed: () => void;
  },
): Base<Match, Effect> {
  const chance = createGenerator(seed ^ CHANCE_SALT);
  return {
    clock,
    chance,
    ids: createGenerator(seed),
    faults: createFaults(form, chance, kept),
    journal: createJournal(kept?.store ?? { requestCount: 0 }),
    requests: createActivity(),
    log,
  };
}

const PORT_MAX = 65_535;

/** Adds the rules of a start. @throws {z.ZodError} a rule is invalid, with its number from 1. */
export function addFaults<Input>(
  { addFault }: { addFault(rule: Input): unknown },
  rules: readonly Input[] = [],
): void {
  for (const [n, rule] of rules.entries()) {
    try {
      addFault(rule);
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error;
      const path = (own: readonly PropertyKey[]) => [`rule ${n + 1}`, ...own];
      throw new z.ZodError(error.issues.map((issue) => ({ ...issue, path: path(issue.path) })));
    }
  }
}

/** One emulator's own parts. */
export interface EmulatorParts<Call, Match extends CommonMatch, Effect extends Typed, Input> {
  readonly form: FaultForm<Match, Effect, Input>;
  readonly api: EmulatedApi<Call, Effect | CommonEffect>;
  /** Existing values of the rules' fields. Routes are known anyway. */
  readonly known?: () => KnownValues;
  /** Adds the admin routes of this emulator alone. */
  admin?(app: FastifyInstance): void;
  /** A rule became active. */
  ruled?(rule: ActiveRule<Match, Effect>): void;
  /** Resolves when everything due is done, for an advanced clock. */
  settled?(): Promise<void>;
  close?(): void | Promise<void>;
}

/**
 * Serves an API and, on the next port, the admin routes.
 * @throws {z.ZodError} a rule is invalid. @throws {ListenError} an address is not available.
 */
export async function startEmulator<Call, Match extends CommonMatch, Effect extends Typed, Input>(
  base: Base<Match, Effect | CommonEffect>,
  options: EmulatorOptions<Input>,
  parts: EmulatorParts<Call, Match, Effect | CommonEffect, Input>,
): Promise<Emulator<Input, Readonly<ActiveRule<Match, Effect | CommonEffect>>>> {
  const { api } = parts;
  const controls = controlsOf(base, parts);
  addFaults(controls, options.faults);
  const { host, port } = options.listen;
  if (port === PORT_MAX) {
    throw new ListenError(`cannot listen on ${host}:${port}: the admin routes take the next port`);
  }
  const adminToken = `admin-${randomUUID()}`;
  const app = createApi<Call, Match, Effect>({ host, ...api }, base);
  const admin = createAdmin({
    ...{ name: api.name, controls, token: adminToken, host },
    routes: (scope) => parts.admin?.(scope),
  });
  const url = await listen(app, options.listen);
  const adminAt = { ...options.listen, port: port === 0 ? 0 : port + 1 };
  const adminUrl = await listen(admin, adminAt).catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  let closing: Promise<void> | undefined;
  const close = async () => {
    // Answers are kept, because no request follows the written state.
    await Promise.all([app.close(), admin.close()]);
    await parts.close?.();
  };
  return {
    url: `${url}${api.base ?? ''}`,
    adminUrl: `${adminUrl}${ADMIN_PATH}`,
    adminToken,
    ...controls,
    close: () => (closing ??= close()),
  };
}

/** An emulator from the inside: journal, faults and clock. */
export function controlsOf<Call, Match extends CommonMatch, Effect extends Typed, Input>(
  { clock, faults, journal, requests }: Base<Match, Effect | CommonEffect>,
  { form, api, known, ruled, settled }: EmulatorParts<Call, Match, Effect | CommonEffect, Input>,
): Omit<
  Emulator<Input, Readonly<ActiveRule<Match, Effect | CommonEffect>>>,
  'url' | 'adminUrl' | 'adminToken' | 'close'
> {
  const route = api.routes.map(({ path }) => path);
  return {
    requests: (afterSeq = 0) => journal.since(afterSeq),
    addFault(input) {
      const rule = faults.add(form.parse(input, { route, ...known?.() }));
      ruled?.(rule);
      return { ...rule };
    },
    faults: faults.list,
    removeFault: faults.remove,
    clearFaults: faults.clear,
    now: clock.now,
    async advance(ms) {
      if (!('stepTowards' in clock)) {
        throw new Error('the clock is not manual: it cannot be advanced');
      }
      const manual = clock as ManualClock;
      const targetMs = manual.now() + ms;
      do {
        await requests.settled();
        await settled?.();
      } while (manual.stepTowards(targetMs));
    },
  };
}

/** A service's behaviour where several forms were observed, or none. */
export interface Knobs<Values extends object> {
  /** The object keeps its identity. */
  readonly values: Values;
  /** Changes the given knobs. @throws {z.ZodError} */
  set(changes: Partial<Values>): Values;
  /** `GET` and `PATCH /knobs` of the admin routes. */
  addRoutes(app: FastifyInstance): void;
}

/** @param shape one optional field per knob; `values` has the defaults. */
export function createKnobs<Values extends object>(
  shape: z.ZodRawShape,
  values: Values,
  given: Partial<Values> = {},
): Knobs<Values> {
  const schema = z.strictObject(shape).partial();
  const set = (changes: Partial<Values>): Values => {
    const changed = Object.entries(schema.parse(changes)).filter(
      ([, value]) => value !== undefined,
    );
    return { ...Object.assign(values, Object.fromEntries(changed)) };
  };
  set(given);
  return {
    values,
    set,
    addRoutes(app) {
      app.get('/knobs', async () => values);
      app.patch('/knobs', async ({ body }) => set(body as Partial<Values>));
    },
  };
}

/** `fast`: a hundred times real speed. */
export type Profile = 'real' | 'fast';
export const paceOf = (profile: Profile = 'real'): number => (profile === 'fast' ? 100 : 1);

/** A profile's durations, milliseconds; `given` durations stay unchanged. */
export function timingsOf<Timings extends object>(
  real: Timings,
  profile: Profile | undefined,
  given: Partial<Timings> = {},
): Timings {
  const pace = paceOf(profile);
  const scaled = Object.entries(real).map(([name, ms]) => [name, Number(ms) / pace]);
  return { ...(Object.fromEntries(scaled) as Timings), ...given };
}
