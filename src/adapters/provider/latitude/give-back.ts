import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Call } from '../../driver-kit/call.ts';
import { isNotFound, isRefused } from '../../driver-kit/errors.ts';
import { mutate } from '../../driver-kit/pages.ts';
import type { CallOptions } from '../port.ts';
import { hostnameOf, type LatitudeConfig } from './settings.ts';
import { isLeaving, LEAVING_TAG, toMachine, type ObservedServer } from './view.ts';
import type { LatitudeParts } from './stock.ts';

/** Delays between checks whether a request without an answer succeeded. */
const LOOKS_AFTER_MS = [10_000, 10_000, 10_000];

/** Gives servers back and frees their slots. */
export function createGiveBack(config: LatitudeConfig, deps: LatitudeParts) {
  const { routes, records, writer, search, view, clock, log } = deps;

  /** A server leaving by our own order still counts as ours, so that the order can be repeated. */
  async function getOurs(call: Call, id: string, how: CallOptions): Promise<ObservedServer> {
    const seen = await view.get(call, id);
    const { owner, server, machine } = seen;
    if (owner.kind !== 'ours' || !isLeaving(owner)) return view.getOurs(call, id, how);
    const { mark } = owner.record;
    const { [LEAVING_TAG]: _leaving, ...tags } = mark.tags;
    const before = { kind: 'ours', record: { ...owner.record, mark: { ...mark, tags } } } as const;
    const { remoteUser = 'root', reservationId } = machine;
    const known = { owner: before, slot: reservationId, remoteUser, nowMs: clock.now() };
    how.requireOurs(toMachine(server, { ...known, staleOnMs: config.staleOn }));
    await view.requireProved(call, server, owner.record);
    return { ...seen, record: owner.record };
  }

  /** Resolves a lost answer by a check; repeats the request only if it had no effect. */
  const settled = (
    call: Call,
    endpoint: string,
    send: () => Promise<void>,
    isDone: () => Promise<boolean>,
  ): Promise<void> =>
    mutate<void>(call, {
      ...{ endpoint, send, repeatsMax: 1, waitsMs: LOOKS_AFTER_MS },
      look: async () => ((await isDone()) ? { value: undefined } : null),
    });

  async function isGone(call: Call, id: string): Promise<boolean> {
    return routes.getServer(call, id).then(
      () => false,
      (error: unknown) => {
        if (isNotFound(error)) return true;
        throw error;
      },
    );
  }

  async function schedule(call: Call, seen: ObservedServer, { beforeSending }: CallOptions) {
    const { server, record } = seen;
    const { id } = server;
    if (record.mark.tags[LEAVING_TAG] === undefined) {
      const leaving = { [LEAVING_TAG]: new Date(clock.now()).toISOString() };
      const mark = (before: typeof record.mark) => ({
        ...before,
        tags: { ...before.tags, ...leaving },
      });
      await beforeSending?.();
      await writer.change(call, record.id, mark, 'cut');
    }
    const stayedOn = server.status === 'on' ? await switchOff(call, id, beforeSending) : null;
    if (server.scheduled_deletion_at === undefined) {
      await settled(
        call,
        'ScheduleDeletion',
        () => routes.scheduleDeletion(call, id, beforeSending),
        async () => (await routes.getServer(call, id)).scheduled_deletion_at !== undefined,
      );
    }
    if (!stayedOn) return;
    if (!isRefused(stayedOn)) throw stayedOn;
    const message = 'a server scheduled for deletion accepts no action, and stays on until then';
    log.warn({ provider: config.name, providerId: id, cause: explain(stayedOn) }, message);
  }

  /** A failed power-off must not stop the deletion, which ends the cost. */
  async function switchOff(
    call: Call,
    id: string,
    beforeSending: CallOptions['beforeSending'],
  ): Promise<ProviderError | null> {
    try {
      await routes.postAction(call, id, 'power_off', beforeSending);
      return null;
    } catch (error) {
      if (isProviderError(error) && error.kind !== 'aborted') return error;
      throw error;
    }
  }

  return {
    /** @throws {ProviderError} `not-found`: the server is gone. */
    async deprovision(call: Call, id: string, how: CallOptions): Promise<void> {
      const seen = await getOurs(call, id, how);
      if (seen.server.locked) throw new ProviderError('conflict', `server ${id} is locked`);
      view.noteChange(id);
      if (config.onDeprovision === 'schedule') return schedule(call, seen, how);
      await settled(
        call,
        'DeleteServer',
        () => routes.deleteServer(call, id, how.beforeSending),
        () => isGone(call, id),
      );
    },
    /** Whether no server has the slot's name any more; then its records are removed, too. */
    async isReusable(call: Call, slot: string): Promise<boolean> {
      const hostname = hostnameOf(slot, config.namePrefix);
      if ((await search.byName(call, hostname)).length > 0) return false;
      const left = (await records.read(call)).of(hostname);
      const ours = left.filter(({ set }) => set === config.instanceSetId);
      if (ours.length === 0) return true;
      // A new record may belong to a creation whose server is about to appear.
      if (ours.some(({ writtenAtMs }) => clock.now() - writtenAtMs < config.settle)) return false;
      if ((await search.everywhere(call, hostname)).length > 0) return false;
      for (const { id } of ours) await writer.remove(call, id);
      return true;
    },
  };
}
