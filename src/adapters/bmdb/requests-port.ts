import type { MachineId, ProviderName } from '../../domain/ids.ts';
import type { RequestRow } from '../../domain/machine.ts';
import type { Verb } from '../../domain/verbs.ts';
import type { RequestedThing } from '../../domain/operator-request.ts';

export type { RequestedThing, RequestTarget } from '../../domain/operator-request.ts';

/** Operators' requests: committed here, and applied by the first daemon that sees them. */
export interface RequestRepository {
  /**
   * Commits a request. A second call with the same key changes nothing and returns the first
   * request's state.
   * @throws {KeyReused} the key belongs to a different request.
   * @throws {UsageError} a value makes no sense.
   * @throws {NotFound} the request concerns a machine that does not exist.
   * @throws {NothingToDo} an order for this machine is already open; the message names its
   *   requester.
   */
  submit(request: NewRequest): Promise<RequestState>;
  /**
   * Commits several requests in one transaction, or none of them. A second call with the same key
   * and digest changes nothing and returns the first batch's state.
   * @throws {KeyReused} the key of the batch or of a request belongs to something different.
   * @throws {UsageError} a value makes no sense, there are no requests, or more than `BATCH_MAX`.
   * @throws {BatchRefused} some requests cannot be accepted; gives the reason for each.
   */
  submitBatch(batch: NewBatch): Promise<RequestBatch>;
  /** State of a batch; null if none has this key. */
  readBatch(key: string, signal: AbortSignal): Promise<RequestBatch | null>;
  /** States of requests; unknown keys are left out. */
  read(keys: readonly string[], signal: AbortSignal): Promise<readonly RequestState[]>;
  /** Requests, newest first, also ended ones; for a batch its head, and each request. */
  list(query: RequestQuery, signal: AbortSignal): Promise<readonly RequestState[]>;
}

/** A request as an operator makes it. Texts are cleaned and capped before they are stored. */
export interface NewRequest {
  /** 1–200 printable characters, chosen by the requester. */
  readonly key: string;
  readonly by: string;
  /** How well the requester is known; absent: the name is unverified, and no right was checked. */
  readonly standing?: RequesterRights;
  readonly reason: string;
  /** The request is refused after this time; default 1 h. */
  readonly validForMs?: number;
  readonly what: RequestedThing;
}

/** What was known about the requester when the request was submitted. */
export interface RequesterRights {
  /** Role that gave the right to make the request. */
  readonly role: string;
  /** True if the name is verified. */
  readonly proven: boolean;
}

/** Requests of one person for one purpose, each with its own key. */
export interface NewBatch {
  /** Like the key of a request; no request has the same key. */
  readonly key: string;
  /** Digest of the original selection: the machines that it selects may change. */
  readonly digest: string;
  readonly requests: readonly NewRequest[];
}

/** Maximum requests in one batch. */
export const BATCH_MAX = 10_000;

/** Several requests that were submitted together. */
export interface RequestBatch {
  /** The batch itself, complete since its submission: who, why, when. */
  readonly head: RequestState;
  /** Digest of the original selection. */
  readonly digest: string;
  /** In the order of their keys. */
  readonly requests: readonly RequestState[];
}

/** Filter of requests; all given conditions must hold. */
export interface RequestQuery {
  readonly provider?: ProviderName | undefined;
  readonly slotId?: string | undefined;
  readonly machineId?: MachineId | undefined;
  readonly verb?: Verb | undefined;
  /** Who asked. */
  readonly by?: string | undefined;
  readonly state?: RequestState['state'] | undefined;
  /** Key of the batch that contains the request. */
  readonly batch?: string | undefined;
  /** Submission time range, `sinceMs` inclusive, `untilMs` exclusive; epoch ms of the database. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Only requests after the one with this key; none if that request was deleted. */
  readonly after?: string | undefined;
  /** At most 1,000. */
  readonly limit: number;
}

export interface RequestState extends RequestRow {
  readonly state: 'open' | 'done' | 'refused';
  /** Result for people; null while open. */
  readonly outcome: string | null;
  readonly settledAtMs: number | null;
  /** Key of the batch that contains the request, or that it heads; null if it is single. */
  readonly batch: string | null;
  /** Role that gave the right to make the request; null if none was checked. */
  readonly role: string | null;
  /** True if the requester's name is verified. */
  readonly proven: boolean;
}
