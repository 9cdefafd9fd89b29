import pLimit from 'p-limit';
import type { PoolRef } from '../../../domain/balancing/objects.ts';
import { Cancelled, RemoteFailure } from '../../../domain/errors.ts';
import { unlessAborted } from '../../../domain/joined.ts';
import type { Candidate, Files } from './files.ts';
import { newEnds, requireFree, servedFile, type RunTime, type Servers } from './tables.ts';
import type { Master } from './master.ts';
import {
  emptyFile,
  getFrom,
  isSameShape,
  listed,
  parse,
  putInto,
  render,
  type FileTimes,
  type PoolFile,
} from './pool-file.ts';
import type { RunTimes, ServerChange } from './run-time.ts';

/** A change of one pool. */
export interface Change {
  readonly owner: PoolRef;
  /** Passes the run-time servers to `edit`; otherwise none. */
  readonly isByRunTime?: boolean;
  /**
   * Edits the file. @returns the change to make at run time; absent: none.
   * @throws {RemoteFailure} the change is impossible.
   */
  edit(file: PoolFile, running: Servers): ServerChange | void;
  /** Undoes `edit` if the running program refuses it. */
  undo?(file: PoolFile): void;
}

/** What the files of a pool show. */
export interface KnownPool {
  /** The desired configuration. */
  readonly file: PoolFile;
  /** What HAProxy has loaded, or serves without a file; null: nothing known. */
  readonly loaded: PoolFile | null;
  /** HAProxy would load exactly this file. */
  readonly isExact: boolean;
}

export type Changes = ReturnType<typeof createChanges>;

interface Waiting {
  readonly change: Change;
  readonly signal: AbortSignal;
  resolve(): void;
  reject(error: unknown): void;
}
/** A change that is in its file. */
interface Edited {
  readonly waiting: Waiting;
  readonly server: ServerChange | null;
}
/** A pool while changes are made. */
interface Draft extends KnownPool {
  readonly owner: PoolRef;
  readonly text: string | null;
  readonly loadedText: string | null;
}

export interface ChangesDeps extends FileTimes {
  readonly files: Files;
  readonly master: Master;
  readonly runTimes: RunTimes;
}

/**
 * Makes changes in order: the checked file, then the reload if needed, then the run-time change. If
 * the process ends in between, the file has the desired state, and a new HAProxy process starts
 * with it. Waiting changes share one reload. If they cannot be made together, each is tried
 * separately, so that one pool's mistake does not affect another.
 */
