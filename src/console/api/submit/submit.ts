import { createHash } from 'node:crypto';
import type {
  NewRequest,
  RequestBatch,
  RequestState,
  RequestRepository,
} from '../../../adapters/bmdb/port.ts';
import type { Clock } from '../../../adapters/clock/port.ts';
import type { PoolRow } from '../../../domain/balancing/pool-row.ts';
import { BatchRefused, KeyReused, NothingToDo, UsageError } from '../../../domain/errors.ts';
import { requireProvider } from '../../../domain/submission/named-fleet.ts';
import {
  lossAt,
  offersOf,
  prospectAtLarge,
  prospectOf,
  providerRefusal,
  type Offer,
  type Outlook,
  type ProviderMeans,
} from '../../../domain/submission/prospects.ts';
import {
  byName,
  isBulk,
  machinesMeant,
  type SelectedRequest,
  type Selected,
} from '../../../domain/submission/selection.ts';
import { asConfigured, gravest, requestsOf } from './retiring.ts';
import { slot, type ProviderName } from '../../../domain/ids.ts';
import type { GuardRow } from '../../../domain/machine.ts';
import type { LossPolicy } from '../../../domain/policy.ts';
import { VERBS, type MachineVerb } from '../../../domain/verbs.ts';
import {
  at,
  isDestroying,
  lossOf,
  misfitOf,
  wishOf,
  type OperatorRequest,
} from '../../../domain/operator-request.ts';
import type { Person } from '../../access/port.ts';
import type { FleetView } from '../../port.ts';
import { etagOf, machineRow } from '../machine.ts';
import { Problem } from '../problem.ts';
import { requireWhole } from '../whole.ts';
import { foreseen, type Foreseen, type PreviewAnswer } from './answers.ts';
import { namedFleet } from './known-fleet.ts';
import {
  isOfMachines,
  selectorOf,
  thingOf,
  type ActionRequest,
  type AskAtLarge,
  type MachineAsk,
} from './body.ts';
import { requireMachineRight, requireRightAtLarge } from './refusals.ts';

/** The stored request, or several as a batch. */
export type Submitted = { readonly request: RequestState } | { readonly batch: RequestBatch };

/** The caller of a request, and how the request came. */
export interface Asker {
  readonly person: Person;
  /** Idempotency key. */
  readonly key: string;
  /** ETag of the one machine as the caller saw it; absent: any state. */
  readonly seen?: string | undefined;
}

export interface Submission {
  /**
   * Stores the request once per key, in one transaction or not at all.
   * @throws {Problem} not allowed, not clear, refused, or the database is away.
   */
  submit(ask: ActionRequest, asker: Asker): Promise<Submitted>;
  /** Predicts the effect; stores nothing. @throws {Problem} */
  preview(ask: ActionRequest, asker: Pick<Asker, 'person' | 'seen'>): Promise<PreviewAnswer>;
  /** The requests possible for one machine or slot. @throws {NotFound} no such name. */
  offers(name: string): Promise<Offer[]>;
}

export type SubmissionDeps = SubmissionMeans & { readonly fleet: FleetView };

export function createSubmission(deps: SubmissionDeps): Submission {
  /** Keys that are being stored here now. */
  const submitting = new Set<string>();
  return {
    async submit(ask, asker) {
      const { key } = asker;
      if (submitting.has(key)) {
        throw new Problem('still-filing', 'A request with this key is being submitted', {
          retryAfterSeconds: 1,
        });
      }
      submitting.add(key);
      try {
        return await submitOnce(deps, ask, asker);
      } finally {
        submitting.delete(key);
      }
    },
    preview: (ask, asker) => previewOf(deps, ask, asker),
    async offers(name) {
      requireWhole(deps.fleet);
      const fleet = namedFleet(deps.fleet, deps.providers);
      const found = byName(fleet, name, false);
      const machineId = found.machineId ?? found.entry?.rows[0]?.machineId ?? null;
      return offersOf({ ...found, machineId }, await outlookOf(deps, [found]));
    },
  };
}

