import { ProviderError, explain, isProviderError } from '../../../domain/errors.ts';
import { TAG_PREFIX, WITNESS_TAG, type Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { Call } from '../../driver-kit/call.ts';
import { mutate } from '../../driver-kit/pages.ts';
import type { CallOptions, ReinstallRequest } from '../port.ts';
import type { Server } from './api.ts';
import type { MarkRecord } from './ownership.ts';
import { NOTHING_TO_RUN, NO_WITNESS, TAKEN_IN_T, cloudConfigOf, type Mark } from './records.ts';
import type { Action, ReinstallOrder } from './routes.ts';
import type { LatitudeConfig } from './settings.ts';
import { SCRIPT_KEPT_MS, type LatitudeParts } from './stock.ts';
import { isPassing, type ObservedServer } from './view.ts';

/** Delays between checks whether a request without an answer succeeded. */
const LOOKS_AFTER_MS = Array.from({ length: 6 }, () => 10_000);

/** Actions on servers, whoever installed them. */
export function createActions({ routes }: Pick<LatitudeParts, 'routes'>) {
  /**
   * Sends an action once; if a transient state refuses it, it may succeed later.
   * @param isSeen whether a server shows the action's effect, if that is visible.
   */
  async function act(
    call: Call,
    { server, isYoung }: Actionable,
    action: Action,
    { beforeSending }: Pick<CallOptions, 'beforeSending'>,
    isSeen?: (server: Server) => boolean,
  ): Promise<void> {
    if (isPassing(server.status ?? '')) throw notWhile(server);
    try {
      await mutate(call, {
        endpoint: 'PostAction',
        send: () => routes.postAction(call, server.id, action, beforeSending),
        look: async () =>
          isSeen?.(await routes.getServer(call, server.id)) ? { value: undefined } : null,
        waitsMs: isSeen ? LOOKS_AFTER_MS : [],
        repeatsMax: 0,
      });
    } catch (error) {
      const mayPass = isYoung || server.status === 'off';
      const isHeld = isProviderError(error, 'invalid', 'transient') && error.outcome === 'not-done';
      if (isHeld && error.answer?.status === 422 && mayPass) throw notWhile(server, error);
      throw error;
    }
  }

  return {
    /** The API has only one kind of reboot; a server that is off is switched on. */
    reboot: (call: Call, seen: Actionable, how: Pick<CallOptions, 'beforeSending'>) =>
      act(call, seen, seen.server.status === 'off' ? 'power_on' : 'reboot', how),
    async power(
      call: Call,
      seen: Actionable,
      want: 'on' | 'off',
      how: Pick<CallOptions, 'beforeSending'>,
    ): Promise<void> {
      if (seen.server.status === want) return;
      await act(call, seen, `power_${want}`, how, (server) => server.status === want);
    },
  };
}
export type Actions = ReturnType<typeof createActions>;

interface Actionable {
  readonly server: Server;
  /** An installation was requested a moment ago, so a refusal may pass. */
  readonly isYoung: boolean;
}

/** Changes to our servers that keep their system. */
export function createChanges(
  config: LatitudeConfig,
  deps: LatitudeParts & { readonly actions: Actions },
) {
  const { writer, view, actions, clock } = deps;

  const ours = async (call: Call, id: string, how: CallOptions): Promise<Actionable> => {
    const { server, record } = await view.getOurs(call, id, how);
    return { server, isYoung: clock.now() - record.writtenAtMs < config.staleOn };
  };

  /** Replaces our keys and keeps all others. */
  const withOurs = (before: Tags, tags: Tags): Tags => ({
    ...Object.fromEntries(Object.entries(before).filter(([key]) => !key.startsWith(TAG_PREFIX))),
    ...tags,
  });

  async function tag(call: Call, { server, record }: Tagged, tags: Tags): Promise<void> {
    const isOld = clock.now() - record.writtenAtMs >= SCRIPT_KEPT_MS && server.status === 'on';
    const changed = (mark: Mark): Mark => {
      const all = withOurs(mark.tags, tags);
      return { ...mark, tags: all, witness: all[WITNESS_TAG] ?? NO_WITNESS };
    };
    const isChanged = await writer.change(call, record.id, changed, isOld ? 'cut' : 'keep');
    if (isChanged) return;
    const message = `the record of server ${server.id} has just disappeared`;
    throw new ProviderError('transient', message);
  }

  return {
    reboot: async (call: Call, id: string, how: CallOptions): Promise<void> =>
      actions.reboot(call, await ours(call, id, how), how),
    power: async (call: Call, id: string, want: 'on' | 'off', how: CallOptions): Promise<void> =>
      actions.power(call, await ours(call, id, how), want, how),
    /** A server with one of our names but no record gets a record, and is ours from then on. */
    async setTags(call: Call, id: string, tags: Tags): Promise<void> {
      const { server, owner, machine } = await view.get(call, id);
      if (owner.kind === 'ours') return tag(call, { server, record: owner.record }, tags);
      const slot = view.slotOf(server.hostname);
      if (owner.kind === 'disputed' || slot === null) {
        throw new ProviderError('conflict', `server ${id} cannot be tagged: it is ${owner.kind}`);
      }
      await writer.make(
        call,
        {
          set: config.instanceSetId,
          hostname: machine.hostname!,
          witness: tags[WITNESS_TAG] ?? NO_WITNESS,
          tags,
          t: TAKEN_IN_T,
          slot,
          hasScript: false,
        },
        NOTHING_TO_RUN,
      );
    },
  };
}

interface Tagged {
  readonly server: Server;
  readonly record: MarkRecord;
}

export const notWhile = ({ id, status = 'unknown' }: Server, cause?: unknown): ProviderError =>
  new ProviderError(
    'transient',
    `server ${id} accepts no action in state ${status}; retry in a minute`,
    { cause },
  );

/**
 * Reinstalls a server that stays ours throughout. The new record is written before the request.
 * Until the old one is removed, the server's own configuration tells which of the two counts.
 */
export function createReinstallation(deps: LatitudeParts) {
  const { routes, writer, view, ownership, sshKey, clock, log } = deps;

  const markFor = ({ record: { mark } }: ObservedServer, { tags }: ReinstallRequest): Mark => {
    const others = Object.entries(mark.tags).filter(([key]) => !key.startsWith(TAG_PREFIX));
    const all = { ...Object.fromEntries(others), ...tags };
    const witness = all[WITNESS_TAG] ?? NO_WITNESS;
    return { ...mark, tags: all, witness, t: clock.now(), hasScript: true };
  };

  async function isUnderWay(call: Call, id: string, recordId: string): Promise<boolean> {
    if (isPassing((await routes.getServer(call, id)).status ?? '')) return true;
    return (await routes.getDeployConfig(call, id)).userData === recordId;
  }

  async function ask(
    call: Call,
    seen: ObservedServer,
    order: ReinstallOrder,
    { beforeSending }: CallOptions,
  ): Promise<void> {
    const { id } = seen.server;
    view.noteChange(id);
    ownership.forget(id);
    await mutate(call, {
      endpoint: 'ReinstallServer',
      send: () => routes.postReinstall(call, id, order, beforeSending),
      look: async () =>
        (await isUnderWay(call, id, order.userDataId)) ? { value: undefined } : null,
      waitsMs: LOOKS_AFTER_MS,
      repeatsMax: 0,
    });
  }

  async function removeAnyway(call: Call, serverId: string, recordId: string): Promise<void> {
    await writer.removeAnyway(call, recordId).catch((error: unknown) => {
      const fields = { server: serverId, record: recordId, cause: explain(error) };
      log.warn(fields, 'an obsolete record could not be deleted');
    });
  }

  return async (
    call: Call,
    id: string,
    request: ReinstallRequest,
    how: CallOptions,
  ): Promise<void> => {
    const seen = await view.getOurs(call, id, how);
    const { server, record } = seen;
    if (server.locked) throw new ProviderError('conflict', `server ${id} is locked`);
    if (isPassing(server.status ?? '')) throw notWhile(server);
    const sshKeyId = await sshKey.id(call, how.signal);
    const mark = markFor(seen, request);
    const recordId = await writer.make(call, mark, cloudConfigOf(request.initCommand));
    const order: ReinstallOrder = {
      hostname: mark.hostname,
      sshKeyId,
      userDataId: recordId,
      operatingSystem: request.image ?? server.operating_system?.slug,
    };
    try {
      await ask(call, seen, order, how);
    } catch (error) {
      // If the request may have succeeded, both records stay, and the server's configuration
      // decides.
      const isUnknown = isProviderError(error) && error.outcome === 'unknown';
      if (!isUnknown) await removeAnyway(call, id, recordId);
      throw error;
    }
    await removeAnyway(call, id, record.id);
  };
}
