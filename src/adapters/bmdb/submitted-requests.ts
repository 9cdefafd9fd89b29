import { z } from 'zod';
import { BatchRefused, KeyReused, UsageError } from '../../domain/errors.ts';
import type { BatchRefusal } from '../../domain/errors.ts';
import type { MachineId, ProviderName } from '../../domain/ids.ts';
import type { RequestRow } from '../../domain/machine.ts';
import { plainText } from '../../lib/texts.ts';
import { isOfPool, VERB_NAMES, VERBS } from '../../domain/verbs.ts';
import { misfitOf, wishOf } from '../../domain/operator-request.ts';
import type { PoolVerb, Verb } from '../../domain/verbs.ts';
import type {
  RequestedThing,
  RequestTarget,
  OperatorRequest,
} from '../../domain/operator-request.ts';
import { detailsShape } from '../../settings/verb-details.ts';
import { imageFault } from './install-image.ts';
import { BATCH_MAX } from './port.ts';
import type { NewBatch, NewRequest, RequesterRights } from './port.ts';

/** How operators' requests are checked and stored; every implementation shares this form. */

/** Default (1 h) and maximum (90 days) of a request's validity. */
const VALID_FOR_MS = 3_600_000;
const VALID_FOR_MAX_MS = 90 * 86_400_000;

// No control characters, no lone surrogates, no line breaks.
const KEY = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;
const SLOT_MAX = 128;

/** Whether a request may have this key. */
export const isKey = (key: string): boolean => KEY.test(key);

/** A request as stored. */
export interface SubmittedRequest {
  readonly key: string;
  readonly verb: Verb;
  readonly provider: ProviderName | null;
  readonly slotId: string | null;
  readonly machineId: MachineId | null;
  readonly by: string;
  /** Null if no right was checked and the name of the requester is unverified. */
  readonly standing: RequesterRights | null;
  readonly reason: string;
  readonly validForMs: number;
  /** Batch of the request; null if none. */
  readonly batch: string | null;
  readonly parameters: RequestDetails;
}
/** A batch as stored. Its head is a request that is complete as soon as it is submitted. */
export interface SubmittedBatch {
  readonly head: SubmittedRequest;
  readonly digest: string;
  /** Outcome of the head, for people. */
  readonly outcome: string;
  /** In the order of their keys, in which every writer writes them. */
  readonly requests: readonly SubmittedRequest[];
}
/** Details of the verb, as JSON. */
export type RequestDetails = Readonly<Record<string, unknown>>;

/** @throws {UsageError} a value makes no sense. */
export function submittedRequest(request: NewRequest): SubmittedRequest {
  const { key, validForMs = VALID_FOR_MS, what } = request;
  // If the same key is submitted again, these are compared with the stored values.
  const [by, reason] = [plainText(request.by), plainText(request.reason)];
  if (!isKey(key)) throw new UsageError('a key has 1 to 200 printable characters');
  if (by.trim() === '') throw new UsageError('the name of the requester is empty; give a name');
  if (reason.trim() === '') throw new UsageError('the reason is empty; give a reason');
  if (!(validForMs > 0 && validForMs <= VALID_FOR_MAX_MS)) {
    throw new UsageError(`a request is valid for up to 90 days, not ${validForMs} ms`);
  }
  const place = placeOf(what);
  const parameters = detailsOf(wishOf(what));
  const { standing = null } = request;
  const who = { by, standing, batch: null };
  return { key, ...who, reason, validForMs, verb: what.verb, ...place, parameters };
}

/** @throws {UsageError} a value makes no sense, there are no requests, or too many. */
export function submittedBatch({ key, digest, requests }: NewBatch): SubmittedBatch {
  const submitted = requests.map((each) => ({ ...submittedRequest(each), batch: key }));
  const [first] = submitted;
  if (first === undefined) throw new UsageError('a batch has at least one request');
  if (submitted.length > BATCH_MAX) {
    throw new UsageError(`a batch has at most ${BATCH_MAX} requests, not ${submitted.length}`);
  }
  if (!isKey(key)) throw new UsageError('a key has 1 to 200 printable characters');
  if (new Set([key, ...submitted.map((each) => each.key)]).size <= submitted.length) {
    throw new UsageError('two requests of the batch have the same key; give each its own key');
  }
  const { by, standing, reason, validForMs, verb } = first;
  const head = { key, by, standing, reason, validForMs, verb, batch: key, ...NOWHERE };
  const count = submitted.length;
  return {
    head: { ...head, parameters: { batch: { digest, count } } },
    digest,
    outcome: `${count} ${count === 1 ? 'request was' : 'requests were'} submitted`,
    requests: submitted.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
  };
}

/**
 * Requires that all requests submitted together are possible.
 * @throws {BatchRefused} some requests of a batch are not. @throws the reason, for a single
 *   request.
 */