async function submitOnce(
  deps: SubmissionDeps,
  ask: ActionRequest,
  asker: Asker,
): Promise<Submitted> {
  if (!isOfMachines(ask)) return { request: await submitAtLarge(deps, ask, asker) };
  return isBulk(selectorOf(ask))
    ? { batch: await submitBatch(deps, ask, asker) }
    : { request: await submitOne(deps, ask, asker) };
}

const commonOf = (ask: ActionRequest, { person }: Pick<Asker, 'person'>) => ({
  by: person.name,
  standing: { role: person.role, proven: person.proven },
  reason: ask.reason,
  ...(ask.validForMs !== undefined && { validForMs: ask.validForMs }),
});

async function submitAtLarge(deps: SubmissionDeps, ask: AskAtLarge, asker: Asker) {
  requireAtLarge(deps, ask, asker);
  return deps.requests.submit({ key: asker.key, ...commonOf(ask, asker), what: thingOf(ask) });
}

/** @throws {Problem} not allowed, or the target does not exist. */
function requireAtLarge(
  deps: SubmissionDeps,
  ask: AskAtLarge,
  { person, seen }: KeylessAsker,
): void {
  requireRightAtLarge(person, ask);
  if (seen !== undefined) throw new Problem('malformed', 'If-Match is for one machine');
  if ('pool' in ask) {
    const places = deps.fleet.pools().filter(({ pool }) => pool === ask.pool);
    if (places.some(({ balancer }) => (ask.balancer ?? balancer) === balancer)) return;
    requireWhole(deps.fleet);
    const where = ask.balancer === null ? '' : ` at ${ask.balancer}`;
    const known = deps.fleet.pools().map(({ pool, balancer }) => `${pool} at ${balancer}`);
    const there = known.join(', ') || 'none';
    throw new Problem('not-found', `No pool is named ${ask.pool}${where}; there is ${there}`);
  }
  const misfit = misfitOf(wishOf(ask));
  if (misfit !== null) throw new Problem('malformed', misfit);
  const scope = 'provider' in ask ? ask.provider : ask.scope;
  if (scope === 'fleet') return;
  requireWhole(deps.fleet);
  named(() => requireProvider(namedFleet(deps.fleet, deps.providers), scope));
}

/** An unknown name is not a malformed request. */
function named<T>(look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (error instanceof UsageError) throw new Problem('not-found', error.message);
    throw error;
  }
}

/** A repeated key means the same machine again, whatever is on the slot now. */
async function submitOne(
  deps: SubmissionDeps,
  ask: MachineAsk,
  asker: Asker,
): Promise<RequestState> {
  const { key, person } = asker;
  const wish = wishOf(ask);
  const [before] = await deps.requests.read([key], new AbortController().signal);
  const request = (what: NewRequest['what']) =>
    deps.requests.submit({ key, ...commonOf(ask, asker), what });
  if (before) {
    const { provider, slotId, machineId } = before;
    const [name] = ask.slots ?? [];
    const isSame =
      provider !== null &&
      slotId !== null &&
      (name === slot(provider, slotId) || (name === machineId && name !== undefined));
    if (!isSame) throw new KeyReused(`key "${key}" was used for another request; choose a new key`);
    requireMachineRight(person, gravest(deps, wish, [provider]), [provider]);
    return request(asConfigured(deps, at(wish, { provider, slotId, machineId })));
  }
  const selected = meant(deps, ask, asker);
  const [asked] = requestsOf(deps, wish, selected, { key, several: false });
  await requirePossible(deps, [asked!], false);
  return request(asked!.what);
}

