import { createHash } from 'node:crypto';
import type { NewRequest, RequestBatch, RequestState } from '../../../adapters/bmdb/port.ts';
import { askedOf, machinesMeant, type Asked } from '../../../domain/filing/asks.ts';
import { lossOf } from '../../../domain/filing/loss.ts';
import { requireProvider } from '../../../domain/filing/named-fleet.ts';
import { providerRefusal } from '../../../domain/filing/possible.ts';
import { offersOf, prospectAtLarge, prospectOf } from '../../../domain/filing/prospects.ts';
import type { Offer, Outlook } from '../../../domain/filing/prospects.ts';
import { byName, isBulk, requireCount, type Selected } from '../../../domain/filing/selection.ts';
import { at, MEANINGS, type Wish } from '../../../domain/filing/verbs.ts';
import { BatchRefused, KeyReused, NothingToDo, UsageError } from '../../../domain/errors.ts';
import { slot, type ProviderName } from '../../../domain/ids.ts';
import type { Person } from '../../access/port.ts';
import type { FleetView } from '../../port.ts';
import { etagOf, machineRow } from '../machine.ts';
import { Problem } from '../problem.ts';
import { foreseen, type Foreseen, type PreviewAnswer } from './answers.ts';
import { isOfMachines, selectorOf, thingOf, wishOf } from './body.ts';
import type { Ask, AskAtLarge, MachineAsk } from './body.ts';
import { API_WORDS, namedFleet } from './fleet.ts';
import type { FilingMeans } from './port.ts';
import { asProblems } from './refusals.ts';
import { isDestroying, requireMachineRight, requireRightAtLarge } from './rights.ts';

/** What was filed: one request, or several as a batch. */
export type Filed = { readonly request: RequestState } | { readonly batch: RequestBatch };

/** How somebody asks. */
export interface Asker {
  readonly person: Person;
  /** Idempotency key. */
  readonly key: string;
  /** ETag of the one machine as it was seen; absent: however it is. */
  readonly seen?: string | undefined;
}

export interface Filing {
  /**
   * Files what is asked for, once for each key, in one transaction or not at all.
   * @throws {Problem} it is not allowed, not clear, refused, or the database is away.
   */
  file(ask: Ask, asker: Asker): Promise<Filed>;
  /** What would become of it; files nothing. @throws {Problem} */
  preview(ask: Ask, asker: Pick<Asker, 'person' | 'seen'>): Promise<PreviewAnswer>;
  /** What can be asked of one machine or slot. @throws {NotFound} there is none of this name. */
  offers(name: string): Promise<Offer[]>;
}

export type FilingDeps = FilingMeans & { readonly fleet: FleetView };

export function createFiling(deps: FilingDeps): Filing {
  /** Keys that are being filed here now. */
  const filing = new Set<string>();
  return {
    async file(ask, asker) {
      const { key } = asker;
      if (filing.has(key)) {
        throw new Problem('still-filing', 'A request with this key is being filed', {
          retryAfterSeconds: 1,
        });
      }
      filing.add(key);
      try {
        return await asProblems(() => fileOnce(deps, ask, asker));
      } finally {
        filing.delete(key);
      }
    },
    preview: (ask, asker) => previewOf(deps, ask, asker),
    async offers(name) {
      const fleet = namedFleet(deps.fleet, deps.providers);
      const found = byName(fleet, name, { needsMachine: false, words: API_WORDS });
      const machineId = found.machineId ?? found.entry?.rows[0]?.machineId ?? null;
      return offersOf({ ...found, machineId }, await outlookOf(deps, [found]));
    },
  };
}

async function fileOnce(deps: FilingDeps, ask: Ask, asker: Asker): Promise<Filed> {
  if (!isOfMachines(ask)) return { request: await fileAtLarge(deps, ask, asker) };
  return isBulk(selectorOf(ask))
    ? { batch: await fileBatch(deps, ask, asker) }
    : { request: await fileOne(deps, ask, asker) };
}

const commonOf = (ask: Ask, { person }: Pick<Asker, 'person'>) => ({
  by: person.name,
  standing: { role: person.role, proven: person.proven },
  reason: ask.reason,
  ...(ask.validForMs !== undefined && { validForMs: ask.validForMs }),
});

async function fileAtLarge(deps: FilingDeps, ask: AskAtLarge, asker: Asker) {
  requireAtLarge(deps, ask, asker);
  return deps.requests.file({ key: asker.key, ...commonOf(ask, asker), what: thingOf(ask) });
}

