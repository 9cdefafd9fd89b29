import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import { unlessAborted } from '../../../domain/joined.ts';
import { SET_ID_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Call } from '../../driver-kit/call.ts';
import { asUnknown, isLost } from '../../driver-kit/errors.ts';
import type { CreateRequest, DriverMachine } from '../port.ts';
import { isNo, namesOurThings, type Server } from './api.ts';
import type { ServerOrder } from './routes.ts';
import type { LatitudeConfig, Place } from './settings.ts';
import type { MarkRecord } from './ownership.ts';
import { cloudConfigOf, type Mark, type StoredRecord } from './records.ts';
import type { Owned, Parts } from './stock.ts';

/** Delay from a lost answer to the first search for its server, and between two searches. */
const LOOK_DELAY_MS = 5_000;
const LOOK_GAP_MS = 15_000;
/** Number of checks whether concurrent creations have withdrawn. */
const RIVAL_LOOKS = 4;

/** One creation in progress. */
interface Order {
  readonly call: Call;
  readonly signal: AbortSignal;
  readonly request: CreateRequest;
  readonly place: Place;
  readonly witness: string;
}
/** Progress of a creation. */
interface Progress {
  attempts: number;
  /** This call or an earlier one may have requested a server. */
  ambiguous: boolean;
}
interface Made {
  readonly server: Server;
  readonly record: MarkRecord;
}

/**
 * Creates servers, each at most once. The server's record is written before the request, which
 * names it. So whoever finds the server knows its owner, even if the answer was lost.
 */