async function submitBatch(
  deps: SubmissionDeps,
  ask: MachineAsk,
  asker: Asker,
): Promise<RequestBatch> {
  const { key, person } = asker;
  const digest = createHash('sha256').update(JSON.stringify(ask)).digest('base64url');
  const before = await deps.requests.readBatch(key, new AbortController().signal);
  if (before) {
    if (before.digest === digest && before.head.by === person.name) return before;
    throw new KeyReused(`key "${key}" was used for another request; choose a new key`);
  }
  const selected = meant(deps, ask, asker);
  const common = commonOf(ask, asker);
  const all = requestsOf(deps, wishOf(ask), selected, { key, several: true });
  await requirePossible(deps, all, true);
  const requests = all.map((asked): NewRequest => ({
    key: asked.key,
    ...common,
    what: asked.what,
  }));
  return deps.requests.submitBatch({ key, digest, requests });
}

/**
 * Refuses what a provider can never do. Everything else is decided when the request is carried out.
 * @throws {NothingToDo} a single request is impossible. @throws {BatchRefused} some of several are.
 */
async function requirePossible(
  deps: SubmissionDeps,
  all: readonly SelectedRequest[],
  isBulk: boolean,
): Promise<void> {
  const means = await meansOf(
    deps,
    all.map(({ selected }) => selected),
  );
  const refusals = all.flatMap(({ selected, what: { verb } }) => {
    const why = providerRefusal(verb, selected, means(selected.provider), isBulk);
    return why === null ? [] : [{ key: selected.slot, cause: new NothingToDo(why) }];
  });
  if (refusals.length > 0) throw all.length > 1 ? new BatchRefused(refusals) : refusals[0]!.cause;
}

async function meansOf(deps: SubmissionDeps, selected: readonly Selected[]) {
  const names = [...new Set(selected.map(({ provider }) => provider))];
  const found = await Promise.all(
    names.map(async (name) => [name, await deps.means(name)] as const),
  );
  const known = new Map(found);
  return (provider: ProviderName) => known.get(provider) ?? null;
}

type KeylessAsker = Pick<Asker, 'person' | 'seen'>;

/**
 * The selected machines, checked for rights and for changes since the caller saw them.
 * @throws {Problem} otherwise. @throws {UsageError} {NotFound} from the selection.
 */
function meant(
  deps: SubmissionDeps,
  ask: MachineAsk,
  asker: KeylessAsker,
  isDry = false,
): Selected[] {
  const wish = wishOf(ask);
  requireFuture(wish, deps.nowMs());
  requireWhole(deps.fleet);
  const selector = selectorOf(ask);
  const names = namedFleet(deps.fleet, deps.providers);
  const selected = machinesMeant(names, wish, selector);
  const providers = selected.map(({ provider }) => provider);
  requireMachineRight(asker.person, gravest(deps, wish, providers), providers);
  const { expectCount } = ask;
  const isUncounted = expectCount === undefined && (isDry || !isBulk(selector));
  if (!isUncounted) requireCount(selected.length, expectCount);
  if (asker.seen !== undefined) requireUnchanged(deps.fleet, selected, asker.seen);
  return selected;
}

/** @throws {Problem} */
function requireFuture(wish: OperatorRequest<MachineVerb>, nowMs: number): void {
  if (!('untilMs' in wish) || wish.untilMs === null || wish.untilMs > nowMs) return;
  const detail = 'it is in the past';
  throw new Problem('malformed', `untilMs: ${detail}`, {
    errors: [{ pointer: '#/body/untilMs', detail }],
  });
}

/** @throws {Problem} the number of matched machines was not confirmed, or differs. */
export function requireCount(count: number, expected: number | undefined): void {
  if (count === expected) return;
  const found = `${count} ${count === 1 ? 'machine is' : 'machines are'} selected`;
  if (expected === undefined) {
    const how = `confirm with expectCount ${count}, or list them with dryRun=true`;
    throw new Problem('malformed', `${found}; ${how}`);
  }
  const detail = `${found}, not ${expected} as expectCount says; nothing was done`;
  throw new Problem('changed', detail, { members: { current: { count } } });
}