export function requireAll(
  asked: readonly SubmittedRequest[],
  refusals: readonly BatchRefusal[],
): void {
  const [first] = refusals;
  if (first === undefined) return;
  throw asked.every(({ batch }) => batch === null) ? first.cause : new BatchRefused(refusals);
}

/** @throws {KeyReused} the key belongs to a different batch, or to a request that is no batch. */
export function requireSameBatch(
  { head, digest }: SubmittedBatch,
  before: { readonly batch: string | null; readonly parameters: unknown; readonly by: string },
): void {
  const isSame = before.batch === head.key && before.by === head.by;
  if (isSame && digestOf(before.parameters) === digest) return;
  throw new KeyReused(`key "${head.key}" was used for another request; choose a new key`);
}

/** Digest of a batch, read from its head; null if the request is no head. */
export const digestOf = (parameters: unknown): string | null =>
  HEAD.safeParse(parameters).data?.batch.digest ?? null;
const HEAD = z.object({ batch: z.object({ digest: z.string() }) });

type RequestSubject = Pick<SubmittedRequest, 'provider' | 'slotId' | 'machineId'>;

function placeOf(what: RequestedThing): RequestSubject {
  if ('target' in what) return targetOf(what.verb, what.target);
  const provider = 'provider' in what ? what.provider : 'scope' in what ? what.scope : 'fleet';
  return provider === 'fleet' ? NOWHERE : { ...NOWHERE, provider: requireProvider(provider) };
}

const PROVIDER = /^[a-z][a-z0-9-]{0,30}$/;

function requireProvider(name: ProviderName): ProviderName {
  if (PROVIDER.test(name)) return name;
  throw new UsageError(`"${plainText(name, SLOT_MAX)}" is no valid name of a provider`);
}

const NOWHERE: RequestSubject = { provider: null, slotId: null, machineId: null };

function targetOf(verb: Verb, { provider, slotId, machineId }: RequestTarget): RequestSubject {
  requireProvider(provider);
  if (slotId === '' || slotId.length > SLOT_MAX || plainText(slotId) !== slotId) {
    throw new UsageError(`"${plainText(slotId, SLOT_MAX)}" is no valid name of a slot`);
  }
  if (machineId === null && VERBS[verb].of !== 'slot') {
    throw new UsageError(`${verb} needs a machine; give one`);
  }
  return { provider, slotId, machineId };
}

const KEPT = new Map(VERB_NAMES.map((verb) => [verb, z.object(detailsShape(verb, z.number()))]));

/** Returns a verb's details as stored. @throws {UsageError} the details make no sense. */
function detailsOf(wish: OperatorRequest): RequestDetails {
  const { verb, ...details } = wish;
  const fault = wish.verb === 'install' ? imageFault(wish.image) : null;
  if (fault !== null) throw new UsageError(`the image cannot be installed: ${fault}`);
  const misfit = misfitOf(wish);
  if (misfit !== null) throw new UsageError(misfit);
  const { error } = KEPT.get(verb)!.safeParse(details);
  if (error) throw new UsageError(`${verb}: ${z.prettifyError(error)}`);
  return details;
}

/** Returns what a stored request wants; null if this program cannot read it. */
export function wishIn(verb: Verb, parameters: unknown): OperatorRequest | null {
  const data = KEPT.get(verb)?.safeParse(parameters).data;
  if (data === undefined) return null;
  const wish = { verb, ...data } as OperatorRequest;
  return wish.verb === 'install' && imageFault(wish.image) !== null ? null : wish;
}

/** The pool that a request concerns; absent if none. For `RequestRow`. */
export function poolOf(verb: Verb, parameters: unknown): Pick<RequestRow, 'pool'> {
  const wish = isOfPool(verb)
    ? (wishIn(verb, parameters) as OperatorRequest<PoolVerb> | null)
    : null;
  return wish ? { pool: { pool: wish.pool, balancer: wish.balancer } } : {};
}

/** @throws {KeyReused} the key belongs to a different request. */
export function requireSame(asked: SubmittedRequest, before: KeptRequest): void {
  if (contentOf(asked) === contentOf(before)) return;
  const what = `${before.verb} by ${before.by}: ${before.reason}`;
  throw new KeyReused(
    `key "${asked.key}" was used for another request (${what}); choose a new key`,
  );
}
const contentOf = ({ verb, provider, slotId, machineId, by, reason, batch, parameters }: Content) =>
  JSON.stringify([...[verb, provider, slotId, machineId, by, reason, batch], sorted(parameters)]);
type Content = Omit<SubmittedRequest, 'validForMs' | 'standing' | 'key'>;
/** The stored fields that are compared here. */
type KeptRequest = Omit<SubmittedRequest, 'validForMs' | 'standing'>;

/** Makes values equal whatever the order of their keys. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .map(([name, inner]): [string, unknown] => [name, sorted(inner)])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}