/** @throws {Problem} it is not allowed, or about nothing that there is. */
function requireAtLarge(deps: FilingDeps, ask: AskAtLarge, { person, seen }: Unfiled): void {
  requireRightAtLarge(person, ask);
  if (seen !== undefined) throw new Problem('malformed', 'If-Match is for one machine');
  if ('pool' in ask) {
    const places = deps.fleet.pools().filter(({ pool }) => pool === ask.pool);
    if (places.some(({ balancer }) => (ask.balancer ?? balancer) === balancer)) return;
    const where = ask.balancer === null ? '' : ` at ${ask.balancer}`;
    throw new Problem('not-found', `No pool is named ${ask.pool}${where}`);
  }
  if ('shelf' in ask && ask.hold === null && ask.shelf.length === 0) {
    throw new Problem('malformed', 'Say what is to be cleared: hold, or shelf');
  }
  const scope = 'shelf' in ask ? ask.provider : ask.scope;
  if (scope === 'fleet') return;
  named(() => requireProvider(namedFleet(deps.fleet, deps.providers), scope));
}

/** A name that means nothing is no mistake of form. */
function named<T>(look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (error instanceof UsageError) throw new Problem('not-found', error.message);
    throw error;
  }
}

/** What was asked under the key before is asked again of the same machine, whatever is there now. */
async function fileOne(deps: FilingDeps, ask: MachineAsk, asker: Asker): Promise<RequestState> {
  const { key, person } = asker;
  const wish = wishOf(ask);
  const [before] = await deps.requests.read([key], new AbortController().signal);
  const request = (what: NewRequest['what']) =>
    deps.requests.file({ key, ...commonOf(ask, asker), what });
  if (before) {
    const { provider, slotId, machineId } = before;
    const [name] = ask.slots ?? [];
    const isSame =
      provider !== null &&
      slotId !== null &&
      (name === slot(provider, slotId) || (name === machineId && name !== undefined));
    if (!isSame) throw new KeyReused(`key "${key}" was used for something else`);
    requireMachineRight(person, wish, [provider]);
    return request(at(wish, { provider, slotId, machineId }));
  }
  const selected = meant(deps, ask, asker);
  const [asked] = askedOf(wish, selected, { key, several: false, word: KEY_WORD });
  await requirePossible(deps, [asked!]);
  return request(asked!.what);
}

const KEY_WORD = 'Idempotency-Key';

async function fileBatch(deps: FilingDeps, ask: MachineAsk, asker: Asker): Promise<RequestBatch> {
  const { key, person } = asker;
  const digest = createHash('sha256').update(JSON.stringify(ask)).digest('base64url');
  const before = await deps.requests.readBatch(key, new AbortController().signal);
  if (before) {
    if (before.digest === digest && before.head.by === person.name) return before;
    throw new KeyReused(`key "${key}" was used for something else`);
  }
  const selected = meant(deps, ask, asker);
  const common = commonOf(ask, asker);
  const all = askedOf(wishOf(ask), selected, { key, several: true, word: KEY_WORD });
  await requirePossible(deps, all);
  const requests = all.map((asked): NewRequest => ({
    key: asked.key,
    ...common,
    what: asked.what,
  }));
  return deps.requests.fileBatch({ key, digest, requests });
}

/**
 * What a provider can never do is not filed. All else is decided by whoever carries it out, by what is true then.
 * @throws {NothingToDo} one alone cannot be done. @throws {BatchRefused} some of several cannot.
 */
async function requirePossible(deps: FilingDeps, all: readonly Asked[]): Promise<void> {
  const means = await meansOf(
    deps,
    all.map(({ selected }) => selected),
  );
  const refusals = all.flatMap(({ selected: { slot: name, provider }, what: { verb } }) => {
    const why = providerRefusal(verb, provider, means(provider));
    return why === null ? [] : [{ key: name, cause: new NothingToDo(why) }];
  });
  if (refusals.length > 0) throw all.length > 1 ? new BatchRefused(refusals) : refusals[0]!.cause;
}

async function meansOf(deps: FilingDeps, selected: readonly Selected[]) {
  const names = [...new Set(selected.map(({ provider }) => provider))];
  const found = await Promise.all(
    names.map(async (name) => [name, await deps.means(name)] as const),
  );
  const known = new Map(found);
  return (provider: ProviderName) => known.get(provider) ?? null;
}

type Unfiled = Pick<Asker, 'person' | 'seen'>;

/**
 * The machines that are meant, which may be asked, and are as they were seen.
 * @throws {Problem} otherwise. @throws {UsageError} {NotFound} as it is selected.
 */
