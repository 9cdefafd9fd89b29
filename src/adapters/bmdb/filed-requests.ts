import { createHash } from 'node:crypto';
import { z } from 'zod';
import { BatchRefused, KeyReused, UsageError } from '../../domain/errors.ts';
import type { BatchRefusal } from '../../domain/errors.ts';
import { DRAIN_MODES, HOLD_KINDS, PROVIDER_HOLD_KINDS } from '../../domain/machine.ts';
import { POOL_VERBS, PROVIDER_VERBS } from '../../domain/verbs.ts';
import type { DrainMode, RequestRow } from '../../domain/machine.ts';
import type { Verb } from '../../domain/verbs.ts';
import type { MachineId, ProviderName } from '../../domain/ids.ts';
import { plainText } from '../../lib/texts.ts';
import type { Decision, InstallImage } from '../../domain/requests.ts';
import { imageFault } from './install-image.ts';
import { BATCH_MAX } from './port.ts';
import type { NewBatch, NewRequest, RequestedThing, RequestTarget, Standing } from './port.ts';

/** The form of operators' requests, as they are filed and kept; the same in every implementation. */

/** How long a request is valid unless it says so (1 h), and at most (90 days). */
const VALID_FOR_MS = 3_600_000;
const VALID_FOR_MAX_MS = 90 * 86_400_000;

// No control characters, no halves of characters, nothing that breaks a line.
const KEY = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;
const PROVIDER = /^[a-z][a-z0-9-]{0,30}$/;
/** Of pools and balancers. */
const POOL_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/i;
const SLOT_MAX = 128;
/** Times that there is a date for. */
const TIME_MAX_MS = 8_640_000_000_000_000;

/** Whether there can be a request of this key. */
export const isKey = (key: string): boolean => KEY.test(key);

/** A request as it is kept. */
export interface FiledRequest {
  readonly key: string;
  readonly verb: Verb;
  readonly provider: ProviderName | null;
  readonly slotId: string | null;
  readonly machineId: MachineId | null;
  readonly by: string;
  /** Null: no right was checked, and who asks is a claim. */
  readonly standing: Standing | null;
  readonly reason: string;
  readonly validForMs: number;
  /** The batch that it is filed in; null: none. */
  readonly batch: string | null;
  readonly parameters: RequestDetails;
}
/** A batch as it is kept: its head is a request that was settled when it was filed. */
export interface FiledBatch {
  readonly head: FiledRequest;
  readonly digest: string;
  /** For people: how the head was settled. */
  readonly outcome: string;
  /** In the order of their keys, in which everybody writes them. */
  readonly requests: readonly FiledRequest[];
}
/** Details of the verb, as JSON. */
export type RequestDetails = Readonly<Record<string, unknown>>;

/** @throws {UsageError} a value makes no sense. */
export function filedRequest(request: NewRequest): FiledRequest {
  const { key, validForMs = VALID_FOR_MS, what } = request;
  // Compared with what was stored when it is filed again.
  const [by, reason] = [plainText(request.by), plainText(request.reason)];
  if (!isKey(key)) throw new UsageError('a key has 1 to 200 printable characters');
  if (by.trim() === '') throw new UsageError('say who asks');
  if (reason.trim() === '') throw new UsageError('say why it is asked for');
  if (!(validForMs > 0 && validForMs <= VALID_FOR_MAX_MS)) {
    throw new UsageError(`a request is valid for up to 90 days, not ${validForMs} ms`);
  }
  const place = placeOf(what);
  const parameters = parametersOf(what);
  const { standing = null } = request;
  const who = { by, standing, batch: null };
  return { key, ...who, reason, validForMs, verb: what.verb, ...place, parameters };
}

/** @throws {UsageError} a value makes no sense, there are no requests, or too many. */
export function filedBatch({ key, digest, requests }: NewBatch): FiledBatch {
  const filed = requests.map((each) => ({ ...filedRequest(each), batch: key }));
  const [first] = filed;
  if (first === undefined) throw new UsageError('a batch has at least one request');
  if (filed.length > BATCH_MAX) {
    throw new UsageError(`a batch has at most ${BATCH_MAX} requests, not ${filed.length}`);
  }
  if (!isKey(key)) throw new UsageError('a key has 1 to 200 printable characters');
  if (new Set([key, ...filed.map((each) => each.key)]).size <= filed.length) {
    throw new UsageError('each request of a batch has a key of its own');
  }
  const { by, standing, reason, validForMs, verb } = first;
  const head = { key, by, standing, reason, validForMs, verb, batch: key, ...NOWHERE };
  const count = filed.length;
  return {
    head: { ...head, parameters: { batch: { digest, count } } },
    digest,
    outcome: `${count} ${count === 1 ? 'request was' : 'requests were'} filed`,
    requests: filed.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
  };
}

