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

/** Something that is to become of one pool. */
export interface Change {
  readonly owner: PoolRef;
  /** `edit` is told which servers there are at run time; otherwise none. */
  readonly isByRunTime?: boolean;
  /**
   * Says in the file what is to be. @returns what is then to be done at run time; absent: nothing.
   * @throws {RemoteFailure} it cannot be.
   */
  edit(file: PoolFile, running: Servers): ServerChange | void;
  /** Takes back what `edit` said, where the running program refuses it. */
  undo?(file: PoolFile): void;
}

/** What is known of a pool from its files. */
export interface KnownPool {
  /** What HAProxy is to have. */
  readonly file: PoolFile;
  /** What it has loaded, or serves where no file tells of that; null: nothing, as far as is known. */
  readonly loaded: PoolFile | null;
  /** What HAProxy would load is this file, and nothing else. */
  readonly isExact: boolean;
}

export type Changes = ReturnType<typeof createChanges>;

interface Waiting {
  readonly change: Change;
  readonly signal: AbortSignal;
  resolve(): void;
  reject(error: unknown): void;
}
/** A change that its file has. */
interface Edited {
  readonly waiting: Waiting;
  readonly server: ServerChange | null;
}
/** A pool while changes are made to it. */
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
 * Puts changes in order. The file comes first, checked before it is put in place, then the reload where
 * one is needed, then what is done at run time: whatever ends us in between, the file says what is to be,
 * and a new process of HAProxy comes up like that. Of several changes that wait, one reload is made; if
 * they cannot be made together, each is tried by itself, so that one pool's mistake is not another's.
 */
export function createChanges({ files, master, runTimes, idleMs }: ChangesDeps) {
  const limit = pLimit(1);
  const closing = new AbortController();
  /** Of what must not break off once files are in place; each has a time limit of its own. */
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
    // Of a file that was taken away, what was loaded tells what it was.
    const file = text === null ? (loaded ?? emptyFile()) : parse(text);
    const isExact = text === null ? loaded === null : textOf(file, owner) === text;
    return { owner, file, loaded, isExact, text, loadedText };
  }

  async function carryOutAll(): Promise<void> {
    const batch = queue.filter(({ signal, reject }) => {
      if (signal.aborted) reject(new Cancelled('given up before it began'));
      return !signal.aborted;
    });
    queue = [];
    if (batch.length > 0) await carryOut(batch);
  }

  /** Never rejects: each of the batch is told what became of it. */
  async function carryOut(batch: readonly Waiting[]): Promise<void> {
    try {
      // Before anything is written: who cannot be reached is not given another file.
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

  /** Finds those that cannot be made, by halves, unless it is none of them. */
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

  /** Null: it is done. Otherwise why HAProxy does not take it; then all is as it was. */
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

  /** A file that HAProxy cannot load must not be there when it is started the next time. */
  async function putBack(pools: readonly Draft[], reason: string): Promise<RemoteFailure> {
    const before: Candidate[] = pools.map(({ owner, file, loaded }) => {
      if (loaded === null || loaded.size === 0) return { owner, text: null };
      return { owner, text: textOf(withServersOf(loaded, file), owner) };
    });
    for (const candidate of before) await files.put(candidate);
    // It says what is wrong with everything, where something else than ours is.
    const why = await files.check(before, toTheEnd).then(
      () => reason,
      (error: Error) => error.message,
    );
    return new RemoteFailure(`HAProxy could not load it, and goes on as before: ${why}`);
  }

  async function settle(draft: Draft): Promise<void> {
    if (isNothing(draft)) return;
    const { owner, file, loadedText } = draft;
    const text = file.size === 0 ? null : textOf(file, owner);
    if (text === null) await files.put({ owner, text });
    if (text !== loadedText) await files.remember(owner, text);
  }

  /** Of changes to one server, the last one counts. */
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
     * @param running what the running program has; absent: it is asked where that is needed.
     * @throws {RemoteFailure} HAProxy serves the pool, and its file is another's.
     */
    known: draftOf,
    /** Resolves once HAProxy has it. Changes that wait for each other's reload share one. */
    make(change: Change, signal: AbortSignal): Promise<void> {
      const made = new Promise<void>((resolve, reject) => {
        queue.push({ change, signal, resolve, reject });
      });
      void limit(carryOutAll);
      return cancellable(made, signal);
    },
    /** Nobody changes anything meanwhile. */
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

/** What was loaded, with the servers as they are to be now: nobody who was drained comes back. */
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

/** What has begun goes on: the file must not be left as nobody knows. */
async function cancellable<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(answer, signal);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    throw new Cancelled('given up', { cause: error });
  }
}