function meant(deps: FilingDeps, ask: MachineAsk, asker: Unfiled, isDry = false): Selected[] {
  const wish = wishOf(ask);
  requireFuture(wish, deps.nowMs());
  const selector = selectorOf(ask);
  const names = namedFleet(deps.fleet, deps.providers);
  const selected = machinesMeant(names, wish, { selector, words: API_WORDS });
  requireMachineRight(
    asker.person,
    wish,
    selected.map(({ provider }) => provider),
  );
  const { expectCount } = ask;
  const isUncounted = expectCount === undefined && (isDry || !isBulk(selector));
  if (!isUncounted) requireCounted(selected.length, expectCount);
  if (asker.seen !== undefined) requireUnchanged(deps.fleet, selected, asker.seen);
  return selected;
}

/** @throws {Problem} */
function requireFuture(wish: Wish, nowMs: number): void {
  if (!('untilMs' in wish) || wish.untilMs === null || wish.untilMs > nowMs) return;
  const detail = 'it is past already';
  throw new Problem('malformed', `untilMs: ${detail}`, {
    errors: [{ pointer: '#/body/untilMs', detail }],
  });
}

/** @throws {Problem} another number is meant. @throws {UsageError} none was confirmed. */
function requireCounted(count: number, expected: number | undefined): void {
  try {
    requireCount(count, expected, API_WORDS);
  } catch (error) {
    if (!(error instanceof UsageError) || expected === undefined) throw error;
    throw new Problem('changed', error.message, { members: { current: { count } } });
  }
}

/** @throws {Problem} the machine is not as it was seen, or there are several. */
function requireUnchanged(fleet: FleetView, selected: readonly Selected[], seen: string): void {
  const [only, ...others] = selected;
  const entry = only && fleet.entries.get(only.slot);
  if (others.length > 0 || !entry) {
    throw new Problem('malformed', 'If-Match is for one machine that is known');
  }
  const etag = etagOf(entry, fleet);
  if (seen === '*' || seen === etag) return;
  const { state, substate } = entry;
  throw new Problem('changed', `It is ${state} · ${substate} now, and not as you saw it`, {
    members: { current: { ...machineRow(entry, fleet), etag } },
  });
}

const outlookOf = async (
  deps: FilingDeps,
  selected: readonly Selected[],
  { by = '', reason = '' } = {},
): Promise<Outlook> => ({
  means: await meansOf(deps, selected),
  ...{ by, reason, nowMs: deps.nowMs(), loss: deps.loss },
  ...{ guard: deps.guard(), pools: deps.pools() },
});

async function previewOf(deps: FilingDeps, ask: Ask, asker: Unfiled): Promise<PreviewAnswer> {
  const asking = { by: asker.person.name, reason: ask.reason };
  const common = { dryRun: true, verb: ask.verb } as const;
  if (!isOfMachines(ask)) {
    requireAtLarge(deps, ask, asker);
    const prospect = prospectAtLarge(thingOf(ask), await outlookOf(deps, [], asking));
    const one = { slot: subjectOf(ask), machineId: null, state: null, substate: null, prospect };
    const { machines: _, ...rest } = foreseen([one]);
    const isDestroyed = ask.verb === 'teardown-pool';
    const lost = isDestroyed ? 'all of the pool is removed from its balancers' : null;
    const about = { would: null, count: 0, lost, isDestroying: isDestroyed };
    return { ...common, ...about, ...rest, machines: [] };
  }
  const wish = wishOf(ask);
  const selected = meant(deps, ask, asker, true);
  const providers = selected.map(({ provider }) => provider);
  const outlook = await outlookOf(deps, selected, asking);
  return {
    ...common,
    would: MEANINGS[wish.verb].would,
    count: selected.length,
    lost: lossOf(wish, providers, deps.givingBack),
    isDestroying: isDestroying(wish),
    ...foreseen(selected.map((each) => foresee(wish, each, outlook))),
  };
}

function subjectOf(ask: AskAtLarge): string {
  if ('pool' in ask) return ask.pool;
  return 'shelf' in ask ? ask.provider : ask.scope;
}

function foresee(wish: Wish, selected: Selected, outlook: Outlook): Foreseen {
  const { slot: name, provider, slotId, machineId, entry } = selected;
  const what = at(wish, { provider, slotId, machineId });
  return {
    slot: name,
    machineId: machineId ?? entry?.view.machineId ?? null,
    state: entry?.view.state ?? null,
    substate: entry?.view.substate ?? null,
    prospect: prospectOf(what, selected, outlook),
  };
}