/**
 * Of requests that are filed together all have to be possible.
 * @throws {BatchRefused} some are not, and they are a batch. @throws the reason, if it is one alone.
 */
export function requireAll(
  asked: readonly FiledRequest[],
  refusals: readonly BatchRefusal[],
): void {
  const [first] = refusals;
  if (first === undefined) return;
  throw asked.every(({ batch }) => batch === null) ? first.cause : new BatchRefused(refusals);
}

/** @throws {KeyReused} what was filed under the key before is no batch, or another one. */
export function requireSameBatch(
  { head, digest }: FiledBatch,
  before: { readonly batch: string | null; readonly parameters: unknown; readonly by: string },
): void {
  const isSame = before.batch === head.key && before.by === head.by;
  if (isSame && digestOf(before.parameters) === digest) return;
  throw new KeyReused(`key "${head.key}" was used for something else`);
}

/** What the head of a batch was asked for; null: it is none. */
export const digestOf = (parameters: unknown): string | null =>
  HEAD.safeParse(parameters).data?.batch.digest ?? null;
const HEAD = z.object({ batch: z.object({ digest: z.string() }) });

type Place = Pick<FiledRequest, 'provider' | 'slotId' | 'machineId'>;

function placeOf(what: RequestedThing): Place {
  if ('scope' in what) return scopeOf(what.scope);
  if ('shelf' in what) return scopeOf(what.provider);
  return 'pool' in what ? NOWHERE : targetOf(what.verb, what.target);
}

const NOWHERE: Place = { provider: null, slotId: null, machineId: null };

function scopeOf(scope: 'fleet' | ProviderName): Place {
  return scope === 'fleet' ? NOWHERE : { ...NOWHERE, provider: requireProvider(scope) };
}

function targetOf(verb: Verb, { provider, slotId, machineId }: RequestTarget): Place {
  requireProvider(provider);
  if (slotId === '' || slotId.length > SLOT_MAX || plainText(slotId) !== slotId) {
    throw new UsageError(`"${plainText(slotId, SLOT_MAX)}" is no name of a slot`);
  }
  if (machineId === null && verb !== 'hold' && verb !== 'unhold') {
    throw new UsageError(`${verb} is about a machine: say which`);
  }
  return { provider, slotId, machineId };
}

function requireProvider(name: ProviderName): ProviderName {
  if (PROVIDER.test(name)) return name;
  throw new UsageError(`"${plainText(name, SLOT_MAX)}" is no name of a provider`);
}

function parametersOf(what: RequestedThing): RequestDetails {
  switch (what.verb) {
    case 'reboot':
      return { force: what.force, ...drainOf(what.drain) };
    case 'restart-agent':
    case 'reinstall':
    case 'deprovision':
      if (what.returnToPool && what.verb !== 'deprovision') {
        throw new UsageError(`only what is deprovisioned returns to the pool, not by ${what.verb}`);
      }
      return { ...drainOf(what.drain), ...(what.returnToPool && { returnToPool: true }) };
    case 'hold': {
      const kind = requireKind(what.kind);
      if (what.force && kind !== 'no-serve') {
        throw new UsageError(`only a hold no-serve may be forced, not ${kind}`);
      }
      return { kind, untilMs: requireTime(what.untilMs), ...(what.force && { force: true }) };
    }
    case 'unhold':
      return { kind: requireKind(what.kind) };
    case 'withdraw':
      return what.order === undefined ? {} : { order: what.order };
    case 'quarantine':
      return { untilMs: requireTime(what.untilMs) };
    case 'release':
      return { forgetHostKey: what.forgetHostKey };
    case 'install':
      return { image: keptImage(what.image) };
    case 'clear-provider': {
      const { hold: kind, shelf } = what;
      if (kind === null && shelf.length === 0) throw new UsageError('say what is to be cleared');
      return { hold: kind, shelf };
    }
    case 'pause-pool':
    case 'resume-pool':
    case 'thaw-pool':
    case 'teardown-pool': {
      const { pool, balancer } = what;
      return {
        pool: requirePoolName(pool, 'pool'),
        balancer: balancer === null ? null : requirePoolName(balancer, 'balancer'),
      };
    }
    default:
      return {};
  }
}

function drainOf(drain: DrainMode | null = null): RequestDetails {
  if (drain === null) return {};
  if (DRAIN_MODES.includes(drain)) return { drain };
  throw new UsageError(`a machine leaves its pools by ${DRAIN_MODES.join(' or ')}`);
}

function requirePoolName(name: string, of: string): string {
  if (POOL_NAME.test(name)) return name;
  throw new UsageError(`"${plainText(name, SLOT_MAX)}" is no name of a ${of}`);
}

function requireKind<Kind extends string>(kind: Kind): Kind {
  if ((HOLD_KINDS as readonly string[]).includes(kind)) return kind;
  throw new UsageError(`a hold is one of ${HOLD_KINDS.join(', ')}`);
}

