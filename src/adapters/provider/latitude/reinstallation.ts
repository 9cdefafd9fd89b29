import { explain, ProviderError } from '../../../domain/errors.ts';
import { TAG_PREFIX, WITNESS_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../http/call.ts';
import { isApiError } from '../../http/errors.ts';
import type { Log } from '../../log/port.ts';
import type { CallOptions, ReinstallRequest } from '../port.ts';
import { isRefusal, refusedFor } from './client/answers.ts';
import type { ReinstallOrder, Routes } from './client/routes.ts';
import { notWhile } from './changes.ts';
import { cloudConfigOf } from './cloud-config.ts';
import type { Ownership } from './ownership.ts';
import { type Mark, NO_WITNESS } from './record.ts';
import type { RecordWriter } from './record-writer.ts';
import type { SeenOurs, ServerView } from './server-view.ts';
import type { OurSshKey } from './ssh-key.ts';
import { isPassing } from './states.ts';

export interface ReinstallDeps {
  readonly routes: Routes;
  readonly writer: RecordWriter;
  readonly view: ServerView;
  readonly ownership: Pick<Ownership, 'forget'>;
  readonly sshKey: OurSshKey;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

const LOOK_GAP_MS = 10_000;
const LOOKS = 6;

/**
 * A new system on a server that stays ours throughout: the new record is there before it is asked for,
 * and which of the two counts is told by the server's own configuration until the old one is removed.
 */
export function createReinstallation(deps: ReinstallDeps) {
  const { routes, writer, view, ownership, sshKey, clock, log } = deps;

  const markFor = ({ record: { mark } }: SeenOurs, { tags }: ReinstallRequest): Mark => {
    const others = Object.entries(mark.tags).filter(([key]) => !key.startsWith(TAG_PREFIX));
    const all = { ...Object.fromEntries(others), ...tags };
    const witness = all[WITNESS_TAG] ?? NO_WITNESS;
    return { ...mark, tags: all, witness, t: clock.now(), hasScript: true };
  };

  /** Whether a request whose answer was lost was carried out. */
  async function isUnderWay(call: Call, id: string, recordId: string): Promise<boolean> {
    for (let looks = 0; looks < LOOKS; looks++) {
      await call.wait(LOOK_GAP_MS);
      if (isPassing((await routes.getServer(call, id)).status ?? '')) return true;
      if ((await routes.getDeployConfig(call, id)).userData === recordId) return true;
    }
    return false;
  }

  async function ask(
    call: Call,
    seen: SeenOurs,
    order: ReinstallOrder,
    { beforeSending }: CallOptions,
  ): Promise<void> {
    const { id } = seen.server;
    view.noteChange(id);
    ownership.forget(id);
    try {
      await routes.postReinstall(call, id, order, beforeSending);
    } catch (error) {
      const isLost = isApiError(error) && error.ambiguous && error.kind !== 'Cancelled';
      if (isLost && (await isUnderWay(call, id, order.userDataId))) return;
      throw error;
    }
  }

  async function removeAnyway(call: Call, serverId: string, recordId: string): Promise<void> {
    await writer.removeAnyway(call, recordId).catch((error: unknown) => {
      const fields = { server: serverId, record: recordId, cause: explain(error) };
      log.warn(fields, 'a record that does not count is left');
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
      // While it may have been carried out, both stay, and the server's configuration says which counts.
      if (!isApiError(error) || !error.ambiguous) await removeAnyway(call, id, recordId);
      if (isRefusal(error) && refusedFor(error) === 'passing') throw notWhile(server, error);
      throw error;
    }
    await removeAnyway(call, id, record.id);
  };
}
