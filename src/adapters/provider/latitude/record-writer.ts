import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import { withTimeLimit } from '../../clock/port.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import { nullIfGone } from '../../driver-kit/errors.ts';
import { mutate } from '../../driver-kit/pages.ts';
import type { Routes } from './routes.ts';
import type { UserData } from './api.ts';
import {
  NOTHING_TO_RUN,
  bodyIn,
  readRecord,
  writeRecord,
  type Mark,
  type RecordText,
  type StoredRecord,
  type StoredRecords,
} from './records.ts';

const REPEATS_MAX = 2;
const REMOVAL_MS = 5_000;
/** A record read this recently is not read again before a write. */
const JUST_READ_MS = 2_000;
/** Number of retries if others keep writing the record. */
const CHANGES_MAX = 5;

/** Somebody else wrote the record while this request waited for its turn. */
class WrittenMeanwhile extends Error {}

/** Writes the records of machines, and verifies each write. */
export function createRecordWriter(deps: {
  /** An operation besides the requested ones. */
  readonly begin: (doing: string, signal: AbortSignal) => Call;
  readonly routes: Routes;
  readonly records: StoredRecords;
  readonly clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
}) {
  const { begin, routes, records, clock } = deps;

  /** The stored text equals the sent one; fields missing in a reply are not compared. */
  const agrees = (found: UserData, { description, content }: RecordText): boolean =>
    (found.description ?? description) === description && (found.content ?? content) === content;

  function requireAgreed(found: UserData, written: RecordText): string {
    if (agrees(found, written)) return found.id;
    const message = `the API altered user data ${found.id}`;
    throw new ProviderError('invalid', message);
  }

  /** A record created by a request whose answer was lost. */
  async function findWritten(call: Call, mark: Mark): Promise<UserData | null> {
    const { items } = await routes.listUserData(call);
    return (
      items.find((found) => {
        const told = readRecord(found);
        return (
          told?.witness === mark.witness && told.hostname === mark.hostname && told.t === mark.t
        );
      }) ?? null
    );
  }

  async function make(call: Call, mark: Mark, body: string): Promise<string> {
    const written = writeRecord(mark, body);
    records.forget(mark.hostname);
    const made = await mutate(call, {
      endpoint: 'CreateUserData',
      send: () => routes.postUserData(call, written),
      look: async () => {
        const value = await findWritten(call, mark);
        return value && { value };
      },
      repeatsMax: REPEATS_MAX,
    });
    try {
      return requireAgreed(made, written);
    } catch (error) {
      await routes.deleteUserData(call, made.id);
      throw error;
    }
  }

  async function write(
    call: Call,
    id: string,
    written: RecordText,
    beforeAttempt?: () => Promise<void>,
  ): Promise<string | null> {
    const changed = await mutate(call, {
      endpoint: 'UpdateUserData',
      send: () => routes.patchUserData(call, id, written, beforeAttempt),
      look: async () => {
        const value = await routes.getUserData(call, id);
        return agrees(value, written) ? { value } : null;
      },
      repeatsMax: REPEATS_MAX,
    }).catch(nullIfGone);
    return changed && requireAgreed(changed, written);
  }

  /** One attempt; replaces only the version that was read. */
  async function changeOnce(
    call: Call,
    id: string,
    changed: (mark: Mark) => Mark,
    script: 'keep' | 'cut',
  ): Promise<boolean> {
    const found = await routes.getUserData(call, id).catch(nullIfGone);
    const mark = found && readRecord(found);
    if (!mark) return false;
    const left = script === 'cut' ? NOTHING_TO_RUN : bodyIn(found.content);
    const written = writeRecord(changed(mark), left);
    const readMs = call.now();
    const requireAsRead = async (): Promise<void> => {
      if (call.now() - readMs < JUST_READ_MS) return;
      const { content } = await routes.getUserData(call, id);
      if (content !== found.content && content !== written.content) throw new WrittenMeanwhile();
    };
    return (await write(call, id, written, requireAsRead)) !== null;
  }

  return {
    /** @returns its id. @throws {ProviderError} `invalid`: the API altered the content. */
    make,
    /**
     * Rewrites the record, or creates another if it is gone. @returns its id. @throws see `make`.
     */
    async rewrite(call: Call, id: string, mark: Mark, body: string): Promise<string> {
      records.forget(mark.hostname);
      return (await write(call, id, writeRecord(mark, body))) ?? make(call, mark, body);
    },
    /**
     * Changes the current record's text, and keeps or removes its script.
     * @returns false if the mark no longer exists.
     */
    async change(
      call: Call,
      id: string,
      changed: (mark: Mark) => Mark,
      script: 'keep' | 'cut',
    ): Promise<boolean> {
      for (let changes = 1; ; changes++) {
        try {
          return await changeOnce(call, id, changed, script);
        } catch (error) {
          if (!(error instanceof WrittenMeanwhile)) throw error;
          if (changes >= CHANGES_MAX) {
            throw call.error('race-lost', `others keep writing user data ${id}`, { cause: error });
          }
        }
      }
    },
    isThere: async (call: Call, id: string): Promise<boolean> =>
      (await routes.getUserData(call, id).catch(nullIfGone)) !== null,
    remove: (call: Call, id: string): Promise<void> => routes.deleteUserData(call, id),
    /** Removes a record unless it was written since it was read. @returns false if it stays. */
    async removeIfAsRead(
      call: Call,
      { id, mark }: Pick<StoredRecord, 'id' | 'mark'>,
    ): Promise<boolean> {
      const requireAsRead = async (): Promise<void> => {
        const found = await routes.getUserData(call, id).catch(nullIfGone);
        if (found && readRecord(found)?.t !== mark?.t) throw new WrittenMeanwhile();
      };
      try {
        await routes.deleteUserData(call, id, requireAsRead);
        return true;
      } catch (error) {
        if (error instanceof WrittenMeanwhile) return false;
        throw error;
      }
    },
    /** Runs even after the caller's signal or time limit. */
    async removeAnyway(call: Call, id: string): Promise<void> {
      try {
        return await routes.deleteUserData(call, id);
      } catch (error) {
        if (!isProviderError(error, 'aborted', 'transient')) throw error;
      }
      await withTimeLimit(clock, { ms: REMOVAL_MS }, (own) =>
        routes.deleteUserData(begin(`cannot delete user data ${id}`, own), id),
      );
    },
  };
}
export type RecordWriter = ReturnType<typeof createRecordWriter>;
