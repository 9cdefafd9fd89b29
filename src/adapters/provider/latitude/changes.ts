import { ProviderError } from '../../../domain/errors.ts';
import { TAG_PREFIX, type Tags, WITNESS_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../http/call.ts';
import { isApiError } from '../../http/errors.ts';
import type { CallOptions } from '../port.ts';
import { refusedFor } from './client/answers.ts';
import type { Action, Routes } from './client/routes.ts';
import type { Server } from './client/schema.ts';
import { NOTHING_TO_RUN } from './cloud-config.ts';
import type { LatitudeConfig } from './project-config.ts';
import type { MarkRecord } from './ownership.ts';
import { type Mark, NO_WITNESS, TAKEN_IN_T } from './record.ts';
import type { RecordWriter } from './record-writer.ts';
import type { ServerView } from './server-view.ts';
import { isPassing } from './states.ts';

export interface ChangeDeps {
  readonly routes: Routes;
  readonly writer: RecordWriter;
  readonly view: ServerView;
  readonly clock: Pick<Clock, 'now'>;
}

/** The script of a first boot stays for so long in the record: it may still have to be run. */
export const SCRIPT_KEPT_MS = 3_600_000;
const LOOK_GAP_MS = 10_000;
const LOOK_MS = 60_000;

/** What is done to servers of ours that stay, without a new system. */
export function createChanges(config: LatitudeConfig, deps: ChangeDeps) {
  const { routes, writer, view, clock } = deps;

  /** An action, once; what refuses it because of a state that passes may pass. */
  async function act(
    call: Call,
    { server, record }: { readonly server: Server; readonly record: MarkRecord },
    action: Action,
    { beforeSending }: CallOptions,
  ): Promise<void> {
    try {
      await routes.postAction(call, server.id, action, beforeSending);
    } catch (error) {
      const isYoung = clock.now() - record.writtenAtMs < config.staleOnMs;
      const mayPass = isPassing(server.status ?? '') || isYoung || server.status === 'off';
      if (!isApiError(error, 'Rejected') || error.ambiguous || error.status !== 422 || !mayPass) {
        throw error;
      }
      if (refusedFor(error) === 'locked') throw error;
      throw notWhile(server, error);
    }
  }

  /** Whether the power is seen as wanted within a minute. */
  async function becomes(call: Call, id: string, want: 'on' | 'off'): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < LOOK_MS; waitedMs += LOOK_GAP_MS) {
      await call.wait(LOOK_GAP_MS);
      if ((await routes.getServer(call, id)).status === want) return true;
    }
    return false;
  }

  /** The keys of ours replaced, the others as they are. */
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
    const message = `the record of server ${server.id} was there a moment ago, and is not any more`;
    throw new ProviderError('transient', message);
  }

  return {
    /** The API knows one kind of reboot; a server that is off is switched on. */
    async reboot(call: Call, id: string, how: CallOptions): Promise<void> {
      const seen = await view.getOurs(call, id, how);
      const { status = '' } = seen.server;
      if (isPassing(status)) throw notWhile(seen.server);
      await act(call, seen, status === 'off' ? 'power_on' : 'reboot', how);
    },
    async power(call: Call, id: string, want: 'on' | 'off', how: CallOptions): Promise<void> {
      const seen = await view.getOurs(call, id, how);
      const { status = '' } = seen.server;
      if (status === want) return;
      if (isPassing(status)) throw notWhile(seen.server);
      try {
        await act(call, seen, `power_${want}`, how);
      } catch (error) {
        const isLost = isApiError(error) && error.ambiguous && error.kind !== 'Cancelled';
        if (!isLost || !(await becomes(call, id, want))) throw error;
      }
    },
    /** A server that has a name of ours and no record gets one, and is ours from then on. */
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
    `server ${id} takes no action while ${status}; again in a minute`,
    { cause },
  );