function requireTime(atMs: number | null): number | null {
  if (atMs === null || (Number.isFinite(atMs) && Math.abs(atMs) <= TIME_MAX_MS)) return atMs;
  throw new UsageError(`${atMs} is no time`);
}

/**
 * What a first boot is told may hold secrets: it is kept until the request is settled (see
 * `settledParameters`), its digest for good.
 */
function keptImage(image: InstallImage): RequestDetails {
  const fault = imageFault(image);
  if (fault !== null) throw new UsageError(`that cannot be installed: ${fault}`);
  const { url, sha256, compression, rootDevice, cloudInit } = image;
  const kept = { url, sha256, compression, rootDevice };
  if (!cloudInit) return kept;
  const digest = createHash('sha256').update(cloudInit).digest('hex');
  return { ...kept, cloudInit: Buffer.from(cloudInit).toString('base64'), cloudInitSha256: digest };
}

/** What is kept of a request that is settled. */
export function settledParameters(parameters: RequestDetails): RequestDetails {
  const { image } = parameters;
  if (typeof image !== 'object' || image === null) return parameters;
  const { cloudInit: _, ...kept } = image as RequestDetails;
  return { ...parameters, image: kept };
}

const TIME = z.number().nullable();
const KIND = z.enum(HOLD_KINDS);
const NAME = z.string();
const IMAGE = z.object({
  url: NAME,
  sha256: NAME,
  compression: z.enum(['none', 'gzip', 'zstd', 'xz']),
  rootDevice: z.union([
    z.object({ name: NAME }),
    z.object({ serial: NAME }),
    z.object({ wwn: NAME }),
  ]),
  cloudInit: z.string().optional(),
});
const DECISION = z.discriminatedUnion('verb', [
  z.object({
    verb: z.literal('hold'),
    kind: KIND,
    untilMs: TIME,
    force: z.boolean().default(false),
  }),
  z.object({ verb: z.literal('unhold'), kind: KIND }),
  z.object({ verb: z.literal('quarantine'), untilMs: TIME }),
  z.object({ verb: z.literal('release'), forgetHostKey: z.boolean() }),
  z.object({ verb: z.literal('install'), image: IMAGE }),
  z.object({
    verb: z.literal('deprovision'),
    drain: z.enum(DRAIN_MODES).nullable().default(null),
    returnToPool: z.boolean().default(false),
  }),
  z.object({ verb: z.enum(['clear-backoff', 'cancel-install']) }),
  z.object({ verb: z.literal('withdraw'), order: z.string().nullable().default(null) }),
  z.object({ verb: z.enum(['freeze', 'thaw']) }),
  z.object({
    verb: z.enum(PROVIDER_VERBS),
    hold: z.enum(PROVIDER_HOLD_KINDS).nullable(),
    shelf: z.array(NAME),
  }),
  z.object({ verb: z.enum(POOL_VERBS), pool: NAME, balancer: NAME.nullable() }),
]);

/** A decision as it was kept; null: the verb is work, or this program cannot read what was kept. */
export function decisionOf(verb: Verb, parameters: unknown): Decision | null {
  const { data } = DECISION.safeParse(Object.assign({}, parameters, { verb }));
  if (data?.verb !== 'install') return data ?? null;
  const { cloudInit, ...rest } = data.image;
  const image: InstallImage = cloudInit
    ? { ...rest, cloudInit: new Uint8Array(Buffer.from(cloudInit, 'base64')) }
    : rest;
  return { verb: data.verb, image, fault: imageFault(image) };
}

/** Which pool a request is about; absent: none. For `RequestRow`. */
export function poolOf(verb: Verb, parameters: unknown): Pick<RequestRow, 'pool'> {
  if (!(POOL_VERBS as readonly Verb[]).includes(verb)) return {};
  const decision = decisionOf(verb, parameters);
  return decision && 'pool' in decision
    ? { pool: { pool: decision.pool, balancer: decision.balancer } }
    : {};
}

/** @throws {KeyReused} what was filed under the key before is something else. */
export function requireSame(asked: FiledRequest, before: Kept): void {
  if (contentOf(asked) === contentOf(before)) return;
  const what = `${before.verb} by ${before.by}: ${before.reason}`;
  throw new KeyReused(`key "${asked.key}" was used for something else (${what})`);
}
const contentOf = ({ verb, provider, slotId, machineId, by, reason, batch, parameters }: Content) =>
  JSON.stringify([
    ...[verb, provider, slotId, machineId, by, reason, batch],
    sorted(settledParameters(parameters)),
  ]);
type Content = Omit<FiledRequest, 'validForMs' | 'standing' | 'key'>;
/** What is kept of a request that matters here. */
type Kept = Omit<FiledRequest, 'validForMs' | 'standing'>;

/** The same value whatever order its keys were kept in. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .map(([name, inner]): [string, unknown] => [name, sorted(inner)])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}