/** @throws {Problem} the machine changed since it was seen, or several are selected. */
function requireUnchanged(fleet: FleetView, selected: readonly Selected[], seen: string): void {
  const [only, ...others] = selected;
  const entry = only && fleet.entries.get(only.slot);
  if (others.length > 0 || !entry) {
    throw new Problem('malformed', 'If-Match is only for one known machine');
  }
  const etag = etagOf(entry, fleet);
  if (seen === '*' || seen === etag) return;
  const { state, substate } = entry;
  throw new Problem(
    'changed',
    `The machine changed since you read it: it is ${state} · ${substate} now`,
    { members: { current: { ...machineRow(entry, fleet), etag } } },
  );
}

const outlookOf = async (
  deps: SubmissionDeps,
  selected: readonly Selected[],
  { by = '', reason = '', isBulk = false } = {},
): Promise<Outlook> => ({
  means: await meansOf(deps, selected),
  ...{ by, reason, isBulk, nowMs: deps.nowMs(), loss: deps.loss },
  ...{ guard: deps.guard(), pools: deps.pools() },
});

async function previewOf(
  deps: SubmissionDeps,
  ask: ActionRequest,
  asker: KeylessAsker,
): Promise<PreviewAnswer> {
  const asking = { by: asker.person.name, reason: ask.reason };
  const common = { dryRun: true, verb: ask.verb } as const;
  if (!isOfMachines(ask)) {
    requireAtLarge(deps, ask, asker);
    const prospect = prospectAtLarge(thingOf(ask), await outlookOf(deps, [], asking));
    const one = { slot: subjectOf(ask), machineId: null, state: null, substate: null, prospect };
    const { machines: _, ...rest } = foreseen([one]);
    const about = { would: null, count: 0, lost: lossOf(ask), isDestroying: isDestroying(ask) };
    return { ...common, ...about, ...rest, machines: [] };
  }
  const wish = wishOf(ask);
  const selected = meant(deps, ask, asker, true);
  const providers = selected.map(({ provider }) => provider);
  const outlook = await outlookOf(deps, selected, { ...asking, isBulk: isBulk(selectorOf(ask)) });
  const grave = gravest(deps, wish, providers);
  return {
    ...common,
    would: VERBS[wish.verb].would,
    count: selected.length,
    lost: lossAt(grave, providers, deps.givingBack),
    isDestroying: isDestroying(grave),
    ...foreseen(selected.map((each) => foresee(wish, each, { deps, outlook }))),
  };
}

function subjectOf(ask: AskAtLarge): string {
  if ('pool' in ask) return ask.pool;
  return 'provider' in ask ? ask.provider : ask.scope;
}

function foresee(
  wish: OperatorRequest<MachineVerb>,
  selected: Selected,
  { deps, outlook }: { readonly deps: SubmissionDeps; readonly outlook: Outlook },
): Foreseen {
  const { slot: name, provider, slotId, machineId, entry } = selected;
  const what = asConfigured(deps, at(wish, { provider, slotId, machineId }));
  return {
    slot: name,
    machineId: machineId ?? entry?.view.machineId ?? null,
    state: entry?.view.state ?? null,
    substate: entry?.view.substate ?? null,
    prospect: prospectOf(what, selected, outlook),
  };
}

/** What the daemon provides to store requests and to preview them. */
export interface SubmissionMeans {
  readonly requests: RequestRepository;
  readonly clock: Clock;
  readonly loss: LossPolicy;
  /** Names of the configured providers. */
  readonly providers: readonly string[];
  /** Rows of the guard, as last read. */
  readonly guard: () => readonly GuardRow[];
  /** State of the pools at their balancers, as last read. */
  readonly pools: () => readonly PoolRow[];
  /** Estimate of the database clock, epoch ms. */
  readonly nowMs: () => number;
  /** What happens to a machine of this provider that is given back, as text. */
  readonly givingBack: (provider: string) => string;
  /** Whether retired machines of this provider are given back. */
  readonly givesBack: (provider: string) => boolean;
  /** What this provider can do; null: not configured here. */
  readonly means: (provider: string) => Promise<ProviderMeans | null>;
  /** Called with the outcome of each request: `filed`, or the code of its refusal. */
  readonly onAsked?: ((verb: string, via: string, outcome: string) => void) | undefined;
}