export function createChanges({ files, master, runTimes, idleMs }: ChangesDeps) {
  const limit = pLimit(1);
  const closing = new AbortController();
  /** For steps that must not be aborted once files are in place; each has its own time limit. */
  const toTheEnd = new AbortController().signal;
  let queue: Waiting[] = [];
  const textOf = (file: PoolFile, owner: PoolRef) => render(file, owner, { idleMs });

  async function draftOf(owner: PoolRef, running?: RunTime): Promise<Draft> {
    const { text, loaded: loadedText } = await files.read(owner);
    if (text === null && loadedText === null) {
      const served = servedFile(owner, running ?? (await runTimes.read(closing.signal)));
      if (served !== null) {
        await files.requireOurs(owner);
        return { owner, file: served, loaded: served, isExact: false, text, loadedText };
      }
    }
    const loaded = loadedText === null ? null : parse(loadedText);
    // If the file was removed, the loaded configuration shows its content.
    const file = text === null ? (loaded ?? emptyFile()) : parse(text);
    const isExact = text === null ? loaded === null : textOf(file, owner) === text;
    return { owner, file, loaded, isExact, text, loadedText };
  }

  async function carryOutAll(): Promise<void> {
    const batch = queue.filter(({ signal, reject }) => {
      if (signal.aborted) reject(new Cancelled('cancelled before it began'));
      return !signal.aborted;
    });
    queue = [];
    if (batch.length > 0) await carryOut(batch);
  }

  /** Never rejects: each change of the batch gets its own result. */
  async function carryOut(batch: readonly Waiting[]): Promise<void> {
    try {
      // Before any write: an unreachable HAProxy gets no new file.
      await master.processes(closing.signal);
      const { done, pools } = await edited(batch);
      if (done.length === 0) return;
      const failure = await apply(pools);
      if (failure === null) await finishAll(done);
      else if (done.length === 1) done[0]!.waiting.reject(failure);
      else await carryOutApart(done, failure);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /** Finds the impossible changes by bisection, unless none of them is the cause. */
  async function carryOutApart(done: readonly Edited[], failure: RemoteFailure): Promise<void> {
    const all = done.map(({ waiting }) => waiting);
    const isWithout = await files.check([], closing.signal).then(() => false, isRefusal);
    if (isWithout) {
      for (const { reject } of all) reject(failure);
      return;
    }
    const half = Math.ceil(all.length / 2);
    await carryOut(all.slice(0, half));
    await carryOut(all.slice(half));
  }

  async function edited(batch: readonly Waiting[]) {
    const looks = new Map<string, Promise<Draft>>();
    const pools = new Map<string, Draft>();
    const done: Edited[] = [];
    const isByRunTime = batch.some(({ change }) => change.isByRunTime === true);
    const running: Servers = isByRunTime ? await runTimes.servers(closing.signal) : new Map();
    for (const waiting of batch) {
      const { owner, edit } = waiting.change;
      const found = looks.get(owner.suffix) ?? draftOf(owner);
      looks.set(owner.suffix, found);
      try {
        const draft = pools.get(owner.suffix) ?? (await found);
        const file = structuredClone(draft.file);
        const server = edit(file, running) ?? null;
        pools.set(owner.suffix, { ...draft, file });
        done.push({ waiting, server });
      } catch (error) {
        waiting.reject(error);
      }
    }
    return { done, pools: [...pools.values()] };
  }

  /** Null: done. Otherwise HAProxy's reason; then everything is as before. */
  async function apply(pools: readonly Draft[]): Promise<RemoteFailure | null> {
    const candidates = pools.flatMap((draft) => {
      const text = textOf(draft.file, draft.owner);
      return text === draft.text || isNothing(draft) ? [] : [{ owner: draft.owner, text }];
    });
    const reshaped = pools.filter(needsReload);
    if (candidates.length === 0 && reshaped.length === 0) return null;
    try {
      await files.check(candidates, closing.signal);
      if (reshaped.length > 0) {
        await requireFree(newEnds(reshaped, await runTimes.read(closing.signal)));
      }
    } catch (error) {
      if (error instanceof RemoteFailure) return error;
      throw error;
    }
    for (const candidate of candidates) await files.put(candidate);
    if (reshaped.length > 0) {
      const reason = await master.reload(toTheEnd);
      if (reason !== null) return putBack(reshaped, reason);
    }
    for (const draft of pools) await settle(draft);
    return null;
  }

  /** HAProxy must not find an invalid file at its next start. */
  async function putBack(pools: readonly Draft[], reason: string): Promise<RemoteFailure> {
    const before: Candidate[] = pools.map(({ owner, file, loaded }) => {
      if (loaded === null || loaded.size === 0) return { owner, text: null };
      return { owner, text: textOf(withServersOf(loaded, file), owner) };
    });
    for (const candidate of before) await files.put(candidate);
    // The check of the former files shows whether something other than our change is wrong.
    const why = await files.check(before, toTheEnd).then(
      () => reason,
      (error: Error) => error.message,
    );
    return new RemoteFailure(`HAProxy could not load the change, and continues as before: ${why}`);
  }

  async function settle(draft: Draft): Promise<void> {
    if (isNothing(draft)) return;
    const { owner, file, loadedText } = draft;
    const text = file.size === 0 ? null : textOf(file, owner);
    if (text === null) await files.put({ owner, text });
    if (text !== loadedText) await files.remember(owner, text);
  }

  /** Of several changes to one server, the last one counts. */
  async function finishAll(done: readonly Edited[]): Promise<void> {
    const last = new Map<string, ServerChange>();
    for (const { server } of done) if (server) last.set(`${server.backend}/${server.name}`, server);
    const made = last.size > 1 ? await runTimes.makeAll([...last.values()], closing.signal) : null;
    for (const { waiting, server } of done) {
      const wanted = server && last.get(`${server.backend}/${server.name}`)!;
      if (wanted === null || made?.has(wanted)) waiting.resolve();
      else await finish(waiting, wanted);
    }
  }

  async function finish({ change, resolve, reject }: Waiting, server: ServerChange): Promise<void> {
    try {
      await runTimes.make(server, closing.signal);
      resolve();
    } catch (error) {
      const { owner, undo } = change;
      if (undo && error instanceof RemoteFailure) {
        const back = { change: { owner, edit: undo }, signal: closing.signal };
        await carryOut([{ ...back, resolve: () => reject(error), reject: () => reject(error) }]);
      }
      reject(error);
    }
  }

  return {
    /**
     * @param running the running program's servers; absent: read if needed.
     * @throws {RemoteFailure} HAProxy serves the pool, and its file belongs to somebody else.
     */
    known: draftOf,
    /** Resolves once HAProxy has the change. Waiting changes share a reload. */
    make(change: Change, signal: AbortSignal): Promise<void> {
      const made = new Promise<void>((resolve, reject) => {
        queue.push({ change, signal, resolve, reject });
      });
      void limit(carryOutAll);
      return cancellable(made, signal);
    },
    /** Excludes all changes meanwhile. */
    alone: <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> =>
      cancellable(limit(work), signal),
    async close(): Promise<void> {
      closing.abort(new Cancelled('the balancer is closed'));
      await limit(carryOutAll);
    },
  };
}

function isRefusal(error: unknown): true {
  if (error instanceof RemoteFailure) return true;
  throw error;
}

const isNothing = ({ file, text, loaded }: Draft): boolean =>
  file.size === 0 && text === null && loaded === null;

function needsReload(draft: Draft): boolean {
  if (isNothing(draft)) return false;
  return !draft.isExact || !isSameShape(draft.file, draft.loaded ?? emptyFile());
}

/** The loaded configuration with the desired servers: no drained server returns. */
function withServersOf(loaded: PoolFile, file: PoolFile): PoolFile {
  const result = emptyFile();
  for (const object of loaded.values()) {
    if (object.spec.kind !== 'server') putInto(result, object);
    if (object.spec.kind !== 'backend') continue;
    const { ref } = object;
    const servers = listed(getFrom(file, ref) ? file : loaded, 'server', ref.id);
    for (const server of servers) putInto(result, server);
  }
  return result;
}

/** Started work continues: the file must not be left in an unknown state. */
async function cancellable<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(answer, signal);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    throw new Cancelled('given up', { cause: error });
  }
}
