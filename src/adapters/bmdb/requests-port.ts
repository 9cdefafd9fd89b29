import type { MachineId, ProviderName } from '../../domain/ids.ts';
import type { RequestRow } from '../../domain/machine.ts';
import type { Verb } from '../../domain/verbs.ts';
import type { RequestedThing } from '../../domain/wishes.ts';

export type { RequestedThing, RequestTarget } from '../../domain/wishes.ts';

/** What operators ask for: committed here, carried out by whichever daemon sees it first. */
export interface RequestBook {
  /**
   * Commits a request. Asking twice with one key is asking once: the answer is how the first stands.
   * @throws {KeyReused} the key was used for something else.
   * @throws {UsageError} a value makes no sense.
   * @throws {NotFound} there is no such machine, and the verb is about one.
   * @throws {NothingToDo} an order of this machine is open already; it names whose.
   */
  file(request: NewRequest): Promise<RequestState>;
  /**
   * Commits several requests in one transaction, or none of them. Asking twice with one key is asking
   * once, as long as what was asked for has the same digest: the answer is how the first stands.
   * @throws {KeyReused} the key, or that of one of the requests, was used for something else.
   * @throws {UsageError} a value makes no sense, there are none, or more than `BATCH_MAX`.
   * @throws {BatchRefused} some of them cannot be filed; it says why of each.
   */
  fileBatch(batch: NewBatch): Promise<RequestBatch>;
  /** A batch as it stands; null: there is none of this key. */
  readBatch(key: string, signal: AbortSignal): Promise<RequestBatch | null>;
  /** How requests stand; unknown keys are left out. */
  read(keys: readonly string[], signal: AbortSignal): Promise<readonly RequestState[]>;
  /** What was asked, newest first, settled ones too; of a batch its head, and each of its requests. */
  list(query: RequestQuery, signal: AbortSignal): Promise<readonly RequestState[]>;
}

/** A request as an operator makes it. Texts are cleaned and capped on the way in. */
export interface NewRequest {
  /** 1–200 printable characters, chosen by who asks. */
  readonly key: string;
  readonly by: string;
  /** How far it is known who asks; absent: the name is what was claimed, and no right was checked. */
  readonly standing?: Standing;
  readonly reason: string;
  /** After this it is refused; an hour when absent. */
  readonly validForMs?: number;
  readonly what: RequestedThing;
}

/** What was found out of who asks, when it was filed. */
export interface Standing {
  /** By which the right to ask was given. */
  readonly role: string;
  /** The name was proved; else it is a claim. */
  readonly proven: boolean;
}

/** Requests of one person for one thing, each with a key of its own. */
export interface NewBatch {
  /** As that of a request; no request has the same. */
  readonly key: string;
  /** Digest of what was asked for, as it was asked: which machines that means may change meanwhile. */
  readonly digest: string;
  readonly requests: readonly NewRequest[];
}

/** Most requests of one batch. */
export const BATCH_MAX = 10_000;

/** Several requests that were filed together. */
export interface RequestBatch {
  /** Of the batch itself, settled since it was filed: who, why, when. */
  readonly head: RequestState;
  /** Of what was asked for. */
  readonly digest: string;
  /** In the order of their keys. */
  readonly requests: readonly RequestState[];
}

/** Which requests; all that is given must be so. */
export interface RequestQuery {
  readonly provider?: ProviderName | undefined;
  readonly slotId?: string | undefined;
  readonly machineId?: MachineId | undefined;
  readonly verb?: Verb | undefined;
  /** Who asked. */
  readonly by?: string | undefined;
  readonly state?: RequestState['state'] | undefined;
  /** Key of the batch that it was filed in. */
  readonly batch?: string | undefined;
  /** Asked at this time or later, and before that one; epoch ms of the database. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Only what comes after the request of this key; nothing, when that one is not kept any more. */
  readonly after?: string | undefined;
  /** At most 1,000. */
  readonly limit: number;
}

export interface RequestState extends RequestRow {
  readonly state: 'open' | 'done' | 'refused';
  /** What became of it, for people; null while open. */
  readonly outcome: string | null;
  readonly settledAtMs: number | null;
  /** The batch that it was filed in, its own key where it is the head of one; null: it came alone. */
  readonly batch: string | null;
  /** By which the right to ask was given; null: none was checked. */
  readonly role: string | null;
  /** It was proved who asks; else that is a claim. */
  readonly proven: boolean;
}