export function createCreation(config: LatitudeConfig, deps: Parts) {
  const { routes, records, writer, search, view, systems, sshKey, clock, log } = deps;
  const { instanceSetId, settle: settleMs } = config;

  function placeFor({ unused, hostname }: CreateRequest): Place {
    const { reservationId, availability } = unused;
    const place = config.places.find(({ slot }) => slot === reservationId);
    if (!place || availability !== 'KnownUnused') {
      throw new ProviderError('invalid', 'a creation needs a free slot of this provider');
    }
    if (place.hostname === hostname) return place;
    throw new ProviderError('invalid', `a server ${hostname} does not match ${place.slot}`);
  }

  async function shown(order: Order, server: Server, record: MarkRecord): Promise<DriverMachine> {
    const userOf = await systems.users(order.call);
    // The answer is short: what it leaves out is as requested.
    const told = {
      site: order.place.site,
      operating_system: { slug: systemFor(order) },
      ...server,
    };
    const owner = { kind: 'ours', record } as const;
    return { ...view.show(told, owner, userOf), reservationId: order.place.slot };
  }
  const systemFor = ({ request }: Order) => request.image ?? config.os;

  /** The server that this creation made earlier, if any. @throws {ProviderError} `race-lost` */
  async function made(order: Order): Promise<DriverMachine | null> {
    const { call, place } = order;
    return judged(order, await search.byName(call, place.hostname));
  }

  async function judged(order: Order, found: readonly Owned[]): Promise<DriverMachine | null> {
    const { place, witness } = order;
    if (found.length === 0) return null;
    if (found.length > 1) {
      const ids = found.map(({ server }) => server.id).join(' and ');
      const message = `several servers have the name ${place.hostname}: ${ids}`;
      throw new ProviderError('conflict', message);
    }
    const [{ server, owner }] = found as [Owned];
    if (owner.kind === 'ours' && owner.record.witness === witness) {
      return shown(order, server, owner.record);
    }
    throw taken(place, server);
  }
  const taken = ({ slot }: Place, { id }: Server) =>
    new ProviderError('race-lost', `another server is on ${slot}: ${id}`);

  /**
   * Searches until the server must have appeared if it was created; null: it was not. Searches
   * twice with a pause, finally in the list of all servers, because it is undocumented what a
   * search by name may leave out.
   */
  async function madeEarlier(order: Order): Promise<DriverMachine | null> {
    const { call, place } = order;
    const untilMs = clock.now() + settleMs;
    for (let empty = 0; empty < 2;) {
      await call.wait(LOOK_GAP_MS);
      const found = await made(order);
      if (found) return found;
      if (clock.now() >= untilMs) empty += 1;
    }
    return judged(order, await search.everywhere(call, place.hostname));
  }

  const markFor = ({ request, place, witness }: Order): Mark => ({
    set: instanceSetId,
    hostname: place.hostname,
    witness,
    tags: request.tags,
    t: clock.now(),
    slot: place.slot,
    hasScript: true,
  });

  /** Removes other creations' records of this slot, or gives way to one in progress. */
  async function clearOthers(order: Order, others: readonly StoredRecord[]): Promise<void> {
    const { call, place } = order;
    const young = others.find(({ writtenAtMs }) => clock.now() - writtenAtMs < settleMs);
    if (young) throw raceLost(place);
    if (others.length > 0) {
      // A record may be a machine's mark; only the list of all servers can prove that there is
      // none.
      const [there] = await search.everywhere(call, place.hostname);
      if (there) throw taken(place, there.server);
    }
    for (const { set, id } of others) {
      if (set === instanceSetId) await routes.deleteUserData(call, id);
    }
  }
  const raceLost = ({ slot }: Place) =>
    new ProviderError('race-lost', `another creation on ${slot} is in progress`);

  /** The record of this creation, with this call's script and tags. */
  async function recordFor(
    order: Order,
    progress: Progress,
  ): Promise<{ readonly record: MarkRecord } | { readonly machine: DriverMachine }> {
    const { call, place, witness, request } = order;
    const known = (await records.read(call)).of(place.hostname);
    const isMine = (record: StoredRecord) =>
      record.set === instanceSetId && record.witness === witness;
    const mine = known.find(isMine);
    if (mine || request.resumed) {
      progress.ambiguous = true;
      const machine = await madeEarlier(order);
      if (machine) return { machine };
    }
    await clearOthers(
      order,
      known.filter((record) => !isMine(record)),
    );
    const record = mine ? await written(order, mine.id) : await written(order);
    if (!mine) await refuseRivals(order, record, known);
    return { record };
  }

  /** @param id of the existing record; absent: a new one is created. */
  async function written(order: Order, id?: string): Promise<MarkRecord> {
    const { call, request } = order;
    const mark = markFor(order);
    const body = cloudConfigOf(request.initCommand);
    const is =
      id === undefined ? writer.make(call, mark, body) : writer.rewrite(call, id, mark, body);
    return { ...mark, id: await is, mark, writtenAtMs: mark.t };
  }

  /**
   * Shows creations that began at the same moment. All but the one with the smallest record id
   * withdraw. That one waits for the others, because a creation that did not see it keeps its
   * record and continues.
   */
  async function refuseRivals(
    order: Order,
    record: MarkRecord,
    before: readonly StoredRecord[],
  ): Promise<void> {
    const { call, place } = order;
    const isNew = ({ id }: StoredRecord) =>
      id !== record.id && !before.some((known) => known.id === id);
    for (let looks = 0; looks < RIVAL_LOOKS; looks++) {
      if (looks > 0) await call.wait(LOOK_DELAY_MS);
      const { of, complete } = await records.read(call);
      const rivals = of(place.hostname).filter(isNew);
      if (rivals.length === 0 && (looks === 0 || complete)) return;
      if (rivals.some(({ id }) => id < record.id)) break;
    }
    await drop(order, record);
    throw raceLost(place);
  }

  /** Nothing was requested with its name. Sweeping finds the record after a failure. */
  async function drop({ call, place }: Order, { id }: MarkRecord): Promise<void> {
    await writer.removeAnyway(call, id).catch((error: unknown) => {
      log.warn(
        { slot: place.slot, cause: explain(error) },
        'a record without a server could not be deleted',
      );
    });
  }

  async function post(order: Order, record: MarkRecord, progress: Progress): Promise<Made> {
    const { call, signal, place, request } = order;
    const beforeAttempt = async () => {
      progress.attempts += 1;
      const { attempts, ambiguous } = progress;
      await unlessAborted(request.onAttempt({ attempts, ambiguous }), signal).catch(
        (error: unknown) => {
          throw signal.aborted ? call.error('aborted', 'cancelled before it was sent') : error;
        },
      );
    };
    const wanted: ServerOrder = {
      hostname: place.hostname,
      plan: place.plan,
      site: place.site,
      operatingSystem: systemFor(order),
      sshKeyId: await sshKey.id(call, signal),
      userDataId: record.id,
    };
    try {
      return { record, server: await routes.postServer(call, wanted, beforeAttempt) };
    } catch (error) {
      if (!isNo(error) || !namesOurThings(error)) throw error;
      // Somebody may have removed our key or the record; that is repaired once.
      const sshKeyId = await sshKey.ensure(call, signal);
      const isThere = await writer.isThere(call, record.id);
      if (isThere && sshKeyId === wanted.sshKeyId) throw error;
      const mended = isThere ? record : await written(order);
      const again = { ...wanted, sshKeyId, userDataId: mended.id };
      return { record: mended, server: await routes.postServer(call, again, beforeAttempt) };
    }
  }

  /** After a lost answer: the server, if it appears in time. */
  async function lookFor(order: Order): Promise<DriverMachine | null> {
    const { call } = order;
    const untilMs = clock.now() + settleMs;
    for (let delayMs = LOOK_DELAY_MS; ; delayMs = LOOK_GAP_MS) {
      await call.wait(delayMs);
      const found = await made(order);
      if (found) return found;
      if (clock.now() >= untilMs) return null;
    }
  }

  async function ask(order: Order, record: MarkRecord, progress: Progress): Promise<DriverMachine> {
    const wasAmbiguous = progress.ambiguous;
    try {
      const made = await post(order, record, progress);
      return await shown(order, made.server, made.record);
    } catch (error) {
      if (!isLost(error)) {
        // Neither this call nor an earlier one created anything.
        const isUnsent = !isProviderError(error) || error.outcome !== 'unknown';
        if (isUnsent && !wasAmbiguous) await drop(order, record);
        throw error;
      }
      progress.ambiguous = true;
      const found = await lookFor(order);
      if (found) return found;
      const what = 'the server may have been ordered';
      throw order.call.error('transient', what, { outcome: 'unknown', cause: error });
    }
  }

  /** @throws {ProviderError} see `Provider.createMachine`. */
  return async (request: CreateRequest, call: Call, how: Pick<Order, 'signal' | 'witness'>) => {
    const order: Order = { ...how, call, request, place: placeFor(request) };
    if (request.tags[SET_ID_TAG] !== instanceSetId) {
      throw new ProviderError('invalid', 'the tags of a machine must include its owner');
    }
    const progress: Progress = { attempts: 0, ambiguous: request.resumed };
    try {
      const there = await made(order);
      if (there) return there;
      const begun = await recordFor(order, progress);
      if ('machine' in begun) return begun.machine;
      return await ask(order, begun.record, progress);
    } catch (error) {
      throw progress.ambiguous ? unsettled(error, order.place) : error;
    }
  };
}

/** A server may exist: whatever failed, it must be searched for. */
function unsettled(error: unknown, place: Place): unknown {
  if (!isProviderError(error) || error.kind === 'race-lost') return error;
  if (error.answer) return asUnknown(error);
  const message = `a server may have been ordered for ${place.slot}`;
  return new ProviderError(error.kind, message, { cause: error, outcome: 'unknown' });
}
